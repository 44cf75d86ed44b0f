#include "reports/profile/observe_report.h"

#include "reports/page/page.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ARENAS_ADVICE_BYTES (INT64_C(16) << 20)

static bool is(const struct observe_report *report, const char *what)
{
    return strcmp(report->what, what) == 0;
}

#define SENTENCES_MAX (OBSERVE_OUTCOMES_MAX + 8)
#define CLASS_ROWS    20 /* of alloc, for people */
#define GROWERS_SHOWN 3  /* of rss */

/* How sure what was allocated is, a sentence each. */
static int allocation_notes(const struct observe_report *report, char sentence[][320], int max)
{
    int count = 0;
    if (!is(report, "alloc"))
        return 0;
    if (report->total_bytes < 0 && count < max)
        snprintf(sentence[count++], sizeof *sentence,
                 "The threads' own counters could not be read: the sum is that of the samples.");
    if (report->every_bytes == 0 && count < max)
        snprintf(
            sentence[count++], sizeof *sentence,
            "The total is exact; shares cannot be told from TLABs: an allocation that needs a new "
            "one is counted with all of its bytes, the others not at all. --activate samples "
            "objects: shares with an error.");
    if (report->every_bytes > 0 && report->biased && count < max)
        snprintf(sentence[count++], sizeof *sentence,
                 "The sampler of this JDK misses some allocations of large objects: classes may be "
                 "off by more than +- (JDK 25's does not).");
    if (report->switched_off && count < max)
        snprintf(sentence[count++], sizeof *sentence,
                 "The sampler was switched off, by the JVM or another process, before the time was "
                 "over.");
    return count;
}

/* What is not in the picture, a sentence each; at most max, their number. */
static int losses(const struct observe_report *report, char sentence[][320], int max)
{
    int count = allocation_notes(report, sentence, max);
    for (int i = 1; i < report->outcome_count && count < max; i++) {
        if (report->outcome[i].stacks > 0)
            snprintf(sentence[count++], sizeof *sentence, "%s of %s stacks: %s.",
                     units_count(report->outcome[i].stacks).text, units_count(report->samples).text,
                     report->outcome[i].text);
    }
    if (report->lost > 0 && count < max)
        snprintf(sentence[count++], sizeof *sentence,
                 "%s stacks were lost, the ring buffer was full: %s.",
                 units_count(report->lost).text,
                 is(report, "rss") ? "the next ones of their CPU are weighted for them"
                                   : "they are missing here");
    if (report->left_out > 0 && count < max)
        snprintf(sentence[count++], sizeof *sentence,
                 "Symbols or unwind tables of libraries (%s) are left out: they are too large.",
                 units_count(report->left_out).text);
    if (report->hot && count < max)
        snprintf(
            sentence[count++], sizeof *sentence,
            "More than 10 000 hits a second: the probes were taken away before the time was over.");
    if (report->user_only && count < max)
        snprintf(sentence[count++], sizeof *sentence,
                 "What the kernel did for it is not seen: that needs root or CAP_PERFMON.");
    if (report->inlined_apart && count < max)
        snprintf(sentence[count++], sizeof *sentence,
                 "Methods that were inlined into one another are not told apart reliably: the JVM "
                 "runs without -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints.");
    if (report->ended && count < max)
        snprintf(sentence[count++], sizeof *sentence,
                 "The process has ended before the time was over.");
    if (report->note[0] != '\0' && count < max)
        snprintf(sentence[count++], sizeof *sentence, "No Java frames: %s.", report->note);
    return count;
}

static void print_allocated(const struct observe_report *report, FILE *out)
{
    fprintf(
        out, "%s%s allocated; ", report->total_bytes < 0 ? "about " : "",
        units_bytes(report->total_bytes < 0 ? call_tree_samples(report->tree) : report->total_bytes)
            .text);
    if (report->every_bytes > 0)
        fprintf(out, "%s samples, one each %s\n\n", units_count(report->samples).text,
                units_bytes(report->every_bytes).text);
    else
        fprintf(out, "%s TLABs and large objects\n\n", units_count(report->count).text);
}

