/*
 * metaspace: `VM.metaspace basic` (and the head of the plain `VM.metaspace`) as numbers.
 *
 * JDK 11 to 27 (8 has no such command). The amounts are printed for people ("306.59 KB"): unless
 * the command was given scale=1 they are rounded to 1/100 of their unit, and `exact` is false.
 * A JVM without compressed class pointers has no class space: then only *_both is present.
 *
 * A text without the usage and virtual-space sections is malformed; one that ends before the
 * settings is incomplete, with what was read so far in the struct. Any thread.
 */
#pragma once

#include "floor/base/span.h"

enum metaspace_field {
#define METASPACE_FIELD(id, key) METASPACE_##id,
#include "analyzers/parse/metaspace_fields.def"
    METASPACE_FIELD_COUNT,
};

struct metaspace {
    uint32_t present; /* bit per metaspace_field */
    int64_t value[METASPACE_FIELD_COUNT];
    bool max_unlimited; /* MaxMetaspaceSize: unlimited; then MAX_BYTES is missing */
    bool exact;         /* every amount was printed in bytes */
};

/* consumed (never NULL): bytes that belong to the reply, or the offending byte. */
enum parse_result metaspace_parse(struct metaspace *metaspace, struct span text, size_t *consumed);

/* False, and *value untouched, when missing. */
bool metaspace_get(const struct metaspace *metaspace, enum metaspace_field field, int64_t *value);
