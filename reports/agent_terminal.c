#include "reports/agent_terminal.h"

#include "reports/alloc_report.h"
#include "reports/escape.h"
#include "reports/units.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
    json_object_foreach((json_t *)object, key, value) any =
        any || (json_is_integer(value) && json_integer_value(value) != 0);
    if (!any)
        return;
    fprintf(out, "%-14s", title);
    json_object_foreach((json_t *)object, key, value)
    {
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
        int used = snprintf(line, sizeof line, "%.20s", policy.text);
        if (number_of(ids, "budget_bytes", &count))
            used +=
                snprintf(line + used, sizeof line - (size_t)used, " %s", units_bytes(count).text);
        used += snprintf(line + used, sizeof line - (size_t)used, ": %s classes, %s in the JVM",
                         count_of(ids, "prepared_classes").text, bytes_of(ids, "asked_bytes").text);
        if (number_of(ids, "skipped_classes", &skipped) && skipped != 0)
            used += snprintf(line + used, sizeof line - (size_t)used, "; %s beyond the budget",
                             units_count(skipped).text);
        if (number_of(ids, "predicted_bytes", &predicted) && skipped != 0)
            snprintf(line + used, sizeof line - (size_t)used,
                     "; all that were loaded at the start would take %s",
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
}

static void print_alloc(const json_t *alloc, FILE *out)
{
    char line[240];
    if (!json_is_object(alloc))
        return;
    snprintf(line, sizeof line, "%s samples, one each %s; %s allocated%s",
             count_of(alloc, "samples").text, bytes_of(alloc, "interval_bytes").text,
             bytes_of(alloc, "total_bytes").text,
             json_is_false(json_object_get(alloc, "stacks"))
                 ? "; without stacks, which this engine cannot walk"
                 : "");
    print_line("allocations", line, out);
}

static void print_classes(const json_t *classes, FILE *out)
{
    char line[400];
    const json_t *most = json_array_get(json_object_get(classes, "top"), 0);
    if (!json_is_object(classes))
        return;
    snprintf(line, sizeof line, "%s loaded, %s unloaded", count_of(classes, "loaded").text,
             count_of(classes, "unloaded").text);
    print_line("classes", line, out);
    int64_t loaded = 0;
    if (!json_is_object(most) || !number_of(most, "loaded", &loaded) || loaded == 0)
        return;
    snprintf(line, sizeof line, "most are %.300s, %s loaded", text_of(most, "family").text,
             count_of(most, "loaded").text);
    print_line("", line, out);
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

bool agent_print_status(const char *json, FILE *out)
{
    json_t *status = object_of(json);
    if (status == NULL)
        return false;
    int64_t count;
    print_line("state", is_running(status) ? "running" : "not running", out);
    if (is_running(status)) {
        print_line("timer", text_of(status, "timer").text, out);
        print_line("engine", text_of(status, "engine").text, out);
        print_native(status, "no native frames", out);
        fprintf(out, "%-14s%s, timers %s", "threads", count_of(status, "threads").text,
                count_of(status, "timers").text);
        if (number_of(status, "failed_timers", &count) && count != 0)
            fprintf(out, ", failed %s", units_count(count).text);
        fputc('\n', out);
        if (json_is_true(json_object_get(status, "handler_replaced")))
            print_line("warning", "the application took SIGPROF over; no samples come any more",
                       out);
    }
    print_ids(status, out);
    print_breaker(status, out);
    print_alloc(json_object_get(status, "alloc"), out);
    print_classes(json_object_get(status, "classes"), out);
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
    fprintf(out, "the recording is whole up to now\n");
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

static void print_usage(const char *name, const json_t *usage, FILE *out)
{
    fprintf(out, "%-20s %10s %10s %10s %10s %10s %12s %12s\n", name,
            json_is_null(json_object_get(usage, "documented_bytes"))
                ? ""
                : bytes_of(usage, "documented_bytes").text,
            bytes_of(usage, "requested_bytes").text, bytes_of(usage, "reserved_bytes").text,
            bytes_of(usage, "resident_bytes").text, bytes_of(usage, "peak_bytes").text,
            count_of(usage, "allocations").text, count_of(usage, "frees").text);
}

static void print_total(const json_t *total, FILE *out)
{
    json_t *row = json_copy((json_t *)total);
    if (row == NULL)
        return;
    json_object_set_new(row, "documented_bytes", json_null());
    print_usage("total", row, out);
    json_decref(row);
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

bool agent_print_memory(const char *json, FILE *out)
{
    json_t *memory = object_of(json);
    if (memory == NULL)
        return false;
    fprintf(out, "%-20s %10s %10s %10s %10s %10s %12s %12s\n", "COMPONENT", "DOCUMENTED",
            "REQUESTED", "RESERVED", "RESIDENT", "PEAK", "ALLOCATIONS", "FREES");
    const json_t *rows = json_object_get(memory, "components");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        print_usage(text_of(row, "name").text, row, out);
    }
    print_total(json_object_get(memory, "total"), out);
    if (json_is_false(json_object_get(memory, "consistent")))
        fprintf(out, "the account contradicts itself: a bug of the agent, please report it\n");
    int64_t damaged;
    if (number_of(memory, "damaged_blocks", &damaged) && damaged != 0)
        fprintf(out, "%s blocks were overwritten beyond their ends\n", units_count(damaged).text);
    print_in_jvm(json_object_get(memory, "jvm"), out);
    print_rss(json_object_get(memory, "rss"), out);
    json_decref(memory);
    return true;
}

/* --- as it is --------------------------------------------------------------------------------- */

bool agent_print_json(const char *json, FILE *out)
{
    json_t *root = object_of(json);
    char *line = root != NULL ? json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    json_decref(root);
    if (line == NULL)
        return false;
    fprintf(out, "%s\n", line);
    free(line);
    return true;
}
