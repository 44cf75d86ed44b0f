/*
 * config: an INI file -> thresholds, defaults of `watch`, and what `serve` does.
 *
 *   [thresholds]                 keys and limits: `nmtwatch help thresholds`, docs/thresholds.md
 *   internal_investigate_bytes = 500MB
 *   family_rate_per_s = 2
 *   [watch]                      keys: nmtwatch/watch/watch_options.def
 *   nmt_interval = 5s
 *   [serve]                      keys: nmtwatch/serve/serve_options.def, docs/serve.md
 *   listen = 127.0.0.1:9779
 *   [receiver NAME]              keys: nmtwatch/alert/receiver.h, docs/alerting.md
 *   kind = alertmanager
 *
 * Every value is checked; the first error is one sentence "file:line: what". An unknown section or
 * key is an error: a typo must not be a threshold that silently stays at its default. Setup
 * context.
 */
#ifndef NMTWATCH_COMMANDS_CONFIG_H
#define NMTWATCH_COMMANDS_CONFIG_H

#include "nmtwatch/serve/serve_options.h"

/* Values not in the file stay as they are. False with the sentence in error; options are then of no
 * use. */
bool config_load(const char *path, struct watch_options *options, char *error, size_t error_size);
bool config_load_serve(const char *path, struct serve_options *options, char *error,
                       size_t error_size);

#endif