static bool print_classes(const struct observe_report *report, FILE *out)
{
    struct page page;
    int64_t rest = 0, all = call_tree_samples(report->tree);
    page_begin(&page, "", "", SEVERITY_INFO);
    if (report->class_count > 0)
        page_table(&page, "#BYTES", "#+-", "#SHARE", "#SAMPLES", "CLASS");
    for (size_t i = 0; i < report->class_count; i++) {
        const struct observe_class *class = &report->classes[i];
        char share[24];
        if (i >= CLASS_ROWS) {
            rest += class->bytes;
            continue;
        }
        snprintf(share, sizeof share, "%.1f%%",
                 all > 0 ? 100.0 * (double)class->bytes / (double)all : 0);
        page_row(&page, units_bytes(class->bytes).text,
                 class->se_bytes >= 0 ? units_bytes(class->se_bytes).text : "not told", share,
                 units_count(class->samples).text, class->name);
    }
    bool good = page_print(&page, out);
    if (report->class_count > CLASS_ROWS)
        fprintf(out, "and %s classes more, %s together\n",
                units_count((int64_t)report->class_count - CLASS_ROWS).text,
                units_bytes(rest).text);
    fputc('\n', out);
    return good;
}

static int64_t outside_nmt(const struct observe_report *report)
{
    int64_t sum = 0;
    for (int i = 0; i < report->growth_count; i++)
        sum += report->growth[i].outside ? report->growth[i].bytes : 0;
    return sum;
}

/* What malloc keeps though it is free, and what to do where that is much. */
static void print_arenas(const struct observe_report *report, FILE *out)
{
    const struct observe_arenas *arenas = &report->arenas;
    if (arenas->why != NULL)
        fprintf(out, "\nWhat malloc keeps cannot be read: %s.\n", arenas->why);
    if (arenas->count == 0)
        return;
    fprintf(out, "\nglibc's malloc keeps %s free and resident, of %s in %s arenas%s.\n",
            units_bytes(arenas->trim_bytes + arenas->top_bytes).text,
            units_bytes(arenas->system_bytes).text, units_count(arenas->count).text,
            arenas->partial ? " (not all could be read: it may be more)" : "");
    if (arenas->trim_bytes >= ARENAS_ADVICE_BYTES)
        fprintf(out,
                "malloc_trim gives back %s of it: jcmd %" PRId64
                " System.trim_native_heap (JDK 17.0.9, 21 and later).\n",
                units_bytes(arenas->trim_bytes).text, report->pid);
    if (arenas->trim_bytes + arenas->top_bytes >= ARENAS_ADVICE_BYTES && arenas->count > 2)
        fprintf(out, "MALLOC_ARENA_MAX=2 in its environment keeps it from coming back.\n");
}

static void arenas_json(const struct observe_arenas *arenas, struct json_out *json)
{
    json_out_begin(json, "arenas", '{');
    json_out_int(json, "count", arenas->count);
    json_out_int(json, "system_bytes", arenas->system_bytes);
    json_out_int(json, "free_bytes", arenas->free_bytes);
    json_out_int(json, "trim_bytes", arenas->trim_bytes);
    json_out_int(json, "top_bytes", arenas->top_bytes);
    json_out_bool(json, "partial", arenas->partial);
    json_out_end(json, '}');
}

static void print_head(const struct observe_report *report, FILE *out)
{
    fprintf(out, "pid %" PRId64 " (%s), %s: ", report->pid, escape_name(report->main).text,
            units_duration(report->elapsed_ms).text);
    if (is(report, "cpu"))
        fprintf(out, "%s of CPU time, %s samples\n\n", units_duration(report->count / 1000000).text,
                units_count(report->samples).text);
    else if (is(report, "jmethodids"))
        fprintf(out, "%s jmethodIDs made\n\n", units_count(report->count).text);
    else if (is(report, "alloc"))
        print_allocated(report, out);
    else if (is(report, "rss"))
        fprintf(out, "RSS grew by %s of anonymous memory, of it %s outside of NMT\n\n",
                units_growth(report->count).text, units_growth(outside_nmt(report)).text);
    else
        fprintf(out, "classes\n");
}

static void print_grower(const struct observe_grower *grower, bool last, FILE *out)
{
    fprintf(out, "grown by %s%s%s: %s%s\n%s", escape_name(grower->by).text,
            grower->in[0] != '\0' ? " in " : "", escape_name(grower->in).text,
            units_bytes(grower->bytes).text, grower->outside ? ", outside of NMT" : "",
            last ? "\n" : "");
}

