#include "reports/alloc_report.h"

#include "reports/escape.h"
#include "reports/units.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#define TABLE_ROWS  40
#define SHORT_SHARE 0.1 /* of all bytes: worth a sentence */

/* JDK-8356372: the JVM keeps what it has sampled and what it has allocated in two places, which
 * part when objects do not fit into a thread's buffer. */
#define SAMPLER_MENDED_IN 25

/* --- reading ------------------------------------------------------------------------------------
 */

static json_t *profile_of(const char *answer)
{
    json_t *root = json_loads(answer, JSON_REJECT_DUPLICATES, NULL);
    json_t *inner = json_object_get(root, "alloc");
    json_t *profile = json_incref(inner != NULL ? inner : root);
    json_decref(root);
    if (json_is_object(profile) && json_is_array(json_object_get(profile, "classes")))
        return profile;
    json_decref(profile);
    return NULL;
}

static int64_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static int by_bytes(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    int64_t more = number_of(a, "bytes"), less = number_of(b, "bytes");
    return (more < less) - (more > less);
}

/* A new array; NULL: out of memory. */
static json_t *sorted(const json_t *classes)
{
    size_t count = json_array_size(classes);
    json_t **rows = calloc(count + 1, sizeof(json_t *));
    json_t *result = json_array();
    if (rows != NULL && result != NULL) {
        for (size_t i = 0; i < count; i++)
            rows[i] = json_array_get(classes, i);
        qsort(rows, count, sizeof(json_t *), by_bytes);
        for (size_t i = 0; i < count; i++)
            json_array_append(result, rows[i]);
    }
    free(rows);
    return result;
}

/* What has to be known to read the figures: sentences. */
static int collect_notes(const struct alloc_report *report, const json_t *profile,
                         char notes[ALLOC_NOTES_MAX][400])
{
    int count = 0;
    int64_t number;
    if (report->jdk_major > 0 && report->jdk_major < SAMPLER_MENDED_IN)
        snprintf(notes[count++], sizeof notes[0],
                 "The sampler of JDK %d itself is biased, whoever reads it: it meets objects that "
                 "are too large for a thread's buffer (from some 100 KB to two intervals) 5 to 30 "
                 "%% too rarely and small ones more often instead; the total is exact, and JDK %d "
                 "has it mended.",
                 report->jdk_major, SAMPLER_MENDED_IN);
    number = number_of(profile, "short_threads_bytes");
    if (number > 0 && (double)number > SHORT_SHARE * (double)number_of(profile, "total_bytes"))
        snprintf(notes[count++], sizeof notes[0],
                 "%s were allocated by threads that ended after less than 8 intervals: the JVM's "
                 "sampler meets those at the same places again and again, so classes may be off by "
                 "more than +-; a shorter interval helps.",
                 units_bytes(number).text);
    if (!json_is_integer(json_object_get(profile, "total_bytes")))
        snprintf(notes[count++], sizeof notes[0],
                 "This JVM does not tell what a thread allocated: the total is an estimate, too.");
    number = number_of(profile, "without_stack");
    if (number > 0)
        snprintf(notes[count++], sizeof notes[0],
                 "%s of the samples have no stack: the stack engine cannot walk from a callback, "
                 "or had no room.",
                 units_count(number).text);
    number = number_of(profile, "lost");
    if (number > 0)
        snprintf(notes[count++], sizeof notes[0],
                 "%s samples found no room; the others stand for them: a longer interval, or "
                 "shorter chunks.",
                 units_count(number).text);
    if (json_is_true(json_object_get(profile, "gave_way")))
        snprintf(notes[count++], sizeof notes[0],
                 "The agent gave way because of what it costs (--memory, --shed): allocations were "
                 "sampled and counted until then only.");
    number = number_of(profile, "threads_refused");
    if (number > 0)
        snprintf(notes[count++], sizeof notes[0],
                 "What %s threads allocated without a sample is not in the total.",
                 units_count(number).text);
    return count;
}

