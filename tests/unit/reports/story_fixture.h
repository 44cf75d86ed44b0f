/*
 * story_fixture: a synthetic story for the tests of what people look at: ten minutes of a JVM that
 * warms up for a minute and then defines 20 Groovy scripts a second that never go away. The class
 * names in it are hostile on purpose.
 */
#pragma once

#include "reports/story/story.h"

#include <stdio.h>
#include <stdlib.h>

static struct texts texts; /* of all findings here */

#define FIXTURE_MB       ((int64_t)1 << 20)
#define FIXTURE_BAD_NAME "Script1<b>\"'|`\x1b[31m\n$\\"

static inline void fixture_sample(struct story *story, int64_t s, int64_t loaded, int64_t unloaded)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = s * 1000};
    struct sample *sample = &event.sample;
    int64_t live = loaded - unloaded;
    sample_clear(sample);
    sample_set(sample, SAMPLE_UPTIME_MS, 5000 + s * 1000);
    sample_set(sample, SAMPLE_CLASSES_LOADED, loaded);
    sample_set(sample, SAMPLE_CLASSES_UNLOADED, unloaded);
    sample_set(sample, SAMPLE_RSS_BYTES, 180 * FIXTURE_MB + live * 9000 + s % 7 * 200000);
    if (s % 60 == 0) {
        sample_set(sample, SAMPLE_METHODS, live * 15);
        sample_set(sample, SAMPLE_METHODS_SOURCE, METHODS_COUNTED);
    }
    if (s >= 240) { /* somebody loads the agent */
        sample_set(sample, SAMPLE_AGENT_RESERVED_BYTES, 12 * FIXTURE_MB);
        sample_set(sample, SAMPLE_AGENT_RESIDENT_BYTES, s < 600 ? FIXTURE_MB : 3 * FIXTURE_MB);
        sample_set(sample, SAMPLE_AGENT_JMETHOD_ID_BYTES, FIXTURE_MB / 2);
    }
    if (s % 5 == 0) {
        static const struct {
            enum nmt_category category;
            int64_t bytes;
            int64_t per_class_bytes;
        } rows[] = {
            {NMT_JAVA_HEAP, 256 * FIXTURE_MB, 0},
            {NMT_CLASS, 1 * FIXTURE_MB, 700},
            {NMT_METASPACE, 2 * FIXTURE_MB, 5324},
            {NMT_CODE, 9 * FIXTURE_MB, 30},
            {NMT_GC, 52 * FIXTURE_MB, 0},
            {NMT_SYMBOL, 3 * FIXTURE_MB, 240},
            {NMT_INTERNAL, FIXTURE_MB / 2, 120},
            {NMT_COMPILER, FIXTURE_MB / 4, 0},
            {NMT_NMT, FIXTURE_MB, 120},
            {NMT_SHARED_CLASS_SPACE, 13 * FIXTURE_MB, 0},
            {NMT_THREAD, 1 * FIXTURE_MB, 0},
            {NMT_TEST, 10, 0},
        };
        int64_t sum = 0;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            int64_t bytes = rows[i].bytes + live * rows[i].per_class_bytes;
            sample_set_nmt(sample, rows[i].category, (struct nmt_amount){bytes * 2, bytes});
            sum += bytes;
        }
        sample_set(sample, SAMPLE_NMT_COMMITTED_BYTES, sum);
    }
    story_event(story, &event);
}

