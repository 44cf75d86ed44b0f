#include "analyzers/native/call_site_group.h"

#include "analyzers/model/units.h"
#include "floor/base/span.h"

#include <inttypes.h>
#include <stdio.h>

const struct call_site_row call_site_rows[CALL_SITE_GROUP_COUNT] = {
#define CALL_SITE_GROUP(id, key, where, patterns, category, responsible)                           \
    [CALL_SITES_##id] = {key, responsible, patterns, where, category},
#include "analyzers/native/call_site_groups.def"
};

/* Libraries of a JDK and of the C library: stacks through them name no owner. */
static const struct span own_libraries[] = {SPAN_INIT("libjvm.so"),
                                            SPAN_INIT("libjli.so"),
                                            SPAN_INIT("libjava.so"),
                                            SPAN_INIT("libnio.so"),
                                            SPAN_INIT("libnet.so"),
                                            SPAN_INIT("libzip.so"),
                                            SPAN_INIT("libjimage.so"),
                                            SPAN_INIT("libverify.so"),
                                            SPAN_INIT("libmanagement.so"),
                                            SPAN_INIT("libmanagement_ext.so"),
                                            SPAN_INIT("libextnet.so"),
                                            SPAN_INIT("libattach.so"),
                                            SPAN_INIT("libinstrument.so"),
                                            SPAN_INIT("libc.so.6"),
                                            SPAN_INIT("libpthread.so.0"),
                                            SPAN_INIT("libstdc++.so.6"),
                                            SPAN_INIT("java"),
                                            SPAN_INIT("libsyslookup.so")};

static bool fits(const struct nmt_site *site, enum call_site_group group)
{
    int last = call_site_rows[group].where == IN_FIRST ? 1 : site->frame_count;
    for (int i = 0; i < last && i < site->frame_count; i++) {
        if (span_fits_one(site->frames[i].symbol, call_site_rows[group].patterns, span_contains))
            return true;
    }
    return false;
}

static bool has_symbols(const struct nmt_site *site)
{
    for (int i = 0; i < site->frame_count; i++) {
        if (site->frames[i].symbol.len > 0)
            return true;
    }
    return false;
}

static enum call_site_group call_site_group_of(const struct nmt_site *site)
{
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++) {
        if (call_site_rows[i].category == NMT_NOT_IN_TABLE && fits(site, (enum call_site_group)i))
            return (enum call_site_group)i;
    }
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++) {
        if (call_site_rows[i].category != NMT_NOT_IN_TABLE &&
            call_site_rows[i].category == site->category)
            return (enum call_site_group)i;
    }
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++) {
        if (call_site_rows[i].category != NMT_NOT_IN_TABLE && fits(site, (enum call_site_group)i))
            return (enum call_site_group)i;
    }
    bool blind = site->frame_count > 0 && !has_symbols(site);
    return blind ? CALL_SITES_NO_SYMBOLS : CALL_SITES_OTHER;
}

/* The innermost frame's library that is not the JDK's own; empty when there is none. */
static struct span call_site_foreign_library(const struct nmt_site *site)
{
    for (int i = 0; i < site->frame_count; i++) {
        struct span library = site->frames[i].library;
        if (library.len > 0 && span_row(library, span_equals, SPAN_TABLE(own_libraries)) < 0)
            return library;
    }
    return span_of("", 0);
}

static void sum_add(struct call_site_sum *sum, const struct call_site_sum *more)
{
    sum->sites = saturated_add(sum->sites, more->sites);
    sum->bytes = saturated_add(sum->bytes, more->bytes);
    sum->count = saturated_add(sum->count, more->count);
    sum->bytes_delta = saturated_add(sum->bytes_delta, more->bytes_delta);
    sum->count_delta = saturated_add(sum->count_delta, more->count_delta);
}

static void add_library(struct call_site_totals *totals, struct span library,
                        const struct call_site_sum *one)
{
    char name[CALL_SITE_LIBRARY_NAME_MAX];
    span_copy(library, name, sizeof name);
    int i = 0;
    while (i < totals->library_count && strcmp(totals->library[i].name, name) != 0)
        i++;
    if (i == CALL_SITE_LIBRARIES_MAX) {
        totals->libraries_dropped++;
        return;
    }
    if (i == totals->library_count) {
        totals->library_count++;
        memcpy(totals->library[i].name, name, sizeof name);
    }
    sum_add(&totals->library[i].sum, one);
}

