#include "nmtwatch/watch/watcher.h"

#include "nmtwatch/watch/watcher_internal.h"
#include "reports/text/units.h"
#include "nmtwatch/jvm/agent_files.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/jvm/syscall_filter.h"
#include "analyzers/model/memory_reply.h"
#include "analyzers/native/call_site_group.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/process/clock.h"
#include "analyzers/classes/loader_table.h"
#include "analyzers/parse/jcmd_reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What a watcher learned: judged first, then passed on together with the alerts it raised, so that
 * the view that goes with an event includes it. */

void watcher_emit(struct watcher *watcher, struct event *event)
{
    event->ms = watcher->now_ms;
    struct alerts alerts;
    judge_feed(watcher->judge, event, &alerts);
    watcher->sink.event(watcher->sink.context, watcher, event, &alerts);
}

void watcher_note(struct watcher *watcher, const char *format, ...)
{
    struct event event = {.kind = EVENT_NOTE};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(event.text, sizeof event.text, format, arguments);
    va_end(arguments);
    watcher_emit(watcher, &event);
}

void watcher_add_note(struct watcher *watcher, const char *text, int64_t now_ms)
{
    watcher->now_ms = now_ms;
    watcher_note(watcher, "%s", text);
}

void watcher_begin_anew(struct watcher *watcher, int64_t now_ms)
{
    struct event event = {.kind = EVENT_BASELINE, .text = EVENT_BASELINE_TEXT};
    watcher->now_ms = now_ms;
    watcher_emit(watcher, &event);
}

static void end(struct watcher *watcher, const char *text)
{
    if (watcher->ended)
        return;
    watcher->ended = true;
    if (text == NULL)
        return;
    struct event event = {.kind = EVENT_GONE};
    snprintf(event.text, sizeof event.text, "%s", text);
    watcher_emit(watcher, &event);
}

static void emit_sample(struct watcher *watcher, const struct sample *sample)
{
    sample_merge(&watcher->latest, sample);
    watcher->counts.polls++;
    struct event event = {.kind = EVENT_SAMPLE, .sample = *sample};
    watcher_emit(watcher, &event);
}

/* What costs the target nothing: its counters in hsperfdata, /proc, and the agent's figures. */

#define IDENTITY_RETRY_MS 1000

/* A JVM that has just started has no hsperfdata yet, and so no name and no version. */
static void complete_identity(struct watcher *watcher)
{
    if (watcher->perfdata != NULL || watcher->now_ms < watcher->next_identity_ms)
        return;
    watcher->next_identity_ms = watcher->now_ms + IDENTITY_RETRY_MS;
    target_refresh_identity(&watcher->target);
    if (watcher->target.perfdata[0] != '\0')
        watcher->perfdata = perfdata_open(&watcher->target);
}

/* Its own words, at each step: what the alert's figures do not say. */
static void note_why_the_breaker_tripped(struct watcher *watcher, const struct sample *sample)
{
    char reason[200];
    int64_t step, before = 0;
    sample_get(&watcher->latest, SAMPLE_AGENT_BREAKER, &before);
    if (sample_get(sample, SAMPLE_AGENT_BREAKER, &step) && step > before &&
        agent_figures_reason(&watcher->target, reason, sizeof reason))
        watcher_note(watcher, "the profiler agent says: %s", reason);
}

/* Its files are left out meanwhile: what /proc shows at no cost is all there is. */
static void note_held(struct watcher *watcher)
{
    struct failure failure;
    char name[32];
    if (watcher->noted_failure == FAILURE_HELD || !privileged_passes_by(&watcher->target))
        return;
    snprintf(name, sizeof name, "pid %d", (int)watcher->target.pid);
    watcher->noted_failure = watcher->counts.last_failure =
        failure_set(&failure, FAILURE_HELD, name, NULL);
    watcher->counts.failures++;
    watcher->counts.failed[FAILURE_HELD]++;
    watcher_note(watcher, "%s", failure.sentence);
}

static bool poll_sources(struct watcher *watcher, struct sample *sample)
{
    sample_clear(sample);
    if (!proc_sample(&watcher->proc, sample))
        return false;
    struct judge_view view;
    judge_view(watcher->judge, &view);
    proc_starved(&watcher->proc, watcher->target.pid,
                 !view.warm || watcher->load_log_phase != LOAD_LOG_IS_OFF ||
                     judge_wants_names(watcher->judge),
                 sample);
    complete_identity(watcher);
    if (watcher->perfdata != NULL && !perfdata_sample(watcher->perfdata, sample)) {
        perfdata_close(watcher->perfdata);
        watcher->perfdata = NULL;
        watcher->target.perfdata[0] = '\0';
        note_held(watcher);
    }
    if (watcher->heap_shared) /* the heap would be in it */
        sample->present &= ~(UINT64_C(1) << SAMPLE_RSS_SHARED_BYTES);
    agent_figures_sample(&watcher->target, sample);
    note_why_the_breaker_tripped(watcher, sample);
    return true;
}

/* --- asking: one question at a time; what stops the application only within the budget --------- */

#define PRESSURE_EACH_MS 1000
#define BUSY_WAIT_MS     15000
#define SKIP_AGAIN_MS    600000

bool ask(struct watcher *watcher, enum question question, const char *command)
{
    if (attach_ask(watcher->attach, command) != 0)
        return false;
    watcher->question = question;
    return true;
}

