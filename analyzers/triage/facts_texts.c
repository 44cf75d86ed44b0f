#include "analyzers/triage/facts_texts.h"

#include "analyzers/classes/loader_table.h"
#include "analyzers/classlog/classlog.h"
#include "analyzers/model/memory_reply.h"
#include "analyzers/parse/class_tables.h"
#include "analyzers/parse/class_log.h"
#include "floor/base/span.h"
#include "analyzers/text/clean_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define RANGES_MAX 4096

static void note(struct facts_input *input, const char *words)
{
    if (input->note[0] == '\0')
        snprintf(input->note, sizeof input->note, "%s", words);
}

/* A value of a poll: the first stays in `before`, the last in `sample`. */
static void put(struct jvm_facts *facts, enum sample_field field, int64_t value)
{
    facts->have_sample = true;
    if (sample_has(&facts->sample, field) || !sample_has(&facts->before, field)) {
        if (!sample_has(&facts->before, field))
            sample_set(&facts->before, field, value);
        else
            facts->have_before = true;
    }
    sample_set(&facts->sample, field, value);
}

static void put_all(struct jvm_facts *facts, const struct sample *sample)
{
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        int64_t value;
        if (sample_get(sample, (enum sample_field)i, &value))
            put(facts, (enum sample_field)i, value);
    }
}

/* --- NMT ----------------------------------------------------------------------------- */

static void take_off(struct nmt_amount *amount, const struct nmt_row *row)
{
    int64_t delta = row->delta[NMT_ROW_COMMITTED_BYTES];
    if (__builtin_sub_overflow(amount->committed_bytes, delta, &amount->committed_bytes))
        amount->committed_bytes = INT64_MAX;
}

static void take_difference(struct jvm_facts *facts, const struct nmt_summary *summary)
{
    facts->have_diff = true;
    sample_clear(&facts->diff_now);
    sample_add_nmt(&facts->diff_now, summary);
    facts->diff_before = facts->diff_now;
    for (int i = 0; i < summary->row_count; i++) {
        const struct nmt_row *row = &summary->rows[i];
        struct sample *before = &facts->diff_before;
        if (row->category != NMT_NOT_IN_TABLE)
            take_off(&before->nmt[row->category], row);
        for (int k = 0; k < before->extra_count && row->category == NMT_NOT_IN_TABLE; k++) {
            if (span_equals(row->name, span_from_cstr(before->extra[k].name)))
                take_off(&before->extra[k].amount, row);
        }
        if (nmt_row_has(row, NMT_ROW_THREADS_COUNT))
            facts->diff_threads = row->delta[NMT_ROW_THREADS_COUNT];
        if (nmt_row_has(row, NMT_ROW_CLASSES_COUNT))
            facts->diff_classes = row->delta[NMT_ROW_CLASSES_COUNT];
    }
}

/* A finer scale begins the comparison anew; a coarser one is of no use beside it. */
static bool scale_fits(struct facts_jvm *jvm, int64_t scale_bytes)
{
    struct jvm_facts *facts = &jvm->facts;
    if (jvm->scale_bytes != 0 && scale_bytes > jvm->scale_bytes && scale_bytes > 1024)
        return false;
    if (jvm->scale_bytes != 0 && scale_bytes < jvm->scale_bytes && jvm->scale_bytes > 1024) {
        facts->before.nmt_present = facts->sample.nmt_present = 0;
        jvm->scale_bytes = 0;
    }
    if (jvm->scale_bytes == 0 || scale_bytes < jvm->scale_bytes)
        jvm->scale_bytes = scale_bytes;
    return true;
}

static void take_sample(struct facts_jvm *jvm, const struct nmt_summary *summary)
{
    struct jvm_facts *facts = &jvm->facts;
    struct sample sample;
    sample_clear(&sample);
    sample_add_nmt(&sample, summary);
    put_all(facts, &sample);
    for (int i = 0; i < summary->row_count; i++) {
        int64_t threads;
        if (nmt_row_get(&summary->rows[i], NMT_ROW_THREADS_COUNT, &threads))
            put(facts, SAMPLE_THREADS, threads);
    }
    bool first = !sample_has_nmt(&facts->before);
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        struct nmt_amount amount;
        if (!sample_get_nmt(&sample, (enum nmt_category)i, &amount))
            continue;
        sample_set_nmt(&facts->sample, (enum nmt_category)i, amount);
        facts->have_sample = true; /* a category alone, without a total */
        if (first)
            sample_set_nmt(&facts->before, (enum nmt_category)i, amount);
    }
    facts->sample.extra_count = sample.extra_count;
    memcpy(facts->sample.extra, sample.extra, sizeof sample.extra);
    if (first) {
        facts->before.extra_count = sample.extra_count;
        memcpy(facts->before.extra, sample.extra, sizeof sample.extra);
    }
    facts->have_before = facts->have_before || !first;
    if (jvm->summary == NULL)
        jvm->summary = malloc(sizeof *jvm->summary);
    if (jvm->summary != NULL) {
        *jvm->summary = *summary;
        jvm->have_summary = true;
    }
}

