#include "reports/profile/agent_report.h"

#include "analyzers/model/texts.h"
#include "reports/json/json_fields.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* --- allocations ---------------------------------------------------------------------------- */

#define TABLE_ROWS  40
#define SHORT_SHARE 0.1 /* of all bytes: worth a sentence */

/* JDK-8356372: the JVM keeps what it has sampled and what it has allocated in two places, which
 * part when objects do not fit into a thread's buffer. */
#define SAMPLER_MENDED_IN 25

/* --- reading -------------------------------------------------------------------------------- */

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

static int64_t count_at(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static int by_bytes(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    int64_t more = count_at(a, "bytes"), less = count_at(b, "bytes");
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
                 "The sampler of JDK %d is biased, for every profiler: objects too large for a "
                 "thread's buffer (from some 100 KB to two intervals) are sampled 5 to 30 %% too "
                 "rarely, small ones too often; the total is exact, and JDK %d fixes it.",
                 report->jdk_major, SAMPLER_MENDED_IN);
    number = count_at(profile, "short_threads_bytes");
    if (number > 0 && (double)number > SHORT_SHARE * (double)count_at(profile, "total_bytes"))
        snprintf(notes[count++], sizeof notes[0],
                 "%s were allocated by threads that ended after less than 8 intervals: the JVM "
                 "samples those at the same places each time, so classes may be off by more than "
                 "+-; a shorter interval helps.",
                 units_bytes(number).text);
    if (!json_is_integer(json_object_get(profile, "total_bytes")))
        snprintf(
            notes[count++], sizeof notes[0],
            "This JVM does not report what a thread allocated: the total is an estimate, too.");
    number = count_at(profile, "without_stack");
    if (number > 0)
        snprintf(notes[count++], sizeof notes[0],
                 "%s of the samples have no stack: the stack engine cannot walk from a callback, "
                 "or had no room.",
                 units_count(number).text);
    number = count_at(profile, "lost");
    if (number > 0)
        snprintf(notes[count++], sizeof notes[0],
                 "%s samples were dropped for lack of room and the others scaled up: use a longer "
                 "interval, or shorter chunks.",
                 units_count(number).text);
    if (json_is_true(json_object_get(profile, "stopped_early")))
        snprintf(notes[count++], sizeof notes[0],
                 "The agent stopped sampling because of what it costs (--memory, --shed): "
                 "allocations were sampled and counted until then only.");
    number = count_at(profile, "threads_refused");
    if (number > 0)
        snprintf(notes[count++], sizeof notes[0],
                 "What %s threads allocated without a sample is not in the total.",
                 units_count(number).text);
    return count;
}

/* --- writing -------------------------------------------------------------------------------- */

static void print_head(const struct alloc_report *report, const json_t *profile, int64_t estimate,
                       FILE *out)
{
    const json_t *total = json_object_get(profile, "total_bytes");
    bool exact = json_is_integer(total);
    fprintf(out, "%s%s allocated", exact ? "" : "about ",
            units_bytes(exact ? json_integer_value(total) : estimate).text);
    if (report->duration_ms > 0)
        fprintf(out, " in %s", units_duration(report->duration_ms).text);
    fprintf(out, "; %s samples, one each %s%s\n", units_count(count_at(profile, "samples")).text,
            units_bytes(count_at(profile, "interval_bytes")).text,
            json_integer_value(json_object_get(profile, "interval_changes")) > 0
                ? " at the end, other intervals before"
                : "");
}

