#include "nmtwatch/alert/push.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/alert/delivery.h"
#include "nmtwatch/alert/http_post.h"
#include "nmtwatch/alert/queue.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/messages.h"
#include "nmtwatch/process/signals.h"
#include "reports/text/escape.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME           "store"
#define QUEUE_MAX      100
#define TIMEOUT_MS     30000
#define NAME_MAX_BYTES 200

static bool receiver_of(const struct push_options *options, struct receiver_options *receiver,
                        char *error, size_t error_size)
{
    char problem[300];
    if (!receiver_init(receiver, NAME, error, error_size))
        return false;
    bool good =
        receiver_take(receiver, "url", options->url, problem, sizeof problem) &&
        (options->user_file == NULL ||
         receiver_take(receiver, "user_file", options->user_file, problem, sizeof problem)) &&
        (options->token_file == NULL ||
         receiver_take(receiver, "token_file", options->token_file, problem, sizeof problem)) &&
        (options->ca_file == NULL ||
         receiver_take(receiver, "ca_file", options->ca_file, problem, sizeof problem));
    receiver->kind = RECEIVER_PYROSCOPE;
    size_t end = strlen(receiver->url); /* which the delivery appends */
    if (end > 7 && strcmp(receiver->url + end - 7, "/ingest") == 0)
        receiver->url[end - 7] = '\0';
    receiver->timeout_ms = TIMEOUT_MS;
    if (!good)
        snprintf(error, error_size, "--push: %s", problem);
    return good;
}

static void no_answer(void *context, void *of, const struct http_answer *answer)
{
    (void)context;
    (void)of;
    (void)answer;
}

static bool queue_possible(const struct push_options *options, char *error, size_t error_size)
{
    if (options->queue == NULL)
        return true;
    int fd = private_folder_open(AT_FDCWD, options->queue, error, error_size);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int push_possible(const struct push_options *options, char *error, size_t error_size)
{
    struct receiver_options receiver;
    char line[CREDENTIALS_MAX] = "";
    if (options->url == NULL) {
        if (options->name == NULL && options->user_file == NULL && options->token_file == NULL &&
            options->ca_file == NULL && options->queue == NULL)
            return 0;
        snprintf(error, error_size,
                 "--push-name, -user-file, -token-file, -ca-file and -queue need --push");
        return EXIT_USAGE;
    }
    bool good = receiver_of(options, &receiver, error, error_size) &&
                receiver_is_private(&receiver, error, error_size) &&
                receiver_credentials(&receiver, line, sizeof line, error, error_size);
    explicit_bzero(line, sizeof line);
    if (!good)
        return EXIT_USAGE;
    struct http *http = http_create(no_answer, NULL, error, error_size);
    http_destroy(http);
    return http != NULL && queue_possible(options, error, error_size) ? 0 : EXIT_IO;
}

/* --- its name --------------------------------------------------------------------------------- */

/* In the braces of a name these have a meaning. */
static void put_encoded(FILE *out, const char *text, bool is_value)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        bool plain = isalnum(*at) || strchr("-._~", *at) != NULL;
        if (is_value && strchr("{},=\"", *at) != NULL)
            putc('_', out);
        else if (plain)
            putc(*at, out);
        else
            fprintf(out, "%%%02X", *at);
    }
}

/* "com.acme.Shop" of "com.acme.Shop --port 8080", "shop.jar" of "/opt/shop.jar". */
static void application(const struct push_options *options, const struct target *target,
                        char name[NAME_MAX_BYTES])
{
    char clean[EVENT_NAME_MAX];
    const char *from = options->name != NULL ? options->name : target->identity.main;
    escape(ESCAPE_UTF8, from, clean, sizeof clean);
    if (options->name == NULL) {
        clean[strcspn(clean, " ")] = '\0';
        const char *slash = strrchr(clean, '/');
        memmove(clean, slash != NULL ? slash + 1 : clean,
                strlen(slash != NULL ? slash + 1 : clean) + 1);
    }
    snprintf(name, NAME_MAX_BYTES, "%s", clean[0] != '\0' ? clean : "java");
}

/* NULL: out of memory. */
static char *query_of(const struct push_options *options, const struct target *target,
                      const struct push_profile *profile)
{
    char *text = NULL, host[256] = "localhost", name[NAME_MAX_BYTES];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    gethostname(host, sizeof host - 1);
    application(options, target, name);
    fputs("name=", out);
    put_encoded(out, name, true);
    put_encoded(out, "{host=", false);
    put_encoded(out, host, true);
    put_encoded(out, ",jdk=", false);
    fprintf(out, "%d", target->identity.jdk_major);
    put_encoded(out, ",observed=", false);
    put_encoded(out, profile->what, true);
    put_encoded(out, ",pid=", false);
    fprintf(out, "%d", (int)target->pid);
    put_encoded(out, "}", false);
    fprintf(out, "&from=%" PRId64 "&until=%" PRId64 "&format=%s&spyName=nmtwatch",
            profile->start_ms / 1000, (profile->start_ms + profile->duration_ms + 999) / 1000,
            profile->format);
    if (profile->rate_hz > 0)
        fprintf(out, "&sampleRate=%" PRId64, profile->rate_hz);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* --- sending ---------------------------------------------------------------------------------- */

static void ignore_word(void *context, const char *sentence)
{
    (void)context; /* the last failure is reported at the end */
    (void)sentence;
}

/* A 4xx that comes again however long one waits. */
static bool is_final(int status)
{
    return status / 100 == 4 && status != 408 && status != 429;
}

static void send_all(struct delivery *delivery, struct delivery_counts *counts)
{
    int64_t end_ms = clock_ms(CLOCK_MONOTONIC) + PUSH_FOR_MS, now_ms;
    do {
        now_ms = clock_ms(CLOCK_MONOTONIC);
        int64_t wait_ms = delivery_step(delivery, now_ms);
        delivery_counts(delivery, counts);
        struct pollfd wait[] = {{.fd = delivery_fd(delivery), .events = POLLIN},
                                {.fd = signals_fd(), .events = POLLIN}};
        if (counts->queued == 0 || is_final(counts->last_status))
            return;
        if (wait_ms > end_ms - now_ms)
            wait_ms = end_ms - now_ms;
        poll(wait, 2, wait_ms > 0 ? (int)wait_ms : 0);
        if (wait[1].revents != 0)
            signals_seen();
    } while (now_ms < end_ms && signals_asked() == 0);
}

/* One push at a time in a folder: its files have numbers. */
static int lock_folder(const char *folder, char *error, size_t error_size)
{
    int fd = private_folder_open(AT_FDCWD, folder, error, error_size);
    int64_t end_ms = clock_ms(CLOCK_MONOTONIC) + PUSH_FOR_MS;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK || clock_ms(CLOCK_MONOTONIC) >= end_ms || signals_asked() > 0) {
            snprintf(error, error_size, "%.300s: %s", folder, strerror(errno));
            close(fd);
            return -1;
        }
        poll(NULL, 0, 100);
    }
    return fd;
}