/* Sum of what was printed; -1: nothing was. */
static int64_t printed(const struct nmt_row *row, enum nmt_row_field a, enum nmt_row_field b,
                       enum nmt_row_field c)
{
    const enum nmt_row_field fields[] = {a, b, c};
    int64_t sum = -1, value;
    for (int i = 0; i < 3; i++) {
        if (fields[i] != NMT_ROW_FIELD_COUNT && nmt_row_get(row, fields[i], &value))
            sum = sum < 0 ? value : saturated_add(sum, value);
    }
    return sum;
}

static void take_table(struct jvm_facts *facts, const struct nmt_summary *summary)
{
    const enum nmt_row_field none = NMT_ROW_FIELD_COUNT;
    bool difference = summary->is_diff;
    facts->category_count = 0;
    facts->nmt_reserved_bytes = facts->nmt_committed_bytes = -1;
    nmt_row_get(&summary->total, NMT_ROW_RESERVED_BYTES, &facts->nmt_reserved_bytes);
    nmt_row_get(&summary->total, NMT_ROW_COMMITTED_BYTES, &facts->nmt_committed_bytes);
    for (int i = 0; i < summary->row_count && i < FACTS_CATEGORIES_MAX; i++) {
        const struct nmt_row *row = &summary->rows[i];
        struct facts_category *to = &facts->categories[facts->category_count++];
        bool threads = nmt_row_has(row, NMT_ROW_THREADS_COUNT);
        enum nmt_row_field count = threads ? NMT_ROW_THREADS_COUNT : NMT_ROW_CLASSES_COUNT;
        *to = (struct facts_category){
            .category = row->category,
            .reserved_bytes = row->value[NMT_ROW_RESERVED_BYTES],
            .committed_bytes = printed(row, NMT_ROW_COMMITTED_BYTES, none, none),
            .malloc_bytes = printed(row, NMT_ROW_MALLOC_BYTES, none, none),
            .mmap_bytes =
                printed(row, NMT_ROW_MMAP_COMMITTED_BYTES, NMT_ROW_STACK_COMMITTED_BYTES, none),
            .arena_bytes = printed(row, NMT_ROW_ARENA_BYTES, none, none),
            .peak_bytes = printed(row, NMT_ROW_MALLOC_PEAK_BYTES, NMT_ROW_MMAP_PEAK_BYTES,
                                  NMT_ROW_ARENA_PEAK_BYTES),
            .count = nmt_row_has(row, count) ? row->value[count] : -1,
            .has_change = difference && nmt_row_has(row, NMT_ROW_COMMITTED_BYTES),
            .change_bytes = row->delta[NMT_ROW_COMMITTED_BYTES],
            .reserved_change_bytes = row->delta[NMT_ROW_RESERVED_BYTES],
            .count_change = nmt_row_has(row, count) ? row->delta[count] : 0,
        };
        span_copy(row->name, to->name, sizeof to->name);
        struct nmt_amount before;
        if (!difference && facts->have_before && to->committed_bytes >= 0 &&
            row->category != NMT_NOT_IN_TABLE &&
            sample_get_nmt(&facts->before, row->category, &before)) {
            to->has_change = true;
            to->change_bytes = to->committed_bytes - before.committed_bytes;
            to->reserved_change_bytes = to->reserved_bytes - before.reserved_bytes;
        }
    }
}

/* What was not understood, and where. */
static void note_reading(const struct nmt_summary *summary, const struct nmt_reading *reading,
                         struct facts_input *input)
{
    struct nmt_total_check check = nmt_summary_check_total(summary);
    char line[60] = "";
    span_copy(span_trim(reading->first_unread), line, sizeof line);
    if (reading->rows_read < reading->rows)
        snprintf(input->note, sizeof input->note,
                 "%d of %d rows read; first unread line %" PRId64 ": %s", reading->rows_read,
                 reading->rows, clean_text_line(input->source, reading->first_unread.ptr), line);
    else if (reading->has_total && summary->row_count == 0 && !check.holds)
        note(input, "the total alone was read: no row of a category is in it");
    else if (reading->has_total && !check.holds)
        snprintf(input->note, sizeof input->note,
                 "%d rows read; they do not add up to the total: %" PRId64
                 " KB of committed memory are not in them",
                 reading->rows_read, check.committed_gap_bytes / 1024);
    else if (summary->unknown_lines > 0)
        snprintf(input->note, sizeof input->note,
                 "%d rows read, %d lines below them not; first unread line %" PRId64 ": %s",
                 reading->rows_read, summary->unknown_lines,
                 clean_text_line(input->source, reading->first_unread.ptr), line);
}

