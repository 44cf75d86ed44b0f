/*
 * delivery: alerts to receivers over HTTP: Alertmanager's API v2 and generic webhooks (libcurl).
 *
 *   delivery_create -> delivery_alert ... -> delivery_step (event loop) -> delivery_destroy
 *
 * An alert that has to go somewhere is first a file in the queue folder (written, renamed, one file
 * an alert and receiver), and the file goes when the receiver has said 2xx: what was accepted here
 * survives a restart and kill -9. Retries with backoff (1 s doubling to 5 min, the receiver's
 * Retry-After obeyed); order per alert identity is kept: a resolution never overtakes its alert.
 * Alertmanager forgets what is not repeated: a raised alert is sent again each resend interval
 * until it clears. The queue is bounded; what finds no room is counted and told.
 *
 * Never blocks: libcurl's multi interface. Event loop, one thread.
 */
#ifndef NMTWATCH_ALERT_DELIVERY_H
#define NMTWATCH_ALERT_DELIVERY_H

#include "analyzers/judge/judge.h"

#include <stdbool.h>
#include <stddef.h>

enum receiver_kind { RECEIVER_ALERTMANAGER, RECEIVER_WEBHOOK };

struct receiver_options {
    enum receiver_kind kind;
    char url[512];      /* Alertmanager: its base, /api/v2/alerts is appended */
    char ca_file[256];  /* "" : the system's */
    char user_file[256]; /* "user:password" in a file of mode 0600; "" : none */
    int64_t timeout_ms;
};

struct delivery_options {
    int receiver_count;
    const struct receiver_options *receivers;
    const char *queue_dir;     /* created 0700 */
    int64_t queue_max;         /* alerts */
    int64_t resend_ms;         /* of raised alerts, Alertmanager only */
    const char *runbook_base;  /* in front of docs/runbooks/..., "" : as it is */
    const char *external_url;  /* generatorURL; "" : none */
};

struct delivery;

struct delivery *delivery_create(const struct delivery_options *options, char *error,
                                 size_t error_size);
/* target: the label of the JVM; wall_ms: when it happened, since the epoch. */
void delivery_alert(struct delivery *delivery, const char *target, const struct alert *alert,
                    int64_t wall_ms, int64_t now_ms);
/* A target that ended: what it had raised is resolved. */
void delivery_target_ended(struct delivery *delivery, const char *target, int64_t wall_ms,
                           int64_t now_ms);
/* Does what is due; returns the milliseconds until it wants to be called again. */
int64_t delivery_step(struct delivery *delivery, int64_t now_ms);
/* Descriptor to poll for input (an epoll or eventfd that covers libcurl's sockets), -1: none. */
int delivery_fd(const struct delivery *delivery);

struct delivery_counts {
    int64_t queued, delivered, retried, refused, overflow; /* refused: 4xx, given up and told */
    char last_failure[256];
};
void delivery_counts(const struct delivery *delivery, struct delivery_counts *counts);
/* Leaves the queue on disk. */
void delivery_destroy(struct delivery *delivery);

#endif
