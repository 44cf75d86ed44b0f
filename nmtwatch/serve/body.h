/*
 * body: the bytes of one answer, immutable, shared by reference count. Any thread.
 */
#ifndef NMTWATCH_SERVE_BODY_H
#define NMTWATCH_SERVE_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct body {
    atomic_int references;
    size_t length;
    bool gzip;
    char bytes[];
};

/* Copies. NULL when out of memory. */
struct body *body_create(const char *bytes, size_t length);
/* The same, compressed. */
struct body *body_gzip(const struct body *body);
struct body *body_share(struct body *body);
void body_release(struct body *body);

#endif