static bool print_table(const json_t *classes, int64_t all, FILE *out)
{
    size_t count = json_array_size(classes);
    int64_t rest = 0;
    struct page page;
    page_begin(&page, "", "", SEVERITY_INFO);
    if (count > 0)
        page_table(&page, "#BYTES", "#+-", "#SHARE", "#SAMPLES", "CLASS");
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(classes, i);
        const char *name = json_string_value(json_object_get(row, "class"));
        int64_t bytes = count_at(row, "bytes");
        char share[24];
        if (i >= TABLE_ROWS) {
            rest += bytes;
            continue;
        }
        snprintf(share, sizeof share, "%.2f%%", all > 0 ? 100.0 * (double)bytes / (double)all : 0);
        page_row(&page, units_bytes(bytes).text, units_bytes(count_at(row, "se_bytes")).text, share,
                 units_count(count_at(row, "samples")).text, name != NULL ? name : "?");
    }
    bool good = page_print(&page, out);
    if (count > TABLE_ROWS)
        fprintf(out, "and %s classes more, %s together\n",
                units_count((int64_t)count - TABLE_ROWS).text, units_bytes(rest).text);
    return good;
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
        estimate += count_at(json_array_get(classes, i), "bytes");
    /* Of few samples the estimates may come to more than the exact total: no share exceeds 1. */
    all = count_at(profile, "total_bytes");
    if (all < estimate)
        all = estimate;
    print_head(report, profile, estimate, out);
    bool good = print_table(classes, all, out);
    int count = collect_notes(report, profile, notes);
    for (int i = 0; i < count; i++)
        fprintf(out, "note: %s\n", notes[i]);
    json_decref(classes);
    json_decref(profile);
    return good && !ferror(out);
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
    struct json_out line = {0};
    json_out_value(&line, NULL, profile);
    json_decref(profile);
    return json_out_print(&line, out);
}

/* --- status, memory ------------------------------------------------------------------------- */

static json_t *object_of(const char *text)
{
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(root))
        return root;
    json_decref(root);
    return NULL;
}

static bool number_of(const json_t *object, const char *key, int64_t *number)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return false;
    *number = json_integer_value(value);
    return true;
}

/* "" when it is missing. */
static struct escaped_name text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return escape_name(text != NULL ? text : "");
}

static struct units_text bytes_of(const json_t *object, const char *key)
{
    int64_t bytes;
    return number_of(object, key, &bytes) ? units_bytes(bytes) : (struct units_text){"?"};
}

static struct units_text count_of(const json_t *object, const char *key)
{
    int64_t count;
    return number_of(object, key, &count) ? units_count(count) : (struct units_text){"?"};
}

/* --- status ----------------------------------------------------------------------------------- */

/* "slots 3, buffers 10": the counters of an object that are not 0. */
static void print_counters(const char *title, const json_t *object, FILE *out)
{
    const char *key, *before = "";
    json_t *value;
    bool any = false;
    json_object_foreach ((json_t *)object, key, value)
        any = any || (json_is_integer(value) && json_integer_value(value) != 0);
    if (!any)
        return;
    fprintf(out, "%-14s", title);
    json_object_foreach ((json_t *)object, key, value) {
        if (!json_is_integer(value) || json_integer_value(value) == 0)
            continue;
        fprintf(out, "%s%s %s", before, escape_name(key).text,
                units_count(json_integer_value(value)).text);
        before = ", ";
    }
    fputc('\n', out);
}

static void print_line(const char *title, const char *text, FILE *out)
{
    if (text[0] != '\0')
        fprintf(out, "%-14s%s\n", title, text);
}

/* An agent from before there was a reason to read: unknown, NULL: a line above says it already. */
static void print_native(const json_t *status, const char *unknown, FILE *out)
{
    struct escaped_name reason = text_of(status, "native_missing");
    if (reason.text[0] != '\0')
        print_line("native", reason.text, out);
    else if (unknown != NULL && json_is_false(json_object_get(status, "native")))
        print_line("native", unknown, out);
}

/* Whose method ids are asked for, and what that costs. */
static void print_ids(const json_t *status, FILE *out)
{
    char line[300];
    int64_t predicted, count, skipped = 0;
    const json_t *ids = json_object_get(status, "jmethodid");
    struct escaped_name policy = text_of(ids, "policy");
    if (policy.text[0] != '\0' && strcmp(policy.text, "none") != 0) {
        snprintf(line, sizeof line, "%.20s", policy.text);
        if (number_of(ids, "budget_bytes", &count))
            text_add(line, sizeof line, " %s", units_bytes(count).text);
        text_add(line, sizeof line, ": %s classes, %s in the JVM",
                 count_of(ids, "prepared_classes").text, bytes_of(ids, "asked_bytes").text);
        if (number_of(ids, "skipped_classes", &skipped) && skipped != 0)
            text_add(line, sizeof line, "; %s beyond the budget", units_count(skipped).text);
        if (number_of(ids, "predicted_bytes", &predicted) && skipped != 0)
            text_add(line, sizeof line, "; all that were loaded at the start would take %s",
                     units_bytes(predicted).text);
        print_line("method ids", line, out);
    }
    if (number_of(status, "unnamed_frames", &count) && count != 0)
        print_line("without name", units_count(count).text, out);
}