struct push {
    const struct push_options *options;
    const char *verb, *folder;
    char own[32]; /* the folder, when none was given */
    int lock, left_out;
    struct delivery *delivery;
};

static void remove_folder(const char *folder)
{
    char path[4200];
    struct dirent *entry;
    snprintf(path, sizeof path, "%s/" NAME, folder);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries != NULL)
        closedir(entries);
    else if (fd >= 0)
        close(fd);
    rmdir(path);
    rmdir(folder);
}

static void push_free(struct push *push)
{
    delivery_destroy(push->delivery);
    if (push->lock >= 0)
        close(push->lock);
    if (push->folder != NULL && push->folder == push->own)
        remove_folder(push->folder);
    free(push);
}

/* False with a sentence. */
static bool open_delivery(struct push *push, char *error, size_t error_size)
{
    struct receiver_options receiver;
    char why[400] = "out of memory";
    if (!receiver_of(push->options, &receiver, error, error_size))
        return false;
    push->folder = push->options->queue != NULL ? push->options->queue : mkdtemp(push->own);
    if (push->folder == NULL)
        return text_error(error, error_size, "--push: %s: %s", push->own, strerror(errno));
    push->lock = lock_folder(push->folder, why, sizeof why);
    if (push->lock < 0)
        return text_error(error, error_size, "--push: %s", why);
    const struct delivery_options options = {.receiver_count = 1,
                                             .receivers = &receiver,
                                             .queue_dir = push->folder,
                                             .queue_max = QUEUE_MAX,
                                             .resend_ms = INT64_MAX / 2,
                                             .runbook_base = "",
                                             .external_url = ""};
    push->delivery = delivery_create(&options, ignore_word, NULL, why, sizeof why);
    if (push->delivery == NULL)
        snprintf(error, error_size, "--push: %s", why);
    return push->delivery != NULL;
}

struct push *push_begin(const struct push_options *options, const char *verb)
{
    struct push *push = malloc(sizeof *push);
    char error[800] = "--push: out of memory";
    if (push != NULL)
        *push = (struct push){
            .options = options, .verb = verb, .own = "/tmp/nmtwatch-push-XXXXXX", .lock = -1};
    if (push != NULL && open_delivery(push, error, sizeof error))
        return push;
    print_error("nmtwatch %s: %s\n", verb, error);
    if (push != NULL)
        push_free(push);
    return NULL;
}

void push_add(struct push *push, const struct target *target, const struct push_profile *profile)
{
    char *query = query_of(push->options, target, profile);
    if (query == NULL || !delivery_profile(push->delivery, query, profile->bytes, profile->length,
                                           clock_ms(CLOCK_MONOTONIC)))
        push->left_out++;
    free(query);
}

int push_end(struct push *push)
{
    char shown[800] = "";
    bool kept = push->folder != push->own;
    struct delivery_counts counts = {0};
    send_all(push->delivery, &counts);
    if (counts.queued > 0 || counts.refused > 0)
        snprintf(shown, sizeof shown, "%.255s%s%.300s",
                 counts.last_failure[0] != '\0' ? counts.last_failure
                                                : "receiver " NAME ": no answer",
                 counts.queued == 0 ? "; the profile is given up"
                 : kept             ? "; the profile waits in "
                                    : "; the profile is lost (--push-queue DIR keeps it)",
                 counts.queued > 0 && kept ? push->folder : "");
    else if (push->left_out > 0)
        snprintf(shown, sizeof shown,
                 "no room for %d: more than %d wait in %.300s, or larger than %d MB",
                 push->left_out, QUEUE_MAX, push->folder, QUEUE_BODY_MAX >> 20);
    if (shown[0] != '\0')
        print_error("nmtwatch %s: --push: %s\n", push->verb, shown);
    push_free(push);
    return shown[0] != '\0' ? EXIT_IO : 0;
}

int push(const struct push_options *options, const struct target *target,
         const struct push_profile *profile, const char *verb)
{
    if (options->url == NULL)
        return 0;
    struct push *push = push_begin(options, verb);
    if (push == NULL)
        return EXIT_IO;
    push_add(push, target, profile);
    return push_end(push);
}