/* The table, and what is not in it. False when out failed, or memory. */
static bool observe_report_print(const struct observe_report *report, uint32_t rows, FILE *out)
{
    char sentence[SENTENCES_MAX][320];
    bool good = true;
    print_head(report, out);
    if (is(report, "classes")) {
        class_makers_print(&report->makers, rows, out);
    } else {
        for (int i = 0; i < report->growth_count; i++)
            fprintf(out, "%12s  %s%s", units_growth(report->growth[i].bytes).text,
                    report->growth[i].name, i == report->growth_count - 1 ? "\n\n" : "\n");
        for (int i = 0; i < report->grower_count && i < GROWERS_SHOWN; i++)
            print_grower(&report->grower[i],
                         i == report->grower_count - 1 || i == GROWERS_SHOWN - 1, out);
        good = !is(report, "alloc") || print_classes(report, out);
        struct toptable *table = toptable_create(report->tree, 0);
        good = good && table != NULL && toptable_print(table, rows, out);
        toptable_destroy(table);
    }
    print_arenas(report, out);
    int count = losses(report, sentence, SENTENCES_MAX);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%s\n", i == 0 ? "\n" : "", sentence[i]);
    return good && !ferror(out);
}

/* One object, one line (docs/json/observe.md). */
static bool observe_report_json(const struct observe_report *report, FILE *out)
{
    struct json_out json = {0};
    json_out_begin(&json, NULL, '{');
    json_out_text(&json, "observed", report->what);
    json_out_int(&json, "pid", report->pid);
    json_out_text_if(&json, "main", report->main);
    json_out_int(&json, "duration_ms", report->elapsed_ms);
    json_out_int(&json, "count", report->count);
    json_out_int_if(&json, "unloaded", is(report, "classes"), report->unloaded);
    json_out_int(&json, "stacks", report->samples);
    json_out_int(&json, "lost", report->lost);
    json_out_begin(&json, "outcomes", '[');
    for (int i = 0; i < report->outcome_count; i++) {
        json_out_begin(&json, NULL, '{');
        json_out_text(&json, "outcome", report->outcome[i].text);
        json_out_int(&json, "stacks", report->outcome[i].stacks);
        json_out_end(&json, '}');
    }
    json_out_end(&json, ']');
    json_out_int(&json, "libraries_left_out", report->left_out);
    json_out_bool(&json, "ended", report->ended);
    json_out_bool(&json, "user_only", report->user_only);
    json_out_bool(&json, "hot", report->hot);
    json_out_bool(&json, "inlined_uncertain", report->inlined_apart);
    json_out_text_if(&json, "note", report->note);
    if (is(report, "rss")) {
        json_out_begin(&json, "growth", '[');
        for (int i = 0; i < report->growth_count; i++) {
            json_out_begin(&json, NULL, '{');
            json_out_text(&json, "of", report->growth[i].name);
            json_out_int(&json, "bytes", report->growth[i].bytes);
            json_out_bool(&json, "outside_nmt", report->growth[i].outside);
            json_out_end(&json, '}');
        }
        json_out_end(&json, ']');
        json_out_begin(&json, "growers", '[');
        for (int i = 0; i < report->grower_count; i++) {
            json_out_begin(&json, NULL, '{');
            json_out_text(&json, "by", report->grower[i].by);
            json_out_text_if(&json, "in", report->grower[i].in);
            json_out_int(&json, "bytes", report->grower[i].bytes);
            json_out_bool(&json, "outside_nmt", report->grower[i].outside);
            json_out_end(&json, '}');
        }
        json_out_end(&json, ']');
        if (report->arenas.count > 0)
            arenas_json(&report->arenas, &json);
        json_out_text_if(&json, "arenas_why", report->arenas.why != NULL ? report->arenas.why : "");
    }
    json_out_bool(&json, "switched_off", report->switched_off);
    json_out_int_if(&json, "total_bytes", report->total_bytes >= 0, report->total_bytes);
    json_out_int_if(&json, "every_bytes", report->every_bytes > 0, report->every_bytes);
    if (is(report, "alloc")) {
        json_out_bool(&json, "biased", report->biased);
        json_out_begin(&json, "classes", '[');
        for (size_t i = 0; i < report->class_count; i++) {
            const struct observe_class *class = &report->classes[i];
            json_out_begin(&json, NULL, '{');
            json_out_text(&json, "class", class->name);
            json_out_int(&json, "bytes", class->bytes);
            json_out_int_if(&json, "se_bytes", class->se_bytes >= 0, class->se_bytes);
            json_out_int(&json, "samples", class->samples);
            json_out_end(&json, '}');
        }
        json_out_end(&json, ']');
    }
    json_out_text(&json, "unit", report->unit);
    json_out_int(&json, "samples", call_tree_samples(report->tree));
    if (is(report, "classes"))
        class_makers_families_json(&report->makers, &json);
    struct toptable *table = toptable_create(report->tree, 0);
    if (table != NULL)
        toptable_json(table, &json);
    json.failed |= table == NULL;
    toptable_destroy(table);
    json_out_end(&json, '}');
    return json_out_print(&json, out) && !ferror(out);
}

