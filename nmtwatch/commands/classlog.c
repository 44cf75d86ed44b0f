/* nmtwatch classlog: a class-load log of any size: who was loaded, how often, does it go on. */
#include "analyzers/classlog/classlog.h"
#include "nmtwatch/classlog/log_feed.h"
#include "nmtwatch/commands/options.h"
#include "nmtwatch/process/signals.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define TOP_MAX             1000
#define RATE_ROWS           12
#define PROGRESS_BYTES      (INT64_C(64) << 20)
#define FOLLOW_WAIT_MS      250
#define FOLLOW_TELL_MS      5000
/* Classes, not bytes: fewer than these are no leak. */
#define FLOOR_CLASSES       50
#define FLOOR_CLASSES_PER_H 60

struct summary {
    const struct classlog_totals *totals;
    const struct time_line *time;
    bool timed;
    int count;
    struct class_family families[TOP_MAX], other;
    struct verdict verdict;
};

/* --- the verdict: classes alive over time ----------------------------------------------------- */

#define START_UP_RATE 3 /* so many times the highest rate of the log's second half */

/* Of what stands behind the first buckets. */
static bool judge_from(const struct summary *summary, int first, struct verdict *verdict)
{
    struct verdict_options options;
    verdict_options_default(&options);
    options.floor_bytes = FLOOR_CLASSES;
    options.floor_bytes_per_h = FLOOR_CLASSES_PER_H;
    options.min_span_ms = 60000;
    struct verdict_series *series = verdict_create(&options);
    if (series == NULL)
        return false;
    int64_t alive = 0;
    bool ok = true;
    for (int i = 0; summary->timed && i < summary->time->bucket_count; i++) {
        const struct time_bucket *bucket = &summary->time->bucket[i];
        int64_t ms = (int64_t)summary->time->width_ms * (i + 1);
        alive += bucket->loads - bucket->unloads;
        if (i >= first)
            ok = verdict_feed(series, ms, alive, VERDICT_MISSING) && ok;
    }
    verdict_ask(series, verdict);
    verdict_destroy(series);
    return ok;
}

/* Buckets of a start-up: up to the last one whose rate stands out. */
static int start_up(const struct time_line *time)
{
    int middle = time->bucket_count / 2, first = 0;
    int64_t highest = 1;
    for (int i = middle; i < time->bucket_count; i++)
        highest = time->bucket[i].loads > highest ? time->bucket[i].loads : highest;
    for (int i = 0; i < middle; i++)
        first = time->bucket[i].loads / START_UP_RATE > highest ? i + 1 : first;
    return first;
}

/* A start-up of thousands of classes hides, in a log of a minute or two, what goes on behind it. */
static bool judge(struct summary *summary)
{
    struct verdict behind;
    int first = summary->timed ? start_up(summary->time) : 0;
    bool ok = judge_from(summary, 0, &summary->verdict);
    if (!ok || first == 0 || summary->verdict.answer == VERDICT_GROWING)
        return ok;
    ok = judge_from(summary, first, &behind);
    if (ok && behind.answer == VERDICT_GROWING)
        summary->verdict = behind;
    return ok;
}

static bool summarise(const struct classlog *log, int top, struct summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->totals = classlog_totals(log);
    summary->time = classlog_time(log);
    summary->timed = classlog_clock(log) != CLASSLOG_LINES;
    summary->count = classlog_families(log, summary->families, top, &summary->other);
    return summary->count >= 0 && judge(summary);
}

/* Is a family still being loaded? The last window of the log, whose length doubles, decides. */
static const char *going_on(const struct class_family *family)
{
    if (family->fold || family->loads < 20)
        return "-";
    if (family->recent_loads - family->recent_unloads > family->loads / 10)
        return "growing";
    return family->recent_loads > family->loads / 10 ? "churning" : "stopped";
}

