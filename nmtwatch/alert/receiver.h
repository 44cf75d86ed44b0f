/*
 * receiver: who alerts are delivered to, by the configuration.
 *
 *   [receiver NAME]                     letters, digits, '.', '_' and '-'; also its folder's name
 *   kind = alertmanager                 or webhook
 *   url = https://alerts.example:9093   Alertmanager: its base, /api/v2/alerts is appended
 *   ca_file = /etc/ssl/ours.pem         instead of the system's
 *   user_file = /etc/nmtwatch/alerts    one line user:password, mode 0600
 *   token_file = /etc/nmtwatch/token    or one line, a bearer token; mode 0600
 *   plain_credentials = no              yes: they go also to an http:// address, readable on the way
 *   timeout = 10s                       of one request, connecting included
 *
 * Plain data, copy freely. Setup context.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECEIVERS_MAX     8
#define RECEIVER_NAME_MAX 32
#define CREDENTIALS_MAX   4096 /* a token of some kilobytes is usual */

/* PYROSCOPE: a store of profiles, to which no alert goes; not of a configuration (push.h). */
enum receiver_kind { RECEIVER_ALERTMANAGER, RECEIVER_WEBHOOK, RECEIVER_PYROSCOPE };

struct receiver_options {
    char name[RECEIVER_NAME_MAX];
    enum receiver_kind kind;
    char url[512];
    char ca_file[256];   /* "": the system's */
    char user_file[256]; /* "": none */
    char token_file[256];
    bool plain_credentials;
    int64_t timeout_ms;
};

/* False with a sentence when the name will not do. The rest is the default: a webhook without URL. */
bool receiver_init(struct receiver_options *receiver, const char *name, char *problem, size_t size);
bool receiver_same(const struct receiver_options *a, const struct receiver_options *b);
/* One key of the section. False with what is wrong (names the key) in problem. */
bool receiver_take(struct receiver_options *receiver, const char *key, const char *text,
                   char *problem, size_t size);
/* False with one sentence when a password would go over the network in the clear and that was not
 * asked for. */
bool receiver_is_private(const struct receiver_options *receiver, char *error, size_t error_size);
/* The line of user_file or token_file; empty: there is neither. False with one sentence: not readable, readable by
 * others, not a line of user:password or of a token, both. */
bool receiver_credentials(const struct receiver_options *receiver, char *line, size_t line_size,
                          char *error, size_t error_size);
