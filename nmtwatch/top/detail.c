#include "nmtwatch/top/top.h"

#include "nmtwatch/process/clock.h"
#include "reports/page/page.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <stdlib.h>

#define BAR_COLUMNS 48
#define BAR_BEHIND  66 /* columns in front of it */

/* --- who it is -------------------------------------------------------------------------------- */

static void clock_text(int64_t unix_ms, char *out, size_t size)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm local;
    localtime_r(&seconds, &local);
    strftime(out, size, "%H:%M:%S", &local);
}

static void add_who(struct page *page, const struct member *member, const struct judge_view *view)
{
    const struct target *target = watcher_target(member->watcher);
    struct watcher_counts counts = watcher_counts(member->watcher);
    char text[512], at[16], group[96];
    page_facts(page);
    page_fact(page, "main", target->identity.main[0] != '\0' ? target->identity.main : "?");
    page_fact(page, "JDK", target->identity.jdk);
    top_group(member, group, sizeof group);
    snprintf(text, sizeof text, "%s%s%s", member->user, group[0] != '\0' ? ", " : "", group);
    page_fact(page, "user", text);
    clock_text(member->wall_start_ms, at, sizeof at);
    snprintf(text, sizeof text, "for %s; watched since %s",
             units_duration(clock_ms(CLOCK_REALTIME) - member->start_unix_ms).text, at);
    page_fact(page, "up", text);
    if (!view->warm) {
        snprintf(text, sizeof text, "warming up, no baseline yet");
    } else {
        clock_text(member->wall_start_ms + view->baseline_ms, at, sizeof at);
        snprintf(text, sizeof text, "taken at %s: %s", at, view->warmup_reason);
    }
    page_fact(page, "baseline", text);
    if (counts.failing != FAILURE_NONE)
        page_fact(page, "no answer", failure_reason(counts.failing));
    if (!counts.nmt_seen)
        page_fact(page, "NMT",
                  "not read: it needs -XX:NativeMemoryTracking=summary at the JVM's start");
    if (member->note[0] != '\0')
        page_fact(page, "note", member->note);
}

/* --- memory ----------------------------------------------------------------------------------- */

struct category {
    const char *name;
    int64_t committed_bytes, reserved_bytes, change_bytes;
    bool have_change;
};

static int by_committed(const void *one, const void *other)
{
    const struct category *a = one, *b = other;
    return (a->committed_bytes < b->committed_bytes) - (a->committed_bytes > b->committed_bytes);
}

static int take_categories(const struct sample *first, const struct sample *latest,
                           struct category out[static NMT_CATEGORY_COUNT])
{
    int count = 0;
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        struct nmt_amount now, before = {0};
        if (!sample_get_nmt(latest, (enum nmt_category)i, &now) ||
            (now.committed_bytes == 0 && now.reserved_bytes == 0))
            continue;
        sample_get_nmt(first, (enum nmt_category)i, &before);
        out[count++] =
            (struct category){.name = nmt_category_name((enum nmt_category)i),
                              .committed_bytes = now.committed_bytes,
                              .reserved_bytes = now.reserved_bytes,
                              .change_bytes = now.committed_bytes - before.committed_bytes,
                              .have_change = sample_has_nmt(first)};
    }
    qsort(out, (size_t)count, sizeof *out, by_committed);
    return count;
}

/* What there was at first in the darker, what has come since in the lighter sign. */
static void bar(const struct category *category, int64_t most_bytes, int columns, bool utf8,
                char *out, size_t size)
{
    int64_t grown = category->change_bytes > 0 ? category->change_bytes : 0;
    double scale = most_bytes > 0 ? (double)columns / (double)most_bytes : 0;
    int whole = (int)((double)category->committed_bytes * scale + 0.5);
    int added = (int)((double)grown * scale + 0.5);
    size_t used = 0;
    if (grown > 0 && added == 0 && whole > 0)
        added = 1;
    out[0] = '\0';
    for (int i = 0; i < whole && used + 4 < size; i++) {
        const char *sign = i < whole - added ? (utf8 ? "█" : "#") : (utf8 ? "▒" : "+");
        used += (size_t)snprintf(out + used, size - used, "%s", sign);
    }
}