const char *left_out_reason(enum left_out why)
{
    static const char *const NAMES[LEFT_OUT_COUNT] = {"budget", "busy", "too-long"};
    return NAMES[why];
}

static void emit_skip(struct watcher *watcher, enum expensive_command command, enum left_out why,
                      int64_t predicted_us, const char *reason)
{
    watcher->counts.left_out[command][why]++;
    watcher->skip[command].times++;
    if (watcher->skip[command].noted && watcher->skip[command].why == why &&
        watcher->now_ms < watcher->skip[command].again_ms)
        return;
    struct event event = {.kind = EVENT_COST};
    snprintf(event.cost.command, sizeof event.cost.command, "%s", expensive_command_text(command));
    event.cost.predicted_us = predicted_us;
    event.cost.measured_us = -1;
    snprintf(event.cost.skipped, sizeof event.cost.skipped, "%s", reason);
    if (watcher->skip[command].times > 1)
        text_add(event.cost.skipped, sizeof event.cost.skipped, " (%" PRId64 " times)",
                 watcher->skip[command].times);
    watcher->skip[command].noted = true;
    watcher->skip[command].why = why;
    watcher->skip[command].again_ms = watcher->now_ms + SKIP_AGAIN_MS;
    watcher->skip[command].times = 0;
    watcher_emit(watcher, &event);
}

static const struct pause_pressure *pressure_now(struct watcher *watcher)
{
    if (!watcher->options.ignore_pressure && watcher->now_ms >= watcher->next_pressure_ms) {
        pressure_read("", watcher->target.pid, &watcher->pressure);
        watcher->next_pressure_ms = watcher->now_ms + PRESSURE_EACH_MS;
        watcher->busy_noted = watcher->busy_noted && pause_pressed(&watcher->pressure);
    }
    return &watcher->pressure;
}

bool ask_waits(struct watcher *watcher, enum expensive_command command)
{
    int64_t *until_ms = &watcher->wait_until_ms[command];
    const struct pause_pressure *pressure = pressure_now(watcher);
    if (!pause_pressed(pressure) || (*until_ms > 0 && watcher->now_ms >= *until_ms)) {
        *until_ms = 0;
        return false;
    }
    if (*until_ms == 0)
        *until_ms = watcher->now_ms + BUSY_WAIT_MS;
    if (!watcher->busy_noted) {
        char words[160];
        pressure_words(pressure, words, sizeof words);
        watcher_note(watcher,
                     "the machine is busy (%s): questions that stop the application wait, "
                     "for %d s at most",
                     words, BUSY_WAIT_MS / 1000);
        watcher->busy_noted = true;
    }
    return true;
}

/* What the pause of an expensive question depends on, now. */
static struct pause_inputs inputs_now(struct watcher *watcher)
{
    struct pause_inputs now = pause_inputs_of(&watcher->latest, watcher->arenas);
    now.pressure = *pressure_now(watcher);
    return now;
}

bool ask_expensive(struct watcher *watcher, enum question question, enum expensive_command command,
                   int64_t cap_us)
{
    struct pause_inputs now = inputs_now(watcher);
    int64_t predicted_us = pause_predict(&watcher->pause, command, &now);
    int64_t left_us = pause_left_us(&watcher->pause, watcher->now_ms);
    char reason[128];
    if (pause_needed(&watcher->pause, command, &now) > left_us) {
        bool pressed = pause_pressed(&now.pressure);
        const char *busy = pressed ? " on this busy machine" : "";
        snprintf(reason, sizeof reason,
                 "would stop the application for about %.1f ms%s; %.1f ms are left of the budget",
                 (double)predicted_us / 1000, busy, (double)left_us / 1000);
        emit_skip(watcher, command, pressed ? LEFT_OUT_BUSY : LEFT_OUT_BUDGET, predicted_us,
                  reason);
        return false;
    }
    int64_t work_us = pause_work(&watcher->pause, command, &now);
    if (work_us > cap_us) {
        snprintf(reason, sizeof reason,
                 "would stop the application for about %.0f ms, too long below the trigger rate",
                 (double)work_us / 1000);
        emit_skip(watcher, command, LEFT_OUT_TOO_LONG, work_us, reason);
        return false;
    }
    if (!ask(watcher, question, expensive_command_text(command)))
        return false;
    watcher->skip[command].noted = false;
    watcher->skip[command].times = 0;
    watcher->expensive = command;
    watcher->predicted_us = predicted_us;
    watcher->pause_inputs = now;
    return true;
}

void ask_charge(struct watcher *watcher)
{
    int64_t us = attach_elapsed_us(watcher->attach);
    pause_spend(&watcher->pause, watcher->expensive, &watcher->pause_inputs, watcher->now_ms, us);
    struct event event = {.kind = EVENT_COST};
    snprintf(event.cost.command, sizeof event.cost.command, "%s",
             expensive_command_text(watcher->expensive));
    event.cost.predicted_us = watcher->predicted_us;
    event.cost.measured_us = us;
    watcher_emit(watcher, &event);
}

/* --- what to ask next ------------------------------------------------------------------------ */