/* sites: what the call sites of the same text come to, where there is no table; NULL: there are none. */
static bool read_summary(struct facts_jvm *jvm, const struct text_part *part,
                         const struct nmt_summary *sites, struct facts_input *input)
{
    struct nmt_summary *summary = malloc(sizeof *summary);
    struct nmt_reading reading;
    if (summary == NULL)
        return false;
    bool any = nmt_summary_read(summary, part->text, &reading);
    input->unparsed_lines += summary->unknown_lines;
    if (!any && sites != NULL && sites->row_count > 0 && !jvm->have_summary) {
        note(input,
             "call sites without a table of categories: each category holds at least their sum");
        take_sample(jvm, sites);
        take_table(&jvm->facts, sites);
    } else if (!any) {
        if (!input->used)
            note(input, "the table of categories is not there");
    } else if (!scale_fits(jvm, summary->scale_bytes)) {
        note(input, "in a coarser unit than another summary of this JVM: not compared");
    } else {
        input->used = true;
        note_reading(summary, &reading, input);
        if (summary->is_diff || part->kind == TEXT_NMT_SUMMARY_DIFF ||
            part->kind == TEXT_NMT_DETAIL_DIFF)
            take_difference(&jvm->facts, summary);
        else
            take_sample(jvm, summary);
        if (summary->row_count > 0 || jvm->facts.category_count == 0)
            take_table(&jvm->facts, summary);
    }
    free(summary);
    return true;
}

static void add_range(struct facts_jvm *jvm, const struct nmt_region *region)
{
    if (jvm->ranges == NULL)
        jvm->ranges = calloc(RANGES_MAX, sizeof *jvm->ranges);
    if (jvm->ranges == NULL || jvm->range_count == RANGES_MAX)
        return;
    jvm->ranges[jvm->range_count++] =
        (struct rss_range){region->low, region->high, region->category};
}

static void take_map(struct jvm_facts *facts, const struct rss_range *ranges, int count)
{
    int64_t of[NMT_CATEGORY_COUNT + 1] = {0}; /* the last: a category that is not in the table */
    facts->map_regions = count;
    facts->map_reserved_bytes = 0;
    facts->map_largest = NMT_NOT_IN_TABLE;
    for (int i = 0; i < count; i++) {
        uint64_t size = ranges[i].high - ranges[i].low;
        int64_t bytes = size > INT64_MAX ? INT64_MAX : (int64_t)size;
        enum nmt_category category = ranges[i].category;
        bool listed = (unsigned)category < NMT_CATEGORY_COUNT;
        int64_t *sum = &of[listed ? (int)category : NMT_CATEGORY_COUNT];
        *sum = saturated_add(*sum, bytes);
        facts->map_reserved_bytes = saturated_add(facts->map_reserved_bytes, bytes);
        if (listed && (facts->map_largest == NMT_NOT_IN_TABLE || *sum > of[facts->map_largest]))
            facts->map_largest = category;
    }
}

/* Of the categories that are known by name; JDK 8 prints none with a call site. */
static void add_site(struct nmt_summary *sum, const struct nmt_site *site)
{
    if ((unsigned)site->category >= NMT_CATEGORY_COUNT)
        return;
    int i = 0;
    while (i < sum->row_count && sum->rows[i].category != site->category)
        i++;
    if (i == NMT_SUMMARY_ROWS_MAX)
        return;
    struct nmt_row *row = &sum->rows[i];
    if (i == sum->row_count) {
        sum->row_count++;
        *row = (struct nmt_row){
            .name = span_from_cstr(nmt_category_name(site->category)),
            .category = site->category,
            .present = UINT64_C(1) << NMT_ROW_RESERVED_BYTES | UINT64_C(1)
                                                                   << NMT_ROW_COMMITTED_BYTES,
        };
    }
    row->value[NMT_ROW_RESERVED_BYTES] =
        saturated_add(row->value[NMT_ROW_RESERVED_BYTES], site->reserved_bytes);
    row->value[NMT_ROW_COMMITTED_BYTES] =
        saturated_add(row->value[NMT_ROW_COMMITTED_BYTES], site->bytes);
}

