/*
 * Every capture of a real JVM below tests/golden/jdk*, through its parser, as compact text that is
 * compared with the .golden files beside the captures. Runs from the root of the source tree.
 *
 *   UPDATE_GOLDEN=1 build/tests/golden/captures_test     writes them anew: read the diff
 */
#include "analyzers/parse/class_tables.h"
#include "analyzers/parse/class_log.h"
#include "analyzers/parse/hsperfdata.h"
#include "analyzers/parse/jcmd_reply.h"
#include "analyzers/parse/metaspace.h"
#include "analyzers/parse/nmt_summary.h"

#include <dirent.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PRINT(s) (int)(s).len, (s).ptr

/* A dumper prints what it parsed from the front of text and returns how much that was. */
typedef size_t dumper(FILE *out, struct span text);

static const char *const nmt_row_keys[] = {
#define NMT_ROW_FIELD(id, key) key,
#include "analyzers/parse/nmt_row_fields.def"
};
static const char *const metaspace_keys[] = {
#define METASPACE_FIELD(id, key) key,
#include "analyzers/parse/metaspace_fields.def"
};
static const char *const kind_names[JCMD_REPLY_KIND_COUNT] = {
    [JCMD_OK] = "ok",
    [JCMD_EMPTY] = "empty",
    [JCMD_NMT_OFF] = "nmt-off",
    [JCMD_NMT_SHUT_DOWN] = "nmt-shut-down",
    [JCMD_NO_BASELINE] = "no-baseline",
    [JCMD_DETAIL_OFF] = "detail-off",
    [JCMD_BASELINE_TAKEN] = "baseline-taken",
    [JCMD_BAD_SCALE] = "bad-scale",
    [JCMD_UNKNOWN_COMMAND] = "unknown-command",
    [JCMD_UNKNOWN_ARGUMENT] = "unknown-argument",
    [JCMD_EXCEPTION] = "exception",
};

static const char *result_name(enum parse_result result)
{
    static const char *const names[] = {"ok", "malformed", "incomplete"};
    return names[result];
}

static void dump_nmt_row(FILE *out, const struct nmt_row *row)
{
    const char *known = row->category == NMT_NOT_IN_TABLE ? "?" : "";
    fprintf(out, "%.*s%s:", PRINT(row->name), known);
    for (int field = 0; field < NMT_ROW_FIELD_COUNT; field++) {
        int64_t value;
        if (!nmt_row_get(row, (enum nmt_row_field)field, &value))
            continue;
        fprintf(out, " %s=%" PRId64, nmt_row_keys[field], value);
        if (row->delta[field] != 0)
            fprintf(out, "%+" PRId64, row->delta[field]);
    }
    fputc('\n', out);
}

static size_t dump_nmt_summary(FILE *out, struct span text)
{
    struct nmt_summary summary;
    size_t consumed;
    enum parse_result result = nmt_summary_parse(&summary, text, &consumed);
    fprintf(out, "%s scale=%" PRId64 "%s rows=%d dropped=%d unknown=%d %.*s\n", result_name(result),
            summary.scale_bytes, summary.is_diff ? " diff" : "", summary.row_count,
            summary.rows_dropped, summary.unknown_lines, PRINT(summary.first_unknown));
    if (result == PARSE_MALFORMED)
        return consumed;
    dump_nmt_row(out, &summary.total);
    for (int i = 0; i < summary.row_count; i++)
        dump_nmt_row(out, &summary.rows[i]);
    struct nmt_total_check check = nmt_summary_check_total(&summary);
    fprintf(out, "total %s: gaps %" PRId64 " %" PRId64 " of %" PRId64 "%s\n",
            check.holds ? "holds" : "BROKEN", check.reserved_gap_bytes, check.committed_gap_bytes,
            check.tolerance_bytes, check.one_snapshot ? ", one snapshot" : "");
    return consumed;
}

static size_t dump_metaspace(FILE *out, struct span text)
{
    struct metaspace metaspace;
    size_t consumed;
    enum parse_result result = metaspace_parse(&metaspace, text, &consumed);
    fprintf(out, "%s%s%s", result_name(result), metaspace.exact ? " exact" : "",
            metaspace.max_unlimited ? " unlimited" : "");
    for (int field = 0; field < METASPACE_FIELD_COUNT; field++) {
        int64_t value;
        if (metaspace_get(&metaspace, (enum metaspace_field)field, &value))
            fprintf(out, " %s=%" PRId64, metaspace_keys[field], value);
    }
    fputc('\n', out);
    return consumed;
}

static size_t dump_end(FILE *out, const struct line_cursor *lines)
{
    fprintf(out, "%s unknown=%" PRId64 " %.*s\n", result_name(lines->result), lines->unknown_lines,
            PRINT(lines->first_unknown));
    return lines->at;
}

