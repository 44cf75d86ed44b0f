
#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/serve/fleet.h"
#include "nmtwatch/serve/helper.h"
#include "nmtwatch/serve/observer.h"
#include "nmtwatch/serve/outlets.h"
#include "nmtwatch/serve/web.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"
#include "nmtwatch/jvm/privileged.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <syslog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <inttypes.h>
#include <sys/un.h>

#define PUBLISH_MS 1000
#define TIDY_MS    60000
#define OWN_MS     10000 /* between readings of our own memory and descriptors */

struct serve {
    serve_configure_fn *configure;
    void *context;
    struct serve_options *options;
    struct board board;
    struct web *web;
    struct archive *archive;
    struct saved_state *state;
    struct outlets *outlets;
    struct fleet *fleet;
    struct observer *observer;
    struct reply_budget *replies;
    struct own_view own; /* what changes slowly */
    int64_t snapshots, next_publish_ms, next_tidy_ms, next_own_ms, next_alive_ms;
    int64_t now_ms;
    char status[200];
};

/* --- service manager -------------------------------------------------------------------------- */

/* The state of `serve` for systemd (sd_notify's protocol: a datagram to the socket that $NOTIFY_SOCKET names).
 * Without that variable nothing happens. Beside a helper it is the helper that sends: systemd need not trust
 * another process (NotifyAccess=main). */

#define RELOADING "RELOADING=1\nMONOTONIC_USEC="
#define STATUS    "STATUS="

static void notify(const char *message)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof address.sun_path)
        return;
    size_t length = strlen(path);
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract socket */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    /* No manager listens. */
    if (sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address, size) < 0) {
    }
    close(fd);
}

static void notify_manager(const char *message)
{
    if (privileged_has_helper())
        privileged_notify(message);
    else
        notify(message);
}

