/*
 * helper: the root half of `serve` in two processes (privileged.h is the other half's view).
 *
 *   helper (root)                              service (its own user, no rights, seccomp)
 *   looks at /proc and at JVMs' files          finds JVMs, parses replies and logs, judges,
 *   attaches, sends a permitted question       answers HTTP, delivers, records
 *   reads configuration and secrets            <-- descriptors and numbers
 *
 * Nothing of what the service says is believed: kinds, lengths and pids are looked at, a JVM is one
 * by the helper's own look, a question is one of permitted_request, a file is one that the configuration
 * names. Requests are answered one after the other, so many a second (more wait); attaching goes
 * on beside them without blocking. Descriptors that the service passes are closed at once.
 *
 * The end of either ends both.
 */
#ifndef NMTWATCH_SERVE_HELPER_H
#define NMTWATCH_SERVE_HELPER_H

#include "nmtwatch/serve/serve.h"
#include "nmtwatch/jvm/target.h"

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

/*
 * permitted: which requests the root helper of serve sends to a JVM: those that a watch asks, byte
 * for byte, and nothing else. Pure; any thread.
 */

/* request: as it goes over the attach socket, protocol 1 or 2. */
bool permitted_request(const struct target *target, const char *request, size_t length);

#endif
