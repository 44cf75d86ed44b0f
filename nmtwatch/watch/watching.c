#include "nmtwatch/watch/watching.h"

#include "nmtwatch/jvm/privileged.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/record/recording.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- identify --------------------------------------------------------------------------------- */

#define YOUNG_MS   3000
#define WAIT_MS    1000
#define WAIT_STEPS 20
#define ASK_MS     1000 /* VM.version takes 1 ms */

/* "OpenJDK 64-Bit Server VM version 17.0.15+6\nJDK 17.0.15.0": the second line has the version, on
 * JDK 8 "JDK 8.0_504". */
static void read_version(struct target *target, struct span reply)
{
    ptrdiff_t at = span_find(reply, SPAN_LITERAL("\nJDK "));
    if (at < 0)
        return;
    struct span version = span_of(reply.ptr + at + 5, reply.len - (size_t)at - 5);
    struct span line;
    if (!span_take_line(&version, &line))
        return;
    span_copy(span_trim(line), target->identity.jdk, sizeof target->identity.jdk);
    int64_t major;
    if (span_take_i64(&line, &major) && major > 0 && major < 1000)
        target->identity.jdk_major = (int)major;
}

void identify_target(struct target *target, int timeout_ms)
{
    target_refresh_identity(target);
    for (int i = 0; i < WAIT_STEPS && target->identity.jdk_major == 0 &&
                    target->identity.uptime_ms < YOUNG_MS && target_still_same(target);
         i++) {
        poll(NULL, 0, WAIT_MS / WAIT_STEPS);
        target_refresh_identity(target);
    }
    if (target->identity.jdk_major != 0)
        return;
    /* Others wait meanwhile: not for long, and not for one that cannot answer. */
    if (target_state_now(target).stopped)
        return;
    struct attach_limits limits = {
        .timeout_ms = timeout_ms < ASK_MS ? timeout_ms : ASK_MS,
        .reply_max_bytes = 65536,
    };
    struct attach *attach = attach_create(target, &limits);
    if (attach == NULL)
        return;
    struct span reply;
    struct failure failure;
    if (attach_run(attach, "VM.version", &reply, &failure) == FAILURE_NONE)
        read_version(target, reply);
    attach_destroy(attach);
}

#define STOP_TURN_MS 100

/* --- cost ------------------------------------------------------------------------------------- */

static struct watch_command_cost *cost_of(struct watch_cost *cost, const char *command)
{
    int at = 0;
    while (at < cost->command_count && strcmp(cost->commands[at].command, command) != 0)
        at++;
    if (at == WATCH_COST_COMMANDS_MAX)
        return NULL;
    if (at == cost->command_count) {
        cost->command_count++;
        snprintf(cost->commands[at].command, sizeof cost->commands[at].command, "%s", command);
    }
    return &cost->commands[at];
}

/* Counts the commands that stopped a JVM, or would have: of these not each is an event. */
static void cost_event(struct watch_cost *cost, const struct watcher *watcher,
                       const struct event *event)
{
    struct watcher_counts counts = watcher_counts(watcher);
    struct watch_command_cost *command =
        event->kind == EVENT_COST ? cost_of(cost, event->cost.command) : NULL;
    if (command != NULL && event->cost.measured_us >= 0) {
        command->runs++;
        command->measured_us += event->cost.measured_us;
    }
    for (int i = 0; i < EXPENSIVE_COMMAND_COUNT; i++) {
        int64_t skipped = 0;
        for (int why = 0; why < LEFT_OUT_COUNT; why++)
            skipped += counts.left_out[i][why];
        command =
            skipped > 0 ? cost_of(cost, expensive_command_text((enum expensive_command)i)) : NULL;
        if (command != NULL)
            command->skipped = skipped;
    }
}

static void cost_add(struct watch_cost *cost, const struct watched *jvm)
{
    struct watcher_counts counts = watcher_counts(jvm->watcher);
    cost->polls += counts.polls;
    cost->pause_us += counts.pause_us;
    cost->cpu_ms += counts.observed_cpu_us / 1000;
    for (int i = 0; i < jvm->cost.command_count; i++) {
        const struct watch_command_cost *part = &jvm->cost.commands[i];
        struct watch_command_cost *sum = cost_of(cost, part->command);
        if (sum == NULL)
            continue;
        sum->runs += part->runs;
        sum->skipped += part->skipped;
        sum->measured_us += part->measured_us;
    }
}

int64_t watch_cost_cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec + privileged_counts().cpu_us;
}