static inline void fixture_names(struct story *story, int64_t from_s, int64_t to_s, int load_log,
                                 int64_t loads)
{
    struct family_row rows[2] = {
        {.family = "groovy-shell",
         .stem = "Script#",
         .example = FIXTURE_BAD_NAME,
         .source = "file:/groovy/shell",
         .loads = loads,
         .names = loads / 2,
         .max_same_name = 2,
         .repeating = loads},
        {.family = "unknown:com.acme.<i>Gen</i>#",
         .stem = "com.acme.Gen#",
         .example = "com.acme.Gen17",
         .loads = loads / 20,
         .unloads = loads / 40,
         .names = loads / 20,
         .max_same_name = 1,
         .repeating = loads / 20},
    };
    struct event event = {.kind = EVENT_NAMES, .ms = to_s * 1000};
    event.names = (struct names_event){.method = CENSUS_LOAD_LOG,
                                       .load_log = load_log,
                                       .last = true,
                                       .from_ms = from_s * 1000,
                                       .loads = loads,
                                       .row_count = 2,
                                       .rows = rows};
    story_event(story, &event);
}

static inline void fixture_alert(struct story *story, enum finding_kind kind,
                                 enum alert_state state, int64_t s, const char *family,
                                 const char *title)
{
    struct alert alert = {.state = state, .ms = s * 1000, .started_ms = (s - 12) * 1000};
    alert.finding = finding_begin(&texts, kind);
    finding_family(&alert.finding, family);
    if (title != NULL)
        finding_title(&alert.finding, "%s", title);
    finding_add_int(&alert.finding, "rate_per_s", 20);
    finding_add_int(&alert.finding, "bytes_per_class_bytes", 5324);
    finding_add_int(&alert.finding, "growth_bytes", 47 * FIXTURE_MB);
    finding_add_text(&alert.finding, "example", FIXTURE_BAD_NAME);
    story_alert(story, &alert);
}

static inline void fixture_histogram(struct story *story, int64_t s, int64_t growth)
{
    struct histogram_class rows[] = {
        {"[B", "", 1, 70000, 30 * FIXTURE_MB, 0, 0},
        {"com.acme.Ses<i>sion", "", 1, 1000 + growth / 64, FIXTURE_MB + growth, growth / 64,
         growth},
        {"com.acme.Gen#", "unknown:com.acme.<i>Gen</i>#", 90, 90, 4096 + growth / 2, 30,
         growth / 2},
    };
    struct event event = {.kind = EVENT_HISTOGRAM, .ms = s * 1000};
    event.histogram = (struct histogram_event){.first_ms = 20000,
                                               .classes = 812,
                                               .instances = 71090 + growth / 64,
                                               .bytes = 31 * FIXTURE_MB + growth,
                                               .row_count = 3,
                                               .rows = rows};
    story_event(story, &event);
}

static inline struct target_identity fixture_identity(void)
{
    return (struct target_identity){.pid = 4711,
                                    .nspid = 7,
                                    .uptime_ms = 5000,
                                    .jdk_major = 17,
                                    .jdk = "17.0.15+6-Debian-1deb12u1",
                                    .main = "com.acme.Ma<i>n",
                                    .nmt_level = "summary"};
}

static inline struct story *fixture_empty(void)
{
    struct target_identity identity = fixture_identity();
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    return story_create(&identity, INT64_C(1760000000000), &thresholds);
}

