#include "nmtwatch/alert/delivery.h"

#include "nmtwatch/alert/http_post.h"
#include "nmtwatch/alert/message.h"
#include "nmtwatch/alert/queue.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A lane is one receiver: its queue, and the sending (delivery.h says by which rules). One request
 * at a time keeps the order and does not press on a receiver in trouble; on one connection that is
 * hundreds a second. */

/* What all lanes of a delivery share. */
struct lane_common {
    struct http *http;
    int64_t now_ms, queue_max, resend_ms;
    char runbook_base[512], external_url[512], host[256];
    delivery_say_fn *say;
    void *say_context;
    struct delivery_counts counts;
    struct json_out body;
};

struct lane {
    struct lane_common *common;
    struct receiver_options receiver;
    char credentials[CREDENTIALS_MAX];
    struct queue *queue;
    bool busy;
    uint64_t sending;      /* number of the entry under way; 0: a repetition of what is up */
    uint64_t repeat_after; /* the last number of the repetition that is done */
    int64_t repeat_ms;     /* when the next one begins */
    int failures;          /* in a row */
    int64_t not_before_ms;
};

#define QUERY_MAX          2048
#define BACKOFF_FIRST_MS   1000
#define BACKOFF_MAX_MS     300000
#define RETRY_AFTER_MAX_S  3600 /* a receiver cannot silence us for longer */
#define RESEND_BATCH       64   /* alerts in one repetition, about 100 KB */
#define EXPIRES_IN_RESENDS 4

static struct message_context context_of(const struct lane_common *common)
{
    return (struct message_context){.host = common->host,
                                    .runbook_base = common->runbook_base,
                                    .external_url = common->external_url};
}

static void say(struct lane_common *common, const char *sentence)
{
    common->say(common->say_context, sentence);
}

/* --- a lane: what comes in ---------------------------------------------------------------------------- */

static void lane_add(struct lane *lane, const struct message *message)
{
    struct lane_common *common = lane->common;
    char sentence[256];
    int64_t unsaved = queue_counts(lane->queue).unsaved;
    bool added = queue_add(lane->queue, message, common->now_ms);
    if (queue_counts(lane->queue).unsaved == 1 && unsaved == 0) {
        snprintf(sentence, sizeof sentence,
                 "receiver %s: the queue cannot be written; alerts are sent, but a restart would "
                 "lose those that wait",
                 lane->receiver.name);
        say(common, sentence);
    }
    if (added)
        return;
    if (common->counts.overflow++ == 0) { /* once: it will not be the last one */
        snprintf(sentence, sizeof sentence,
                 "receiver %s: no room for more alerts (%" PRId64 " wait); see "
                 "nmtwatch_delivery_lost_total",
                 lane->receiver.name, queue_counts(lane->queue).waiting);
        say(common, sentence);
    }
}

/* --- a lane: what goes out ---------------------------------------------------------------------------- */

static int64_t backoff_ms(int failures)
{
    int64_t ms = BACKOFF_FIRST_MS;
    for (int i = 1; i < failures && ms < BACKOFF_MAX_MS; i++)
        ms *= 2;
    return ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
}

/* The message itself will not do, whenever it is sent. */
static bool is_refusal(int status)
{
    static const int statuses[] = {400, 413, 414, 415, 422};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (status == statuses[i])
            return true;
    return false;
}

static void remember_failure(struct lane *lane, const char *what)
{
    snprintf(lane->common->counts.last_failure, sizeof lane->common->counts.last_failure,
             "receiver %s: %.200s", lane->receiver.name, what);
}

static void failed(struct lane *lane, const struct http_answer *answer)
{
    struct lane_common *common = lane->common;
    int64_t wait_ms = backoff_ms(++lane->failures);
    int64_t asked_s =
        answer->retry_after_s < RETRY_AFTER_MAX_S ? answer->retry_after_s : RETRY_AFTER_MAX_S;
    if (asked_s * 1000 > wait_ms)
        wait_ms = asked_s * 1000;
    lane->not_before_ms = common->now_ms + wait_ms;
    common->counts.retried++;
    common->counts.last_status = answer->status;
    remember_failure(lane, answer->failure);
    if (lane->failures == 1) /* once for each trouble */
        say(common, common->counts.last_failure);
}

