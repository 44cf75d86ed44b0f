/*
 * web: the HTTP side of `serve`: reads snapshots from the board, writes answers; touches nothing
 * else.
 *
 *   web_start -> (its own threads answer) -> web_stop
 *
 * Bounds: only GET and HEAD; a request's head fits 16 KB; a body is never read; max_connections at
 * once, max_connections_per_address from one, beyond which older ones give way (callers.h); 10 s
 * without progress, or 30 s in all for one answer, end a connection. An answer is put together once
 * for each snapshot and shared by all who ask for it, so many or slow clients cost no further
 * memory than their connections.
 *
 * A page on a loopback address answers only to a Host that is one: another name would mean that a
 * web site has had its own name point here (DNS rebinding).
 *
 * web_start and web_stop: the loop's thread.
 */
#ifndef NMTWATCH_SERVE_WEB_H
#define NMTWATCH_SERVE_WEB_H

#include "nmtwatch/serve/serve_options.h"
#include "nmtwatch/serve/snapshot.h"

#include <stdatomic.h>
#include <stddef.h>

struct web;

/* options are needed during the call only. NULL with one sentence in error. */
struct web *web_start(const struct serve_options *options, struct board *board, char *error,
                      size_t error_size);
/* The port it listens on (listen = ...:0 lets the kernel choose). */
int web_port(const struct web *web);
/* Answers so far by the first digit of their status. */
void web_answers(const struct web *web, int64_t answers[6]);
/* Connections that gave way to newer ones. */
int64_t web_displaced(const struct web *web);
void web_stop(struct web *web);

#endif
