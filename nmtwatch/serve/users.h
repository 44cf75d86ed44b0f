/*
 * users: who may read, from a file of lines user:password that is nobody else's to read.
 *
 * A comparison takes the same time whatever of it is right. Setup context to read; then any thread.
 */
#ifndef NMTWATCH_SERVE_USERS_H
#define NMTWATCH_SERVE_USERS_H

#include <stdbool.h>
#include <stddef.h>

struct users;

/* NULL with one sentence: not readable, readable by others, no line in it, a line without colon. */
struct users *users_read(const char *path, char *error, size_t error_size);
bool users_know(const struct users *users, const char *user, const char *password);
void users_free(struct users *users);

#endif