#define BACKOFF_FIRST_MS   5000
#define BACKOFF_MAX_MS     300000
#define LOADERS_CAP_US     20000 /* without suspicion its work must be shorter than this */
/* Between loader censuses when they are the only names there are. */
#define LOADERS_SUSPECT_MS 6000
#define REPLY_KEEP_BYTES   262144
/* Without hsperfdata NMT is all that counts classes, and a rate needs more than one count in 4 s.
 * A summary is no safepoint and 50-240 us. */
#define COUNT_CLASSES_MS   1000
#define LIMIT_NEAR_MS      1000
#define LIMIT_NEAR_LOOKS   24

static bool ask_memory(struct watcher *watcher)
{
    if (watcher->now_ms < watcher->next_memory_ms)
        return false;
    int64_t interval_ms = watcher->options.nmt_interval_ms;
    if (watcher->perfdata == NULL && !watcher->nmt_off && interval_ms > COUNT_CLASSES_MS)
        interval_ms = COUNT_CLASSES_MS;
    watcher->next_memory_ms += interval_ms; /* from when it was due: ticks are never early */
    if (watcher->next_memory_ms <= watcher->now_ms)
        watcher->next_memory_ms = watcher->now_ms + interval_ms;
    watcher->asked_nmt = !watcher->nmt_off;
    const char *command =
        memory_reply_command(watcher->target.identity.jdk_major, watcher->asked_nmt);
    return command[0] != '\0' && ask(watcher, QUESTION_MEMORY, command);
}

static bool names_need_loaders(const struct watcher *watcher)
{
    bool load_log_possible = watcher->options.load_log && !watcher->load_log_unusable &&
                             watcher->target.identity.jdk_major >= LOAD_LOG_FIRST_JDK;
    return !load_log_possible && judge_wants_names(watcher->judge);
}

static bool ask_loaders(struct watcher *watcher)
{
    bool suspect = names_need_loaders(watcher);
    int64_t due_ms = watcher->next_loaders_ms;
    if (suspect)
        due_ms += LOADERS_SUSPECT_MS - watcher->options.loaders_interval_ms;
    if (watcher->now_ms < due_ms)
        return false;
    if (ask_waits(watcher, EXPENSIVE_LOADER_STATS))
        return false;
    watcher->next_loaders_ms = watcher->now_ms + watcher->options.loaders_interval_ms;
    return ask_expensive(watcher, QUESTION_LOADERS, EXPENSIVE_LOADER_STATS,
                         suspect ? INT64_MAX : LOADERS_CAP_US);
}

/* Announces what each histogram will cost, before the first one. */
static void announce_histograms(struct watcher *watcher, const struct pause_inputs *inputs)
{
    int64_t us = pause_needed(&watcher->pause, EXPENSIVE_HISTOGRAM_ALL, inputs);
    const struct watch_options *options = &watcher->options;
    char too_much[100] = "";
    if (watcher->histogram_announced)
        return;
    watcher->histogram_announced = true;
    if (us > options->pause_budget_us) /* in seconds: it is a prediction */
        snprintf(too_much, sizeof too_much,
                 ", too small: none is taken; --pause-budget %" PRId64 "s/%" PRId64 "s allows one",
                 us / 1000000 + 1, options->pause_window_ms / 1000);
    watcher_note(watcher,
                 "class histograms, every %s: each stops the application for about %s, by a heap "
                 "of %s (pause budget: %s in %s%s)",
                 units_duration(options->histogram_interval_ms).text, units_microseconds(us).text,
                 units_bytes(inputs->heap_bytes).text,
                 units_microseconds(options->pause_budget_us).text,
                 units_duration(options->pause_window_ms).text, too_much);
}

static bool ask_histogram(struct watcher *watcher)
{
    if (watcher->now_ms < watcher->next_histogram_ms)
        return false;
    if (ask_waits(watcher, EXPENSIVE_HISTOGRAM_ALL))
        return false;
    struct pause_inputs inputs = inputs_now(watcher);
    if (inputs.heap_bytes < 0)
        return false; /* nothing to predict from yet */
    watcher->next_histogram_ms = watcher->now_ms + watcher->options.histogram_interval_ms;
    announce_histograms(watcher, &inputs);
    return ask_expensive(watcher, QUESTION_HISTOGRAM, EXPENSIVE_HISTOGRAM_ALL, INT64_MAX);
}

static bool ask_leftovers(struct watcher *watcher)
{
    if (watcher->leftover[0] != '\0') {
        char command[192];
        snprintf(command, sizeof command, "VM.log output=file=%s what=all=off", watcher->leftover);
        return ask(watcher, QUESTION_LEFTOVER_OFF, command);
    }
    if (watcher->now_ms < watcher->next_leftovers_ms || !watcher->options.load_log ||
        watcher->target.identity.jdk_major < LOAD_LOG_FIRST_JDK)
        return false;
    watcher->next_leftovers_ms = INT64_MAX;
    return ask(watcher, QUESTION_LEFTOVERS, "VM.log list");
}

/* Once: the heap does not move. */
static bool ask_heap_info(struct watcher *watcher)
{
    if (watcher->heap_asked)
        return false;
    watcher->heap_asked = true;
    return ask(watcher, QUESTION_HEAP_INFO, "GC.heap_info");
}