static void refused(struct lane *lane, const struct http_answer *answer)
{
    char sentence[400];
    lane->common->counts.refused++;
    lane->common->counts.last_status = answer->status;
    remember_failure(lane, answer->failure);
    snprintf(sentence, sizeof sentence, "%s; this %s is given up",
             lane->common->counts.last_failure,
             lane->receiver.kind == RECEIVER_PYROSCOPE ? "profile" : "alert");
    say(lane->common, sentence);
}

static void recovered(struct lane *lane)
{
    char sentence[128];
    if (lane->failures > 0) {
        snprintf(sentence, sizeof sentence, "receiver %s: takes %s again", lane->receiver.name,
                 lane->receiver.kind == RECEIVER_PYROSCOPE ? "profiles" : "alerts");
        say(lane->common, sentence);
    }
    lane->failures = 0;
}

static void lane_done(void *context, void *of, const struct http_answer *answer)
{
    struct lane *lane = of;
    struct lane_common *common = lane->common;
    (void)context;
    bool taken = answer->status / 100 == 2, over = taken || is_refusal(answer->status);
    lane->busy = false;
    if (!over) {
        struct queue_entry *entry = queue_numbered(lane->queue, lane->sending);
        if (entry != NULL)
            entry->attempts++;
        lane->repeat_ms = common->now_ms; /* all of it again: it may have been restarted */
        lane->repeat_after = 0;
        failed(lane, answer);
        return;
    }
    recovered(lane);
    if (lane->sending == 0)
        return; /* a repetition that is refused was taken once: the next one may be, too */
    if (!taken)
        refused(lane, answer);
    common->counts.delivered += taken;
    if (queue_counts(lane->queue).up == 0)
        lane->repeat_ms = common->now_ms + common->resend_ms;
    queue_delivered(lane->queue, lane->sending);
}

/* message: NULL: what is in the common body. */
static bool post(struct lane *lane, const struct message *message)
{
    struct lane_common *common = lane->common;
    size_t length;
    char url[sizeof lane->receiver.url + QUERY_MAX];
    bool profile = message != NULL && message->query != NULL;
    const char *body = profile ? message->body : json_out_line(&common->body, &length);
    size_t end = strlen(lane->receiver.url);
    snprintf(url, sizeof url, "%s", lane->receiver.url);
    while (lane->receiver.kind != RECEIVER_WEBHOOK && end > 0 && url[end - 1] == '/')
        end--;
    if (lane->receiver.kind == RECEIVER_ALERTMANAGER)
        snprintf(url + end, sizeof url - end, "/api/v2/alerts");
    if (profile) {
        length = message->body_length;
        snprintf(url + end, sizeof url - end, "/ingest?%s", message->query);
    }
    const struct http_request request = {.url = url,
                                         .ca_file = lane->receiver.ca_file,
                                         .credentials = lane->credentials,
                                         .bearer = lane->receiver.token_file[0] != '\0',
                                         .timeout_ms = lane->receiver.timeout_ms,
                                         .content_type =
                                             profile ? "application/octet-stream" : NULL,
                                         .body = body,
                                         .length = length};
    lane->busy = body != NULL && http_post(common->http, &request, lane);
    if (!lane->busy)
        failed(lane, &(struct http_answer){.failure = "no request could be made"});
    return lane->busy;
}

static int64_t expires_ms(const struct lane_common *common)
{
    return clock_ms(CLOCK_REALTIME) + EXPIRES_IN_RESENDS * common->resend_ms;
}