static bool read_detail(struct facts_jvm *jvm, const struct text_part *part,
                        struct facts_input *input)
{
    struct jvm_facts *facts = &jvm->facts;
    struct nmt_detail detail;
    struct call_site_totals *totals = calloc(1, sizeof *totals);
    struct nmt_summary *sites = calloc(1, sizeof *sites);
    if (totals == NULL || sites == NULL) {
        free(totals);
        free(sites);
        return false;
    }
    sites->scale_bytes = 1024;
    nmt_detail_begin(&detail, part->text);
    bool new_map = true;
    while (nmt_detail_next(&detail)) {
        if (detail.item == NMT_DETAIL_SITE) {
            call_sites_add(totals, &detail.site);
            add_site(sites, &detail.site);
        } else if (!detail.region.part) {
            if (new_map)
                jvm->range_count = 0;
            new_map = false;
            add_range(jvm, &detail.region);
        }
    }
    input->unparsed_lines += detail.lines.unknown_lines;
    if (!new_map) {
        take_map(facts, jvm->ranges, jvm->range_count);
        input->used = true;
        jvm->exact_ranges = jvm->range_count < RANGES_MAX;
        jvm->range_count = rss_ranges_sort(jvm->ranges, jvm->range_count);
    }
    if (totals->all.sites > 0) {
        input->used = true;
        if (part->kind == TEXT_NMT_DETAIL_DIFF) {
            facts->sites_have_growth = true;
        } else if (jvm->have_first_sites) {
            call_site_totals_since(totals, &jvm->first_sites);
            facts->sites_have_growth = true;
        } else {
            jvm->first_sites = *totals;
            jvm->have_first_sites = true;
        }
        /* A difference lists only sites that changed: levels come from a table. */
        if (part->kind == TEXT_NMT_DETAIL || !facts->have_sites) {
            facts->sites = *totals;
            facts->have_sites = true;
            facts->symbol_files_bytes = totals->group[CALL_SITES_SYMBOL_FILES].bytes;
            /* A summary does not show it: it may be of the time before they were read. */
            if (!sample_has_nmt(&facts->before))
                jvm->first_symbol_files_bytes = facts->symbol_files_bytes;
            facts->symbol_files_grown_bytes =
                facts->symbol_files_bytes > jvm->first_symbol_files_bytes
                    ? facts->symbol_files_bytes - jvm->first_symbol_files_bytes
                    : 0;
        }
    }
    free(totals);
    bool ok = read_summary(jvm, part, part->kind == TEXT_NMT_DETAIL ? sites : NULL, input);
    free(sites);
    return ok;
}

/* --- classes and loaders ------------------------------------------------------------- */

static bool read_loaders(struct facts_jvm *jvm, const struct text_part *part,
                         struct facts_input *input)
{
    struct jvm_facts *facts = &jvm->facts;
    struct loader_leak leak = {0};
    struct loader_table table;
    if (part->kind == TEXT_JMAP_CLSTATS)
        loader_table_parse_jmap(&table, part->text, &leak);
    else if (loader_table_parse(&table, part->text, &leak) == PARSE_INCOMPLETE)
        note(input, "the total line is missing: the counts are too low");
    input->unparsed_lines += table.unknown_lines;
    if (table.event.loaders > 0) {
        if (facts->loaders.have && !facts->loaders_before.have)
            facts->loaders_before = facts->loaders;
        facts->loaders = (struct facts_loaders){
            .have = true,
            .loaders = table.event.loaders,
            .classes = table.event.classes,
            .row_count = table.event.row_count,
        };
        memcpy(facts->loaders.rows, table.event.rows,
               (size_t)table.event.row_count * sizeof *table.event.rows);
        facts->leak = leak;
        put(facts, SAMPLE_LOADERS, table.event.loaders);
        input->used = true;
    } else {
        note(input, "no row of a class loader is in it");
    }
    loader_table_free(&table);
    return true;
}

/* How well a list knows the classes alive: a histogram knows only those with instances. */
static int worth(enum text_kind kind)
{
    return kind == TEXT_CLASSES ? 3 : kind == TEXT_CLASS_HIERARCHY ? 2 : 1;
}

static void read_objects(struct facts_jvm *jvm, struct span text)
{
    struct jvm_facts *facts = &jvm->facts;
    struct histogram_event event;
    if (jvm->heap == NULL)
        jvm->heap = heap_census_create();
    if (jvm->heap != NULL && heap_census_add_saved(jvm->heap, text, &event))
        facts_add_histogram(facts, &event);
    struct class_histogram histogram;
    struct class_histogram_row row;
    memset(&facts->objects, 0, sizeof facts->objects);
    class_histogram_begin(&histogram, text);
    while (class_histogram_next(&histogram, &row))
        heap_objects_add(&facts->objects, row.name, row.instances, row.bytes);
    if (histogram.total.present && histogram.total.bytes > facts->objects.total_bytes)
        facts->objects.total_bytes = histogram.total.bytes;
}

static int64_t said(int64_t value)
{
    return value > 0 ? value : 0;
}