static void ask_next(struct watcher *watcher)
{
    if (watcher->now_ms < watcher->next_attach_ms && !naming_is_urgent(watcher))
        return;
    if (naming_ask(watcher) || watcher->stopping)
        return;
    if (ask_memory(watcher) || ask_heap_info(watcher) || ask_leftovers(watcher))
        return;
    if (!ask_loaders(watcher))
        ask_histogram(watcher);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Without hsperfdata NMT's count of classes says how many were loaded and unloaded at the least */
static void count_classes(const struct watcher *watcher, int64_t classes, struct sample *sample)
{
    int64_t loaded = classes, unloaded = 0;
    if (classes < 0 || sample_has(sample, SAMPLE_CLASSES_LOADED))
        return;
    if (sample_get(&watcher->latest, SAMPLE_CLASSES_LOADED, &loaded)) {
        sample_get(&watcher->latest, SAMPLE_CLASSES_UNLOADED, &unloaded);
        int64_t more = classes - (loaded - unloaded);
        loaded += more > 0 ? more : 0;
        unloaded -= more < 0 ? more : 0;
    }
    sample_set(sample, SAMPLE_CLASSES_LOADED, loaded);
    sample_set(sample, SAMPLE_CLASSES_UNLOADED, unloaded);
}

/* At its pace Metaspace reaches MaxMetaspaceSize within a few polls: there would be none before the
 * end. */
static void hurry_when_the_limit_is_near(struct watcher *watcher)
{
    struct judge_view view;
    judge_view(watcher->judge, &view);
    if (view.metaspace_left_s >= 0 &&
        view.metaspace_left_s * 1000 < LIMIT_NEAR_LOOKS * watcher->options.nmt_interval_ms &&
        watcher->next_memory_ms > watcher->now_ms + LIMIT_NEAR_MS)
        watcher->next_memory_ms = watcher->now_ms + LIMIT_NEAR_MS;
}

/* How much of the heap is resident: smaps costs a walk over the page tables, so it is read when RSS has moved, and takes
 * at most one part in so many of a CPU. It is no safepoint, and stops no thread but those that map memory meanwhile. */
#define SMAPS_CPU_PART 200
#define SMAPS_WAIT_MS  4000
#define SMAPS_MAX      ((size_t)64 << 20)
#define SMAPS_MOVED    (INT64_C(1) << 20)

/* Of this thread and the workers that read for it. */
static int64_t cpu_used_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID) + privileged_counts().cpu_us;
}

static void read_heap(struct watcher *watcher)
{
    struct rss_account account;
    struct smaps smaps;
    struct smaps_mapping mapping;
    int64_t began_us = cpu_used_us();
    struct span text = proc_read_most(watcher->target.pid, "smaps", SMAPS_MAX);
    rss_account_begin(&account, &watcher->heap, watcher->heap.high > 0 ? 1 : 0);
    smaps_begin(&smaps, text);
    bool shared = false;
    while (text.ptr != NULL && smaps_next(&smaps, &mapping)) {
        bool heap = rss_account_add(&account, &mapping) == RSS_JAVA_HEAP;
        shared = shared || (heap && mapping.map.shared);
    }
    free((void *)(uintptr_t)text.ptr);
    watcher->heap_shared = shared;
    watcher->heap_bytes = account.kind[RSS_JAVA_HEAP].mappings > 0 && !shared
                              ? account.kind[RSS_JAVA_HEAP].rss_bytes
                              : -1;
    watcher->memory_limit = memory_limit(watcher->target.pid);
    int64_t took_us = cpu_used_us() - began_us;
    watcher->heap_next_ms = watcher->now_ms + MAX(SMAPS_WAIT_MS, took_us * SMAPS_CPU_PART / 1000);
}

static void account_heap(struct watcher *watcher, struct sample *sample)
{
    int64_t rss;
    if (!sample_get(sample, SAMPLE_RSS_BYTES, &rss))
        return;
    int64_t moved = rss - watcher->heap_rss_bytes;
    bool current = moved < SMAPS_MOVED && moved > -SMAPS_MOVED;
    if (!current && watcher->now_ms >= watcher->heap_next_ms && watcher->heap_asked) {
        read_heap(watcher);
        watcher->heap_rss_bytes = rss;
        current = true;
    }
    if (!current || watcher->heap_bytes < 0)
        return;
    sample_set(sample, SAMPLE_RSS_HEAP_BYTES, watcher->heap_bytes);
    if (watcher->memory_limit > 0)
        sample_set(sample, SAMPLE_MEMORY_LIMIT_BYTES, watcher->memory_limit);
}