/* What is counted, in words: a state of the verdict speaks of bytes. */
static void words_of(const struct summary *summary, char *out, size_t size)
{
    const struct verdict *verdict = &summary->verdict;
    if (!summary->timed)
        snprintf(out, size, "the log has no times: whether loads continue is not known");
    else if (verdict->have_slope)
        snprintf(out, size, "%s: %.1f classes/h more alive, 95 %% [%.1f, %.1f]",
                 verdict_state_meaning(verdict->state), verdict->slope_bytes_per_h.value,
                 verdict->slope_bytes_per_h.low, verdict->slope_bytes_per_h.high);
    else
        snprintf(out, size, "%s", verdict_state_meaning(verdict->state));
}

/* --- output ----------------------------------------------------------------------------------- */

static void json_row(struct json_out *out, const struct class_family *family, bool timed)
{
    json_out_begin(out, NULL, '{');
    json_out_field(out, "name", family->name, sizeof family->name);
    json_out_field(out, "family", family->family, sizeof family->family);
    json_out_field(out, "source", family->source, sizeof family->source);
    json_out_int(out, "loads", family->loads);
    json_out_int(out, "unloads", family->unloads);
    json_out_int(out, "names", family->names);
    json_out_bool(out, "names_exact", family->names_exact);
    json_out_int(out, "same_name_loads", family->same_name);
    json_out_field(out, "example", family->example, sizeof family->example);
    if (!family->fold) {
        json_out_int(out, "first_line", family->first.line);
        json_out_int(out, "last_line", family->last.line);
        if (timed) {
            json_out_int(out, "first_ms", family->first.ms);
            json_out_int(out, "last_ms", family->last.ms);
        }
    }
    json_out_text(out, "going_on", going_on(family));
    json_out_end(out, '}');
}

static bool print_json(const struct classlog *log, const struct summary *summary)
{
    struct json_out out = {0};
    char words[320];
    struct class_fold folded = classlog_folded(log);
    words_of(summary, words, sizeof words);
    json_out_begin(&out, NULL, '{');
    json_out_int(&out, "loads", summary->totals->loads);
    json_out_int(&out, "unloads", summary->totals->unloads);
    json_out_int(&out, "lines", summary->totals->lines);
    json_out_int(&out, "unparsed", summary->totals->unparsed);
    json_out_begin(&out, "families", '[');
    for (int i = 0; i < summary->count; i++)
        json_row(&out, &summary->families[i], summary->timed);
    json_out_end(&out, ']');
    json_out_text(&out, "verdict", verdict_state_name(summary->verdict.state));
    json_out_text(&out, "sentence", words);
    json_out_begin(&out, "other", '{');
    json_out_int(&out, "loads", summary->other.loads);
    json_out_int(&out, "unloads", summary->other.unloads);
    json_out_end(&out, '}');
    json_out_int(&out, "folded_rows", folded.rows);
    json_out_int_if(&out, "span_ms", summary->timed, classlog_span_ms(log));
    json_out_begin(&out, "rates", '[');
    for (int i = 0; summary->timed && i < summary->time->bucket_count; i++) {
        const struct time_bucket *bucket = &summary->time->bucket[i];
        json_out_begin(&out, NULL, '{');
        json_out_int(&out, "from_ms", (int64_t)summary->time->width_ms * i);
        json_out_int(&out, "loads", bucket->loads);
        json_out_int(&out, "unloads", bucket->unloads);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_end(&out, '}');
    return json_out_print(&out, stdout);
}

static void print_page(struct page *page)
{
    putchar('\n');
    if (!page_print(page, stdout))
        print_error("nmtwatch classlog: out of memory\n");
}

static void print_rates(const struct summary *summary)
{
    const struct time_line *time = summary->time;
    if (!summary->timed || time->bucket_count == 0)
        return;
    int each = (time->bucket_count + RATE_ROWS - 1) / RATE_ROWS;
    struct page page;
    char loads[32], unloads[32], net[32];
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, "from", "#loads/s", "#unloads/s", "#net/s");
    for (int i = 0; i < time->bucket_count; i += each) {
        struct time_bucket sum = {0};
        int until = i + each < time->bucket_count ? i + each : time->bucket_count;
        for (int k = i; k < until; k++) {
            sum.loads += time->bucket[k].loads;
            sum.unloads += time->bucket[k].unloads;
        }
        double seconds = (double)time->width_ms * (until - i) / 1000.0;
        snprintf(loads, sizeof loads, "%.2f", (double)sum.loads / seconds);
        snprintf(unloads, sizeof unloads, "%.2f", (double)sum.unloads / seconds);
        snprintf(net, sizeof net, "%.2f", (double)(sum.loads - sum.unloads) / seconds);
        page_row(&page, units_clock((int64_t)time->width_ms * i).text, loads, unloads, net);
    }
    print_page(&page);
}

