/*
 * delivery: alerts to receivers over HTTP: Alertmanager's API v2 and generic webhooks (libcurl).
 *
 *   delivery_create -> delivery_alert ... -> delivery_step (event loop) -> delivery_destroy
 *
 * An alert that has to go somewhere is first a file in the receiver's folder (alert/queue.h), and
 * continues when the receiver has answered 2xx: what was accepted here survives a restart and kill -9,
 * and comes at least once. A receiver that fails gets it again with backoff, 1 s doubling to 5
 * min, not before its Retry-After. Of one alert the order is kept: a resolution never overtakes.
 * Messages answered with 400, 413, 414, 415 or 422 are dropped and reported; any other
 * failure may be the receiver's state or its configuration, and is tried until it works.
 *
 * Alertmanager forgets what is not repeated: what is up is sent again each resend interval, and
 * ends by itself four intervals after the last time.
 *
 * Alerts are level and edge: delivery_confirm says what is up, delivery_sweep resolves what was
 * not confirmed for DELIVERY_UNSEEN_MS. An edge that got lost (no room in the queue, state of an
 * earlier boot, a receiver that was configured later) is put right by that.
 *
 * The queue is bounded; what finds no room is counted and reported.
 * Never blocks. Event loop, one thread.
 */
#pragma once

#include "analyzers/judge/judge.h"
#include "nmtwatch/alert/receiver.h"

#include <stdbool.h>
#include <stddef.h>

#define DELIVERY_UNSEEN_MS 120000 /* a restarted serve has found its JVMs again long before */

struct delivery_options {
    int receiver_count;
    const struct receiver_options *receivers;
    const char *queue_dir;    /* created 0700; a folder for each receiver in it */
    int64_t queue_max;        /* changes of alerts that wait, for each receiver */
    int64_t resend_ms;        /* of what is up, Alertmanager only */
    const char *runbook_base; /* in front of class-explosion.md, "": FINDING_RUNBOOKS */
    const char *external_url; /* generatorURL; "" : none */
};

struct delivery;

/* Called from inside the others: one sentence for the operator. */
typedef void delivery_say_fn(void *context, const char *sentence);

struct delivery *delivery_create(const struct delivery_options *options, delivery_say_fn *say,
                                 void *context, char *error, size_t error_size);
/* target: the label of the JVM; wall_ms: when it happened, since the epoch. A known change is not taken twice. */
void delivery_alert(struct delivery *delivery, const char *target, const struct alert *alert,
                    int64_t wall_ms, int64_t now_ms);
/* A profile for a store (RECEIVER_PYROSCOPE): query as in message.h, 2 000 bytes at most. False: there is no room for
 * it, which was reported. */
bool delivery_profile(struct delivery *delivery, const char *query, const char *body, size_t length,
                      int64_t now_ms);
/* A target that ended: what it had raised is resolved. */
void delivery_target_ended(struct delivery *delivery, const char *target, int64_t wall_ms,
                           int64_t now_ms);
/* This one is up now, since then: about once a second for each. */
void delivery_confirm(struct delivery *delivery, const char *target, const struct finding *finding,
                      int64_t started_wall_ms, int64_t now_ms);
void delivery_sweep(struct delivery *delivery, int64_t wall_ms, int64_t now_ms);

/* Does what is due; returns the milliseconds until it wants to be called again. */
int64_t delivery_step(struct delivery *delivery, int64_t now_ms);
/* Descriptor to poll for input: an epoll that covers libcurl's sockets. */
int delivery_fd(const struct delivery *delivery);

struct delivery_counts {
    int64_t queued;    /* changes that wait, over all receivers */
    int64_t delivered; /* changes a receiver took */
    int64_t retried;   /* requests that failed and come again */
    int64_t refused;   /* given up and reported */
    int64_t overflow;  /* found no room */
    int64_t damaged;   /* files of the queue that could not be read */
    int64_t unsaved;   /* changes that could not be written: lost by a restart */
    int last_status;   /* of HTTP, that was no success; 0: none came */
    char last_failure[256];
};
void delivery_counts(const struct delivery *delivery, struct delivery_counts *counts);
/* Leaves the queue on disk. */
void delivery_destroy(struct delivery *delivery);
