#include "nmtwatch/alert/delivery.h"

#include "nmtwatch/alert/lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
        queue_remove(lane->queue, entry->number); /* somebody has taken its file away */
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
    if (good && mkdir(options->queue_dir, 0700) != 0 && errno != EEXIST) {
        snprintf(error, error_size, "queue: %s: %s", options->queue_dir, strerror(errno));
        good = false;
    }
    for (int i = 0; i < options->receiver_count && good; i++) {
        good = lane_open(&delivery->lanes[i], &delivery->common, &options->receivers[i],
                         options->queue_dir, error, error_size);
        delivery->lane_count += good;
    }
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