static size_t dump_classloader_stats(FILE *out, struct span text)
{
    struct classloader_stats stats;
    struct loader_stats_row row;
    classloader_stats_begin(&stats, text);
    while (classloader_stats_next(&stats, &row))
        fprintf(
            out, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRId64 " %" PRId64 " %" PRId64 " %.*s%s\n",
            row.loader_address, row.parent_address, row.data_address, row.classes, row.chunk_bytes,
            row.block_bytes, PRINT(row.type), row.kind == LOADER_HIDDEN ? " hidden" : "");
    if (stats.total.present)
        fprintf(out, "total %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", stats.total.loaders,
                stats.total.classes, stats.total.chunk_bytes, stats.total.block_bytes);
    return dump_end(out, &stats.lines);
}

static size_t dump_class_hierarchy(FILE *out, struct span text)
{
    struct class_hierarchy hierarchy;
    struct class_hierarchy_row row;
    class_hierarchy_begin(&hierarchy, text);
    while (class_hierarchy_next(&hierarchy, &row))
        fprintf(out, "%d %.*s %" PRIx64 "%s%s%.*s\n", row.depth, PRINT(row.name),
                row.loader_address, row.is_interface ? " interface" : "",
                row.invokes.len ? " invokes " : "", PRINT(row.invokes));
    return dump_end(out, &hierarchy.lines);
}

static size_t dump_classes(FILE *out, struct span text)
{
    struct classes classes;
    struct classes_row row;
    classes_begin(&classes, text);
    while (classes_next(&classes, &row))
        fprintf(out, "%" PRIx64 " %" PRId64 " '%.*s' '%.*s' %.*s%s\n", row.address, row.size_words,
                PRINT(row.state), PRINT(row.flags), PRINT(row.name), row.is_array ? " array" : "");
    return dump_end(out, &classes.lines);
}

static size_t dump_class_histogram(FILE *out, struct span text)
{
    struct class_histogram histogram;
    struct class_histogram_row row;
    class_histogram_begin(&histogram, text);
    while (class_histogram_next(&histogram, &row))
        fprintf(out, "%" PRId64 " %" PRId64 " %" PRId64 " %.*s '%.*s'\n", row.rank, row.instances,
                row.bytes, PRINT(row.name), PRINT(row.module));
    if (histogram.total.present)
        fprintf(out, "total %" PRId64 " %" PRId64 "\n", histogram.total.instances,
                histogram.total.bytes);
    return dump_end(out, &histogram.lines);
}

static size_t dump_class_log(FILE *out, struct span text)
{
    static const char *const kinds[] = {"other", "load", "unload"};
    struct class_log_line line;
    struct span rest = text;
    while (class_log_next(&rest, &line))
        fprintf(out, "%s %" PRId64 " '%.*s' '%.*s'\n", kinds[line.kind], line.uptime_ms,
                PRINT(line.name), PRINT(line.source));
    return text.len - rest.len;
}

/* Takes the one line a reply nobody parses consists of. */
static size_t dump_line(FILE *out, struct span text)
{
    struct span rest = jcmd_reply_skip_pid(text), line = {text.ptr, 0};
    bool terminated;
    span_next_line(&rest, &line, &terminated);
    fprintf(out, "text %.*s\n", PRINT(line));
    return text.len - rest.len;
}

static size_t dump_hsperfdata(FILE *out, struct span image)
{
    struct hsperfdata view;
    struct hsperfdata_cursor cursor;
    struct hsperfdata_entry entry;
    fprintf(out, "%s\n", result_name(hsperfdata_open(&view, image.ptr, image.len)));
    hsperfdata_begin(&view, &cursor);
    while (hsperfdata_next(&view, &cursor, &entry)) {
        int64_t number;
        struct span string;
        fprintf(out, "%.*s units %d variability %d:", PRINT(entry.name), entry.units,
                entry.variability);
        if (hsperfdata_number(&view, &entry, &number))
            fprintf(out, " %" PRId64 "\n", number);
        else if (hsperfdata_string(&view, &entry, &string))
            fprintf(out, " '%.*s'\n", PRINT(string));
    }
    fprintf(out, "%s\n", result_name(cursor.result));
    return image.len;
}

/* Which parsers a capture goes through, one after the other; the first pattern that matches. */
static const struct {
    const char *pattern;
    const char *golden;
    dumper *dumpers[4];
} routes[] = {
    {"joined_nmt_metaspace.txt", "joined", {dump_nmt_summary, dump_metaspace, dump_line}},
    {"joined_nmt_loaders.txt",
     "joined",
     {dump_nmt_summary, dump_classloader_stats, dump_line, dump_line}},
    {"*metaspace*.txt", "metaspace", {dump_metaspace}},
    {"*classloader_stats*.txt", "classloader_stats", {dump_classloader_stats}},
    {"class_hierarchy*.txt", "class_hierarchy", {dump_class_hierarchy}},
    {"class_histogram*.txt", "class_histogram", {dump_class_histogram}},
    {"vm_classes.txt", "classes", {dump_classes}},
    {"classlog_*.txt", "class_log", {dump_class_log}},
    {"hsperfdata.bin", "hsperfdata", {dump_hsperfdata}},
    {"*.txt", "nmt_summary", {dump_nmt_summary}},
};
#define ROUTE_COUNT (sizeof(routes) / sizeof(routes[0]))