static bool send_next(struct lane *lane)
{
    struct lane_common *common = lane->common;
    struct message message;
    struct texts texts = {0};
    const struct message_context context = context_of(common);
    struct queue_entry *entry;
    while ((entry = queue_next(lane->queue)) != NULL &&
           !queue_read(lane->queue, entry, &texts, &message)) {
        common->counts.damaged++;
        queue_remove(lane->queue, entry->number);
    }
    if (entry == NULL) {
        texts_free(&texts);
        return false;
    }
    lane->sending = entry->number;
    json_out_reset(&common->body);
    if (message.query != NULL) {
        /* it has its body */
    } else if (lane->receiver.kind == RECEIVER_WEBHOOK) {
        message_webhook(&common->body, &message, &context);
    } else {
        json_out_begin(&common->body, NULL, '[');
        message_alertmanager(&common->body, &message, &context, expires_ms(common));
        json_out_end(&common->body, ']');
    }
    bool sent = post(lane, &message);
    texts_free(&texts);
    return sent;
}

/* What is up, a batch at a time. */
static bool repeat(struct lane *lane)
{
    struct lane_common *common = lane->common;
    const struct message_context context = context_of(common);
    struct texts texts = {0};
    int count = 0;
    if (lane->receiver.kind != RECEIVER_ALERTMANAGER || common->now_ms < lane->repeat_ms)
        return false;
    json_out_reset(&common->body);
    json_out_begin(&common->body, NULL, '[');
    for (int i = 0; i < queue_count(lane->queue) && count < RESEND_BATCH; i++) {
        struct message message;
        const struct queue_entry *entry = queue_at(lane->queue, i);
        if (!entry->up || entry->number <= lane->repeat_after ||
            !queue_read(lane->queue, entry, &texts, &message))
            continue;
        lane->repeat_after = entry->number;
        message_alertmanager(&common->body, &message, &context, expires_ms(common));
        count++;
    }
    texts_free(&texts);
    json_out_end(&common->body, ']');
    if (count < RESEND_BATCH) { /* that was the last batch */
        lane->repeat_after = 0;
        lane->repeat_ms = common->now_ms + common->resend_ms;
    }
    lane->sending = 0;
    return count > 0 && post(lane, NULL);
}

/* A resolution that waits goes before the repetition of what it resolves. */
static bool lane_send(struct lane *lane)
{
    return !lane->busy && lane->common->now_ms >= lane->not_before_ms &&
           (send_next(lane) || repeat(lane));
}

static int64_t lane_wait_ms(const struct lane *lane)
{
    const struct lane_common *common = lane->common;
    struct queue_counts counts = queue_counts(lane->queue);
    int64_t due_ms = INT64_MAX;
    if (lane->busy)
        return INT64_MAX;
    if (counts.waiting > 0)
        due_ms = common->now_ms;
    else if (counts.up > 0 && lane->receiver.kind == RECEIVER_ALERTMANAGER)
        due_ms = lane->repeat_ms;
    if (due_ms == INT64_MAX)
        return INT64_MAX;
    if (due_ms < lane->not_before_ms)
        due_ms = lane->not_before_ms;
    return due_ms > common->now_ms ? due_ms - common->now_ms : 0;
}

/* --- a lane: life ------------------------------------------------------------------------------------- */

static bool lane_open(struct lane *lane, struct lane_common *common,
                      const struct receiver_options *receiver, int queue_fd, char *error,
                      size_t error_size)
{
    memset(lane, 0, sizeof *lane);
    lane->common = common;
    lane->receiver = *receiver;
    if (!receiver_is_private(receiver, error, error_size))
        return false;
    if (!receiver_credentials(receiver, lane->credentials, sizeof lane->credentials, error,
                              error_size))
        return false;
    if (receiver->ca_file[0] != '\0' && access(receiver->ca_file, R_OK) != 0)
        return text_error(error, error_size, "receiver %s: ca_file %s: %s", receiver->name,
                          receiver->ca_file, strerror(errno));
    lane->queue = queue_open(queue_fd, receiver->name, common->queue_max, error, error_size);
    if (lane->queue == NULL)
        return false;
    int64_t damaged = queue_counts(lane->queue).damaged;
    if (damaged > 0) {
        char sentence[160];
        snprintf(sentence, sizeof sentence,
                 "receiver %s: %" PRId64 " files of the queue were damaged and are removed",
                 receiver->name, damaged);
        say(common, sentence);
    }
    return true;
}