static inline struct story *fixture_explosion(void)
{
    struct story *story = fixture_empty();
    for (int64_t s = 0; s <= 600; s++) {
        if (s > 300 && s < 360)
            continue; /* the watcher was stopped for a minute */
        int64_t startup = s < 20 ? s * 120 : 2400;
        int64_t scripts = s < 60 ? 0 : (s - 60) * 20;
        fixture_sample(story, s, startup + scripts, s < 200 ? 0 : 40);
    }
    fixture_names(story, 65, 95, 1, 600);
    fixture_names(story, 120, 131, 2, 220);
    struct loader_row first[] = {{"groovy.lang.GroovyClassLoader$InnerLoader", 3, 3, 9000},
                                 {"<boot class loader>", 1, 700, 5 * FIXTURE_MB}};
    struct loader_row last[] = {
        {"groovy.lang.GroovyClassLoader$InnerLoader", 10800, 10800, 57 * FIXTURE_MB},
        {"<boot class loader>", 1, 710, 5 * FIXTURE_MB},
        {"jdk.internal.loader.ClassLoaders$AppClassLoader", 1, 612, 3 * FIXTURE_MB}};
    struct event event = {.kind = EVENT_LOADERS, .ms = 30000};
    event.loaders = (struct loaders_event){.loaders = 4, .row_count = 2, .rows = first};
    story_event(story, &event);
    event.ms = 590000;
    event.loaders = (struct loaders_event){.loaders = 10802, .row_count = 3, .rows = last};
    story_event(story, &event);

    for (int64_t s = 20; s < 600; s += 60)
        fixture_histogram(story, s, (s - 20) * 20000);

    struct method_family families[] = {{"com.acme.Gen<i>#", 10800, 162000},
                                       {"java.lang.*", 91, 1958}};
    event = (struct event){.kind = EVENT_METHODS, .ms = 590000};
    event.methods = (struct methods_event){7, 11710, 175000, 11000, 164000, 2, families};
    story_event(story, &event);

    event = (struct event){.kind = EVENT_COST, .ms = 70000};
    event.cost = (struct cost_event){
        .command = "VM.classloader_stats", .predicted_us = 900, .measured_us = 1450};
    story_event(story, &event);
    event.cost.measured_us = 3100;
    story_event(story, &event);
    event.cost = (struct cost_event){.command = "VM.class_hierarchy",
                                     .predicted_us = 260000,
                                     .measured_us = -1,
                                     .skipped = "predicted 260 ms, 196 ms of the budget are left"};
    story_event(story, &event);
    event = (struct event){.kind = EVENT_NOTE, .ms = 65000};
    snprintf(event.text, sizeof event.text, "class-load log switched on (tap 1) & <watched>");
    story_event(story, &event);

    fixture_alert(story, FINDING_CLASS_EXPLOSION, ALERT_RAISED, 72, "groovy-shell",
                  "classes of family groovy-shell are generated without end: 20.1/s for 41 s, "
                  "5.2 KB each; nothing was unloaded");
    finding_advice(&story->alerts[0].finding,
                   "Cache the parsed class by text hash and make a new instance per run.");
    fixture_alert(story, FINDING_LOADER_GROWTH, ALERT_RAISED, 80, "", NULL);
    fixture_alert(story, FINDING_CLASS_METASPACE_GROWTH, ALERT_RAISED, 420, "", NULL);
    fixture_alert(story, FINDING_LOADER_GROWTH, ALERT_CLEARED, 500, "", NULL);
    snprintf(story->watch_cost, sizeof story->watch_cost,
             "The watcher used 310 ms of CPU and 4.1 MB of memory for 601 looks.");
    struct judge_view view = {.warm = true,
                              .baseline_ms = 31000,
                              .have_rates = true,
                              .load_per_s = 20.0,
                              .net_per_s = 20.0,
                              .have_internal = true,
                              .internal_bytes = 2 * FIXTURE_MB,
                              .internal_growth_bytes = 1300000,
                              .have_class_metaspace = true,
                              .class_metaspace_bytes = 81 * FIXTURE_MB,
                              .class_metaspace_growth_bytes = 64 * FIXTURE_MB,
                              .active_alerts = 2,
                              .worst_active = SEVERITY_CRITICAL,
                              .worst_ever = SEVERITY_CRITICAL};
    snprintf(view.warmup_reason, sizeof view.warmup_reason, "class loads fell below 2/s");
    story_finish(story, &view);
    return story;
}

/* What a writer printed; the caller frees it. */
#define FIXTURE_PRINTED(call)                                                                      \
    __extension__({                                                                                \
        static char *printed_text;                                                                 \
        static size_t printed_length;                                                              \
        FILE *out = open_memstream(&printed_text, &printed_length);                                \
        call;                                                                                      \
        fclose(out);                                                                               \
        printed_text;                                                                              \
    })
