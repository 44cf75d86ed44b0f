/* What the table of NMT says: categories that grew, advice for each, and the largest as a note. */
#include "analyzers/model/texts.h"
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define GROWN_PART         10 /* of what it was: less is noise of a large thing */
#define STACKS_GROWN_BYTES (1024 * MB)
#define NOTED_MIN_BYTES    (64 * MB)

/* For a category of NMT: its meaning, causes, how to decide between them, the fix. */
struct category_advice {
    int64_t growth_bytes; /* between two measurements, from which it is a finding; 0: never */
    int share_percent;    /* of committed memory without the heap, worth a note; 0: never */
    enum finding_kind kind;
    const char *meaning;
    const char *causes; /* the most probable first, apart by semicolons */
    const char *command;
    const char *fix;
};

static const struct category_advice ROWS[NMT_CATEGORY_COUNT] = {
#define CATEGORY(category, growth_mb, share, finding, meaning, causes, command, fix)               \
    [NMT_##category] = {(growth_mb)*MB, share, FINDING_##finding, meaning, causes, command, fix},
#include "analyzers/judge/categories.def"
};

/* NULL: a category that is not in the table. */
static const struct category_advice *category_advice(enum nmt_category category)
{
    return (unsigned)category < NMT_CATEGORY_COUNT && ROWS[category].meaning != NULL
               ? &ROWS[category]
               : NULL;
}

/* Meaning, causes, command and fix as the finding's advice; "category" as evidence if it lacks. */
static void category_advise(enum nmt_category category, struct finding *finding)
{
    const struct category_advice *row = category_advice(category);
    if (row == NULL)
        return;
    finding_advice(finding, "Holds: %s. Probable causes, in this order: %s. To decide: %s. Fix: %s",
                   row->meaning, row->causes, row->command, row->fix);
    if (finding_evidence(finding, "category") == NULL)
        finding_add_text(finding, "category", nmt_category_name(category));
}

/* The category whose row of the table a finding is about. */
static enum nmt_category category_of(const struct finding *finding, int jdk_major)
{
    const struct evidence *category = finding_evidence(finding, "category");
    switch (finding->kind) {
    case FINDING_INTERNAL_INVESTIGATE:
    case FINDING_INTERNAL_EXPLOSION:
    case FINDING_INTERNAL_UNACCEPTABLE:
        return NMT_INTERNAL;
    case FINDING_CLASS_METASPACE_GROWTH:
        return NMT_CLASS;
    case FINDING_THREAD_GROWTH:
        return NMT_THREAD;
    case FINDING_DIRECT_MEMORY:
        return jdk_major == 8 ? NMT_INTERNAL : NMT_OTHER;
    case FINDING_SYMBOL_GROWTH:
        return NMT_SYMBOL;
    case FINDING_CATEGORY_GROWTH:
        return category == NULL ? NMT_NOT_IN_TABLE
                                : nmt_category_from_name(span_from_cstr(category->text));
    default:
        return NMT_NOT_IN_TABLE;
    }
}

static bool is_reported(const struct triage *out, enum nmt_category category, int jdk_major)
{
    for (int i = 0; i < out->finding_count; i++) {
        enum nmt_category of = category_of(&out->findings[i], jdk_major);
        if (of == category || (of == NMT_CLASS && category == NMT_METASPACE))
            return true;
    }
    return false;
}

/* Committed, or reserved stacks of threads; false: nothing to compare with. */
static bool grown(const struct facts_category *row, int64_t *bytes, int64_t *before)
{
    *bytes = row->change_bytes;
    *before = row->committed_bytes - row->change_bytes;
    if (row->category == NMT_THREAD && row->reserved_change_bytes >= STACKS_GROWN_BYTES) {
        *bytes = row->reserved_change_bytes;
        *before = row->reserved_bytes - row->reserved_change_bytes;
    }
    return row->has_change;
}

static void growth(const struct jvm_facts *facts, const struct facts_category *row,
                   struct triage *out)
{
    const struct category_advice *advice = category_advice(row->category);
    int64_t bytes, before;
    int jdk = facts->identity.jdk_major;
    if (advice == NULL || advice->growth_bytes == 0 || !grown(row, &bytes, &before) ||
        bytes < advice->growth_bytes || bytes < before / GROWN_PART ||
        is_reported(out, row->category, jdk))
        return;
    struct finding *finding = triage_add(out, advice->kind);
    bool reserved = bytes != row->change_bytes;
    char count[96] = "";
    if (row->count_change > 0)
        snprintf(count, sizeof count, ", %s more %s", units_count(row->count_change).text,
                 row->category == NMT_THREAD ? "threads" : "classes");
    else if (reserved)
        snprintf(count, sizeof count, ": about %" PRId64 " more threads at 1 MB of stack each",
                 bytes / MB);
    finding_title(finding, "%s grew by %s%s to %s%s", row->name, units_bytes(bytes).text,
                  reserved ? " (reserved)" : "",
                  units_bytes(reserved ? row->reserved_bytes : row->committed_bytes).text, count);
    finding_add_text(finding, "category", row->name);
    finding_add_int(finding, "growth_bytes", bytes);
    if (row->committed_bytes >= 0)
        finding_add_int(finding, "level_bytes", row->committed_bytes);
    finding_add_int(finding, "threshold_bytes", advice->growth_bytes);
    /* Growth of a warm-up is no leak until it has doubled. */
    if (advice->kind == FINDING_CATEGORY_GROWTH && bytes < before)
        finding->severity = SEVERITY_INFO;
}

/* "NMT: 1.3 GB committed: Java Heap 1 GB, GC 157.2 MB, ..." */
static void note_largest(const struct jvm_facts *facts, struct triage *out)
{
    const struct facts_category *largest = NULL, *sorted[4] = {NULL};
    int64_t all = 0, heap = 0;
    for (int i = 0; i < facts->category_count; i++) {
        const struct facts_category *row = &facts->categories[i];
        if (row->committed_bytes < 0)
            continue;
        all += row->committed_bytes;
        if (row->category == NMT_JAVA_HEAP)
            heap = row->committed_bytes;
        else if (largest == NULL || row->committed_bytes > largest->committed_bytes)
            largest = row;
        for (int k = 0; k < 3; k++) {
            if (sorted[k] != NULL && sorted[k]->committed_bytes >= row->committed_bytes)
                continue;
            memmove(&sorted[k + 1], &sorted[k], (size_t)(3 - k) * sizeof sorted[0]);
            sorted[k] = row;
            break;
        }
    }
    struct finding *finding = triage_add(out, FINDING_NMT_LARGEST);
    int64_t missing = 0;
    if (facts->nmt_committed_bytes > all) {
        missing = facts->nmt_committed_bytes - all;
        all = facts->nmt_committed_bytes;
    }
    char title[300];
    snprintf(title, sizeof title, "NMT: %s committed", units_bytes(all).text);
    for (int k = 0; k < 3 && sorted[k] != NULL; k++)
        text_add(title, sizeof title, "%s%s %s", k == 0 ? ": " : ", ", sorted[k]->name,
                 units_bytes(sorted[k]->committed_bytes).text);
    finding_title(finding, "%s", title);
    if (missing >= NOTED_MIN_BYTES && missing > all / GROWN_PART) {
        finding_title(finding, "%s; %s of the total are of categories that are not in the text",
                      title, units_bytes(missing).text);
        finding_advice(finding, "%s",
                       "The text is incomplete: jcmd PID VM.native_memory summary, all of it.");
        return;
    }
    if (sorted[0] == NULL)
        return;
    const struct facts_category *about = sorted[0];
    if (largest != NULL && (largest->committed_bytes >= NOTED_MIN_BYTES || heap == 0)) {
        const struct category_advice *advice = category_advice(largest->category);
        bool share = advice != NULL && advice->share_percent > 0 && all > heap &&
                     largest->committed_bytes / (1 + (all - heap) / 100) >= advice->share_percent;
        if (share)
            about = largest;
    }
    category_advise(about->category, finding);
    finding_advice(finding,
                   "%s If RSS is far above these %s, the rest is not in NMT: nmtwatch triage PID, "
                   "pmap -x PID.",
                   finding->advice, units_bytes(all).text);
    finding_add_int(finding, "level_bytes", about->committed_bytes);
}

/* A level is counted from the JVM's start; what a difference says of it stands behind. */
static void add_change(const struct jvm_facts *facts, enum nmt_category category,
                       struct finding *finding)
{
    const struct evidence *since = finding_evidence(finding, "since");
    if (since == NULL || since->text == NULL || strcmp(since->text, "start") != 0)
        return;
    for (int i = 0; i < facts->category_count; i++) {
        const struct facts_category *row = &facts->categories[i];
        if (row->category == category && row->has_change && row->change_bytes >= NOTED_MIN_BYTES) {
            finding_title(finding, "%s; %s of it since the first measurement", finding->title,
                          units_bytes(row->change_bytes).text);
            return;
        }
    }
}

void triage_categories(const struct jvm_facts *facts, struct triage *out)
{
    int jdk = facts->identity.jdk_major;
    bool warned = false;
    for (int i = 0; i < facts->category_count; i++)
        growth(facts, &facts->categories[i], out);
    for (int i = 0; i < out->finding_count; i++) {
        struct finding *finding = &out->findings[i];
        category_advise(category_of(finding, jdk), finding);
        add_change(facts, category_of(finding, jdk), finding);
        warned = warned || finding->severity > SEVERITY_INFO;
    }
    if (!warned && !facts->have_account_before &&
        (facts->category_count > 0 || facts->nmt_committed_bytes > 0))
        note_largest(facts, out);
}