static void add_memory(struct page *page, const struct member *member, int columns, bool utf8)
{
    const struct sample *latest = watcher_latest(member->watcher);
    struct category categories[NMT_CATEGORY_COUNT];
    char text[160], at[16];
    int64_t value, committed;
    int room = columns - BAR_BEHIND < 8 ? 8 : columns - BAR_BEHIND;
    page_heading(page, "Memory");
    page_facts(page);
    if (sample_get(latest, SAMPLE_RSS_BYTES, &value))
        page_fact(page, "RSS", units_bytes(value).text);
    if (sample_get(latest, SAMPLE_HEAP_USED_BYTES, &value) &&
        sample_get(latest, SAMPLE_HEAP_COMMITTED_BYTES, &committed)) {
        snprintf(text, sizeof text, "%s used of %s", units_bytes(value).text,
                 units_bytes(committed).text);
        page_fact(page, "Java heap", text);
    }
    if (sample_get(latest, SAMPLE_NMT_COMMITTED_BYTES, &value)) {
        snprintf(text, sizeof text, "%s committed", units_bytes(value).text);
        page_fact(page, "NMT in all", text);
    }
    if (!sample_has_nmt(latest))
        return;
    int count = take_categories(&member->first, latest, categories);
    clock_text(member->wall_start_ms + member->first_ms, at, sizeof at);
    page_text(page, "Native memory by category; the start is %s, b begins anew.", at);
    page_table(page, "category", "#committed", "#since the start", "#reserved", "");
    for (int i = 0; i < count; i++) {
        char shape[BAR_COLUMNS * 3 + 8];
        bar(&categories[i], categories[0].committed_bytes, room < BAR_COLUMNS ? room : BAR_COLUMNS,
            utf8, shape, sizeof shape);
        page_row(page, categories[i].name, units_bytes(categories[i].committed_bytes).text,
                 categories[i].have_change ? units_growth(categories[i].change_bytes).text : "-",
                 units_bytes(categories[i].reserved_bytes).text, shape);
    }
}

static void add_series(struct page *page, const struct member *member, int columns, bool utf8)
{
    static const char *const NAMES[SPARK_COUNT] = {
        [SPARK_RSS] = "RSS",
        [SPARK_INTERNAL] = "Internal",
        [SPARK_CLASS_METASPACE] = "Class + Metaspace",
        [SPARK_CLASSES] = "classes",
    };
    const struct sparkline *spark = &member->spark;
    int room = columns - 52 < 8 ? 8 : columns - 52;
    if (spark->count < 2)
        return;
    page_heading(page, "Since the watch began");
    page_facts(page);
    for (int i = 0; i < SPARK_COUNT; i++) {
        char shape[SPARK_POINTS * 3 + 1], text[sizeof shape + 128];
        double low = -1, high = -1;
        for (int p = 0; p < spark->count; p++) {
            double value = (double)spark->value[i][p];
            low = value >= 0 && (low < 0 || value < low) ? value : low;
            high = value > high ? value : high;
        }
        if (high < 0)
            continue;
        top_spark(spark, (enum spark_series)i, room < SPARK_POINTS ? room : SPARK_POINTS, utf8,
                  shape, sizeof shape);
        if (i == SPARK_CLASSES)
            snprintf(text, sizeof text, "%s  %.0f to %.0f", shape, low, high);
        else
            snprintf(text, sizeof text, "%s  %s to %s", shape, units_bytes((int64_t)low).text,
                     units_bytes((int64_t)high).text);
        page_fact(page, NAMES[i], text);
    }
}

/* --- findings --------------------------------------------------------------------------------- */

static void add_findings(struct page *page, const struct member *member,
                         const struct judge_view *view, struct alert *alerts)
{
    int count = judge_active_alerts(watcher_judge(member->watcher), alerts, JUDGE_MEMORY_EPISODES);
    page_heading(page, "Findings");
    for (int i = 0; i < count; i++) {
        char at[16];
        clock_text(member->wall_start_ms + alerts[i].started_ms, at, sizeof at);
        page_finding(page, &alerts[i].finding);
        page_finding_when(page, "since %s", at);
    }
    if (count == 0)
        page_text(page, "none");
    if (view->internal_verdict.points > 0)
        page_text(page, "Internal: %s", view->internal_verdict.sentence);
    if (view->class_metaspace_verdict.points > 0)
        page_text(page, "Class + Metaspace: %s", view->class_metaspace_verdict.sentence);
}

/* --- classes ---------------------------------------------------------------------------------- */

