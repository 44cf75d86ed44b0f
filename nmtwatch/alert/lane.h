/*
 * lane: one receiver of `delivery`: its queue, and the sending (delivery.h says by which rules).
 *
 *   lane_open -> (queue_add by delivery) lane_send ... -> lane_close
 *
 * One request at a time keeps the order and does not press on a receiver in trouble; on one
 * connection that is hundreds a second. Event loop, one thread.
 */
#ifndef NMTWATCH_ALERT_LANE_H
#define NMTWATCH_ALERT_LANE_H

#include "nmtwatch/alert/delivery.h"
#include "nmtwatch/alert/http_post.h"
#include "nmtwatch/alert/queue.h"

/* What all lanes of a delivery share. */
struct lane_common {
    struct http *http;
    int64_t now_ms;
    int64_t queue_max, resend_ms;
    char runbook_base[512], external_url[512], host[256];
    delivery_say_fn *say;
    void *say_context;
    struct delivery_counts counts;
    struct json_out body;
};

struct lane {
    struct lane_common *common;
    struct receiver_options receiver;
    char credentials[256];
    struct queue *queue;
    bool busy;
    uint64_t sending;      /* number of the entry under way; 0: a repetition of what is up */
    uint64_t repeat_after; /* the last number of the repetition that is done */
    int64_t repeat_ms;     /* when the next one begins */
    int failures;          /* in a row */
    int64_t not_before_ms;
};

/* False with one sentence in error; the lane needs no closing then. */
bool lane_open(struct lane *lane, struct lane_common *common,
               const struct receiver_options *receiver, const char *queue_dir, char *error,
               size_t error_size);
void lane_add(struct lane *lane, const struct message *message);
/* Begins a request if one is due. True: it has begun. */
bool lane_send(struct lane *lane);
/* Milliseconds until the next may be due; INT64_MAX: not before something happens. */
int64_t lane_wait_ms(const struct lane *lane);
/* For http_create: `of` is the lane. */
void lane_done(void *context, void *of, const struct http_answer *answer);
void lane_close(struct lane *lane);

#endif
