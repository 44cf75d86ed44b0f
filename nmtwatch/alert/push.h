/* push: a profile to a store that takes what Pyroscope's /ingest does, by the delivery of alerts (delivery.h):
 * queued as a file, sent again after failures, kept for the next push where a folder was given.
 *
 *   nmtwatch observe PID cpu --push https://pyroscope.example [--push-user-file FILE] [--push-token-file FILE]
 *                            [--push-ca-file FILE] [--push-name NAME] [--push-queue DIR]
 *
 * POST URL/ingest?name=NAME{label=value,...}&from=S&until=S&format=pprof|jfr&spyName=nmtwatch, the profile as the
 * body. A failure is tried again for PUSH_FOR_MS; a status of 4xx that no waiting mends ends it at once. An
 * undelivered profile stays in the folder and is sent with the next push; without one it is lost, and a message
 * says so.
 *
 * Setup context; blocks until then. A request to end (signals.h) ends it. */
#pragma once

#include "nmtwatch/jvm/target.h"

#include <stddef.h>
#include <stdint.h>

#define PUSH_FOR_MS 30000

struct push_options {
    const char *url; /* NULL: nothing is pushed */
    const char *user_file, *token_file, *ca_file, *name,
        *queue; /* NULL: none; of name: the main class */
};

struct push_profile {
    const char *format;            /* "pprof" "jfr" */
    const char *what;              /* "cpu" */
    int64_t start_ms, duration_ms; /* start: since the epoch */
    int64_t rate_hz;               /* of samples of CPU time; 0: none */
    const char *bytes;
    size_t length;
};

/* Before anything is recorded for it: options, files and libcurl. 0, or the exit code with one sentence. */
int push_possible(const struct push_options *options, char *error, size_t error_size);
/* Several profiles, delivered together in that time. options as push_possible took it. NULL after one line on
 * stderr. */
struct push *push_begin(const struct push_options *options, const char *verb);
void push_add(struct push *push, const struct target *target, const struct push_profile *profile);
/* Frees it. 0, or the exit code after one line. */
int push_end(struct push *push);
/* One. 0, or the exit code after one line on stderr that begins with "nmtwatch VERB: ". */
int push(const struct push_options *options, const struct target *target,
         const struct push_profile *profile, const char *verb);

/* Rows of options; `options` of type struct push_options *. */
#define PUSH_OPTION_ROWS(options)                                                                  \
    {0,                                                                                            \
     "push",                                                                                       \
     "URL",                                                                                        \
     option_take_text,                                                                             \
     &(options)->url,                                                                              \
     "deliver the profile to a Pyroscope-compatible store, to URL/ingest"},                        \
        {0,                                                                                        \
         "push-name",                                                                              \
         "NAME",                                                                                   \
         option_take_text,                                                                         \
         &(options)->name,                                                                         \
         "its application there (the main class)"},                                                \
        {0,                                                                                        \
         "push-user-file",                                                                         \
         "FILE",                                                                                   \
         option_take_text,                                                                         \
         &(options)->user_file,                                                                    \
         "a line user:password or user:token for it, mode 0600"},                                  \
        {0,                                                                                        \
         "push-token-file",                                                                        \
         "FILE",                                                                                   \
         option_take_text,                                                                         \
         &(options)->token_file,                                                                   \
         "or a line with a bearer token for it, mode 0600"},                                       \
        {0,                                                                                        \
         "push-ca-file",                                                                           \
         "FILE",                                                                                   \
         option_take_text,                                                                         \
         &(options)->ca_file,                                                                      \
         "certificates to trust in place of the system's"},                                        \
    {                                                                                              \
        0, "push-queue", "DIR", option_take_text, &(options)->queue,                               \
            "where what could not be delivered waits for the next push"                            \
    }