static void lane_close(struct lane *lane)
{
    queue_close(lane->queue);
    explicit_bzero(lane->credentials, sizeof lane->credentials);
}

struct delivery {
    struct lane_common common;
    int lane_count;
    struct lane *lanes;
};

/* --- what comes in ---------------------------------------------------------------------------- */

static bool is_up(const struct queue_entry *entry)
{
    return entry != NULL && entry->state == ALERT_RAISED;
}

bool delivery_profile(struct delivery *delivery, const char *query, const char *body, size_t length,
                      int64_t now_ms)
{
    const struct message message = {
        .state = ALERT_CLEARED, .query = query, .body = body, .body_length = length};
    int64_t lost = delivery->common.counts.overflow;
    delivery->common.now_ms = now_ms;
    for (int i = 0; i < delivery->lane_count; i++)
        lane_add(&delivery->lanes[i], &message);
    return delivery->common.counts.overflow == lost;
}

void delivery_alert(struct delivery *delivery, const char *target, const struct alert *alert,
                    int64_t wall_ms, int64_t now_ms)
{
    struct message message = {
        .state = alert->state,
        .started_wall_ms = wall_ms - alert->ms + alert->started_ms,
        .wall_ms = wall_ms,
        .finding = alert->finding,
    };
    snprintf(message.target, sizeof message.target, "%s", target);
    uint64_t identity = message_identity(target, &alert->finding);
    delivery->common.now_ms = now_ms;
    for (int i = 0; i < delivery->lane_count; i++) {
        struct lane *lane = &delivery->lanes[i];
        if (is_up(queue_last(lane->queue, identity)) != (alert->state == ALERT_RAISED))
            lane_add(lane, &message);
    }
}

/* The alert of this entry is over. */
static void resolve(struct lane *lane, struct queue_entry *entry, int64_t wall_ms)
{
    struct message message;
    struct texts texts = {0};
    if (!queue_has_room(lane->queue))
        return; /* stays up, and is found by the next sweep */
    if (!queue_read(lane->queue, entry, &texts, &message)) {
        queue_remove(lane->queue, entry->number); /* its file was removed by another process */
        texts_free(&texts);
        return;
    }
    message.state = ALERT_CLEARED;
    message.wall_ms = wall_ms > message.started_wall_ms ? wall_ms : message.started_wall_ms;
    lane_add(lane, &message);
    texts_free(&texts);
}

void delivery_target_ended(struct delivery *delivery, const char *target, int64_t wall_ms,
                           int64_t now_ms)
{
    delivery->common.now_ms = now_ms;
    for (int l = 0; l < delivery->lane_count; l++) {
        struct lane *lane = &delivery->lanes[l];
        for (int i = queue_count(lane->queue) - 1; i >= 0; i--) {
            struct queue_entry *entry = queue_at(lane->queue, i);
            if (is_up(entry) && strcmp(entry->target, target) == 0 &&
                queue_last(lane->queue, entry->identity) == entry)
                resolve(lane, entry, wall_ms);
        }
    }
}

void delivery_confirm(struct delivery *delivery, const char *target, const struct finding *finding,
                      int64_t started_wall_ms, int64_t now_ms)
{
    uint64_t identity = message_identity(target, finding);
    delivery->common.now_ms = now_ms;
    for (int i = 0; i < delivery->lane_count; i++) {
        struct lane *lane = &delivery->lanes[i];
        struct queue_entry *entry = queue_last(lane->queue, identity);
        if (is_up(entry)) {
            entry->seen_ms = now_ms;
        } else if (queue_has_room(lane->queue)) {
            struct message message = {.state = ALERT_RAISED,
                                      .started_wall_ms = started_wall_ms,
                                      .wall_ms = started_wall_ms,
                                      .finding = *finding};
            snprintf(message.target, sizeof message.target, "%s", target);
            lane_add(lane, &message);
        }
    }
}