static void answered_memory(struct watcher *watcher, struct span reply)
{
    struct sample sample;
    struct memory_reading reading;
    if (!poll_sources(watcher, &sample))
        return; /* gone: the next tick shows it */
    memory_reply_read(reply, watcher->asked_nmt, &sample, &reading);
    if (reading.arenas >= 0)
        watcher->arenas = reading.arenas;
    count_classes(watcher, reading.classes, &sample);
    account_heap(watcher, &sample);
    if (reading.result == MEMORY_MALFORMED) {
        watcher->counts.failures++;
        watcher->counts.failed[FAILURE_BAD_REPLY]++;
        watcher->counts.last_failure = FAILURE_BAD_REPLY;
        if (!watcher->reply_odd_noted)
            watcher_note(watcher, "%s", reading.problem);
        watcher->reply_odd_noted = true;
        return;
    }
    if (reading.result == MEMORY_NMT_OFF && !watcher->nmt_off) {
        watcher->nmt_off = true;
        watcher->counts.last_failure = FAILURE_NMT_OFF;
        watcher_note(watcher, "Native Memory Tracking is off: classes and Metaspace are watched, "
                              "NMT is not (start the JVM with -XX:NativeMemoryTracking=summary)");
    }
    if (reading.have_nmt)
        watcher->counts.nmt_seen = true;
    if ((reading.unknown_lines > 0 || reading.dropped > 0 || !reading.total_holds) &&
        !watcher->reply_odd_noted) {
        watcher->reply_odd_noted = true;
        watcher_note(watcher,
                     "NMT summary of an unknown form: %d lines not understood, %d categories "
                     "without room, the categories %s up to the total",
                     reading.unknown_lines, reading.dropped,
                     reading.total_holds ? "add" : "do not add");
    }
    emit_sample(watcher, &sample);
    hurry_when_the_limit_is_near(watcher);
}

static void answered_loaders(struct watcher *watcher, struct span reply)
{
    ask_charge(watcher);
    struct loader_table table;
    if (loader_table_parse(&table, reply, NULL) == PARSE_OK) {
        sample_set(&watcher->latest, SAMPLE_LOADERS, table.event.loaders);
        struct event event = {.kind = EVENT_LOADERS, .loaders = table.event};
        watcher_emit(watcher, &event);
        if (names_need_loaders(watcher))
            naming_add_loaders(watcher, table.types, table.type_count);
    } else {
        watcher_note(watcher, "VM.classloader_stats: a reply that ends too early was not used");
    }
    loader_table_free(&table);
}

static void answered_histogram(struct watcher *watcher, struct span reply)
{
    ask_charge(watcher);
    if (watcher->heap_census == NULL)
        watcher->heap_census = heap_census_create();
    struct event event = {.kind = EVENT_HISTOGRAM};
    if (watcher->heap_census != NULL &&
        heap_census_add(watcher->heap_census, reply, watcher->now_ms, &event.histogram))
        watcher_emit(watcher, &event);
    else
        watcher_note(watcher, "GC.class_histogram -all: a reply that ends too early was not used");
}

/* "#2: file=/tmp/nmtwatch-tap-... class+load=info" of a run that was killed together with its
 * guard. A younger one may belong to another nmtwatch that is at work: it is looked for again. */
static void answered_leftovers(struct watcher *watcher, struct span reply)
{
    struct span line;
    while (span_take_line(&reply, &line)) {
        ptrdiff_t at = span_find(line, SPAN_LITERAL("file="));
        if (at < 0)
            continue;
        struct span file = span_of(line.ptr + at + 5, line.len - (size_t)at - 5);
        for (size_t i = 0; i < file.len; i++)
            if (file.ptr[i] == ' ')
                file.len = i;
        enum load_log_origin origin = load_log_origin(file);
        if (origin == LOAD_LOG_IN_USE)
            watcher->next_leftovers_ms = watcher->now_ms + LOAD_LOG_LEFTOVER_S * 1000;
        if (origin != LOAD_LOG_LEFTOVER || file.len >= sizeof watcher->leftover)
            continue;
        span_copy(file, watcher->leftover, sizeof watcher->leftover);
        return;
    }
}

static void answered_leftover_off(struct watcher *watcher)
{
    watcher_note(watcher, "switched off a class-load log that a killed run had left: %s",
                 watcher->leftover);
    load_log_remove_leftover(&watcher->target, watcher->leftover);
    watcher->leftover[0] = '\0';
    watcher->next_leftovers_ms = watcher->now_ms; /* there may be more */
}

static void answered(struct watcher *watcher)
{
    int result_code;
    struct span reply = attach_reply(watcher->attach, &result_code);
    enum question question = watcher->question;
    watcher->question = QUESTION_NONE;
    watcher->counts.questions++;
    watcher->counts.answer_us += attach_elapsed_us(watcher->attach);
    watcher->attach_backoff_ms = 0;
    watcher->noted_failure = FAILURE_NONE;
    switch (question) {
    case QUESTION_MEMORY:
        answered_memory(watcher, reply);
        break;
    case QUESTION_LOADERS:
        answered_loaders(watcher, reply);
        break;
    case QUESTION_HISTOGRAM:
        answered_histogram(watcher, reply);
        break;
    case QUESTION_HEAP_INFO:
        if (!rss_heap_range(reply, &watcher->heap))
            watcher->heap.high = 0;
        break;
    case QUESTION_LEFTOVERS:
        answered_leftovers(watcher, reply);
        break;
    case QUESTION_LEFTOVER_OFF:
        answered_leftover_off(watcher);
        break;
    case QUESTION_LOAD_LOG_ON:
    case QUESTION_LOAD_LOG_OFF:
    case QUESTION_CLASS_LIST:
        watcher->question = question;
        naming_answered(watcher, reply, result_code);
        watcher->question = QUESTION_NONE;
        break;
    case QUESTION_NONE:
        break;
    }
    if (reply.len > REPLY_KEEP_BYTES)
        attach_release(watcher->attach);
}

