/*
 * callers: who is connected to the web side, and who gives way when there are too many.
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
 * Any thread. A descriptor is shut down, never closed: its owner closes it after callers_go.
 */
#ifndef NMTWATCH_SERVE_CALLERS_H
#define NMTWATCH_SERVE_CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * users: who may read, from a file of lines user:password that only its owner may read.
 *
 * A comparison takes the same time whatever of it is right. Setup context to read; then any thread.
 */
struct users;

/* NULL with one sentence: not readable, readable by others, no line in it, a line without colon. */
struct users *users_read(const char *path, char *error, size_t error_size);
bool users_know(const struct users *users, const char *user, const char *password);
void users_free(struct users *users);

#endif