static bool read_methods(struct facts_jvm *jvm, const struct text_part *part,
                         struct facts_input *input)
{
    struct methods_table table;
    struct methods_row row;
    struct method_family rows[EVENT_ROWS_MAX];
    struct jvm_facts *facts = &jvm->facts;
    input->used = methods_table_begin(&table, part->text);
    if (!input->used)
        return true;
    struct methods_event event = {.loaders = table.loaders,
                                  .classes = table.classes,
                                  .methods = table.methods,
                                  .own_classes = said(table.own_classes),
                                  .own_methods = said(table.own_methods),
                                  .rows = rows};
    while (event.row_count < EVENT_ROWS_MAX && methods_table_next(&table, &row)) {
        struct method_family *family = &rows[event.row_count++];
        span_copy(row.family, family->family, sizeof family->family);
        family->classes = row.classes;
        family->methods = row.methods;
    }
    methods_keep(&facts->methods, &event);
    sample_set(&facts->sample, SAMPLE_METHODS, event.methods);
    sample_set(&facts->sample, SAMPLE_METHODS_SOURCE,
               table.by_agent ? METHODS_AGENT : METHODS_COUNTED);
    return true;
}

static bool read_list(struct facts_jvm *jvm, const struct text_part *part,
                      struct facts_input *input)
{
    if (part->kind == TEXT_CLASS_HISTOGRAM)
        read_objects(jvm, part->text);
    if (jvm->stock != NULL && worth(part->kind) < worth(jvm->stock_kind)) {
        note(input, "a better list of classes of this JVM is there");
        return true;
    }
    if (jvm->stock == NULL)
        jvm->stock = census_create(0);
    if (jvm->stock == NULL)
        return false;
    census_reset(jvm->stock); /* the last list is now */
    jvm->stock_kind = part->kind;
    enum census_method method = part->kind == TEXT_CLASSES           ? CENSUS_CLASSES
                                : part->kind == TEXT_CLASS_HIERARCHY ? CENSUS_CLASS_HIERARCHY
                                                                     : CENSUS_CLASS_HISTOGRAM;
    input->used = census_add_list(jvm->stock, method, part->text) != PARSE_MALFORMED;
    if (!input->used)
        note(input, "no class is in it");
    jvm->facts.stock.method = method;
    return true;
}

/* Milliseconds of a log line, by whatever clock it has; -1: none. */
static int64_t time_of(const struct class_log_line *line)
{
    return line->uptime_ms >= 0 ? line->uptime_ms : line->wall_ms;
}

static bool read_log(struct facts_jvm *jvm, const struct text_part *part, struct facts_input *input)
{
    int64_t changes = 0;
    int64_t first_ms = -1, last_ms = -1;
    struct span rest = part->text, raw;
    bool terminated;
    while (span_next_line(&rest, &raw, &terminated)) {
        struct class_log_line line = class_log_parse(raw);
        if (line.kind == CLASS_LOG_OTHER) {
            input->unparsed_lines += line.claims && terminated;
            continue;
        }
        int64_t ms = time_of(&line);
        changes++;
        first_ms = first_ms < 0 ? ms : first_ms;
        last_ms = ms >= 0 ? ms : last_ms;
    }
    if (changes == 0) {
        note(input, "a log about classes, and no load or unload is in it");
        return true;
    }
    if (jvm->flow == NULL)
        jvm->flow = census_create(0);
    if (jvm->late == NULL)
        jvm->late = census_create(0);
    if (jvm->flow == NULL || jvm->late == NULL)
        return false;
    bool timed = first_ms >= 0 && last_ms > first_ms;
    int64_t late_from_ms = first_ms + (last_ms - first_ms) / 3 * 2;
    const char *late_from = part->text.ptr + part->text.len / 3 * 2;
    rest = part->text;
    while (span_next_line(&rest, &raw, &terminated)) {
        struct class_log_line line = class_log_parse(raw);
        int64_t ms = time_of(&line);
        bool late = timed && ms >= 0 ? ms >= late_from_ms : raw.ptr >= late_from;
        if (line.kind == CLASS_LOG_LOAD) {
            census_load(jvm->flow, line.name, line.source);
            if (late)
                census_load(jvm->late, line.name, line.source);
        } else if (line.kind == CLASS_LOG_UNLOAD) {
            census_unload(jvm->flow, line.name);
        }
    }
    jvm->facts.flow.method = CENSUS_LOAD_LOG;
    jvm->facts.flow.has_span = timed;
    if (timed)
        jvm->facts.flow.span_s += (double)(last_ms - first_ms) / 1000.0;
    input->used = true;
    return true;
}