int64_t watch_cost_rss_bytes(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm == NULL)
        return 0;
    if (fscanf(statm, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(statm);
    return (int64_t)pages * sysconf(_SC_PAGESIZE) + privileged_counts().own_bytes;
}

static struct watch_cost cost_of_process(void)
{
    return (struct watch_cost){.cpu_ms = watch_cost_cpu_us() / 1000,
                               .rss_bytes = watch_cost_rss_bytes()};
}

struct watch_cost watching_cost(const struct watching *watching)
{
    struct watch_cost cost = cost_of_process();
    for (int i = 0; i < watching->count; i++)
        cost_add(&cost, watching->jvms[i]);
    return cost;
}

/* --- recordings ------------------------------------------------------------------------------- */

static void check_recorder(struct watched *jvm)
{
    const struct watching_sink *sink = &jvm->watching->sink;
    if (jvm->record_failed || recorder_error(jvm->recorder) == NULL)
        return;
    jvm->record_failed = true;
    if (sink->record_failed != NULL)
        sink->record_failed(sink->context, jvm, recorder_error(jvm->recorder));
}

bool watched_record(struct watched *jvm, const char *path, bool force, char *error,
                    size_t error_size)
{
    const struct watch_options *options = jvm->watching->options;
    struct recording_header header = {.wall_start_ms = clock_ms(CLOCK_REALTIME) - watched_ms(jvm),
                                      .warmup_s = options->warmup_s,
                                      .target = watcher_target(jvm->watcher)->identity,
                                      .thresholds = options->thresholds};
    jvm->recorder = recorder_create(path, force, &header, error, error_size);
    return jvm->recorder != NULL;
}

void watched_end_recording(struct watched *jvm)
{
    if (jvm->recorder == NULL)
        return;
    struct watch_cost cost = cost_of_process();
    cost_add(&cost, jvm);
    recorder_end(jvm->recorder, watched_ms(jvm), &cost);
    check_recorder(jvm);
    recorder_destroy(jvm->recorder);
    jvm->recorder = NULL;
}

/* --- JVMs ------------------------------------------------------------------------------------- */

/* Everything that is learned of any JVM passes here, judged: counted, recorded, handed on. */
static void on_event(void *context, struct watcher *watcher, const struct event *event,
                     const struct alerts *alerts)
{
    struct watched *jvm = context;
    const struct watching_sink *sink = &jvm->watching->sink;
    (void)watcher;
    cost_event(&jvm->cost, watcher, event);
    if (jvm->recorder != NULL) {
        recorder_event(jvm->recorder, event);
        for (int i = 0; i < alerts->count; i++)
            recorder_alert(jvm->recorder, &alerts->alert[i]);
        check_recorder(jvm);
    }
    sink->event(sink->context, jvm, event, alerts);
}

void watching_open(struct watching *watching, const struct watch_options *options,
                   const struct watching_sink *sink)
{
    *watching =
        (struct watching){.options = options, .sink = *sink, .now_ms = clock_ms(CLOCK_BOOTTIME)};
}

static bool make_room(struct watching *watching)
{
    size_t wanted = (size_t)watching->count + 1, fds = wanted + WATCHING_OTHERS_MAX + 1;
    return array_room(&watching->jvms, &watching->capacity, wanted, sizeof(void *)) &&
           array_room(&watching->fds, &watching->fd_capacity, fds, sizeof *watching->fds) &&
           array_room(&watching->fd_owner, &watching->owner_capacity, fds, sizeof(void *));
}

struct watched *watching_add(struct watching *watching, const struct target *target,
                             int64_t origin_ms, int64_t first_poll_ms, void *owner)
{
    struct watched *jvm = make_room(watching) ? calloc(1, sizeof *jvm) : NULL;
    const struct watch_sink sink = {on_event, jvm};
    struct target taken = *target;
    if (jvm == NULL) {
        target_close(&taken);
        errno = ENOMEM;
        return NULL;
    }
    jvm->watching = watching;
    jvm->origin_ms = origin_ms;
    jvm->due_ms = watching->now_ms + first_poll_ms;
    jvm->fd = -1;
    jvm->owner = owner;
    jvm->watcher = watcher_create(target, watching->options, &sink, jvm->due_ms - origin_ms);
    if (jvm->watcher == NULL) {
        int saved = errno;
        free(jvm);
        errno = saved;
        return NULL;
    }
    watching->jvms[watching->count++] = jvm;
    return jvm;
}

bool watching_knows(const struct watching *watching, const struct target *target)
{
    for (int i = 0; i < watching->count; i++) {
        const struct target *known = watcher_target(watching->jvms[i]->watcher);
        if (known->pid == target->pid && known->start_time_ticks == target->start_time_ticks)
            return true;
    }
    return false;
}

void watching_remove(struct watched *jvm)
{
    struct watching *watching = jvm->watching;
    int at = 0;
    while (watching->jvms[at] != jvm)
        at++;
    watched_end_recording(jvm);
    watcher_destroy(jvm->watcher);
    free(jvm);
    memmove(&watching->jvms[at], &watching->jvms[at + 1],
            (size_t)(--watching->count - at) * sizeof *watching->jvms);
}

/* --- turns ------------------------------------------------------------------------------------ */

/* The state that each turn needs of all JVMs is in `watched`: a watcher is not touched unless it
 * is due. */
static void settle(struct watched *jvm, int64_t ms)
{
    jvm->ended = watcher_ended(jvm->watcher);
    jvm->fd = jvm->ended ? -1 : watcher_fd(jvm->watcher, &jvm->fd_events);
    jvm->due_ms =
        jvm->ended ? INT64_MAX : jvm->watching->now_ms + watcher_wait_ms(jvm->watcher, ms);
}

static void step(struct watched *jvm)
{
    int64_t ms = watched_ms(jvm);
    watcher_step(jvm->watcher, ms);
    settle(jvm, ms);
}

/* Those who owe an answer, behind the `count` descriptors that are there. */
static int gather(const struct watching *watching, struct pollfd *fds, int count)
{
    for (int i = 0; i < watching->count; i++) {
        struct watched *jvm = watching->jvms[i];
        if (jvm->fd < 0)
            continue;
        fds[count] = (struct pollfd){.fd = jvm->fd, .events = jvm->fd_events};
        watching->fd_owner[count++] = jvm;
    }
    return count;
}

void watching_turn(struct watching *watching, int64_t at_most_ms, struct pollfd *others,
                   int other_count)
{
    struct pollfd few[WATCHING_OTHERS_MAX + 1], *fds = watching->fds;
    if (fds == NULL)
        fds = few; /* no JVM yet */
    watching->now_ms = clock_ms(CLOCK_BOOTTIME);
    int64_t wait_ms = at_most_ms;
    for (int i = 0; i < watching->count; i++) {
        int64_t needs_ms = watching->jvms[i]->due_ms - watching->now_ms;
        wait_ms = needs_ms < wait_ms ? needs_ms : wait_ms;
    }
    fds[0] = (struct pollfd){.fd = signals_fd(), .events = POLLIN};
    for (int i = 0; i < other_count; i++)
        fds[i + 1] = others[i];
    int count = gather(watching, fds, other_count + 1);
    poll(fds, (nfds_t)count, wait_ms > 0 ? (int)wait_ms : 0);
    if (fds[0].revents != 0)
        signals_seen();
    for (int i = 0; i < other_count; i++)
        others[i] = fds[i + 1];
    watching->now_ms = clock_ms(CLOCK_BOOTTIME);
    for (int i = 0, fd = other_count + 1; i < watching->count; i++) {
        struct watched *jvm = watching->jvms[i];
        bool ready = false;
        if (fd < count && watching->fd_owner[fd] == jvm)
            ready = fds[fd++].revents != 0;
        if (ready || jvm->due_ms <= watching->now_ms)
            step(jvm);
    }
}

bool watching_all_ended(const struct watching *watching)
{
    for (int i = 0; i < watching->count; i++)
        if (!watcher_ended(watching->jvms[i]->watcher))
            return false;
    return true;
}

void watched_stop(struct watched *jvm)
{
    watcher_stop(jvm->watcher, watched_ms(jvm));
    settle(jvm, watched_ms(jvm));
    jvm->due_ms = jvm->watching->now_ms;
}

void watching_stop(struct watching *watching)
{
    const struct watching_sink *sink = &watching->sink;
    int64_t until_ms = watching->now_ms + WATCH_STOP_MS;
    for (int i = 0; i < watching->count; i++)
        watched_stop(watching->jvms[i]);
    while ((!watching_all_ended(watching) || (sink->busy != NULL && sink->busy(sink->context))) &&
           watching->now_ms < until_ms)
        watching_turn(watching, STOP_TURN_MS, NULL, 0);
}

void watching_close(struct watching *watching)
{
    while (watching->count > 0)
        watching_remove(watching->jvms[watching->count - 1]);
    free(watching->jvms);
    free(watching->fds);
    free(watching->fd_owner);
}
