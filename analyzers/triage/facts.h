/*
 * facts: all that is known of one JVM, for the question whose memory it is.
 *
 * A live triage fills it from the JVM, an offline one from what people have saved; what follows
 * from it (triage.h) is the same. Every part may be missing, and missing is not zero: each has its
 * `have_` flag or count. Two samples make growth; a difference the JVM printed makes growth, too.
 *
 * Ownership: plain data of some 100 KiB, kept on the heap; nothing is borrowed. One thread.
 */
#pragma once

#include "analyzers/classes/loader_table.h"
#include "analyzers/judge/growth.h"
#include "analyzers/judge/level.h"
#include "analyzers/model/event.h"
#include "analyzers/native/account.h"
#include "analyzers/native/call_site_group.h"
#include "analyzers/native/rss_account.h"
#include "analyzers/parse/oom_lines.h"
#include "floor/base/span.h"
#include "analyzers/parse/thread_dump.h"
#include "analyzers/parse/tool_lines.h"
#include "analyzers/parse/tool_tables.h"
#include "analyzers/triage/crash.h"

/*
 * heap_objects: what fills a Java heap, by a histogram of the JVM or a table of MAT, and whether the
 * many objects of a class are the sign of a known cause (heap_suspects.def).
 *
 *   heap_objects {0} -> heap_objects_add for each row -> row, total_bytes, suspect
 *
 * Plain data, nothing is borrowed. Pure; any thread.
 */
enum heap_suspect {
    HEAP_SUSPECT_NONE,
#define HEAP_SUSPECT(id, key, instances, native_kb, patterns, what, advice) HEAP_SUSPECT_##id,
#include "analyzers/triage/heap_suspects.def"
    HEAP_SUSPECT_COUNT,
};

struct heap_suspect_row {
    const char *key;
    int64_t instances, native_kb;
    const char *patterns;
    const char *what;
    const char *advice;
};
const struct heap_suspect_row *heap_suspect_row(enum heap_suspect suspect);

struct heap_class {
    char name[128];
    int64_t instances; /* -1: not said */
    int64_t bytes;     /* -1: not said */
};

#define HEAP_OBJECTS_MAX 4
struct heap_objects {
    int64_t classes; /* rows added */
    int64_t total_bytes;
    int count;
    struct heap_class row[HEAP_OBJECTS_MAX]; /* most bytes first */
    /* The class with the most bytes of those that are suspect; NONE: no class is. */
    enum heap_suspect suspect;
    struct heap_class suspected;
    /* The class whose objects hold most outside of the heap, however few they are; bytes: about so much. */
    enum heap_suspect native;
    struct heap_class native_class;
};

/* instances, bytes: -1 when the table does not say. */
void heap_objects_add(struct heap_objects *objects, struct span name, int64_t instances,
                      int64_t bytes);

#define FACTS_AGENTS_MAX     16
#define FACTS_AGENT_NAME_MAX 128

/* Loaders of each type, at one moment. */
struct facts_loaders {
    bool have;
    int64_t loaders;
    int64_t classes;
    int row_count;
    struct loader_row rows[EVENT_ROWS_MAX];
};

/* Class names: a flow (log, load log) or a stock (a list of live classes). */
struct facts_names {
    bool have;
    enum census_method method;
    bool has_span; /* a flow with times */
    double span_s; /* of the flow */
    int64_t loads;
    int64_t unloads;
    int row_count;
    struct family_row rows[EVENT_ROWS_MAX];
    int64_t late_loads[EVENT_ROWS_MAX]; /* in the last third of the flow; -1: not known */
};

/* A row of the last table of NMT. */
struct facts_category {
    enum nmt_category category; /* NMT_NOT_IN_TABLE: known by its name only */
    char name[32];
    int64_t reserved_bytes;
    int64_t committed_bytes; /* -1: cut off */
    int64_t malloc_bytes;    /* -1: not printed; so the next three */
    int64_t mmap_bytes;      /* committed */
    int64_t arena_bytes;
    int64_t peak_bytes; /* of malloc, mappings, arenas, each at its own time */
    int64_t count;      /* threads or classes; -1 */
    bool has_change;    /* of a difference, or since the first measurement */
    int64_t change_bytes;
    int64_t reserved_change_bytes;
    int64_t count_change;
};
#define FACTS_CATEGORIES_MAX 48 /* as NMT_SUMMARY_ROWS_MAX */

/* The classes whose objects grew most from the first histogram to the last one. */
#define FACTS_GROWN_MAX 10
struct facts_heap_growth {
    int histograms; /* below 2: nothing is compared */
    int64_t bytes_before, bytes;
    int64_t instances_before, instances;
    int row_count;
    struct histogram_class rows[FACTS_GROWN_MAX]; /* most growth first */
};