/* Families of a log that was read in pieces; late: in its last part, whose length doubles. */
bool facts_read_class_log(struct facts_jvm *jvm, const struct classlog *log,
                          struct facts_input *input)
{
    struct facts_names *flow = &jvm->facts.flow;
    const struct classlog_totals *totals = classlog_totals(log);
    struct class_family other, *families = calloc(EVENT_ROWS_MAX, sizeof *families);
    int count = families == NULL ? -1 : classlog_families(log, families, EVENT_ROWS_MAX, &other);
    input->unparsed_lines = totals->unparsed;
    if (count < 0 || totals->loads + totals->unloads == 0) {
        free(families);
        if (count >= 0)
            note(input, "a log about classes, and no load or unload is in it");
        return count >= 0;
    }
    flow->have = true;
    flow->method = CENSUS_LOAD_LOG;
    flow->loads = totals->loads;
    flow->unloads = totals->unloads;
    flow->has_span = classlog_clock(log) != CLASSLOG_LINES;
    flow->span_s = flow->has_span ? (double)classlog_span_ms(log) / 1000.0 : 0.0;
    flow->row_count = 0;
    for (int i = 0; i < count; i++) {
        const struct class_family *from = &families[i];
        if (from->family[0] == '\0') /* ordinary classes */
            continue;
        int at = 0;
        while (at < flow->row_count && strcmp(flow->rows[at].family, from->family) != 0)
            at++;
        struct family_row *row = &flow->rows[at];
        if (at == flow->row_count) {
            *row = (struct family_row){0};
            flow->late_loads[at] = 0;
            flow->row_count++;
            memcpy(row->family, from->family, sizeof row->family);
            memcpy(row->stem, from->name, sizeof row->stem);
            memcpy(row->example, from->example, sizeof row->example);
            memcpy(row->source, from->source, sizeof row->source);
        }
        row->loads += from->loads;
        row->unloads += from->unloads;
        row->names += from->names;
        row->max_same_name =
            from->same_name > row->max_same_name ? from->same_name : row->max_same_name;
        flow->late_loads[at] += from->recent_loads;
    }
    free(families);
    input->used = true;
    return true;
}

/* --- small texts --------------------------------------------------------------------- */

static bool read_uptime(struct facts_jvm *jvm, const struct text_part *part,
                        struct facts_input *input)
{
    struct span text = span_trim(jcmd_reply_skip_pid(part->text));
    ptrdiff_t stamp = span_find(text, SPAN_LITERAL(": "));
    if (stamp > 0)
        text = span_skip(text, (size_t)stamp + 2);
    int64_t whole;
    if (!span_take_unsigned(&text, &whole) || whole > INT64_MAX / 1000)
        return true;
    jvm->uptime_ms = whole * 1000;
    if (jvm->first_uptime_ms < 0)
        jvm->first_uptime_ms = jvm->uptime_ms;
    jvm->facts.span_s = (double)(jvm->uptime_ms - jvm->first_uptime_ms) / 1000.0;
    jvm->facts.identity.uptime_ms = jvm->uptime_ms;
    input->used = true;
    return true;
}

static bool read_perfcounter(struct facts_jvm *jvm, const struct text_part *part,
                             struct facts_input *input)
{
    int64_t loaded, shared = 0, unloaded, shared_unloaded = 0, bytes;
    if (number_behind(part->text, SPAN_LITERAL("\njava.cls.loadedClasses="), &loaded)) {
        number_behind(part->text, SPAN_LITERAL("\njava.cls.sharedLoadedClasses="), &shared);
        put(&jvm->facts, SAMPLE_CLASSES_LOADED, loaded + shared);
        input->used = true;
    }
    if (number_behind(part->text, SPAN_LITERAL("\njava.cls.unloadedClasses="), &unloaded)) {
        number_behind(part->text, SPAN_LITERAL("\njava.cls.sharedUnloadedClasses="),
                      &shared_unloaded);
        put(&jvm->facts, SAMPLE_CLASSES_UNLOADED, unloaded + shared_unloaded);
    }
    if (number_behind(part->text, SPAN_LITERAL("\nsun.gc.metaspace.used="), &bytes))
        put(&jvm->facts, SAMPLE_METASPACE_USED_BYTES, bytes);
    if (!input->used)
        note(input, "no class counter is in it");
    return true;
}

/* "Metaspace       used 34049K, capacity 34422K, committed 34992K, reserved 49572K", where no better
 * source has it. */
static void take_metaspace_line(struct jvm_facts *facts, struct span text)
{
    static const struct {
        struct span word;
        enum sample_field field;
    } words[] = {
        {SPAN_INIT(" used "), SAMPLE_METASPACE_USED_BYTES},
        {SPAN_INIT(" committed "), SAMPLE_METASPACE_COMMITTED_BYTES},
    };
    struct span line;
    if (facts->have_sample && sample_has(&facts->sample, SAMPLE_METASPACE_USED_BYTES))
        return;
    while (span_take_line(&text, &line)) {
        line = span_trim(line);
        if (!span_starts_with(line, SPAN_LITERAL("Metaspace ")))
            continue;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            int64_t bytes;
            if (whole_size_behind(line, words[i].word, &bytes))
                put(facts, words[i].field, bytes);
        }
        return;
    }
}

