/*
 * dossier: all that is known of one JVM when somebody asks whose memory it is.
 *
 * A live triage fills it from the JVM, an offline one from what people have saved; what follows
 * from it (triage.h) is the same. Every part may be missing, and missing is not zero: each has its
 * `have_` flag or count. Two looks make growth; a difference the JVM printed makes growth, too.
 *
 * Ownership: plain data of some 100 KiB, kept on the heap; nothing is borrowed. One thread.
 */
#ifndef ANALYZERS_TRIAGE_DOSSIER_H
#define ANALYZERS_TRIAGE_DOSSIER_H

#include "analyzers/judge/thresholds.h"
#include "analyzers/model/event.h"
#include "analyzers/native/call_site_group.h"
#include "analyzers/native/loader_leak.h"
#include "analyzers/native/rss_account.h"

#define DOSSIER_AGENTS_MAX     16
#define DOSSIER_AGENT_NAME_MAX 128

/* Loaders of each type, at one moment. */
struct dossier_loaders {
    bool have;
    int64_t loaders;
    int64_t classes;
    int row_count;
    struct loader_row rows[EVENT_ROWS_MAX];
};

/* Class names: a flow (log, tap) or a stock (a list of live classes). */
struct dossier_names {
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

struct dossier {
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
    uint64_t diff_present; /* bit per nmt_category */
    int64_t diff_bytes[NMT_CATEGORY_COUNT];
    int64_t diff_threads;
    int64_t diff_classes;

    struct dossier_names flow;
    struct dossier_names stock;
    struct dossier_loaders loaders;
    struct dossier_loaders loaders_before;
    struct loader_leak leak;

    bool have_sites;
    bool sites_have_growth;
    struct call_site_totals sites;
    int64_t symbol_files_bytes; /* of Internal that the look itself brought (detail) */

    bool have_rss;
    struct rss_account rss;
    bool have_rss_before;
    struct rss_account rss_before;

    bool agents_known; /* command line or mapped libraries were seen */
    int agent_count;
    char agents[DOSSIER_AGENTS_MAX][DOSSIER_AGENT_NAME_MAX]; /* library or jar, base name */
    int64_t max_metaspace_bytes;                             /* 0: not limited or not known */
    int64_t container_limit_bytes;                           /* 0: none or not known */

    bool native_oom; /* an hs_err file says that native memory was exhausted */
    char native_oom_words[192];
};

/* Committed growth of a category, from the difference or from two looks. False: not known. */
bool dossier_growth(const struct dossier *dossier, enum nmt_category category, int64_t *bytes);
void dossier_add_agent(struct dossier *dossier, const char *path);

#endif