static void print_breaker(const json_t *status, FILE *out)
{
    char line[400];
    const json_t *breaker = json_object_get(status, "breaker");
    struct escaped_name state = text_of(breaker, "state");
    if (state.text[0] == '\0' || strcmp(state.text, "normal") == 0)
        return;
    snprintf(line, sizeof line, "%.20s: %.300s", state.text, text_of(breaker, "reason").text);
    print_line("breaker", line, out);
}

static void print_lost_stacks(const json_t *status, FILE *out)
{
    char line[300];
    int64_t over = 0, late = 0;
    const json_t *lost = json_object_get(status, "lost_stacks");
    if (!number_of(lost, "over_budget", &over) || !number_of(lost, "late", &late) ||
        over + late == 0)
        return;
    snprintf(line, sizeof line, "%s, shown as [over budget]: ", units_count(over + late).text);
    if (over > 0)
        text_add(line, sizeof line,
                 "%s because the %s for the stacks of a chunk were used up (memory=, "
                 "traces=, or a shorter chunk=)%s",
                 units_count(over).text, bytes_of(lost, "bound_bytes").text, late > 0 ? "; " : "");
    if (late > 0)
        text_add(line, sizeof line, "%s because they came faster than room was mapped",
                 units_count(late).text);
    print_line("stacks lost", line, out);
}

static void print_figures(const json_t *status, const char *file, FILE *out)
{
    int64_t count;
    char line[160];
    if (number_of(status, "samples", &count)) {
        snprintf(line, sizeof line, "%s, stored %s", units_count(count).text,
                 count_of(status, "stored").text);
        print_line("samples", line, out);
    }
    print_counters("dropped", json_object_get(status, "dropped"), out);
    print_lost_stacks(status, out);
    print_counters("walks", json_object_get(status, "walks"), out);
    if (number_of(status, "torn_contexts", &count) && count != 0)
        print_line("torn contexts", units_count(count).text, out);
    print_line("file", file != NULL ? escape_name(file).text : text_of(status, "file").text, out);
    if (number_of(status, "chunks", &count)) {
        snprintf(line, sizeof line, "%s, %s", units_count(count).text,
                 bytes_of(status, "file_bytes").text);
        print_line("chunks", line, out);
    }
    print_line("error", text_of(status, "recording_error").text, out);
    print_counters("lost", json_object_get(status, "lost"), out);
}

bool agent_print_lost(const char *json, FILE *out)
{
    json_t *answer = object_of(json);
    const json_t *status = json_object_get(answer, "status");
    const json_t *lost = json_object_get(json_is_object(status) ? status : answer, "lost");
    int64_t chunks = 0;
    bool any = number_of(lost, "chunks", &chunks) && chunks > 0;
    if (any)
        fprintf(out,
                "nmtwatch profile: the recording is not whole: %s chunks with %s events could not "
                "be written: %s\n",
                units_count(chunks).text, count_of(lost, "events").text,
                text_of(lost, "reason").text);
    json_decref(answer);
    return any;
}

/* Samples are weighed, and so counted, when their chunk ends. */
static void print_alloc(const json_t *status, FILE *out)
{
    char line[300];
    const json_t *alloc = json_object_get(status, "alloc");
    const char *stacks = json_is_false(json_object_get(alloc, "stacks"))
                             ? "; without stacks, which this engine cannot walk"
                             : "";
    int64_t chunks = 1;
    if (!json_is_object(alloc))
        return;
    number_of(status, "chunks", &chunks);
    if (chunks == 0)
        snprintf(line, sizeof line, "one each %s; counted when the first chunk ends%s",
                 bytes_of(alloc, "interval_bytes").text, stacks);
    else
        snprintf(line, sizeof line,
                 "%s samples, one each %s%s; %s allocated, up to the last chunk%s",
                 count_of(alloc, "samples").text, bytes_of(alloc, "interval_bytes").text,
                 json_integer_value(json_object_get(alloc, "interval_changes")) > 0 ? " now" : "",
                 bytes_of(alloc, "total_bytes").text, stacks);
    print_line("allocations", line, out);
}

