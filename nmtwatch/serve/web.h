/* web: the HTTP side of `serve`: reads snapshots from the board, writes answers; touches nothing
 * else.
 *
 *   web_start -> (its own threads answer) -> web_stop
 *
 * Bounds: only GET and HEAD; a request's head fits 16 KB; a body is never read; max_connections at
 * once, max_connections_per_address from one, beyond which older ones give way (callers.c); 10 s
 * without progress, or 30 s in all for one answer, end a connection. An answer is put together once
 * for each snapshot and shared by all who ask for it, so many or slow clients cost no further
 * memory than their connections.
 *
 * A page on a loopback address answers only to a Host that is one: another name would mean that a
 * web site has had its own name point here (DNS rebinding).
 *
 * web_start and web_stop: the loop's thread. */
#pragma once

#include "nmtwatch/serve/serve_options.h"
#include "nmtwatch/serve/snapshot.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct web;

/* options are needed during the call only. NULL with one sentence in error. */
struct web *web_start(const struct serve_options *options, struct board *board, char *error,
                      size_t error_size);
/* What web_start reads before it listens: the address, passwords, certificate and key. False with one sentence. */
bool web_check(const struct serve_options *options, char *error, size_t error_size);
/* The port it listens on (listen = ...:0 lets the kernel choose). */
int web_port(const struct web *web);
/* Answers so far by the first digit of their status. */
void web_answers(const struct web *web, int64_t answers[6]);
/* Connections that gave way to newer ones. */
int64_t web_displaced(const struct web *web);
void web_stop(struct web *web);

/* callers: who is connected to the web side, and who gives way when there are too many.
 *
 *   callers_create -> callers_come / callers_go (each connection) -> callers_destroy
 *
 * The problem: any host that reaches the port can open connections and hold them, from as many
 * addresses as it has. A newcomer is therefore never turned away: beyond the bounds the oldest
 * connection of the address that holds the most is ended. A scrape is over in milliseconds, so one
 * that has just come is the last to be ended, however many are held open around it.
 *
 * An address is an IPv4 address, the first 64 bits of an IPv6 address, and all of 127.0.0.0/8 and
 * ::1 together: one of them gives access to all.
 *
 * Any thread. A descriptor is shut down, never closed: its owner closes it after callers_go. */
struct callers;
struct sockaddr;

/* At most so many at once, in all and of one address. NULL when out of memory. */
struct callers *callers_create(int in_all, int of_address);
/* Room for so many that were asked to end and have not ended yet. */
#define CALLERS_ENDING 64
/* A place to hand to callers_go; -1: there was none, the newcomer was shut down. */
int callers_come(struct callers *callers, const struct sockaddr *address, int fd);
void callers_go(struct callers *callers, int place);
/* How many gave way so far. */
int64_t callers_displaced(struct callers *callers);
void callers_destroy(struct callers *callers);

/* users: who may read, from a file of lines user:password that only its owner may read.
 *
 * A comparison takes the same time whatever of it is right. Setup context to read; then any thread. */
struct users;

/* NULL with one sentence: not readable, readable by others, no line in it, a line without colon. */
struct users *users_read(const char *path, char *error, size_t error_size);
bool users_know(const struct users *users, const char *user, const char *password);
void users_free(struct users *users);

/* mhd: libmicrohttpd, found when it is needed.
 *
 * nmtwatch is one file that can be copied into a container with nothing but a libc; only `serve`
 * needs an HTTP server, whose library brings GnuTLS and eight more. So it is opened at run time,
 * and every other verb works without it. The functions are those of MHD_FUNCTIONS, called as mhd()->name.
 *
 * Setup context for mhd_open; then any thread. */
/* What `serve` calls of libmicrohttpd: names without MHD_. */
#define MHD_FUNCTIONS(row)                                                                         \
    row(start_daemon) row(stop_daemon) row(get_daemon_info) row(get_connection_info)               \
        row(queue_response) row(create_response_from_callback) row(create_response_from_buffer)    \
            row(destroy_response) row(add_response_header) row(lookup_connection_value)            \
                row(basic_auth_get_username_password) row(free)

struct mhd_functions {
#define MEMBER(name) __typeof__(&MHD_##name) name;
    MHD_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* False with one sentence: the library is not installed. */
bool mhd_open(char *error, size_t error_size);
/* After mhd_open. */
const struct mhd_functions *mhd(void);