static void failed(struct watcher *watcher)
{
    const struct failure *failure = attach_failure(watcher->attach);
    enum question question = watcher->question;
    watcher->counts.failures++;
    watcher->counts.failed[failure->kind]++;
    watcher->counts.last_failure = failure->kind;
    if (question == QUESTION_LOAD_LOG_ON || question == QUESTION_LOAD_LOG_OFF ||
        question == QUESTION_CLASS_LIST)
        naming_failed(watcher);
    watcher->question = QUESTION_NONE;
    if (question == QUESTION_LEFTOVER_OFF)
        watcher->leftover[0] = '\0';
    if (failure->kind == FAILURE_GONE || failure->kind == FAILURE_KILLED)
        return; /* the next tick shows it */
    /* A command this JVM does not know says nothing about the next one. */
    if (failure->kind == FAILURE_UNKNOWN_COMMAND)
        return;
    /* The rest of the question may be harmless. */
    if (failure->kind == FAILURE_SECCOMP && question == QUESTION_MEMORY && watcher->asked_nmt) {
        watcher->nmt_off = true;
        watcher->next_memory_ms = watcher->now_ms;
        watcher_note(watcher, "NMT is not watched: %s", failure->sentence);
        return;
    }
    if (failure->kind != watcher->noted_failure) {
        watcher->noted_failure = failure->kind;
        watcher_note(watcher, "%s", failure->sentence);
    }
    watcher->attach_backoff_ms =
        watcher->attach_backoff_ms == 0 ? BACKOFF_FIRST_MS : watcher->attach_backoff_ms * 2;
    if (watcher->attach_backoff_ms > BACKOFF_MAX_MS)
        watcher->attach_backoff_ms = BACKOFF_MAX_MS;
    watcher->next_attach_ms = watcher->now_ms + watcher->attach_backoff_ms;
}

/* --- methods ---------------------------------------------------------------------------------- */

/* A count takes at most one part in so many of a CPU. */
#define METHODS_CPU_PART    200
#define METHODS_WAIT_MAX_MS 3600000
#define COUNTING_MAX        16 /* processes of a fleet's watchers, at once */
#define COUNTING_OWNER      2  /* ... of one owner's JVMs */
#define METHODS_LATE_MS     30000
#define METHODS_INTERVAL_NS 1000000 /* of no meaning for it, but of the request's form */

static uid_t counting[COUNTING_MAX]; /* the owner of each that is under way */
static int counting_count;

static bool may_count(uid_t owner)
{
    int of_owner = 0;
    for (int i = 0; i < counting_count; i++)
        of_owner += counting[i] == owner;
    return counting_count < COUNTING_MAX && of_owner < COUNTING_OWNER;
}

static void not_counting(uid_t owner)
{
    int at = 0;
    while (counting[at] != owner)
        at++;
    counting[at] = counting[--counting_count];
}

/* A JVM whose methods could not be counted is left alone for twice as long each time. */
static void methods_again(struct watcher *watcher, int64_t cpu_us)
{
    int64_t wait_ms = watcher->options.methods_interval_ms;
    for (int i = 0; i < watcher->counts.methods_failed && wait_ms < METHODS_WAIT_MAX_MS; i++)
        wait_ms = 2 * wait_ms < METHODS_WAIT_MAX_MS ? 2 * wait_ms : METHODS_WAIT_MAX_MS;
    if (wait_ms < cpu_us * METHODS_CPU_PART / 1000)
        wait_ms = cpu_us * METHODS_CPU_PART / 1000;
    watcher->counts.methods_wait_ms = wait_ms;
    watcher->next_methods_ms = watcher->now_ms + wait_ms;
}

/* why: NULL: it was counted. */
static void methods_counted(struct watcher *watcher, const char *why)
{
    watcher->counts.methods_failed = why != NULL ? watcher->counts.methods_failed + 1 : 0;
    snprintf(watcher->counts.methods_why, sizeof watcher->counts.methods_why, "%.119s",
             why != NULL ? why : "");
}

static int64_t children_cpu_us;

void watcher_looked(struct watcher *watcher, int64_t cpu_us)
{
    watcher->counts.observed_cpu_us += cpu_us;
    children_cpu_us += cpu_us;
}

int64_t watcher_children_cpu_us(void)
{
    return children_cpu_us;
}

/* Where they cannot be counted from outside: by the agent, or else so many for each class as usual.
 * True: the agent has counted. */
static bool methods_otherwise(struct watcher *watcher, struct kept_methods *kept,
                              struct sample *sample, const char *why)
{
    int64_t loaded = 0, unloaded = 0, methods;
    bool counted = agent_figures_methods(&watcher->target, kept);
    enum methods_source source = counted ? METHODS_AGENT : METHODS_MEAN;
    sample_get(&watcher->latest, SAMPLE_CLASSES_UNLOADED, &unloaded);
    if (counted) {
        methods = kept->event.methods;
    } else {
        if (!sample_get(&watcher->latest, SAMPLE_CLASSES_LOADED, &loaded))
            return false;
        methods = (int64_t)((double)(loaded - unloaded) * TYPICAL_METHODS_PER_CLASS);
    }
    sample_set(sample, SAMPLE_METHODS, methods);
    sample_set(sample, SAMPLE_METHODS_SOURCE, source);
    if (source == METHODS_MEAN && source != watcher->methods_source)
        watcher_note(
            watcher,
            "methods are not counted (%s): their number is the documented mean, %.0f a class", why,
            TYPICAL_METHODS_PER_CLASS);
    watcher->methods_source = source;
    return counted;
}

