/*
 * serve: the daemon: fleet, archive, state, outlets and web tied together in one loop.
 *
 * serve_run reads the configuration, says where it listens, and runs until SIGINT or SIGTERM;
 * SIGHUP reads the configuration again. Returns the exit code. One per process (signals).
 */
#ifndef NMTWATCH_SERVE_SERVE_H
#define NMTWATCH_SERVE_SERVE_H

#include "nmtwatch/serve/serve_options.h"

#include <stdbool.h>
#include <stdint.h>

/* Fills options from file and command line; also called at each reload. False after printing what is
 * wrong in error. */
typedef bool serve_configure_fn(void *context, struct serve_options *options, char *error,
                                size_t error_size);

/* for_ms: stop after that; 0: never. */
int serve_run(serve_configure_fn *configure, void *context, int64_t for_ms);

/* For the helper: sends a message of the other process. False: it is none that the service sends. */
bool service_pass_on(const char *message);

#endif