static void add_classes(struct page *page, const struct member *member,
                        const struct judge_view *view)
{
    const struct sample *latest = watcher_latest(member->watcher);
    double seconds = (double)(member->names_ms - member->names_from_ms) / 1000;
    int64_t loaded, unloaded;
    page_heading(page, "Classes");
    if (sample_get(latest, SAMPLE_CLASSES_LOADED, &loaded) &&
        sample_get(latest, SAMPLE_CLASSES_UNLOADED, &unloaded))
        page_text(page, "%s live; %s loaded, %s unloaded", units_count(loaded - unloaded).text,
                  view->have_rates ? units_rate(view->load_per_s).text : "-",
                  view->have_rates ? units_rate(view->unload_per_s).text : "-");
    if (member->families == NULL) {
        page_text(page, "Families are counted when class loads do not stop.");
        return;
    }
    if (seconds > 0) {
        char at[16];
        clock_text(member->wall_start_ms + member->names_ms, at, sizeof at);
        page_text(page, "Families; rates are those of the %s up to %s.",
                  units_duration(member->names_ms - member->names_from_ms).text, at);
    }
    page_table(page, "family", "#loaded", "#a second", "#unloaded", "#unloaded/s");
    for (int i = 0; i <= FAMILY_COUNT; i++) {
        const struct family_count *family = &member->families[i];
        const struct family *row = family_at((size_t)i);
        struct units_text loads = {"-"}, unloads = {"-"};
        if (family->loads.total == 0 && family->unloads.total == 0)
            continue;
        if (seconds > 0) {
            loads = units_rate((double)family->loads.now / seconds);
            unloads = units_rate((double)family->unloads.now / seconds);
        }
        page_row(page, row != NULL ? row->id : "others", units_count(family->loads.total).text,
                 loads.text, units_count(family->unloads.total).text, unloads.text);
    }
}

static void add_top(struct page *page, const char *heading, const char *name,
                    const struct top_view *top)
{
    if (!top->have)
        return;
    page_heading(page, heading);
    page_table(page, name, "#number");
    for (int i = 0; i < top->count; i++)
        page_row(page, top->rows[i].name, units_count(top->rows[i].number).text);
    if (top->others > 0)
        page_row(page, "others", units_count(top->others).text);
}

/* --- cost ------------------------------------------------------------------------------------- */

static void add_cost(struct page *page, const struct member *member)
{
    const struct watched *watched = member->watched;
    struct watcher_counts counts = watcher_counts(member->watcher);
    char text[256];
    page_heading(page, "Cost of watching");
    page_facts(page);
    snprintf(text, sizeof text, "%s polls, %s questions answered in %s, %s not",
             units_count(counts.polls).text, units_count(counts.questions).text,
             units_microseconds(counts.answer_us).text, units_count(counts.failures).text);
    page_fact(page, "this JVM", text);
    snprintf(text, sizeof text, "at most %s", units_microseconds(counts.pause_us).text);
    page_fact(page, "its pauses", text);
    for (int i = 0; i < watched->cost.command_count; i++) {
        const struct watch_command_cost *command = &watched->cost.commands[i];
        snprintf(text, sizeof text, "%lld times, %s; skipped %lld times", (long long)command->runs,
                 units_microseconds(command->measured_us).text, (long long)command->skipped);
        page_fact(page, command->command, text);
    }
    snprintf(text, sizeof text, "%s of CPU, %s resident, for all JVMs",
             units_microseconds(watch_cost_cpu_us()).text,
             units_bytes(watch_cost_rss_bytes()).text);
    page_fact(page, "nmtwatch", text);
}

bool detail_write(const struct member *member, const struct terminal *terminal, bool utf8)
{
    struct page page;
    struct judge_view view;
    struct alert *alerts = calloc(JUDGE_MEMORY_EPISODES, sizeof *alerts);
    if (alerts == NULL)
        return false;
    judge_view(watcher_judge(member->watcher), &view);
    page_begin(&page, "", "", SEVERITY_INFO);
    add_who(&page, member, &view);
    add_findings(&page, member, &view, alerts);
    add_memory(&page, member, terminal->width, utf8);
    add_series(&page, member, terminal->width, utf8);
    add_classes(&page, member, &view);
    add_top(&page, "Class loaders", "class loader", &member->loaders);
    add_top(&page, "Methods", "family of classes", &member->methods);
    add_cost(&page, member);
    bool good = page_terminal(&page, terminal);
    page_free(&page);
    free(alerts);
    return good;
}