/* True: there was another source that counts. */
static bool begin_count(struct watcher *watcher, struct kept_methods *methods,
                        struct sample *sample)
{
    const struct observe_request request = {
        .options = {.mode = OBSERVE_METHODS, .interval_ns = METHODS_INTERVAL_NS},
        .format_count = 1,
        .format = {PROFILE_TOP}};
    char error[200];
    if (!may_count(watcher->target.accountable))
        return false; /* at the next tick */
    methods_again(watcher, 0);
    watcher->methods = observe_child_start(&watcher->target, &request, error, sizeof error);
    watcher->methods_late_ms = watcher->now_ms + METHODS_LATE_MS;
    watcher->methods_late = false;
    if (watcher->methods == NULL)
        return methods_otherwise(watcher, methods, sample, error);
    watcher->counted_for = watcher->target.accountable;
    counting[counting_count++] = watcher->counted_for;
    return false;
}

static void close_count(struct watcher *watcher)
{
    if (watcher->methods != NULL && !watcher->methods_late)
        not_counting(watcher->counted_for);
    observe_child_close(watcher->methods);
    watcher->methods = NULL;
}

/* The answer of a child that has ended. */
static bool end_count(struct watcher *watcher, const struct observe_result *result,
                      struct kept_methods *methods, struct sample *sample)
{
    size_t length;
    char *text = result->code == 0 ? observe_child_text(watcher->methods, 0, &length) : NULL;
    bool good = text != NULL && loaded_methods_event(text, methods);
    free(text);
    close_count(watcher);
    methods_counted(watcher, good ? NULL : result->sentence);
    watcher_looked(watcher, result->cpu_us);
    methods_again(watcher, result->cpu_us);
    if (good) {
        sample_set(sample, SAMPLE_METHODS, methods->event.methods);
        sample_set(sample, SAMPLE_METHODS_SOURCE, METHODS_COUNTED);
        watcher->methods_source = METHODS_COUNTED;
        return true;
    }
    return methods_otherwise(watcher, methods, sample, result->sentence);
}

static const char LATE[] = "reading its memory takes too long";

/* Begins a count when one is due, and puts a finished one into the sample: true, then. */
static bool count_methods(struct watcher *watcher, struct kept_methods *methods,
                          struct sample *sample)
{
    struct observe_result result;
    if (watcher->methods != NULL && observe_child_ended(watcher->methods, &result))
        return end_count(watcher, &result, methods, sample);
    if (watcher->methods != NULL && watcher->now_ms >= watcher->methods_late_ms) {
        watcher->methods_late_ms = watcher->now_ms + watcher->options.methods_interval_ms;
        if (!watcher->methods_late) {
            not_counting(watcher->counted_for); /* the others' are not to wait for it */
            methods_counted(watcher, LATE);
        }
        watcher->methods_late = true;
        return methods_otherwise(watcher, methods, sample, LATE);
    } else if (watcher->methods == NULL && watcher->now_ms >= watcher->next_methods_ms) {
        return begin_count(watcher, methods, sample);
    }
    return false;
}

/* --- ticks ------------------------------------------------------------------------------------ */

/* The first class-loader census and the first histogram come early: they are the baseline of the
 * later ones. */
#define FIRST_CENSUS_PART 4

static void gone(struct watcher *watcher)
{
    char text[256];
    const char *how;
    struct target now;
    struct failure ignored;
    bool replaced = target_open(&now, watcher->target.pid, &ignored) == FAILURE_NONE;
    if (replaced)
        target_close(&now);
    attach_killed(watcher->attach, &how);
    snprintf(text, sizeof text,
             replaced ? "pid %d is another process now: the JVM that was watched has ended%s%s"
                      : "pid %d has ended%s%s",
             (int)watcher->target.pid, how[0] != '\0' ? ": " : "", how);
    naming_abandon(watcher);
    attach_abandon(watcher->attach);
    watcher->question = QUESTION_NONE;
    end(watcher, text);
}

static void tick(struct watcher *watcher)
{
    struct sample sample;
    if (!poll_sources(watcher, &sample)) {
        gone(watcher);
        return;
    }
    /* Ticks that were missed (a suspended machine) are not made up for. */
    watcher->next_tick_ms += watcher->options.interval_ms;
    if (watcher->next_tick_ms <= watcher->now_ms)
        watcher->next_tick_ms = watcher->now_ms + watcher->options.interval_ms;
    struct kept_methods methods;
    bool counted = count_methods(watcher, &methods, &sample);
    emit_sample(watcher, &sample);
    if (counted) {
        struct event event = {.kind = EVENT_METHODS, .methods = methods.event};
        watcher_emit(watcher, &event);
    }
    naming_tick(watcher);
}

/* --- life ------------------------------------------------------------------------------------- */