static void add_family(struct page *page, const struct class_family *family)
{
    page_row(page, units_count(family->loads).text, units_count(family->unloads).text,
             units_count(family->names).text, units_count(family->same_name).text, going_on(family),
             family->family[0] != '\0' ? family->family : "-", family->name, family->source);
}

static void print_text(const struct classlog *log, const struct summary *summary)
{
    const struct classlog_totals *totals = summary->totals;
    char words[320];
    words_of(summary, words, sizeof words);
    printf("%s loads, %s unloads in %s lines", units_count(totals->loads).text,
           units_count(totals->unloads).text, units_count(totals->lines).text);
    if (summary->timed)
        printf(" over %s", units_duration(classlog_span_ms(log)).text);
    if (totals->unparsed > 0)
        printf("; %s lines were not understood", units_count(totals->unparsed).text);
    printf("\n%s: %s\n",
           summary->timed ? verdict_state_name(summary->verdict.state) : "CANNOT TELL", words);
    print_rates(summary);
    struct page page;
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, "#loads", "#unloads", "#names", "#same name", "continues", "family", "name",
               "source");
    for (int i = 0; i < summary->count; i++)
        add_family(&page, &summary->families[i]);
    if (summary->other.loads > 0 || summary->other.unloads > 0)
        page_row(&page, units_count(summary->other.loads).text,
                 units_count(summary->other.unloads).text, "-", "-", "", "all others", "", "");
    print_page(&page);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void print_progress(const struct log_feed *feed, bool wanted)
{
    static int64_t printed;
    if (!wanted || feed->bytes - printed < PROGRESS_BYTES)
        return;
    printed = feed->bytes;
    if (feed->size > 0)
        fprintf(stderr, "\r%3d %% of %s\x1b[K", (int)(feed->bytes * 100 / feed->size),
                units_bytes(feed->size).text);
    else
        fprintf(stderr, "\r%s\x1b[K", units_bytes(feed->bytes).text);
}

static void print_following(const struct classlog *log)
{
    const struct classlog_totals *totals = classlog_totals(log);
    struct class_family first, other;
    int count = classlog_families(log, &first, 1, &other);
    printf("%s loads, %s unloads", units_count(totals->loads).text,
           units_count(totals->unloads).text);
    if (count == 1)
        printf("; most: %s %s", units_count(first.loads).text, escape_name(first.name).text);
    putchar('\n');
    fflush(stdout);
}