static bool read_metaspace(struct facts_jvm *jvm, const struct text_part *part,
                           struct facts_input *input)
{
    struct metaspace metaspace;
    size_t consumed;
    struct sample sample;
    if (metaspace_parse(&metaspace, part->text, &consumed) == PARSE_MALFORMED) {
        note(input, "a list by loader or by chunk: the totals are not in it");
        return true;
    }
    sample_clear(&sample);
    sample_add_metaspace(&sample, &metaspace);
    put_all(&jvm->facts, &sample);
    take_metaspace_line(&jvm->facts, part->text);
    input->used = true;
    return true;
}

/* "garbage-first heap   total 524288K, used 498112K", a line for each generation of the older
 * collectors; "5734M total, 5734M committed, 3099M used" of Shenandoah; "ZHeap used 12M, capacity
 * 34M". */
static void take_heap_use(struct jvm_facts *facts, struct span text)
{
    struct span line;
    int64_t used_sum = 0, committed_sum = 0;
    while (span_take_line(&text, &line)) {
        static const struct span marks[] = {SPAN_INIT(" total "), SPAN_INIT(" capacity ")};
        struct span content = span_trim(line);
        int64_t used, committed;
        if (span_starts_with(content, SPAN_LITERAL("Metaspace")) ||
            span_starts_with(content, SPAN_LITERAL("class space")))
            continue;
        struct span first = content;
        ptrdiff_t last = span_find(content, SPAN_LITERAL("committed, "));
        if (whole_size_take(&first, &committed) && last > 0 &&
            span_ends_with(content, SPAN_LITERAL(" used"))) {
            struct span rest = span_skip(content, (size_t)last + 11);
            if (whole_size_take(&rest, &used)) {
                used_sum = used;
                committed_sum = committed;
                break;
            }
        }
        ptrdiff_t at = span_find(content, SPAN_LITERAL(" used "));
        for (size_t i = 0; at > 0 && i < sizeof marks / sizeof marks[0]; i++) {
            struct span a = span_trim(span_skip(content, (size_t)at + 6));
            struct span b = span_trim(span_behind(content, marks[i]));
            if (!whole_size_take(&a, &used) || !java_size_take(&b, &committed))
                continue;
            used_sum = saturated_add(used_sum, used);
            committed_sum = saturated_add(committed_sum, committed);
            break;
        }
    }
    if (committed_sum > 0) {
        facts->heap_used_bytes = used_sum;
        facts->heap_committed_bytes = committed_sum;
    }
}

static bool read_heap_info(struct facts_jvm *jvm, const struct text_part *part,
                           struct facts_input *input)
{
    struct rss_range range;
    bool placed = rss_heap_range(part->text, &range);
    struct nmt_region heap = {.low = range.low, .high = range.high, .category = NMT_JAVA_HEAP};
    take_heap_use(&jvm->facts, part->text);
    take_metaspace_line(&jvm->facts, part->text);
    input->used = placed || jvm->facts.heap_committed_bytes > 0;
    if (!placed)
        note(input, "it does not say where the heap is");
    if (!placed || jvm->exact_ranges)
        return true;
    jvm->range_count = 0;
    add_range(jvm, &heap);
    return true;
}

/* The agents of a command line: "-agentpath:/x/libfoo.so=opts", "-javaagent:/x/foo.jar". */
static void take_agents(struct jvm_facts *facts, struct span text)
{
    static const struct span marks[] = {SPAN_INIT("-agentpath:"), SPAN_INIT("-agentlib:"),
                                        SPAN_INIT("-javaagent:")};
    facts->agents_known = true;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        struct span rest = text;
        while ((rest = span_behind(rest, marks[i])).ptr != NULL) {
            char path[512];
            span_copy(span_until(rest, " =\n\t\""), path, sizeof path);
            facts_add_agent(facts, path);
        }
    }
}

/* "   size_t MaxHeapSize     = 2147483648     {product} ...", JDK 8 ":= 2147483648" */
static bool printed_flag(struct span text, struct span name, int64_t *bytes)
{
    struct span rest = span_trim(span_behind(text, name));
    span_take(&rest, SPAN_LITERAL(":"));
    if (!span_take(&rest, SPAN_LITERAL("=")))
        return false;
    rest = span_trim(rest);
    return span_take_unsigned(&rest, bytes) && *bytes > 0 && *bytes < INT64_MAX / 4;
}