void call_sites_add(struct call_site_totals *totals, const struct nmt_site *site)
{
    struct call_site_sum one = {
        .sites = 1,
        .bytes = site->bytes,
        .count = site->count,
        .bytes_delta = site->bytes_delta,
        .count_delta = site->count_delta,
    };
    sum_add(&totals->all, &one);
    sum_add(&totals->group[call_site_group_of(site)], &one);
    struct span library = call_site_foreign_library(site);
    if (library.len > 0)
        add_library(totals, library, &one);
}

static void since(struct call_site_sum *now, const struct call_site_sum *before)
{
    now->bytes_delta = saturated_add(now->bytes, -before->bytes);
    now->count_delta = saturated_add(now->count, -before->count);
}

void call_site_totals_since(struct call_site_totals *now, const struct call_site_totals *before)
{
    since(&now->all, &before->all);
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++)
        since(&now->group[i], &before->group[i]);
    for (int i = 0; i < now->library_count; i++) {
        static const struct call_site_sum none;
        const struct call_site_sum *then = &none;
        for (int k = 0; k < before->library_count; k++) {
            if (strcmp(now->library[i].name, before->library[k].name) == 0)
                then = &before->library[k].sum;
        }
        since(&now->library[i].sum, then);
    }
}

struct call_site_breakdown call_site_breakdown(const struct call_site_totals *totals)
{
    struct call_site_breakdown breakdown = {0};
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++) {
        struct call_site_sum *into =
            i == CALL_SITES_JMETHODIDS_AGENT || i == CALL_SITES_METHOD_ARRAYS
                ? &breakdown.get_class_methods
            : i == CALL_SITES_LINE_TABLES ? &breakdown.get_line_number_table
                                          : &breakdown.other_malloc;
        sum_add(into, &totals->group[i]);
    }
    return breakdown;
}

/* --- what explains a growth ------------------------------------------------------------------- */

#define TABLE_JDK          26
#define PREALLOCATED_SHARE 0.5 /* of all methods: classes of before the agent came have none */
#define NO_IDS_SHARE       0.05

static int64_t loads_between(const struct explained_facts *facts)
{
    if (!facts->have_before || facts->now.classes_loaded < 0 || facts->before.classes_loaded < 0)
        return 0;
    return facts->now.classes_loaded - facts->before.classes_loaded;
}

/* What each class loader adds to Internal in any case: the names of its locks and its share of a
 * block of weak handles. Measured on JDK 11 (nothing), 17, 21, 25 and 27. */
static int64_t bytes_per_loader(int jdk_major)
{
    if (jdk_major < 17)
        return 0;
    return jdk_major == 17 ? 46 : 66;
}

/* -1: not known. */
static int64_t loaders_between(const struct explained_facts *facts)
{
    if (facts->now.loaders < 0 || facts->before.loaders < 0)
        return -1;
    return facts->now.loaders > facts->before.loaders ? facts->now.loaders - facts->before.loaders
                                                      : 0;
}

static int64_t ids_category_bytes(const struct explained_facts *facts,
                                  const struct explained_amounts *amounts)
{
    if (facts->jdk_major < TABLE_JDK)
        return amounts->internal_bytes;
    return amounts->jni_bytes < 0
               ? amounts->internal_bytes
               : amounts->jni_bytes + (amounts->internal_bytes > 0 ? amounts->internal_bytes : 0);
}

static void predict(struct explained *out, const struct explained_facts *facts, double methods,
                    double coming)
{
    int64_t loaded = facts->now.classes_loaded > 0 ? facts->now.classes_loaded : 0;
    int64_t unloaded = facts->now.classes_unloaded > 0 ? facts->now.classes_unloaded : 0;
    int64_t alive = loaded > unloaded ? loaded - unloaded : 0;
    int64_t loaders = facts->now.loaders > 0 ? facts->now.loaders : 1;
    /* The JDK's own classes have more methods, or fewer, than the application's. */
    double each =
        facts->id_classes > 0 ? (double)facts->id_methods / (double)facts->id_classes : methods;
    out->alive = jmethodid_cost(facts->jdk_major, (struct jmethodid_load){alive, each, loaders});
    /* A class that was unloaded took its loader with it, or was hidden: one block each. */
    struct jmethodid_cost gone =
        jmethodid_cost(facts->jdk_major, (struct jmethodid_load){unloaded, coming, unloaded});
    out->kept_after_unload_bytes = jmethodid_kept_bytes(&gone);
    struct jmethodid_cost one =
        jmethodid_cost(facts->jdk_major, (struct jmethodid_load){1, coming, 1});
    out->bytes_per_class_load = jmethodid_loaded_bytes(&one);
    out->kept_bytes_per_class = jmethodid_kept_bytes(&one);
}