/* False: nothing could be read. */
static bool read_log(struct log_feed *feed, struct classlog *log, bool follow, bool quiet,
                     int64_t for_ms)
{
    bool progress = isatty(STDERR_FILENO) && !follow;
    int64_t waited_ms = 0, all_ms = 0;
    for (;;) {
        enum feed_state state = log_feed_more(feed, log);
        if (state == FEED_MORE) {
            print_progress(feed, progress);
            if (signals_asked() == 0)
                continue;
            break;
        }
        if (state == FEED_FAILED) {
            if (progress)
                fputs("\r\x1b[K", stderr);
            print_error("nmtwatch classlog: %s\n", feed->error);
            if (classlog_totals(log)->loads + classlog_totals(log)->unloads == 0)
                return false;
            break;
        }
        if (!follow || signals_asked() > 0 || (for_ms > 0 && all_ms >= for_ms))
            break;
        if (log_feed_rotated(feed, log))
            continue;
        poll(NULL, 0, FOLLOW_WAIT_MS);
        waited_ms += FOLLOW_WAIT_MS;
        all_ms += FOLLOW_WAIT_MS;
        if (waited_ms >= FOLLOW_TELL_MS && !quiet) {
            waited_ms = 0;
            print_following(log);
        }
    }
    log_feed_finish(feed, log);
    if (progress)
        fputs("\r\x1b[K", stderr);
    return true;
}

static int classlog(const char *path, int top, bool json, bool count_only, bool follow,
                    int64_t for_ms)
{
    const struct classlog_options options = {.count_only = count_only};
    struct log_feed feed;
    int code = EXIT_IO;
    if (!log_feed_open(&feed, path)) {
        print_error("nmtwatch classlog: %s\n", feed.error);
        log_feed_close(&feed);
        return EXIT_IO;
    }
    struct classlog *log = classlog_create(&options);
    struct summary *summary = malloc(sizeof *summary);
    if (log == NULL || summary == NULL) {
        print_error("nmtwatch classlog: out of memory\n");
    } else if (read_log(&feed, log, follow, json, for_ms)) {
        if (!summarise(log, count_only ? 0 : top, summary)) {
            print_error("nmtwatch classlog: out of memory\n");
        } else {
            bool ok = true;
            if (json)
                ok = print_json(log, summary);
            else if (count_only)
                printf("%" PRId64 " loads, %" PRId64 " unloads, %" PRId64 " lines, %" PRId64
                       " not understood\n",
                       summary->totals->loads, summary->totals->unloads, summary->totals->lines,
                       summary->totals->unparsed);
            else
                print_text(log, summary);
            code = ok && fflush(stdout) == 0 ? 0 : EXIT_IO;
        }
    }
    free(summary);
    if (log != NULL)
        classlog_destroy(log);
    log_feed_close(&feed);
    return code;
}

static int run(int argc, char **argv)
{
    int64_t top = 20, for_ms = 0;
    bool json = false, count_only = false, follow = false;
    const struct option_row rows[] = {
        {0, "top", "N", option_take_count, &top, "how many rows (20)"},
        {0, "count", NULL, NULL, &count_only, "totals only"},
        {0, "follow", NULL, NULL, &follow, "follow a growing file, until interrupted"},
        {0, "for", "TIME", option_take_duration_ms, &for_ms, "with --follow: stop after this"},
        OPTION_JSON(&json),
    };
    int operands, code;
    if (!options_parse(&command_classlog, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_classlog, "one file is needed, or -");
    if (top > TOP_MAX)
        return options_error(&command_classlog, "--top: at most %d", TOP_MAX);
    if (follow)
        signals_catch(SIGNALS_END);
    return classlog(argv[1], (int)top, json, count_only, follow, for_ms);
}

const struct command command_classlog = {
    .name = "classlog",
    .usage = "Usage: nmtwatch classlog FILE|- [--top N] [--json] [--count] [--follow]\n"
             "\n"
             "Reads the logs of -Xlog:class+load,class+unload (JDK 9 and later, any\n"
             "decorations) and of -XX:+TraceClassLoading or -verbose:class (JDK 8), plain or\n"
             "gzipped, mixed with other output or not. Rows are normalised names and their\n"
             "sources; `names` counts different names, `same name` the loads of the most\n"
             "frequent one.\n"
             "\n"
             "Exit: 0 read, 64 usage, 74 the file cannot be read.\n",
    .run = run,
};