#define METHOD_FAMILIES 5

static void print_classes(const json_t *classes, FILE *out)
{
    char line[400];
    const json_t *most = json_array_get(json_object_get(classes, "top"), 0);
    if (!json_is_object(classes))
        return;
    snprintf(line, sizeof line, "%s loaded since the start, %s unloaded",
             count_of(classes, "loaded").text, count_of(classes, "unloaded").text);
    print_line("classes", line, out);
    int64_t loaded = 0;
    if (!json_is_object(most) || !number_of(most, "loaded", &loaded) || loaded == 0)
        return;
    snprintf(line, sizeof line, "most are %.300s, %s loaded", text_of(most, "family").text,
             count_of(most, "loaded").text);
    print_line("", line, out);
}

/* All classes that are loaded, whether or not their definition was seen. */
static void print_methods(const json_t *methods, FILE *out)
{
    char line[440];
    size_t i;
    const json_t *family;
    if (!json_is_object(methods))
        return;
    snprintf(line, sizeof line, "%s in %s loaded classes, most of them of",
             count_of(methods, "methods").text, count_of(methods, "classes").text);
    print_line("methods", line, out);
    json_array_foreach (json_object_get(methods, "families"), i, family) {
        if (i == METHOD_FAMILIES)
            break;
        snprintf(line, sizeof line, "%.240s: %s in %s", text_of(family, "family").text,
                 count_of(family, "methods").text, count_of(family, "classes").text);
        print_line("", line, out);
    }
}

static void print_live(const json_t *live, FILE *out)
{
    char line[240];
    int64_t refused;
    if (!json_is_object(live))
        return;
    snprintf(line, sizeof line, "%s sampled ones are followed, %s were collected",
             count_of(live, "held").text, count_of(live, "collected").text);
    print_line("live objects", line, out);
    if (!number_of(live, "refused", &refused) || refused == 0)
        return;
    snprintf(line, sizeof line, "%s found no room", units_count(refused).text);
    print_line("", line, out);
}

static bool is_running(const json_t *status)
{
    return json_is_true(json_object_get(status, "running"));
}

static void print_intervals(const json_t *status, FILE *out)
{
    char line[160];
    int64_t cpu_ns, wall_ns = 0, changes = 0;
    if (!number_of(status, "cpu_interval_ns", &cpu_ns))
        return; /* an older agent */
    number_of(status, "wall_interval_ns", &wall_ns);
    number_of(status, "interval_changes", &changes);
    snprintf(line, sizeof line, "CPU %s",
             cpu_ns > 0 ? units_microseconds(cpu_ns / 1000).text : "off");
    if (wall_ns > 0)
        text_add(line, sizeof line, ", wall clock %s", units_microseconds(wall_ns / 1000).text);
    if (changes > 0)
        text_add(line, sizeof line, " now, others before");
    print_line("intervals", line, out);
}

bool agent_print_status(const char *json, FILE *out)
{
    json_t *status = object_of(json);
    if (status == NULL)
        return false;
    int64_t count;
    print_line("state", is_running(status) ? "running" : "not running", out);
    if (is_running(status)) {
        print_line("timer", text_of(status, "timer").text, out);
        print_intervals(status, out);
        print_line("engine", text_of(status, "engine").text, out);
        print_native(status, "no native frames", out);
        fprintf(out, "%-14s%s, timers %s", "threads", count_of(status, "threads").text,
                count_of(status, "timers").text);
        if (number_of(status, "failed_timers", &count) && count != 0)
            fprintf(out, ", failed %s", units_count(count).text);
        if (number_of(status, "revived_timers", &count) && count != 0)
            fprintf(out, ", found off %s", units_count(count).text);
        fputc('\n', out);
        if (json_is_true(json_object_get(status, "handler_replaced")))
            print_line("warning",
                       "the application took the profiler's signal over; no samples come any more",
                       out);
        if (number_of(status, "small_stacks", &count) && count != 0)
            fprintf(out,
                    "%-14s%s signals dropped: a thread's alternate signal stack is too small\n",
                    "warning", units_count(count).text);
    }
    print_ids(status, out);
    print_breaker(status, out);
    print_alloc(status, out);
    print_classes(json_object_get(status, "classes"), out);
    print_methods(json_object_get(status, "loaded_methods"), out);
    print_live(json_object_get(status, "live"), out);
    print_figures(status, NULL, out);
    json_decref(status);
    return true;
}

