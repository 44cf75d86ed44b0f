/* serve_options: the settings of `nmtwatch serve`, by the sections [serve], [receiver NAME] and
 * [observe NAME] of a configuration and by its options. The keys are rows of serve_options.def; docs/serve.md describes
 * them.
 *
 * Setup context, and again at a reload. */
#pragma once

#include "nmtwatch/alert/delivery.h"
#include "nmtwatch/serve/target_rules.h"
#include "nmtwatch/watch/watch_options.h"
#include "nmtwatch/watch/watcher.h"

#define SERVE_PATH_MAX 256
#define SERVE_USER     "nmtwatch" /* whom user = auto means, where there is one */

/* [observe NAME]: a JVM is observed from outside (nmtwatch/observe) now and then, or on a finding. */
#define OBSERVE_SECTIONS_MAX 16
#define OBSERVE_OUTSIDE      "memory-outside-nmt" /* the finding of `on` that serve itself looks for */

struct observe_section {
    char name[32];
    char what[16]; /* observe_mode_by_name */
    char on[256];  /* ids of findings, by commas or spaces */
    char match[512];
    int64_t for_ms, every_ms, cooldown_ms; /* every: 0: only on a finding */
    int64_t at_once, growth_bytes;
};

struct serve_options {
    char listen[128]; /* "127.0.0.1:9779", "[::1]:9779" */
    int64_t discover_ms, min_age_ms, discover_per_user_ms;
    int64_t max_targets, max_targets_per_user;
    int64_t reply_memory_bytes, reply_memory_per_user_bytes;
    struct target_rules rules;

    char recordings[SERVE_PATH_MAX]; /* folder; "": none are written */
    int64_t rotate_bytes, rotate_ms; /* a new file after so much */
    int64_t keep_bytes, keep_ms;     /* of the folder, all targets together */

    char observations[SERVE_PATH_MAX]; /* folder; "": nothing is observed */
    int64_t observations_bytes, observations_files;
    int64_t observations_cpu_mpercent; /* thousandths of a percent of a core */
    int section_count;
    struct observe_section sections[OBSERVE_SECTIONS_MAX];

    char state[SERVE_PATH_MAX]; /* folder of what a restart has to know; "": it starts anew */

    char user[64]; /* whom the service runs as, beside a root helper; "": one process */

    char user_file[SERVE_PATH_MAX]; /* lines user:password; "": no authentication */
    char tls_cert[SERVE_PATH_MAX], tls_key[SERVE_PATH_MAX];

    int64_t max_connections, max_connections_per_address;

    char notify[512];       /* command run for each alert */
    char alertmanager[512]; /* base URL */
    char webhook[512];
    char queue[SERVE_PATH_MAX]; /* folder of alerts on their way; "": in the state folder */
    char external_url[512];     /* how people reach us, for links in alerts */
    char runbooks[512];         /* in front of class-explosion.md ... */

    int receiver_count; /* of sections [receiver NAME] */
    struct receiver_options receivers[RECEIVERS_MAX];

    struct watch_options watch;
};

void serve_options_default(struct serve_options *options);

/* All keys of [serve], as people read them. */
enum {
#define SERVE_OPTION(key, kind, field, initial, value, help) SERVE_SETTING_##field,
#include "nmtwatch/serve/serve_options.def"
#undef SERVE_OPTION
    SERVE_SETTINGS = SERVE_SETTING_runbooks + 1 + 3 /* and include, exclude, target */
};
const struct setting *serve_settings(void);
/* One key of [serve]. False with what is wrong (names the key) in problem. */
bool serve_options_take(struct serve_options *options, const char *key, const char *text,
                        char *problem, size_t size);
/* One key of [receiver NAME]. False likewise. */
bool serve_options_take_receiver(struct serve_options *options, const char *name, const char *key,
                                 const char *text, char *problem, size_t size);
/* One key of [observe NAME]. False likewise. */
bool serve_options_take_section(struct serve_options *options, const char *name, const char *key,
                                const char *text, char *problem, size_t size);
/* Whether the finding starts it. */
bool observe_section_on(const struct observe_section *section, const char *finding);
/* All receivers, those of the keys alertmanager and webhook included; returns how many. */
int serve_options_receivers(const struct serve_options *options,
                            struct receiver_options receivers[static RECEIVERS_MAX]);
/* Checks that need more than one key: a certificate without its key. NULL when all is well. */
const char *serve_options_contradiction(const struct serve_options *options);

/* "127.0.0.1:9779", "[::1]:0", ":9779" (everywhere). False with a sentence. */
struct sockaddr_storage;
bool serve_listen_parse(const char *text, struct sockaddr_storage *address, char *error,
                        size_t size);
bool serve_listen_is_loopback(const struct sockaddr_storage *address);
