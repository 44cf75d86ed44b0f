/* What stands beside a JVM's own texts in a ticket: error files, the kernel's log, process tables,
 * pmap, consoles. */
#include "floor/base/span.h"
#include "analyzers/parse/tool_tables.h"
#include "analyzers/triage/facts_texts.h"

#include <stdio.h>

static void take_limits(struct jvm_facts *facts, const struct hs_err *file)
{
    if (file->figure[HS_ERR_MAX_METASPACE] > 0)
        facts->max_metaspace_bytes = file->figure[HS_ERR_MAX_METASPACE];
    if (file->figure[HS_ERR_XMX] > 0)
        facts->max_heap_bytes = file->figure[HS_ERR_XMX];
    if (file->figure[HS_ERR_CONTAINER_LIMIT] > 0)
        facts->container_limit_bytes = file->figure[HS_ERR_CONTAINER_LIMIT];
}

static void merge_lines(struct jvm_facts *facts, const struct oom_lines *lines)
{
    struct oom_lines *all = &facts->lines;
    if (!facts->have_lines) {
        *all = *lines;
        facts->have_lines = true;
        return;
    }
    struct oom_lines before = *all;
    *all = *lines;
    for (int i = 0; i < OOM_LINE_KIND_COUNT; i++)
        all->lines[i] = saturated_add(before.lines[i], lines->lines[i]);
    if (before.first != OOM_LINE_NONE)
        all->first = before.first;
    if (lines->last == OOM_LINE_NONE) {
        all->last = before.last;
        memcpy(all->words, before.words, sizeof all->words);
        all->request_bytes = before.request_bytes;
        all->direct_used_bytes = before.direct_used_bytes;
        all->direct_limit_bytes = before.direct_limit_bytes;
        all->netty = before.netty;
    }
    if (all->thread[0] == '\0')
        memcpy(all->thread, before.thread, sizeof all->thread);
    if (all->threads_limit < 0)
        all->threads_limit = before.threads_limit;
    all->metaspace_lines = saturated_add(before.metaspace_lines, lines->metaspace_lines);
    if (before.metaspace_lines > 0)
        all->metaspace_first_bytes = before.metaspace_first_bytes;
    if (lines->metaspace_lines == 0) {
        all->metaspace_last_bytes = before.metaspace_last_bytes;
        all->metaspace_committed_bytes = before.metaspace_committed_bytes;
        all->metaspace_reserved_bytes = before.metaspace_reserved_bytes;
    }
    all->full_gc_lines = saturated_add(before.full_gc_lines, lines->full_gc_lines);
    if (lines->full_gc_lines == 0) {
        all->heap_after_bytes = before.heap_after_bytes;
        all->heap_size_bytes = before.heap_size_bytes;
    }
}

/* "0x00000000c1918f98  1  1968  0x00000000c02b6f78  dead  sun/reflect/DelegatingClassLoader@0x...":
 * the type of the first that is dead stands for the others when it is that of most of them. */
void facts_read_liveness(struct facts_jvm *jvm, struct span text)
{
    struct jvm_facts *facts = &jvm->facts;
    struct span line, first = {NULL, 0};
    int64_t same = 0, others = 0;
    while (span_take_line(&text, &line)) {
        struct span alive = span_behind(line, SPAN_LITERAL("alive="));
        int64_t live, dead;
        if (span_take_unsigned(&alive, &live) && span_take(&alive, SPAN_LITERAL(", dead=")) &&
            span_take_unsigned(&alive, &dead)) {
            facts->live_loaders = live;
            facts->dead_loaders = dead;
        }
        ptrdiff_t at = span_find(line, SPAN_LITERAL("dead"));
        if (at <= 0)
            continue;
        struct span type = span_trim(span_skip(line, (size_t)at + 4));
        ptrdiff_t end = span_find(type, SPAN_LITERAL("@0x"));
        if (end <= 0)
            continue;
        type.len = (size_t)end;
        if (first.ptr == NULL)
            first = type;
        same += span_equals(type, first);
        others += !span_equals(type, first);
    }
    if (same > others)
        span_copy(first, facts->dead_type, sizeof facts->dead_type);
}

void facts_take_lines(struct facts_jvm *jvm, const struct oom_lines *lines,
                      struct facts_input *input)
{
    if (lines->last == OOM_LINE_NONE && lines->metaspace_lines == 0 && lines->full_gc_lines == 0)
        return;
    input->used = true;
    merge_lines(&jvm->facts, lines);
}

void facts_read_lines(struct facts_jvm *jvm, struct span text)
{
    static const struct span marks[] = {SPAN_INIT("MemoryError: "), SPAN_INIT("create failed ("),
                                        SPAN_INIT("os::commit_memory("),
                                        SPAN_INIT("native thread")};
    struct oom_lines lines;
    if (span_row(text, span_contains, SPAN_TABLE(marks)) < 0)
        return;
    oom_lines_read(&lines, text);
    merge_lines(&jvm->facts, &lines);
}