bool observe_report_write(const struct observe_report *report, enum profile_format format,
                          uint32_t rows, FILE *out)
{
    char sentence[SENTENCES_MAX][320], title[400];
    const char *notes[SENTENCES_MAX];
    if (format == PROFILE_TOP)
        return observe_report_json(report, out);
    if (format == PROFILE_TOP_TEXT)
        return observe_report_print(report, rows, out);
    const struct profile profile = {
        .tree = report->tree,
        .page = {.title = title,
                 .unit = report->unit,
                 .bytes = report->bytes,
                 .notes = notes,
                 .note_count = losses(report, sentence, SENTENCES_MAX)},
        .about = {.type = report->type,
                  .unit = report->type_unit,
                  .each = report->interval_ns,
                  .start_ns = report->start_ns,
                  .duration_ns = report->elapsed_ms * 1000000},
    };
    for (int i = 0; i < profile.page.note_count; i++)
        notes[i] = sentence[i];
    snprintf(title, sizeof title, "%s of pid %" PRId64 "%s%s, from outside", report->what,
             report->pid, report->main[0] != '\0' ? " " : "", report->main);
    return profile_write(&profile, format, out);
}

static void say_classes(const struct observe_report *report, char *out, size_t size)
{
    const struct class_makers *makers = &report->makers;
    int used = snprintf(out, size, "%s classes loaded in %s", units_count(report->count).text,
                        units_duration(report->elapsed_ms).text);
    if (makers->family_count == 0 || (size_t)used >= size)
        return;
    const struct class_family *most = makers->families[0];
    const char *asker = most->way_count > 0 ? most->way[0].caller : NULL;
    snprintf(out + used, size - (size_t)used, ", %s of them %s%s%s", units_count(most->loaded).text,
             most->name, asker != NULL ? ", asked for by " : "", asker != NULL ? asker : "");
}

/* The method that most of the tree's samples were in, of those that are no class and no row of growth. */
static void say_most(const struct observe_report *report, char *out, size_t size)
{
    struct toptable *table = toptable_create(report->tree, 0);
    int64_t all = call_tree_samples(report->tree);
    for (uint32_t i = 0; table != NULL && all > 0 && i < toptable_row_count(table); i++) {
        const struct top_row *row = toptable_row(table, i);
        struct stack_frame frame = call_tree_name(report->tree, row->name);
        if (frame.kind == CALL_FRAME_STATE || row->self == 0)
            continue;
        snprintf(out, size, ", %" PRId64 " %% of it %s", row->self * 100 / all, frame.name);
        break;
    }
    toptable_destroy(table);
}

/* The row that RSS grew by most. */
static void say_growth(const struct observe_report *report, char *out, size_t size)
{
    const struct observe_growth *most = NULL;
    for (int i = 0; i < report->growth_count; i++)
        if (report->growth[i].bytes > 0 && (most == NULL || report->growth[i].bytes > most->bytes))
            most = &report->growth[i];
    if (most != NULL)
        snprintf(out, size, ", %s of it %s", units_bytes(most->bytes).text, most->name);
}

void observe_report_sentence(const struct observe_report *report, char *out, size_t size)
{
    struct units_text time = units_duration(report->elapsed_ms);
    char most[300] = "";
    if (is(report, "classes")) {
        say_classes(report, out, size);
        return;
    }
    if (is(report, "rss")) {
        say_growth(report, most, sizeof most);
        snprintf(out, size, "RSS grew by %s in %s%s", units_growth(report->count).text, time.text,
                 most);
        return;
    }
    say_most(report, most, sizeof most);
    if (is(report, "cpu"))
        snprintf(out, size, "%s of CPU time in %s%s", units_duration(report->count / 1000000).text,
                 time.text, most);
    else if (is(report, "alloc"))
        snprintf(out, size, "%s allocated in %s%s",
                 units_bytes(call_tree_samples(report->tree)).text, time.text, most);
    else
        snprintf(out, size, "%s %s in %s%s", units_count(report->count).text, report->unit,
                 time.text, most);
}

void observe_report_free(struct observe_report *report)
{
    if (report->tree != NULL && report->tree != report->makers.tree)
        call_tree_destroy(report->tree);
    report->tree = NULL;
    class_makers_free(&report->makers);
    for (size_t i = 0; i < report->class_count; i++)
        free(report->classes[i].name);
    free(report->classes);
    report->classes = NULL;
    report->class_count = 0;
}