/* Evidence 0. Ids are made class by class: n of them are those of n classes. Between many and few
 * another evidence decides. */
static bool by_count(struct explained *out, const struct explained_facts *facts)
{
    if (!facts->ids_counted || facts->id_classes <= 0 || facts->id_methods <= 0)
        return false;
    double share = (double)facts->ids / (double)facts->id_methods;
    share = share > 1.0 ? 1.0 : share;
    struct jmethodid_cost cost = jmethodid_cost(
        facts->jdk_major,
        (struct jmethodid_load){(int64_t)(share * (double)facts->id_classes + 0.5),
                                (double)facts->id_methods / (double)facts->id_classes,
                                (int64_t)(share * (double)facts->id_loaders + 0.5)});
    out->ids_counted = true;
    out->ids = facts->ids;
    out->ids_bytes = jmethodid_loaded_bytes(&cost);
    if (share < PREALLOCATED_SHARE && share > NO_IDS_SHARE)
        return false;
    out->preallocates = share >= PREALLOCATED_SHARE ? EXPLAINED_YES : EXPLAINED_NO;
    snprintf(out->reason, sizeof out->reason, "%s methods in %s classes have %s jmethodIDs",
             units_count(facts->id_methods).text, units_count(facts->id_classes).text,
             units_count(out->ids).text);
    return true;
}

/* Evidence 1. */
static bool by_call_sites(struct explained *out, const struct explained_facts *facts)
{
    if (facts->sites == NULL)
        return false;
    const struct call_site_sum *ids = &facts->sites->group[CALL_SITES_JMETHODIDS_AGENT];
    const struct call_site_sum *blind = &facts->sites->group[CALL_SITES_NO_SYMBOLS];
    int64_t all = jmethodid_loaded_bytes(&out->alive);
    if (blind->bytes > facts->sites->all.bytes / 2)
        return false; /* a libjvm without symbols */
    if (ids->bytes > 0 && ids->bytes >= all / 4) {
        out->preallocates = EXPLAINED_YES;
        snprintf(out->reason, sizeof out->reason,
                 "call sites below GetClassMethods hold %s; all classes alive would cost %s",
                 units_bytes(ids->bytes).text, units_bytes(all).text);
        return true;
    }
    out->preallocates = EXPLAINED_NO;
    snprintf(out->reason, sizeof out->reason,
             "call sites below GetClassMethods hold %s; ids of all classes would be %s",
             units_bytes(ids->bytes).text, units_bytes(all).text);
    return true;
}