/* Seen from outside while the process was watched (nmtwatch/observe). */
struct facts_toucher {
    bool have;
    int64_t outside_bytes; /* that grew outside of NMT in that time, by stacks */
    int64_t bytes;         /* of them, by this code: */
    /* "com.acme.Thumbnails.scale"; a native function where there is no Java frame */
    char by[EVENT_NAME_MAX];
    /* "deflateInit2_ [libz.so.1]": the innermost that is neither libc nor libjvm; "" */
    char in[EVENT_NAME_MAX];
    double span_s;
    int64_t arenas, kept_bytes; /* of glibc's malloc; what it keeps free and resident */
};

/* Counted in the JVM's own structures. */
struct facts_ids {
    bool have;
    int64_t ids; /* jmethodIDs there are */
    int64_t classes, methods, loaders;
};

struct jvm_facts {
    struct target_identity identity; /* jdk_major 0: not known */
    struct thresholds thresholds;

    /* Looks: samples with everything that was asked for. */
    bool have_sample;
    struct sample sample; /* the last */
    bool have_before;
    struct sample before; /* the first */
    double span_s;        /* between them; 0: not known */

    /* A difference as the JVM printed it: NMT committed, per category. */
    bool have_diff;
    struct sample diff_now; /* NMT only */
    struct sample diff_before;
    int64_t diff_threads;
    int64_t diff_classes;

    /* The table as printed last; totals -1: not printed. */
    int category_count;
    struct facts_category categories[FACTS_CATEGORIES_MAX];
    int64_t nmt_reserved_bytes;
    int64_t nmt_committed_bytes;

    struct facts_names flow;
    struct facts_names stock;
    int caller_count; /* whose code asks for classes */
    struct caller_row callers[EVENT_ROWS_MAX];
    struct facts_toucher toucher;
    struct facts_ids ids;
    struct facts_loaders loaders;
    struct facts_loaders loaders_before;
    struct kept_methods methods;      /* the number is in the sample */
    struct heap_objects objects;      /* classes 0: no histogram */
    struct heap_objects native_sites; /* functions of a profile of malloc; classes 0: none */
    struct facts_heap_growth heap_growth;
    int64_t heap_used_bytes; /* of GC.heap_info; 0: not known */
    int64_t heap_committed_bytes;
    struct jstat jstat; /* rows 0: none */
    struct loader_leak leak;

    int64_t map_regions; /* of a detailed report's memory map */
    int64_t map_reserved_bytes;
    enum nmt_category map_largest; /* of most of it */

    bool have_sites;
    bool sites_have_growth;
    struct call_site_totals sites;
    int64_t symbol_files_bytes;       /* of Internal that a detailed report brought */
    int64_t symbol_files_grown_bytes; /* of it, since the first measurement */

    bool have_rss;
    struct rss_account rss;
    bool have_rss_before;
    struct rss_account rss_before;
    /* Whose it is, by smaps and NMT at both moments, or by the last samples of a watch. */
    bool have_account, have_account_before;
    struct account account, account_before;
    /* Of the watch between them; by rule. */
    struct growth_points growth[GROWTH_RULES];
    bool have_old_gcs;
    int64_t first_old_gcs, old_collections; /* in it */

    bool agents_known; /* command line or mapped libraries were seen */
    int agent_count;
    char agents[FACTS_AGENTS_MAX][FACTS_AGENT_NAME_MAX]; /* library or jar, base name */
    int64_t max_metaspace_bytes;                         /* 0: not limited or not known */
    int64_t container_limit_bytes;                       /* 0: none or not known */

    /* Texts of a ticket that are not the JVM's own. */
    struct crash crash;     /* an error file */
    struct oom_killer kill; /* reports 0: none */
    bool have_lines;
    struct oom_lines lines; /* of a console or log */
    struct tool_lines tools;
    struct thread_dump thread_dump, thread_dump_before; /* threads 0: none */
    struct process_row row;                             /* source PROCESS_NONE: none */
    struct pmap map;                                    /* mappings 0: none */
    int64_t max_heap_bytes;                             /* 0: not known */
    int64_t live_loaders, dead_loaders; /* as jmap -permstat and -clstats count them */
    char dead_type[EVENT_NAME_MAX];     /* of most of the dead ones */
};

/* The pairs of moments by which levels are judged: the JVM's start, the first measurement, the baseline of
 * a difference. They borrow from the facts. Returns how many. */
#define FACTS_LEVEL_PAIRS 3
int facts_level_pairs(const struct jvm_facts *facts, struct level_pair pairs[FACTS_LEVEL_PAIRS]);
/* Committed growth of a category, from the difference or from two samples. False: not known. */
bool facts_growth(const struct jvm_facts *facts, enum nmt_category category, int64_t *bytes);
/* One more sample of the watch between the two measurements. */
void facts_add_sample(struct jvm_facts *facts, const struct sample *sample, int64_t ms);
/* One more histogram, later than those before. */
void facts_add_histogram(struct jvm_facts *facts, const struct histogram_event *histogram);
void facts_add_agent(struct jvm_facts *facts, const char *path);