/* --- writing ------------------------------------------------------------------------------------
 */

static void print_head(const struct alloc_report *report, const json_t *profile, int64_t estimate,
                       FILE *out)
{
    const json_t *total = json_object_get(profile, "total_bytes");
    bool exact = json_is_integer(total);
    fprintf(out, "%s%s allocated", exact ? "" : "about ",
            units_bytes(exact ? json_integer_value(total) : estimate).text);
    if (report->duration_ms > 0)
        fprintf(out, " in %s", units_duration(report->duration_ms).text);
    fprintf(out, "; %s samples, one each %s\n", units_count(number_of(profile, "samples")).text,
            units_bytes(number_of(profile, "interval_bytes")).text);
}

static void print_table(const json_t *classes, int64_t all, FILE *out)
{
    size_t count = json_array_size(classes);
    int64_t rest = 0;
    if (count > 0)
        fprintf(out, "%12s %10s %8s %10s  %s\n", "BYTES", "+-", "SHARE", "SAMPLES", "CLASS");
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(classes, i);
        const char *name = json_string_value(json_object_get(row, "class"));
        int64_t bytes = number_of(row, "bytes");
        if (i >= TABLE_ROWS) {
            rest += bytes;
            continue;
        }
        fprintf(out, "%12s %10s %7.2f%% %10s  %s\n", units_bytes(bytes).text,
                units_bytes(number_of(row, "se_bytes")).text,
                all > 0 ? 100.0 * (double)bytes / (double)all : 0,
                units_count(number_of(row, "samples")).text,
                escape_name(name != NULL ? name : "?").text);
    }
    if (count > TABLE_ROWS)
        fprintf(out, "and %s classes more, %s together\n",
                units_count((int64_t)count - TABLE_ROWS).text, units_bytes(rest).text);
}

bool alloc_report_print(const struct alloc_report *report, FILE *out)
{
    char notes[ALLOC_NOTES_MAX][400];
    json_t *profile = profile_of(report->answer);
    json_t *classes = profile != NULL ? sorted(json_object_get(profile, "classes")) : NULL;
    if (classes == NULL) {
        json_decref(profile);
        return false;
    }
    int64_t estimate = 0, all;
    for (size_t i = 0; i < json_array_size(classes); i++)
        estimate += number_of(json_array_get(classes, i), "bytes");
    /* Of few samples the estimates may come to more than the exact total: no share exceeds 1. */
    all = number_of(profile, "total_bytes");
    if (all < estimate)
        all = estimate;
    print_head(report, profile, estimate, out);
    print_table(classes, all, out);
    int count = collect_notes(report, profile, notes);
    for (int i = 0; i < count; i++)
        fprintf(out, "note: %s\n", notes[i]);
    json_decref(classes);
    json_decref(profile);
    return !ferror(out);
}

bool alloc_report_json(const struct alloc_report *report, FILE *out)
{
    char notes[ALLOC_NOTES_MAX][400];
    json_t *profile = profile_of(report->answer), *sentences = json_array();
    json_t *classes = profile != NULL ? sorted(json_object_get(profile, "classes")) : NULL;
    if (classes == NULL) {
        json_decref(profile);
        json_decref(sentences);
        return false;
    }
    int count = collect_notes(report, profile, notes);
    for (int i = 0; i < count; i++)
        json_array_append_new(sentences, json_string(notes[i]));
    json_object_set_new(profile, "classes", classes);
    json_object_set_new(profile, "notes", sentences);
    json_object_set_new(profile, "pid", json_integer(report->pid));
    json_object_set_new(profile, "main",
                        report->main != NULL ? json_string(escape_name(report->main).text)
                                             : json_null());
    json_object_set_new(profile, "jdk_major", json_integer(report->jdk_major));
    json_object_set_new(profile, "duration_ms", json_integer(report->duration_ms));
    char *line = json_dumps(profile, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(profile);
    if (line == NULL)
        return false;
    fprintf(out, "%s\n", line);
    free(line);
    return !ferror(out);
}