/* Evidence 2. */
static bool by_growth(struct explained *out, const struct explained_facts *facts, double methods)
{
    int64_t loads = loads_between(facts);
    int64_t now = ids_category_bytes(facts, &facts->now);
    int64_t before = facts->have_before ? ids_category_bytes(facts, &facts->before) : -1;
    if (now < 0 || before < 0)
        return false;
    out->have_growth = true;
    out->growth_bytes = now - before;
    out->unexplained_growth_bytes = out->growth_bytes;
    if (facts->jdk_major == 8 || loads < EXPLAINED_LOADS_MIN)
        return false;
    int64_t loaders = loaders_between(facts);
    int64_t by_loaders = bytes_per_loader(facts->jdk_major) * (loaders > 0 ? loaders : 0);
    double per_class = (double)(out->growth_bytes - by_loaders) / (double)loads;
    /* How many loaders came is not known: perhaps one for each class. */
    double sure = per_class - (loaders < 0 ? (double)bytes_per_loader(facts->jdk_major) : 0.0);
    double expected =
        facts->jdk_major >= TABLE_JDK ? 24.0 * methods : 8.0 * (methods < 8.0 ? 8.0 : methods);
    /* The fewest a class can cost is 64 (one slot block), 24 a method from 26 on. */
    double fewest = facts->jdk_major >= TABLE_JDK ? 24.0 : 56.0;
    if (sure >= fewest) {
        out->preallocates = EXPLAINED_YES;
        double explained = expected * (double)loads;
        if (facts->sites != NULL && facts->sites_have_growth) /* measured, in place of a price */
            explained = MAX(explained,
                            (double)facts->sites->group[CALL_SITES_JMETHODIDS_AGENT].bytes_delta);
        explained = MIN(explained, (double)(out->growth_bytes - by_loaders));
        out->explained_growth_bytes = (int64_t)explained;
        out->unexplained_growth_bytes = out->growth_bytes - out->explained_growth_bytes;
    } else {
        out->preallocates = per_class < fewest / 4 ? EXPLAINED_NO : EXPLAINED_CANNOT_TELL;
    }
    snprintf(out->reason, sizeof out->reason,
             "%s grew by %" PRId64 " bytes for each of %" PRId64
             " classes loaded%s; ids of a class with %.0f methods are %.0f bytes there",
             facts->jdk_major >= TABLE_JDK ? "Internal + JNI" : "Internal", (int64_t)per_class,
             loads, by_loaders > 0 ? " (without the cost of their loaders)" : "", methods,
             expected);
    return true;
}

/* Evidence 3. */
static bool by_level(struct explained *out, const struct explained_facts *facts)
{
    if (facts->jdk_major < TABLE_JDK || facts->now.jni_bytes < 0 || out->alive.jni_bytes == 0)
        return false;
    bool yes = facts->now.jni_bytes >= out->alive.jni_bytes / 2;
    out->preallocates = yes ? EXPLAINED_YES : EXPLAINED_NO;
    snprintf(out->reason, sizeof out->reason, "JNI holds %s; ids of all classes alive would be %s",
             units_bytes(facts->now.jni_bytes).text, units_bytes(out->alive.jni_bytes).text);
    return true;
}

static void name_library(struct explained *out, const struct explained_facts *facts)
{
    if (facts->sites != NULL && facts->sites->library_count == 1)
        snprintf(out->library, sizeof out->library, "%s", facts->sites->library[0].name);
    if (out->library[0] != '\0' || facts->agent_count == 0)
        return;
    size_t used = 0;
    if (facts->agent_count > 1)
        used = (size_t)snprintf(out->library, sizeof out->library, "one of ");
    for (int i = 0; i < facts->agent_count && used < sizeof out->library; i++)
        used += (size_t)snprintf(out->library + used, sizeof out->library - used, "%s%s",
                                 i > 0 ? ", " : "", facts->agents[i]);
}

void explain_internal(struct explained *out, const struct explained_facts *facts)
{
    memset(out, 0, sizeof *out);
    double methods =
        facts->methods_per_class > 0.0 ? facts->methods_per_class : TYPICAL_METHODS_PER_CLASS;
    double coming = facts->methods_of_coming > 0.0 ? facts->methods_of_coming : methods;
    predict(out, facts, methods, coming);
    out->preallocates = EXPLAINED_CANNOT_TELL;
    struct explained grown = *out;
    bool by_growth_found = by_growth(&grown, facts, coming);
    if (grown.have_growth)
        *out = grown; /* its figures are of use in any case */
    bool no_agent = facts->agents_known && facts->agent_count == 0;
    if (no_agent && out->preallocates == EXPLAINED_CANNOT_TELL)
        by_growth_found = false;
    if (!by_count(out, facts) && !by_call_sites(out, facts) && !by_growth_found &&
        !by_level(out, facts)) {
        if (no_agent) {
            out->preallocates = EXPLAINED_NO;
            snprintf(out->reason, sizeof out->reason, "no agent library is loaded");
        } else {
            snprintf(
                out->reason, sizeof out->reason,
                "too few classes were loaded between two measurements, and there is no NMT detail");
        }
    }
    if (out->preallocates != EXPLAINED_YES) {
        out->explained_growth_bytes = 0;
        out->unexplained_growth_bytes = out->growth_bytes;
        return;
    }
    name_library(out, facts);
}