static void dump_capture(FILE *out, const char *name, struct span text, dumper *const *dumpers)
{
    fprintf(out, "== %s\n", name);
    for (int i = 0; i < 4 && dumpers[i]; i++) {
        struct jcmd_reply reply = jcmd_reply_classify(text);
        size_t taken;
        if (reply.kind == JCMD_OK || dumpers[i] == dump_class_log) {
            taken = dumpers[i](out, text);
        } else {
            fprintf(out, "%s: %.*s\n", kind_names[reply.kind], PRINT(reply.message));
            taken = text.len - reply.rest.len;
        }
        text = span_of(text.ptr + taken, text.len - taken);
    }
    struct span rest = text, line = {text.ptr, 0};
    bool terminated;
    while (line.len == 0 && span_next_line(&rest, &line, &terminated))
        ;
    if (line.len > 0)
        fprintf(out, "then: %.*s\n", PRINT(line));
}

static char *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *bytes = NULL;
    size_t room = 0;
    *len = 0;
    do {
        room = room ? room * 2 : 4096;
        bytes = realloc(bytes, room);
        assert_non_null(bytes);
        *len += fread(bytes + *len, 1, room - *len, file);
    } while (*len == room);
    fclose(file);
    return bytes;
}

static size_t route_of(const char *name)
{
    size_t i = 0;
    while (i < ROUTE_COUNT && fnmatch(routes[i].pattern, name, 0) != 0)
        i++;
    return i;
}

static void compare(const char *path, const char *actual, size_t actual_len)
{
    size_t expected_len = 0;
    char *expected = read_file(path, &expected_len);
    if (!expected)
        fail_msg("%s is missing: run with UPDATE_GOLDEN=1", path);
    struct span a = span_of(expected, expected_len), b = span_of(actual, actual_len);
    struct span expected_line, actual_line;
    bool terminated;
    for (int number = 1; a.len > 0 || b.len > 0; number++) {
        expected_line = actual_line = span_of("", 0);
        span_next_line(&a, &expected_line, &terminated);
        span_next_line(&b, &actual_line, &terminated);
        if (!span_equals(expected_line, actual_line))
            fail_msg("%s:%d\n  expected: %.*s\n  parsed:   %.*s", path, number,
                     PRINT(expected_line), PRINT(actual_line));
    }
    free(expected);
}

/* All captures of one JDK; *state is its folder. */
static void captures_parse_as_before(void **state)
{
    const char *folder = *state;
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort);
    if (count < 0)
        fail_msg("%s: run from the root of the source tree", folder);

    int captures = 0;
    for (size_t golden = 0; golden < ROUTE_COUNT; golden++) {
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        if (golden > 0 && strcmp(routes[golden].golden, routes[golden - 1].golden) == 0) {
            fclose(out);
            free(text);
            continue;
        }
        for (int i = 0; i < count; i++) {
            size_t route = route_of(names[i]->d_name);
            if (route == ROUTE_COUNT || strcmp(routes[route].golden, routes[golden].golden) != 0)
                continue;
            char path[512];
            size_t bytes = 0;
            snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
            char *capture = read_file(path, &bytes);
            assert_non_null(capture);
            dump_capture(out, names[i]->d_name, span_of(capture, bytes), routes[route].dumpers);
            free(capture);
            captures++;
        }
        fclose(out);
        char path[512];
        snprintf(path, sizeof path, "%s/%s.golden", folder, routes[golden].golden);
        if (len > 0 && getenv("UPDATE_GOLDEN")) {
            FILE *file = fopen(path, "wb");
            assert_non_null(file);
            assert_int_equal(fwrite(text, 1, len, file), len);
            fclose(file);
        } else if (len > 0) {
            compare(path, text, len);
        }
        free(text);
    }
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    assert_true(captures >= 20);
}

#define CAPTURES_OF(jdk)                                                                           \
    {                                                                                              \
        "captures_of_" jdk, captures_parse_as_before, NULL, NULL, "tests/golden/" jdk              \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURES_OF("jdk8"),  CAPTURES_OF("jdk11"), CAPTURES_OF("jdk17"),
        CAPTURES_OF("jdk21"), CAPTURES_OF("jdk25"), CAPTURES_OF("jdk26"),
    };
    return cmocka_run_group_tests_name("golden captures", tests, NULL, NULL);
}
