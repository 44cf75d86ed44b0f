/*
 * call_site_group: the call sites of an NMT detail, added up by who is responsible.
 *
 * The table is call_site_groups.def: agents (jmethodIDs they preallocate, results they forget to
 * deallocate), native libraries, compiler, GC, interned names, the look itself. NMT keeps four
 * frames of a stack, so that the agent behind GetClassMethods is not in it: native/explained says
 * which one it is. A library that is in it (` in libfoo.so`) gets its own total.
 *
 *   call_site_totals {0} -> call_sites_add ... -> bytes, libraries
 *
 * Mappings count by committed bytes. Plain data, no ownership; any thread.
 */
#ifndef ANALYZERS_NATIVE_CALL_SITE_GROUP_H
#define ANALYZERS_NATIVE_CALL_SITE_GROUP_H

#include "analyzers/parse/nmt_detail.h"

enum call_site_group {
#define CALL_SITE_GROUP(id, key, where, patterns, category, responsible) CALL_SITES_##id,
#include "analyzers/native/call_site_groups.def"
#undef CALL_SITE_GROUP
    CALL_SITE_GROUP_COUNT,
};

#define CALL_SITE_LIBRARIES_MAX    16
#define CALL_SITE_LIBRARY_NAME_MAX 96

struct call_site_sum {
    int64_t sites;
    int64_t bytes;
    int64_t count;       /* of allocations, where it was printed */
    int64_t bytes_delta; /* as printed by a detail.diff, or call_site_totals_since */
    int64_t count_delta;
};

struct call_site_totals {
    struct call_site_sum all;
    struct call_site_sum group[CALL_SITE_GROUP_COUNT];
    int library_count;
    struct {
        char name[CALL_SITE_LIBRARY_NAME_MAX];
        struct call_site_sum sum;
    } library[CALL_SITE_LIBRARIES_MAX]; /* that are not the JDK's or the C library's */
    int64_t libraries_dropped;
};

enum call_site_group call_site_group_of(const struct nmt_site *site);
/* The innermost frame's library that is not the JDK's own; empty when there is none. */
struct span call_site_foreign_library(const struct nmt_site *site);
void call_sites_add(struct call_site_totals *totals, const struct nmt_site *site);
/* Fills the deltas of `now` with its difference to an earlier detail of the same JVM. */
void call_site_totals_since(struct call_site_totals *now, const struct call_site_totals *before);

const char *call_site_group_key(enum call_site_group group);
const char *call_site_group_responsible(enum call_site_group group);

/* The documented breakdown of Internal. */
struct call_site_breakdown {
    struct call_site_sum get_class_methods; /* jmethodIDs and result arrays */
    struct call_site_sum get_line_number_table;
    struct call_site_sum other_malloc;
};
struct call_site_breakdown call_site_breakdown(const struct call_site_totals *totals);

#endif
