#include "analyzers/native/call_site_group.h"

#include "analyzers/parse/span.h"

enum where { IN_FIRST, IN_ANY };

static const struct {
    const char *key;
    const char *responsible;
    const char *patterns;
    enum where where;
    enum nmt_category category;
} rows[CALL_SITE_GROUP_COUNT] = {
#define CALL_SITE_GROUP(id, key, where, patterns, category, responsible)                           \
    [CALL_SITES_##id] = {key, responsible, patterns, where, category},
#include "analyzers/native/call_site_groups.def"
#undef CALL_SITE_GROUP
};

/* Libraries of a JDK and of the C library: what runs through them is nobody's doing. */
static const struct span own_libraries[] = {
    SPAN_INIT("libjvm.so"),
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
    SPAN_INIT("libsyslookup.so"),
};

const char *call_site_group_key(enum call_site_group group)
{
    return (unsigned)group < CALL_SITE_GROUP_COUNT ? rows[group].key : "?";
}

const char *call_site_group_responsible(enum call_site_group group)
{
    return (unsigned)group < CALL_SITE_GROUP_COUNT ? rows[group].responsible : "?";
}

static bool has_one_of(struct span symbol, const char *patterns)
{
    for (const char *from = patterns; *from != '\0';) {
        size_t length = strcspn(from, "|");
        if (span_find(symbol, span_of(from, length)) >= 0)
            return true;
        from += length + (from[length] == '|');
    }
    return false;
}

static bool fits(const struct nmt_site *site, enum call_site_group group)
{
    int last = rows[group].where == IN_FIRST ? 1 : site->frame_count;
    for (int i = 0; i < last && i < site->frame_count; i++) {
        if (has_one_of(site->frames[i].symbol, rows[group].patterns))
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

enum call_site_group call_site_group_of(const struct nmt_site *site)
{
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++) {
        if (rows[i].category == NMT_NOT_IN_TABLE && fits(site, (enum call_site_group)i))
            return (enum call_site_group)i;
    }
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++) {
        if (rows[i].category != NMT_NOT_IN_TABLE && rows[i].category == site->category)
            return (enum call_site_group)i;
    }
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++) {
        if (rows[i].category != NMT_NOT_IN_TABLE && fits(site, (enum call_site_group)i))
            return (enum call_site_group)i;
    }
    bool blind = site->frame_count > 0 && !has_symbols(site);
    return blind ? CALL_SITES_NO_SYMBOLS : CALL_SITES_OTHER;
}

struct span call_site_foreign_library(const struct nmt_site *site)
{
    for (int i = 0; i < site->frame_count; i++) {
        struct span library = site->frames[i].library;
        bool own = library.len == 0;
        for (size_t k = 0; !own && k < sizeof own_libraries / sizeof own_libraries[0]; k++)
            own = span_equals(library, own_libraries[k]);
        if (!own)
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