void facts_read_error_file(struct facts_jvm *jvm, const struct hs_err *file, struct span text)
{
    struct jvm_facts *facts = &jvm->facts;
    crash_take(&facts->crash, file);
    take_limits(facts, file);
    /* On a console the reason stands behind the first lines. */
    if (file->end == HS_ERR_NATIVE_OOM &&
        span_find(span_of(text.ptr, file->consumed), SPAN_LITERAL("os::commit_memory(")) >= 0) {
        struct oom_lines lines;
        oom_lines_read(&lines, span_of(text.ptr, file->consumed));
        if (lines.lines[OOM_LINE_PAGE_FILE] > 0) {
            facts->crash.platform = HS_ERR_WINDOWS;
            snprintf(facts->crash.how, sizeof facts->crash.how, "%s", lines.words);
        }
    }
}

static void take_row(struct jvm_facts *facts, const struct process_row *row)
{
    bool said = row->host_bytes > 0;
    int64_t host = said ? row->host_bytes : facts->row.host_bytes;
    int64_t host_free = said ? row->host_free_bytes : facts->row.host_free_bytes;
    if (row->source != PROCESS_NONE &&
        (facts->row.source == PROCESS_NONE || row->rss_bytes > facts->row.rss_bytes))
        facts->row = *row;
    facts->row.host_bytes = host;
    facts->row.host_free_bytes = host_free;
    if (row->limit_bytes > 0)
        facts->container_limit_bytes = row->limit_bytes;
}

/* A histogram, or loaders with the number of their classes. */
static bool read_mat(struct facts_jvm *jvm, struct span text)
{
    struct jvm_facts *facts = &jvm->facts;
    struct mat_table table;
    struct mat_row row;
    int64_t loaders = 0;
    struct heap_objects objects = {0};
    struct loader_leak leak = {0};
    mat_table_begin(&table, text);
    while (mat_table_next(&table, &row)) {
        if (!row.is_loader) {
            heap_objects_add(&objects, row.name, row.instances, row.bytes);
            continue;
        }
        struct loader_stats_row loader = {
            .type = row.name, .classes = row.instances, .loader_address = (uint64_t)++loaders};
        loader_leak_add(&leak, &loader);
    }
    if (objects.classes > 0)
        facts->objects = objects;
    if (loaders > 0)
        facts->leak = leak;
    return objects.classes > 0 || loaders > 0;
}

void facts_read_ticket(struct facts_jvm *jvm, const struct text_part *part,
                       struct facts_input *input)
{
    struct jvm_facts *facts = &jvm->facts;
    switch (part->kind) {
    case TEXT_OOM_KILLER: {
        struct oom_killer report;
        oom_killer_read(&report, part->text);
        input->used = report.reports > 0;
        if (input->used)
            facts->kill = report;
        if (report.limit_bytes > 0)
            facts->container_limit_bytes = report.limit_bytes;
        int64_t heap; /* of a pod's environment */
        if (facts->max_heap_bytes <= 0 && java_flag_size(part->text, SPAN_LITERAL("-Xmx"), &heap))
            facts->max_heap_bytes = heap;
        break;
    }
    case TEXT_PROCESS: {
        struct process_row row;
        process_row_read(&row, part->text);
        input->used = row.source != PROCESS_NONE || row.host_bytes > 0;
        take_row(facts, &row);
        int64_t heap; /* of the command that ps prints */
        if (facts->max_heap_bytes <= 0 && java_flag_size(part->text, SPAN_LITERAL("-Xmx"), &heap))
            facts->max_heap_bytes = heap;
        if (!input->used)
            snprintf(input->note, sizeof input->note, "no row of a JVM is in it");
        break;
    }
    case TEXT_JSTAT: {
        struct jstat jstat;
        jstat_read(&jstat, part->text);
        input->used = jstat.rows > 0;
        if (!input->used)
            snprintf(input->note, sizeof input->note, "no row of -gc or -gcutil is in it");
        else
            facts->jstat = jstat;
        if (jstat.heap_committed_bytes > 0) {
            facts->heap_used_bytes = jstat.heap_used_bytes;
            facts->heap_committed_bytes = jstat.heap_committed_bytes;
        }
        break;
    }
    case TEXT_MAT_TABLE:
        input->used = read_mat(jvm, part->text);
        if (!input->used)
            snprintf(input->note, sizeof input->note, "no row of a class is in it");
        break;
    case TEXT_PMAP: {
        struct pmap map;
        pmap_read(&map, part->text);
        input->used = map.mappings > 0;
        if (map.mappings > facts->map.mappings)
            facts->map = map;
        break;
    }
    default: {
        struct oom_lines lines;
        oom_lines_read(&lines, part->text);
        facts_take_lines(jvm, &lines, input);
        break;
    }
    }
}