bool agent_print_started(const char *json, FILE *out)
{
    json_t *status = object_of(json);
    if (status == NULL)
        return false;
    fprintf(out, "profiling: timer %s, engine %s%s\n", text_of(status, "timer").text,
            text_of(status, "engine").text,
            json_is_false(json_object_get(status, "native")) ? ", no native frames" : "");
    print_native(status, NULL, out);
    print_line("file", text_of(status, "file").text, out);
    print_ids(status, out);
    json_decref(status);
    return true;
}

bool agent_print_dumped(const char *json, FILE *out)
{
    json_t *status = object_of(json);
    if (status == NULL)
        return false;
    fprintf(out, "the recording is complete up to now\n");
    print_figures(status, NULL, out);
    json_decref(status);
    return true;
}

static bool print_end(const char *json, const char *file, FILE *out)
{
    json_t *answer = object_of(json);
    if (answer == NULL)
        return false;
    fprintf(out, "stopped\n");
    print_breaker(json_object_get(answer, "status"), out);
    print_figures(json_object_get(answer, "status"), file, out);
    print_line("note", text_of(answer, "notes").text, out);
    if (json_is_object(json_object_get(answer, "alloc"))) {
        const struct alloc_report report = {.answer = json,
                                            .jdk_major = (int)json_integer_value(json_object_get(
                                                json_object_get(answer, "status"), "jdk_major"))};
        fputc('\n', out);
        alloc_report_print(&report, out);
    }
    json_decref(answer);
    return true;
}

bool agent_print_stopped(const char *json, FILE *out)
{
    return print_end(json, NULL, out);
}

bool agent_print_written(const char *json, const char *output, FILE *out)
{
    return print_end(json, output, out);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void add_usage(struct page *page, const char *name, const json_t *usage, bool documented)
{
    int64_t bytes;
    const char *what = "";
    struct units_text text;
    if (documented && !json_is_null(json_object_get(usage, "documented_bytes"))) {
        text = number_of(usage, "documented_bytes", &bytes) ? units_bytes(bytes)
                                                            : (struct units_text){"?"};
        what = text.text;
    }
    page_row(page, name, what, bytes_of(usage, "requested_bytes").text,
             bytes_of(usage, "reserved_bytes").text, bytes_of(usage, "resident_bytes").text,
             bytes_of(usage, "peak_bytes").text, count_of(usage, "allocations").text,
             count_of(usage, "frees").text);
}

static void print_in_jvm(const json_t *jvm, FILE *out)
{
    const json_t *ids = json_object_get(jvm, "jmethod_ids");
    fprintf(out, "\nin the JVM because of the agent\n");
    fprintf(out, "  jmethodIDs          %s, %s methods of %s classes; kept after unloading %s\n",
            bytes_of(ids, "loaded_bytes").text, count_of(ids, "methods").text,
            count_of(ids, "classes").text, bytes_of(ids, "kept_after_unload_bytes").text);
    const json_t *weak = json_object_get(jvm, "weak_references");
    int64_t count;
    if (number_of(weak, "count", &count) && count != 0)
        fprintf(out, "  weak references     %s, %s of them\n", bytes_of(weak, "bytes").text,
                units_count(count).text);
    fprintf(out, "  JVMTI results       %s\n", bytes_of(jvm, "jvmti_bytes").text);
}

static void print_rss(const json_t *rss, FILE *out)
{
    int64_t growth;
    if (!json_is_object(rss))
        return;
    fprintf(out, "\nRSS %s, before the agent %s; explained %s", bytes_of(rss, "process_bytes").text,
            bytes_of(rss, "before_agent_bytes").text, bytes_of(rss, "explained_bytes").text);
    if (number_of(rss, "unexplained_growth_bytes", &growth))
        fprintf(out, ", other growth %s", units_growth(growth).text);
    fputc('\n', out);
}

static void add_sites(struct page *page, const char *heading, const json_t *sites, bool growth)
{
    page_heading(page, heading);
    if (json_array_size(sites) == 0) {
        page_text(page, "none");
        return;
    }
    page_table(page, "#BYTES", "#BLOCKS", "COMPONENT", "SITE");
    for (size_t i = 0; i < json_array_size(sites); i++) {
        const json_t *site = json_array_get(sites, i), *frames = json_object_get(site, "frames");
        const char *component = json_string_value(json_object_get(site, "component"));
        char text[400] = "";
        int64_t bytes;
        for (size_t f = 0; f < json_array_size(frames); f++) {
            const char *frame = json_string_value(json_array_get(frames, f));
            text_add(text, sizeof text, "%s%s", f == 0 ? "" : " < ", frame != NULL ? frame : "?");
        }
        page_row(page,
                 growth && number_of(site, "bytes", &bytes) ? units_growth(bytes).text
                                                            : bytes_of(site, "bytes").text,
                 count_of(site, "blocks").text, component != NULL ? component : "",
                 text[0] != '\0' ? text : "(no room in the table of sites)");
    }
}

static struct units_text growth_of(const json_t *object, const char *name)
{
    int64_t bytes;
    return number_of(object, name, &bytes) ? units_growth(bytes) : (struct units_text){"?"};
}

/* sites: they are kept at this level. */
static void add_growth(struct page *page, const json_t *since, bool sites)
{
    char heading[80];
    int64_t age_ms = 0;
    number_of(since, "age_ms", &age_ms);
    snprintf(heading, sizeof heading, "since the baseline, %s ago", units_duration(age_ms).text);
    page_heading(page, heading);
    page_table(page, "COMPONENT", "#REQUESTED", "#RESERVED", "#RESIDENT", "#ALLOCATIONS", "#FREES");
    const json_t *rows = json_object_get(since, "components");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = json_string_value(json_object_get(row, "name"));
        page_row(page, name != NULL ? name : "", growth_of(row, "requested_bytes").text,
                 growth_of(row, "reserved_bytes").text, growth_of(row, "resident_bytes").text,
                 count_of(row, "allocations").text, count_of(row, "frees").text);
    }
    if (sites && json_object_get(since, "sites") != NULL)
        add_sites(page, "sites that have grown", json_object_get(since, "sites"), true);
}