void delivery_sweep(struct delivery *delivery, int64_t wall_ms, int64_t now_ms)
{
    delivery->common.now_ms = now_ms;
    for (int l = 0; l < delivery->lane_count; l++) {
        struct lane *lane = &delivery->lanes[l];
        for (int i = queue_count(lane->queue) - 1; i >= 0; i--) {
            struct queue_entry *entry = queue_at(lane->queue, i);
            if (entry->seen_ms < 0)
                entry->seen_ms = now_ms; /* of an earlier process */
            if (is_up(entry) && now_ms - entry->seen_ms >= DELIVERY_UNSEEN_MS &&
                queue_last(lane->queue, entry->identity) == entry)
                resolve(lane, entry, wall_ms);
        }
    }
}

int64_t delivery_step(struct delivery *delivery, int64_t now_ms)
{
    delivery->common.now_ms = now_ms;
    int64_t wait_ms = http_step(delivery->common.http, now_ms);
    bool started = false;
    for (int i = 0; i < delivery->lane_count; i++)
        started |= lane_send(&delivery->lanes[i]);
    if (started) /* libcurl wants to be asked once before it opens a socket */
        wait_ms = http_step(delivery->common.http, now_ms);
    for (int i = 0; i < delivery->lane_count; i++) {
        int64_t lane_ms = lane_wait_ms(&delivery->lanes[i]);
        wait_ms = lane_ms < wait_ms ? lane_ms : wait_ms;
    }
    return wait_ms;
}

int delivery_fd(const struct delivery *delivery)
{
    return http_fd(delivery->common.http);
}

void delivery_counts(const struct delivery *delivery, struct delivery_counts *counts)
{
    *counts = delivery->common.counts;
    for (int i = 0; i < delivery->lane_count; i++) {
        struct queue_counts queue = queue_counts(delivery->lanes[i].queue);
        counts->queued += queue.waiting;
        counts->damaged += queue.damaged;
        counts->unsaved += queue.unsaved;
    }
}

/* --- life ------------------------------------------------------------------------------------- */

struct delivery *delivery_create(const struct delivery_options *options, delivery_say_fn *on_word,
                                 void *context, char *error, size_t error_size)
{
    char why[400];
    struct delivery *delivery = calloc(1, sizeof *delivery);
    if (delivery != NULL)
        delivery->lanes = calloc((size_t)options->receiver_count, sizeof *delivery->lanes);
    if (delivery == NULL || delivery->lanes == NULL) {
        snprintf(error, error_size, "out of memory");
        delivery_destroy(delivery);
        return NULL;
    }
    delivery->common.say = on_word;
    delivery->common.say_context = context;
    delivery->common.queue_max = options->queue_max;
    delivery->common.resend_ms = options->resend_ms;
    snprintf(delivery->common.runbook_base, sizeof delivery->common.runbook_base, "%s",
             options->runbook_base);
    snprintf(delivery->common.external_url, sizeof delivery->common.external_url, "%s",
             options->external_url);
    if (gethostname(delivery->common.host, sizeof delivery->common.host - 1) != 0)
        snprintf(delivery->common.host, sizeof delivery->common.host, "localhost");
    delivery->common.http = http_create(lane_done, delivery, error, error_size);
    bool good = delivery->common.http != NULL;
    int queue_fd = good ? private_folder_open(AT_FDCWD, options->queue_dir, why, sizeof why) : -1;
    if (good && queue_fd < 0)
        good = text_error(error, error_size, "queue: %s", why);
    for (int i = 0; i < options->receiver_count && good; i++) {
        good = lane_open(&delivery->lanes[i], &delivery->common, &options->receivers[i], queue_fd,
                         error, error_size);
        delivery->lane_count += good;
    }
    if (queue_fd >= 0)
        close(queue_fd);
    if (good)
        return delivery;
    delivery_destroy(delivery);
    return NULL;
}

void delivery_destroy(struct delivery *delivery)
{
    if (delivery == NULL)
        return;
    http_destroy(delivery->common.http);
    for (int i = 0; i < delivery->lane_count; i++)
        lane_close(&delivery->lanes[i]);
    json_out_free(&delivery->common.body);
    free(delivery->lanes);
    free(delivery);
}