static bool read_flags(struct facts_jvm *jvm, const struct text_part *part,
                       struct facts_input *input)
{
    int64_t bytes;
    take_agents(&jvm->facts, part->text);
    if (java_flag_size(part->text, SPAN_LITERAL("-XX:MaxMetaspaceSize="), &bytes) ||
        printed_flag(part->text, SPAN_LITERAL(" MaxMetaspaceSize "), &bytes))
        jvm->facts.max_metaspace_bytes = bytes;
    if (java_flag_size(part->text, SPAN_LITERAL("-Xmx"), &bytes) ||
        java_flag_size(part->text, SPAN_LITERAL("-XX:MaxHeapSize="), &bytes) ||
        printed_flag(part->text, SPAN_LITERAL(" MaxHeapSize "), &bytes))
        jvm->facts.max_heap_bytes = bytes;
    input->used = true;
    return true;
}

/* Each mapping ends with its flags. */
static bool ends_inside_mapping(struct span text)
{
    while (text.len > 0 && strchr("\n\r ", text.ptr[text.len - 1]) != NULL)
        text.len--;
    const char *last = memrchr(text.ptr, '\n', text.len);
    struct span line = last == NULL ? text : span_skip(text, (size_t)(last + 1 - text.ptr));
    return span_contains(text, SPAN_LITERAL("\nVmFlags:")) &&
           !span_starts_with(line, SPAN_LITERAL("VmFlags:"));
}

static bool read_smaps(struct facts_jvm *jvm, const struct text_part *part,
                       struct facts_input *input)
{
    struct jvm_facts *facts = &jvm->facts;
    struct smaps smaps;
    struct smaps_mapping mapping;
    if (facts->have_rss && !facts->have_rss_before) {
        facts->rss_before = facts->rss;
        facts->have_rss_before = true;
    }
    rss_account_begin(&facts->rss, jvm->ranges, jvm->range_count);
    smaps_begin(&smaps, part->text);
    while (smaps_next(&smaps, &mapping))
        rss_account_add(&facts->rss, &mapping);
    input->unparsed_lines += smaps.lines.unknown_lines;
    facts->have_rss = facts->rss.mappings > 0;
    input->used = facts->have_rss;
    if (ends_inside_mapping(part->text))
        note(input, "it ends in the middle of a mapping: what would follow is not in the sums");
    if (!jvm->have_summary)
        note(input, "without an NMT summary in front of it: not compared");
    else if (input->used)
        rss_account_compare(&facts->rss, jvm->summary, jvm->exact_ranges);
    facts->rss.ranges = NULL;
    return true;
}

bool facts_read_part(struct facts_jvm *jvm, const struct text_part *part, struct facts_input *input)
{
    switch (part->kind) {
    case TEXT_NMT_SUMMARY:
    case TEXT_NMT_SUMMARY_DIFF:
        return read_summary(jvm, part, NULL, input);
    case TEXT_NMT_DETAIL:
    case TEXT_NMT_DETAIL_DIFF:
        return read_detail(jvm, part, input);
    case TEXT_CLASSLOADER_STATS:
        return read_loaders(jvm, part, input);
    case TEXT_JMAP_CLSTATS:
        facts_read_liveness(jvm, part->text);
        return read_loaders(jvm, part, input);
    case TEXT_CLASSES:
    case TEXT_CLASS_HIERARCHY:
    case TEXT_CLASS_HISTOGRAM:
        return read_list(jvm, part, input);
    case TEXT_METHODS:
        return read_methods(jvm, part, input);
    case TEXT_CLASS_LOG:
        facts_read_lines(jvm, part->text); /* an application's own log is between the loads */
        return read_log(jvm, part, input);
    case TEXT_METASPACE:
        return read_metaspace(jvm, part, input);
    case TEXT_PERFCOUNTER:
        return read_perfcounter(jvm, part, input);
    case TEXT_HEAP_INFO:
        return read_heap_info(jvm, part, input);
    case TEXT_UPTIME:
        return read_uptime(jvm, part, input);
    case TEXT_FLAGS:
        return read_flags(jvm, part, input);
    case TEXT_HS_ERR:
        input->used = true;
        return true;
    case TEXT_OOM_KILLER:
    case TEXT_PROCESS:
    case TEXT_PMAP:
    case TEXT_CONSOLE:
    case TEXT_MAT_TABLE:
    case TEXT_JSTAT:
    case TEXT_TOOL_LINES:
    case TEXT_THREAD_DUMP:
    case TEXT_MALLOC_PROFILE:
        facts_read_ticket(jvm, part, input);
        return true;
    case TEXT_SMAPS:
        return read_smaps(jvm, part, input);
    case TEXT_VERSION:
        input->used = input->jdk_major != 0;
        return true;
    case TEXT_REFUSAL:
        span_copy(part->reply, input->note, sizeof input->note);
        return true;
    case TEXT_RECORDING:
        note(input, "a recording: nmtwatch replay and report read it");
        return true;
    default:
        note(input, "recognised, and not needed");
        return true;
    }
}
