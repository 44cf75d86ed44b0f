/* helper: the root half of `serve` in two processes (privileged.h is the other half's view).
 *
 *   helper (root)                              service (its own user, no rights, seccomp)
 *   starts a worker for each owner of JVMs     finds JVMs, parses replies and logs, judges,
 *   reads configuration and secrets            answers HTTP, delivers, records
 *
 *   worker (root, worker/worker.h)             <-- bytes, numbers and descriptors
 *
 * The helper touches no JVM, so nothing can hold it. Nothing of what the service says is believed: kinds, lengths and
 * pids are looked at, and a file is one that the configuration names. Requests are answered one after the other, so
 * many a second (more wait). Descriptors that the service passes are closed at once.
 *
 * The end of either ends both. */
#pragma once

#include "nmtwatch/jvm/target.h"
#include "nmtwatch/serve/serve_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* serve: the daemon: fleet, archive, state, outlets and web tied together in one loop.
 *
 * serve_run reads the configuration, says where it listens, and runs until SIGINT or SIGTERM;
 * SIGHUP reads the configuration again. Returns the exit code. One per process (signals). */
/* Fills options from file and command line; also called at each reload. False after printing what is
 * wrong in error. */
typedef bool serve_configure_fn(void *context, struct serve_options *options, char *error,
                                size_t error_size);

/* for_ms: stop after that; 0: never. */
int serve_run(serve_configure_fn *configure, void *context, int64_t for_ms);
/* Once, for an init container or an installation: makes the folders that the configuration names and gives them to its
 * user. What belongs to that user already is left alone. The exit code. */
int serve_make_folders(const struct serve_options *options);

/* For the helper: sends a message of the other process. False: it is none that the service sends. */
bool service_pass_on(const char *message);

/* Answers on socket_fd until the other end is closed or stop says so. child: it gets SIGHUP, SIGTERM
 * and SIGINT by signal; 0: nobody. options is the configuration, kept up to date. */
struct helper;
struct helper *helper_create(int socket_fd, serve_configure_fn *configure, void *context,
                             struct serve_options *options);
/* At most wait_ms. False when the other end has gone. */
bool helper_step(struct helper *helper, int64_t wait_ms);
void helper_destroy(struct helper *helper);

/* The whole: starts the service as the user of options->user, and helps it until it ends. Returns
 * its exit code. service runs in the child with the helper at hand. */
typedef int helper_service_fn(serve_configure_fn *configure, void *context, int64_t for_ms);
int helper_run(serve_configure_fn *configure, void *context, struct serve_options *options,
               int64_t for_ms, helper_service_fn *service);

/* confine: a process that gives its rights away for good: another user, no groups, no capabilities,
 * nothing to be gained by exec, and a filter of system calls (confine.def) for every thread.
 *
 * In a child that has one thread. False with a sentence; the process may not go on then. */
struct service_user {
    uid_t uid;
    gid_t gid;
};

/* By name or number; neither root nor who we are. False with a sentence. */
bool service_user_find(struct service_user *user, const char *name, char *error, size_t error_size);

/* with_commands: programs may be started (the key notify). */
bool confine(const struct service_user *user, bool with_commands, char *error, size_t error_size);
