/* watch_options: the settings of a watch. A setting is a row of watch_options.def; the command
 * line, the configuration file, help and man pages come from that row.
 *
 * Setup context. */
#pragma once

#include "analyzers/judge/finding.h"
#include "nmtwatch/jvm/attach.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a row of watch_options.def or serve_options.def says to people: an option of the command
 * line, a key of the configuration, a line of help and of the man page. */
#define SETTING_HELP_MAX 200

struct setting {
    const char *key;     /* "nmt_interval" in a file, --nmt-interval on the command line */
    const char *value;   /* what help calls the value, "TIME"; NULL: a flag */
    const char *initial; /* "": nothing */
    const char *help;
};

struct watch_options {
    int64_t interval_ms, nmt_interval_ms, loaders_interval_ms;
    int64_t histogram_interval_ms; /* 0: never */
    int64_t methods_interval_ms;   /* 0: never */
    int64_t pause_budget_us, pause_window_ms;
    int64_t warmup_s; /* < 0: automatic; whole seconds, rounded up: what was asked for is never 0 */
    int64_t timeout_ms; /* of one exchange with the JVM */
    bool load_log, allow_full_gc;
    bool observe;           /* class definitions from outside, above the trigger rate */
    bool ask_under_seccomp; /* questions that the JVM's system call filter may kill it for */
    bool ignore_pressure; /* of the CPUs: questions that stop the JVM neither wait nor cost more */
    struct reply_budget *replies; /* shared by all watchers; NULL: none */
    struct thresholds thresholds;
};
void watch_options_default(struct watch_options *options);
void watch_options_default_soak(struct watch_options *options);

enum watch_option {
#define WATCH_OPTION(key, kind, field, value, initial, soak, help) WATCH_OPTION_##field,
#include "nmtwatch/watch/watch_options.def"
#undef WATCH_OPTION
    WATCH_OPTION_COUNT
};

/* soak: with the initial values of a soak, which is short and takes more readings. */
const struct setting *watch_option_settings(bool soak);

/* A value as text; of a flag "yes" or "no". False with what was expected instead; options are
 * untouched then. */
bool watch_option_take(struct watch_options *options, enum watch_option option, const char *text,
                       char *expected, size_t size);
/* Whether it is a key of [watch]. */
bool watch_options_has_key(const char *key);
/* One key of [watch]. False with what is wrong (names the key) in problem. */
bool watch_options_take_key(struct watch_options *options, const char *key, const char *text,
                            char *problem, size_t size);
