/*
 * write_all: write(2) and read(2) until everything has gone through: interrupted calls are
 * repeated, short ones continued. On false errno tells why. Blocks; any thread.
 */
#ifndef NMTWATCH_WRITE_ALL_H
#define NMTWATCH_WRITE_ALL_H

#include <stdbool.h>
#include <stddef.h>

bool write_all(int fd, const char *data, size_t size);
/* A file for results that are nobody else's business, empty, mode 0600, also where it was there
 * with another; -1 with errno. Devices and pipes are taken as they are. */
int create_private(const char *path);
/* From where the descriptor stands to its end. */
bool copy_all(int from, int into);

#endif
