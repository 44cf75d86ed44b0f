/* jfr_live: the objects of a recording that were still there at its end, by class and by the stack
 * that allocated them.
 *
 *   jfr_live_read -> use, jfr_live_print, _json -> jfr_live_free
 *
 * Of the last chunk: what was there before and is no more does not count. Bytes are estimates: what
 * the sampled objects stand for. A recording that is damaged is read up to the damage, and says so.
 * One thread. */
#pragma once

#include "reports/profile/call_tree.h"

#include <stddef.h>
#include <stdio.h>

#define JFR_LIVE_SITES_MAX  4096
#define JFR_LIVE_FRAMES_MAX 40

/* Of one class from one stack; texts are owned. */
struct jfr_live_site {
    char *class_name;
    int64_t objects, own_bytes; /* sampled */
    int64_t bytes;              /* what they stand for */
    int64_t least_survived, most_survived, oldest_ms;
    int depth;
    char *frames[JFR_LIVE_FRAMES_MAX]; /* innermost first */
};

struct jfr_live {
    int64_t duration_ms, objects, bytes;
    size_t site_count;
    struct jfr_live_site *sites; /* most bytes first */
    struct call_tree *tree;      /* stacks with the class on top, weighted by bytes; finished */
    char damage[600];            /* "" when the recording is whole */
};

/* fd stays the caller's. False with one sentence: no recording, or out of memory. */
bool jfr_live_read(struct jfr_live *live, int fd, const char *name, char *error, size_t error_size);
void jfr_live_print(const struct jfr_live *live, size_t rows, FILE *out);
/* One line (docs/json.md). False when out failed, or memory. */
bool jfr_live_json(const struct jfr_live *live, FILE *out);
void jfr_live_free(struct jfr_live *live);