static bool is_ours(const char *message)
{
    static const char *const words[] = {"READY=1", "STOPPING=1", "WATCHDOG=1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(message, words[i]) == 0)
            return true;
    if (strncmp(message, RELOADING, strlen(RELOADING)) == 0)
        return strspn(message + strlen(RELOADING), "0123456789") ==
               strlen(message + strlen(RELOADING));
    if (strncmp(message, STATUS, strlen(STATUS)) != 0)
        return false;
    for (const char *at = message; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            return false;
    return true;
}

bool service_pass_on(const char *message)
{
    bool good = is_ours(message);
    if (good)
        notify(message);
    return good;
}

static void service_ready(void)
{
    notify_manager("READY=1");
}

static void service_reloading(void)
{
    char message[64];
    snprintf(message, sizeof message, RELOADING "%" PRId64, clock_us(CLOCK_MONOTONIC));
    notify_manager(message);
}

static void service_stopping(void)
{
    notify_manager("STOPPING=1");
}

static void service_status(const char *sentence)
{
    char message[256];
    snprintf(message, sizeof message, STATUS "%s", sentence);
    notify_manager(message);
}

/* Twice as often as systemd wants it. */
/* How often service_alive has to be called, milliseconds; 0: nothing waits for it. */
static int64_t service_watchdog_ms(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (us == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    int64_t ms = strtoll(us, NULL, 10) / 2000;
    return ms > 0 ? ms : 0;
}

static void service_alive(void)
{
    notify_manager("WATCHDOG=1");
}

/* --- what it says ----------------------------------------------------------------------------- */

static void say(const char *sentence)
{
    print_log("%s\n", sentence);
}

static void complain(const char *sentence)
{
    print_error("%snmtwatch serve: %s\n", print_priority(STDERR_FILENO, LOG_WARNING), sentence);
}

/* --- alerts: in the state first, then handed on, then out of the state's list ----------------- */

static void on_alert(void *context, const struct member *member, const struct alert *alert)
{
    struct serve *serve = context;
    int64_t pid = watcher_target(member->watcher)->pid;
    struct texts texts = {0};
    struct alert copy = *alert;
    finding_copy(&copy.finding, &texts, &alert->finding);
    member_mention(member, &copy.finding);
    outlets_alert(serve->outlets, member->label, pid, &copy, member->wall_start_ms + alert->ms,
                  serve->now_ms);
    texts_free(&texts);
    observer_alert(serve->observer, serve->fleet, pid, alert, serve->now_ms);
}

static void on_ended(void *context, const struct member *member, const struct alert *alerts,
                     int count)
{
    struct serve *serve = context;
    int64_t pid = member->watcher != NULL ? watcher_target(member->watcher)->pid : 0;
    outlets_ended(serve->outlets, member->label, pid, alerts, count, clock_ms(CLOCK_REALTIME),
                  serve->now_ms);
}

static void on_word(void *context, const char *sentence)
{
    (void)context;
    say(sentence);
}

/* --- the snapshot ----------------------------------------------------------------------------- */

static int64_t count_fds(void)
{
    int64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 3; /* ".", "..", and the folder itself */
}

static void look_at_ourselves(struct serve *serve)
{
    struct own_view *own = &serve->own;
    own->rss_bytes = watch_cost_rss_bytes();
    own->open_fds = count_fds();
    serve->next_own_ms = serve->now_ms + OWN_MS;
}

static void fill_own(struct serve *serve, struct own_view *own)
{
    const struct own_view scanned = *own; /* by the fleet */
    const char *last;
    *own = serve->own;
    own->processes = scanned.processes;
    own->unreadable = scanned.unreadable;
    own->held = scanned.held;
    own->refused = scanned.refused;
    own->scans = scanned.scans;
    own->scan_cpu_us = scanned.scan_cpu_us;
    own->targets_seen = scanned.targets_seen;
    own->over_limit = scanned.over_limit;
    own->postponed = scanned.postponed;
    struct reply_budget_counts replies = reply_budget_counts(serve->replies);
    own->reply_bytes = replies.held_bytes;
    own->replies_refused = replies.refused;
    memcpy(own->runbooks, serve->options->runbooks, sizeof own->runbooks);
    own->cpu_us = watch_cost_cpu_us();
    own->children_cpu_us = watcher_children_cpu_us();
    struct privileged_counts workers = privileged_counts();
    own->workers = workers.workers;
    own->workers_late = workers.late;
    own->workers_died = workers.died;
    own->passed_by = workers.passed_by;
    if (serve->archive != NULL) {
        struct archive_counts counts = archive_counts(serve->archive);
        own->recording_bytes = counts.bytes;
        own->recording_errors = counts.errors;
    }
    if (serve->state != NULL)
        own->state_errors = saved_state_errors(serve->state, &last);
    if (serve->web != NULL) {
        web_answers(serve->web, own->http_answers);
        own->displaced = web_displaced(serve->web);
    }
    outlets_counts(serve->outlets, own);
    observer_counts(serve->observer, own);
}

/* For `systemctl status`: "watching 8 JVMs; 1 CRITICAL: alice/Explode". In ASCII: a label is a stranger's text. */
static void describe(const struct serve *serve, const struct snapshot *snapshot, char *out,
                     size_t size)
{
    enum severity worst = SEVERITY_INFO;
    int count = 0;
    const char *where = "";
    for (int i = 0; i < snapshot->finding_count; i++) {
        const struct finding_view *view = &snapshot->findings[i];
        if (view->finding.severity > worst)
            count = 0;
        if (view->finding.severity < worst)
            continue;
        worst = view->finding.severity;
        if (count++ == 0)
            where = snapshot->targets[view->target].label;
    }
    int watched = snapshot->target_count;
    int used = snprintf(out, size, "watching %d JVM%s", watched, watched == 1 ? "" : "s");
    if (count > 0)
        used += snprintf(out + used, size - (size_t)used, "; %d %s: %.80s%s", count,
                         severity_name(worst), where, count > 1 ? ", ..." : "");
    if (!serve->own.config_good)
        snprintf(out + used, size - (size_t)used, "; a new configuration was not taken");
    for (char *at = out; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

static void publish(struct serve *serve)
{
    if (serve->now_ms >= serve->next_own_ms)
        look_at_ourselves(serve);
    struct snapshot *snapshot = fleet_snapshot(serve->fleet);
    if (snapshot == NULL)
        return; /* the last one stays */
    fill_own(serve, &snapshot->own);
    snapshot->number = ++serve->snapshots;
    snapshot->unix_ms = clock_ms(CLOCK_REALTIME);
    outlets_see(serve->outlets, snapshot, serve->now_ms);
    char status[sizeof serve->status];
    describe(serve, snapshot, status, sizeof status);
    if (strcmp(status, serve->status) != 0)
        service_status(strcpy(serve->status, status));
    board_publish(&serve->board, snapshot);
}

/* All watchers share what there is for replies. */
static void share_replies(struct serve *serve, struct serve_options *options)
{
    options->watch.replies = serve->replies;
    reply_budget_limit(serve->replies, options->reply_memory_bytes,
                       options->reply_memory_per_user_bytes);
}

/* --- reload ----------------------------------------------------------------------------------- */

static struct archive_bounds bounds_of(const struct serve_options *options)
{
    return (struct archive_bounds){.rotate_bytes = options->rotate_bytes,
                                   .rotate_ms = options->rotate_ms,
                                   .keep_bytes = options->keep_bytes,
                                   .keep_ms = options->keep_ms};
}

/* Folders and receivers are opened once: changing them takes a restart. */
static void keep_fixed(struct serve_options *fresh, const struct serve_options *now)
{
    const struct {
        const char *key;
        char *fresh;
        const char *now;
        size_t size;
    } fixed[] = {
        {"recordings", fresh->recordings, now->recordings, sizeof fresh->recordings},
        {"observations", fresh->observations, now->observations, sizeof fresh->observations},
        {"state", fresh->state, now->state, sizeof fresh->state},
        {"notify", fresh->notify, now->notify, sizeof fresh->notify},
        {"alertmanager", fresh->alertmanager, now->alertmanager, sizeof fresh->alertmanager},
        {"webhook", fresh->webhook, now->webhook, sizeof fresh->webhook},
        {"queue", fresh->queue, now->queue, sizeof fresh->queue},
        {"user", fresh->user, now->user, sizeof fresh->user},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        char sentence[96];
        if (strcmp(fixed[i].fresh, fixed[i].now) == 0)
            continue;
        snprintf(sentence, sizeof sentence,
                 "reload: a new '%s' needs a restart; the old one remains in use", fixed[i].key);
        complain(sentence);
        memcpy(fixed[i].fresh, fixed[i].now, fixed[i].size);
    }
    bool same = fresh->receiver_count == now->receiver_count;
    for (size_t i = 0; same && i < (size_t)now->receiver_count; i++)
        same = receiver_same(&fresh->receivers[i], &now->receivers[i]);
    if (!same)
        complain("reload: new receivers need a restart; the old ones remain in use");
    memcpy(fresh->receivers, now->receivers, sizeof fresh->receivers);
    fresh->receiver_count = now->receiver_count;
}

/* Certificates and users may have changed in their files, so the web side begins anew. It must not
 * be lost to a bad address: then it goes on as it was. */
static bool restart_web(struct serve *serve, const struct serve_options *fresh)
{
    char error[512];
    int64_t answers[6];
    web_answers(serve->web, answers);
    web_stop(serve->web);
    serve->web = web_start(fresh, &serve->board, error, sizeof error);
    if (serve->web != NULL)
        return true;
    complain(error);
    serve->web = web_start(serve->options, &serve->board, error, sizeof error);
    if (serve->web == NULL)
        complain(error);
    return false;
}

static void reload(struct serve *serve)
{
    char error[512];
    struct serve_options *fresh = malloc(sizeof *fresh);
    service_reloading();
    serve->own.reloads++;
    serve->own.config_good =
        fresh != NULL && serve->configure(serve->context, fresh, error, sizeof error);
    if (!serve->own.config_good) {
        complain(fresh != NULL ? error : "out of memory");
    } else {
        keep_fixed(fresh, serve->options);
        serve->own.config_good = restart_web(serve, fresh);
        if (serve->own.config_good) {
            *serve->options = *fresh;
            share_replies(serve, serve->options);
            struct archive_bounds bounds = bounds_of(fresh);
            if (serve->archive != NULL)
                archive_set_bounds(serve->archive, &bounds);
            fleet_reload(serve->fleet);
            observer_reload(serve->observer);
        }
    }
    say(serve->own.config_good ? "configuration read again"
                               : "configuration not taken: the old one remains in use");
    free(fresh);
    service_ready();
}

/* --- life ------------------------------------------------------------------------------------- */

static bool open_parts(struct serve *serve, char *error, size_t error_size)
{
    const struct serve_options *options = serve->options;
    struct archive_bounds bounds = bounds_of(options);
    const struct fleet_hooks hooks = {
        .context = serve, .alert = on_alert, .ended = on_ended, .say = on_word};
    share_replies(serve, serve->options);
    if (options->recordings[0] != '\0' &&
        (serve->archive = archive_open(options->recordings, &bounds, error, error_size)) == NULL)
        return false;
    if (options->state[0] != '\0' &&
        (serve->state = saved_state_open(options->state, error, error_size)) == NULL)
        return false;
    serve->outlets = outlets_open(options, error, error_size);
    serve->observer = serve->outlets != NULL ? observer_create(options, error, error_size) : NULL;
    if (serve->observer == NULL)
        return false;
    serve->fleet = fleet_create(options, serve->archive, serve->state, &hooks);
    if (serve->fleet == NULL)
        return text_error(error, error_size, "out of memory");
    serve->web = web_start(options, &serve->board, error, error_size);
    return serve->web != NULL;
}

static void announce(const struct serve *serve)
{
    struct sockaddr_storage address;
    char error[160], sentence[320];
    const char *colon = strrchr(serve->options->listen, ':');
    snprintf(sentence, sizeof sentence, "listening on %s://%.*s:%d/",
             serve->options->tls_cert[0] != '\0' ? "https" : "http",
             (int)(colon - serve->options->listen), serve->options->listen, web_port(serve->web));
    say(sentence);
    if (serve_listen_parse(serve->options->listen, &address, error, sizeof error) &&
        !serve_listen_is_loopback(&address) && serve->options->user_file[0] == '\0')
        complain("warning: everybody who reaches this address may read what it shows; user_file "
                 "and tls_cert close it");
}

static void close_parts(struct serve *serve)
{
    web_stop(serve->web);
    observer_destroy(serve->observer);
    fleet_destroy(serve->fleet);
    reply_budget_destroy(serve->replies);
    outlets_close(serve->outlets);
    saved_state_close(serve->state);
    archive_close(serve->archive);
    board_destroy(&serve->board);
    free(serve->options);
}

static void keep(struct serve *serve)
{
    int64_t watchdog_ms = service_watchdog_ms();
    if (serve->now_ms >= serve->next_publish_ms) {
        fleet_keep(serve->fleet, clock_ms(CLOCK_REALTIME));
        observer_turn(serve->observer, serve->fleet, serve->now_ms, clock_ms(CLOCK_REALTIME));
        publish(serve);
        serve->next_publish_ms = serve->now_ms + PUBLISH_MS;
    }
    if (serve->now_ms >= serve->next_tidy_ms) {
        if (serve->archive != NULL)
            archive_tidy(serve->archive, clock_ms(CLOCK_REALTIME));
        observer_tidy(serve->observer, clock_ms(CLOCK_REALTIME));
        serve->next_tidy_ms = serve->now_ms + TIDY_MS;
    }
    if (watchdog_ms > 0 && serve->now_ms >= serve->next_alive_ms) {
        service_alive();
        serve->next_alive_ms = serve->now_ms + watchdog_ms;
    }
}

static void loop(struct serve *serve, int64_t until_ms)
{
    while (signals_asked() == 0 && (until_ms == 0 || serve->now_ms < until_ms)) {
        struct pollfd others[] = {{.fd = outlets_fd(serve->outlets), .events = POLLIN}};
        int64_t wait_ms = serve->next_publish_ms - serve->now_ms;
        int64_t outlets_ms = outlets_step(serve->outlets, serve->now_ms);
        if (outlets_ms < wait_ms)
            wait_ms = outlets_ms;
        serve->now_ms = fleet_turn(serve->fleet, wait_ms > 0 ? wait_ms : 0, others, 1);
        if (signals_reload())
            reload(serve);
        keep(serve);
    }
}

static int run_here(serve_configure_fn *configure, void *context, int64_t for_ms)
{
    char error[512];
    struct serve serve = {
        .configure = configure, .context = context, .now_ms = clock_ms(CLOCK_BOOTTIME)};
    serve.options = malloc(sizeof *serve.options);
    serve.replies = reply_budget_create();
    board_init(&serve.board);
    raise_fd_limit();
    if (serve.options == NULL || serve.replies == NULL || !signals_catch(SIGNALS_RELOAD)) {
        complain(strerror(errno));
        close_parts(&serve);
        return EXIT_IO;
    }
    if (!configure(context, serve.options, error, sizeof error)) {
        complain(error);
        close_parts(&serve);
        return EXIT_USAGE;
    }
    if (!open_parts(&serve, error, sizeof error)) {
        complain(error);
        close_parts(&serve);
        return EXIT_IO;
    }
    serve.own.started_unix_ms = clock_ms(CLOCK_REALTIME);
    serve.own.config_good = true;
    publish(&serve);
    announce(&serve);
    service_ready();
    loop(&serve, for_ms > 0 ? serve.now_ms + for_ms : 0);
    service_stopping();
    fleet_stop(serve.fleet);
    close_parts(&serve);
    return 0;
}

#define FOLDERS 4 /* what the service writes to; "": not used */

static void folders_of(const struct serve_options *options, const char *folders[FOLDERS])
{
    folders[0] = options->state;
    folders[1] = options->recordings;
    folders[2] = options->queue;
    folders[3] = options->observations;
}

static struct service_user new_owner;

/* Of what root left when it was one process; files with a second name may be anybody's. */
static int give_away(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)kind, (void)place;
    return status->st_uid == new_owner.uid || (!S_ISDIR(status->st_mode) && status->st_nlink > 1)
               ? 0
               : lchown(path, new_owner.uid, new_owner.gid);
}

int serve_make_folders(const struct serve_options *options)
{
    char error[512];
    const char *folders[FOLDERS];
    const char *name = strcmp(options->user, "auto") == 0 ? SERVE_USER : options->user;
    struct stat status;
    if (!service_user_find(&new_owner, name, error, sizeof error)) {
        complain(error);
        return EXIT_USAGE;
    }
    folders_of(options, folders);
    for (size_t i = 0; i < FOLDERS; i++) {
        bool good = folders[i][0] == '\0' || mkdir(folders[i], 0700) == 0 || errno == EEXIST;
        if (good && folders[i][0] != '\0')
            good = lstat(folders[i], &status) == 0 &&
                   (status.st_uid == new_owner.uid || /* the folder itself last */
                    nftw(folders[i], give_away, 16, FTW_PHYS | FTW_DEPTH | FTW_MOUNT) == 0);
        if (!good) {
            snprintf(error, sizeof error, "%s: %s", folders[i], strerror(errno));
            complain(error);
            return EXIT_IO;
        }
    }
    return 0;
}

/* Of user = auto: why there is no such user for us, or NULL. */
static const char *no_user(const struct serve_options *options)
{
    const char *folders[FOLDERS];
    const struct passwd *user = getpwnam(SERVE_USER);
    struct stat status;
    if (user == NULL)
        return "there is no user " SERVE_USER;
    folders_of(options, folders);
    for (size_t i = 0; i < FOLDERS; i++) {
        if (folders[i][0] != '\0' &&
            (stat(folders[i], &status) != 0 || status.st_uid != user->pw_uid))
            return "state, recordings, observations and queue do not belong to the "
                   "user " SERVE_USER;
    }
    return NULL;
}

/* Whether it may be two processes, and shall; options->user is a user's name then. */
static bool two_processes(struct serve_options *options)
{
    char sentence[160];
    const char *why = "'user' in [serve] is empty";
    bool may = as_target_has(CAP_SETUID) && as_target_has(CAP_SETGID);
    if (strcmp(options->user, "auto") == 0) {
        if (!may)
            return false;
        why = no_user(options);
        snprintf(options->user, sizeof options->user, "%s", why == NULL ? SERVE_USER : "");
    }
    if (options->user[0] == '\0') {
        snprintf(sentence, sizeof sentence, "one process, as root: %s", why);
        if (geteuid() == 0)
            say(sentence);
        return false;
    }
    if (!may)
        complain("'user' needs root, or CAP_SETUID and CAP_SETGID: this is one process, of the "
                 "user who started it");
    return may;
}

/* In one process, or with a root helper: as the configuration says. */
int serve_run(serve_configure_fn *configure, void *context, int64_t for_ms)
{
    char error[512];
    struct serve_options *options = malloc(sizeof *options);
    int code = EXIT_USAGE;
    if (options == NULL) {
        complain(strerror(ENOMEM));
        return EXIT_IO;
    }
    if (!configure(context, options, error, sizeof error)) {
        complain(error);
        free(options);
        return code;
    }
    if (two_processes(options)) {
        raise_fd_limit();
        code = helper_run(configure, context, options, for_ms, run_here);
    } else {
        code = run_here(configure, context, for_ms);
    }
    free(options);
    return code;
}