struct watcher *watcher_create(const struct target *target, const struct watch_options *options,
                               const struct watch_sink *sink, int64_t now_ms)
{
    struct watcher *watcher = calloc(1, sizeof *watcher);
    if (watcher == NULL)
        return NULL;
    watcher->target = *target;
    watcher->options = *options;
    watcher->sink = *sink;
    watcher->now_ms = now_ms;
    watcher->next_tick_ms = watcher->next_memory_ms = now_ms;
    watcher->next_loaders_ms = now_ms + options->loaders_interval_ms / FIRST_CENSUS_PART;
    watcher->next_histogram_ms = options->histogram_interval_ms > 0
                                     ? now_ms + options->histogram_interval_ms / FIRST_CENSUS_PART
                                     : INT64_MAX;
    watcher->next_methods_ms = options->methods_interval_ms > 0 ? now_ms : INT64_MAX;
    watcher->methods_source = METHODS_SOURCE_COUNT;
    watcher->arenas = watcher->heap_bytes = -1;
    watcher->load_log_idle_since_ms = -1;
    watcher->load_log.fd = watcher->load_log.folder_fd = watcher->load_log.guard_pipe = -1;
    watcher->proc.stat_fd = watcher->proc.statm_fd = watcher->proc.status_fd = -1;
    pause_budget_init(&watcher->pause, options->pause_budget_us, options->pause_window_ms);
    struct attach_limits limits = {.timeout_ms = options->timeout_ms, .replies = options->replies};
    syscall_filter_ask_anyway(options->ask_under_seccomp);
    watcher->attach = attach_create(target, &limits);
    watcher->judge = judge_create(&target->identity, &options->thresholds, options->warmup_s);
    watcher->census = census_create(0);
    if (watcher->attach == NULL || watcher->judge == NULL || watcher->census == NULL ||
        proc_open(&watcher->proc, target) != 0) {
        int saved = errno;
        watcher_destroy(watcher);
        errno = saved;
        return NULL;
    }
    return watcher;
}

void watcher_step(struct watcher *watcher, int64_t now_ms)
{
    if (watcher->ended)
        return;
    watcher->now_ms = now_ms;
    if (watcher->question != QUESTION_NONE) {
        enum attach_state state = attach_step(watcher->attach);
        if (state == ATTACH_DONE)
            answered(watcher);
        else if (state == ATTACH_FAILED)
            failed(watcher);
    }
    if (!watcher->ended && !watcher->stopping && now_ms >= watcher->next_tick_ms)
        tick(watcher);
    if (!watcher->ended && watcher->question == QUESTION_NONE)
        ask_next(watcher);
    if (watcher->stopping && watcher->question == QUESTION_NONE)
        end(watcher, NULL);
}

int watcher_fd(const struct watcher *watcher, short *events)
{
    *events = 0;
    return watcher->question == QUESTION_NONE ? -1 : attach_fd(watcher->attach, events);
}

int64_t watcher_wait_ms(const struct watcher *watcher, int64_t now_ms)
{
    int64_t until_ms = watcher->next_tick_ms;
    if (watcher->stopping)
        until_ms = now_ms + 1000;
    if (watcher->question != QUESTION_NONE && now_ms + attach_wait_ms(watcher->attach) < until_ms)
        until_ms = now_ms + attach_wait_ms(watcher->attach);
    return until_ms > now_ms ? until_ms - now_ms : 0;
}

void watcher_stop(struct watcher *watcher, int64_t now_ms)
{
    watcher->stopping = true;
    naming_stop_observing(watcher);
    /* A question in flight that is not about the load log is of no use any more. */
    if (watcher->question != QUESTION_NONE && watcher->question != QUESTION_LOAD_LOG_OFF &&
        watcher->question != QUESTION_LOAD_LOG_ON) {
        attach_abandon(watcher->attach);
        watcher->question = QUESTION_NONE;
    }
    watcher_step(watcher, now_ms);
}

bool watcher_ended(const struct watcher *watcher)
{
    return watcher->ended;
}

const struct target *watcher_target(const struct watcher *watcher)
{
    return &watcher->target;
}

const struct judge *watcher_judge(const struct watcher *watcher)
{
    return watcher->judge;
}

const struct sample *watcher_latest(const struct watcher *watcher)
{
    return &watcher->latest;
}

struct watcher_counts watcher_counts(const struct watcher *watcher)
{
    struct watcher_counts counts = watcher->counts;
    counts.pause_us = watcher->pause.total_us;
    counts.failing = watcher->noted_failure;
    return counts;
}

void watcher_resume(struct watcher *watcher, const struct judge_memory *memory, int64_t pause_us)
{
    const struct pause_inputs none = {0};
    judge_resume(watcher->judge, memory);
    if (pause_us <= 0)
        return;
    pause_spend(&watcher->pause, EXPENSIVE_LOADER_STATS, &none, watcher->now_ms, pause_us);
    /* The command is a stand-in: nothing was measured, and the counter is of this process. */
    watcher->pause.measured[EXPENSIVE_LOADER_STATS][0].known = false;
    watcher->pause.total_us = 0;
}

int64_t watcher_pause_spent_us(const struct watcher *watcher)
{
    return watcher->pause.budget_us - pause_left_us(&watcher->pause, watcher->now_ms);
}

void watcher_destroy(struct watcher *watcher)
{
    if (watcher == NULL)
        return;
    naming_abandon(watcher);
    close_count(watcher);
    if (watcher->perfdata != NULL)
        perfdata_close(watcher->perfdata);
    proc_close(&watcher->proc);
    if (watcher->attach != NULL)
        attach_destroy(watcher->attach);
    judge_destroy(watcher->judge);
    census_destroy(watcher->census);
    heap_census_destroy(watcher->heap_census);
    target_close(&watcher->target);
    free(watcher);
}
