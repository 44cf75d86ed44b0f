/*
 * call_site_group: the call sites of an NMT detail, added up by who is responsible.
 *
 * The table is call_site_groups.def: agents (jmethodIDs they preallocate, results they forget to
 * deallocate), native libraries, compiler, GC, interned names, the measurement itself. NMT keeps four
 * frames of a stack, so that the agent behind GetClassMethods is not in it: explained says
 * which one it is. A library that is in it (` in libfoo.so`) gets its own total.
 *
 *   call_site_totals {0} -> call_sites_add ... -> bytes, libraries
 *
 * Mappings count by committed bytes. Plain data, no ownership; any thread.
 */
#pragma once

#include "analyzers/native/internal.h"
#include "analyzers/parse/nmt_detail.h"

enum call_site_group {
#define CALL_SITE_GROUP(id, key, where, patterns, category, responsible) CALL_SITES_##id,
#include "analyzers/native/call_site_groups.def"
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

void call_sites_add(struct call_site_totals *totals, const struct nmt_site *site);
/* Fills the deltas of `now` with its difference to an earlier detail of the same JVM. */
void call_site_totals_since(struct call_site_totals *now, const struct call_site_totals *before);

extern const struct call_site_row {
    const char *key, *responsible, *patterns;
    enum { IN_FIRST, IN_ANY } where;
    enum nmt_category category;
} call_site_rows[CALL_SITE_GROUP_COUNT];

/* The documented breakdown of Internal. */
struct call_site_breakdown {
    struct call_site_sum get_class_methods; /* jmethodIDs and result arrays */
    struct call_site_sum get_line_number_table;
    struct call_site_sum other_malloc;
};
struct call_site_breakdown call_site_breakdown(const struct call_site_totals *totals);

/*
 * explained: how much of Internal, Class and JNI is the jmethodIDs of an agent, and what is not.
 *
 * "An agent preallocates": it asks for the jmethodIDs of every class as it is loaded, because
 * AsyncGetCallTrace needs them. Four kinds of evidence, the strongest that is there decides:
 *
 *   0  the ids themselves, counted in the JVM's structures (nmtwatch/observe): for half of all methods or for
 *      nearly none
 *   1  call sites of an NMT detail: bytes below GetClassMethods against what all classes would cost
 *   2  growth between two measurements: Internal (JNI from 26 on) grows by the slots of every class loaded
 *      (8 max(n,8) bytes, 24 n from 26 on; jmethodid_cost.h), with at least 200 loads between them
 *   3  JDK 26+: JNI holds nothing else of that size; its level against the classes alive
 *
 * With none of them, a JVM without any agent library does not preallocate, and one with an agent is
 * "cannot tell": Internal holds too much else. JDK 8 keeps all of it in Class, between the classes
 * themselves: only call sites show it, and only if libjvm has symbols.
 *
 * Pure; plain data; any thread.
 */
/* Mean over whole jars of max(n,8) is 11 to 12, of n 8 to 9 (rt.jar, tools.jar, groovy-all). */
#define TYPICAL_METHODS_PER_CLASS 9.0
#define EXPLAINED_LOADS_MIN       200 /* between two measurements */

/* Amounts are committed bytes; -1: not known. */
struct explained_amounts {
    int64_t classes_loaded; /* since the start, shared ones included */
    int64_t classes_unloaded;
    int64_t loaders;
    int64_t internal_bytes;
    int64_t class_bytes;
    int64_t jni_bytes;
};

struct explained_facts {
    int jdk_major;
    double methods_per_class; /* 0: not known, TYPICAL_METHODS_PER_CLASS */
    double
        methods_of_coming; /* of a class of the family that is loaded most; 0: not known, methods_per_class */
    struct explained_amounts now;
    bool have_before;
    struct explained_amounts before;
    const struct call_site_totals *sites; /* NULL: no detail; borrowed */
    bool sites_have_growth;
    bool ids_counted;                           /* in the JVM's own structures, at once: */
    int64_t ids;                                /* jmethodIDs there are */
    int64_t id_classes, id_methods, id_loaders; /* classes, methods and loaders there are */
    /* Agent libraries: from -agentpath, -agentlib, and what is mapped and is no part of the JDK. */
    bool agents_known;
    int agent_count;
    const char *const *agents; /* borrowed */
};

enum explained_answer { EXPLAINED_NO, EXPLAINED_YES, EXPLAINED_CANNOT_TELL };

struct explained {
    enum explained_answer preallocates;
    char reason[192];
    char library[128]; /* who it is; "one of a.so, b.so" when several are loaded; may be empty */
    /* If every class had its ids, as an agent that preallocates would have it. */
    struct jmethodid_cost alive;     /* of the classes loaded now */
    int64_t kept_after_unload_bytes; /* of the classes unloaded so far */
    bool ids_counted;                /* what there is, in place of what there might be */
    int64_t ids, ids_bytes;
    int64_t bytes_per_class_load;
    int64_t kept_bytes_per_class;
    /* Internal, JNI from 26 on: observed growth or level, and what the ids do not explain. */
    bool have_growth;
    int64_t growth_bytes;           /* of Internal + JNI between the two measurements */
    int64_t explained_growth_bytes; /* of it, by ids; 0 unless the answer is YES */
    int64_t unexplained_growth_bytes;
};

void explain_internal(struct explained *out, const struct explained_facts *facts);