bool agent_print_memory(const char *json, FILE *out)
{
    json_t *memory = object_of(json);
    if (memory == NULL)
        return false;
    struct page page;
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, "COMPONENT", "#DOCUMENTED", "#REQUESTED", "#RESERVED", "#RESIDENT", "#PEAK",
               "#ALLOCATIONS", "#FREES");
    const json_t *rows = json_object_get(memory, "components");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = json_string_value(json_object_get(row, "name"));
        add_usage(&page, name != NULL ? name : "", row, true);
    }
    const json_t *total = json_object_get(memory, "total");
    if (total != NULL)
        add_usage(&page, "total", total, false);
    const char *level = json_string_value(json_object_get(memory, "level"));
    const json_t *sites = json_object_get(memory, "sites");
    bool detail = level != NULL && strcmp(level, "detail") == 0;
    if (sites != NULL && level != NULL && !detail)
        page_text(&page, "Sites are kept of what was allocated at --memory-level detail; this "
                         "agent runs at another level.");
    if (json_array_size(sites) > 0)
        add_sites(&page, "sites", sites, false);
    if (json_is_object(json_object_get(memory, "since_baseline")))
        add_growth(&page, json_object_get(memory, "since_baseline"), detail);
    bool good = page_print(&page, out);
    int64_t damaged;
    if (number_of(memory, "damaged_blocks", &damaged) && damaged != 0)
        fprintf(out, "%s blocks were overwritten beyond their ends\n", units_count(damaged).text);
    print_in_jvm(json_object_get(memory, "jvm"), out);
    print_rss(json_object_get(memory, "rss"), out);
    json_decref(memory);
    return good;
}

/* --- as it is --------------------------------------------------------------------------------- */

bool agent_print_json(const char *json, FILE *out)
{
    json_t *root = object_of(json);
    struct json_out line = {0};
    if (root == NULL)
        return false;
    json_out_value(&line, NULL, root);
    json_decref(root);
    return json_out_print(&line, out);
}
