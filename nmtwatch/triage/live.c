#include "nmtwatch/triage/live.h"

#include "analyzers/model/memory_reply.h"
#include "analyzers/parse/redact.h"
#include "analyzers/triage/facts_read.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/triage/recorded.h"
#include "nmtwatch/triage/saved.h"
#include "nmtwatch/watch/watching.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- mapped agents ---------------------------------------------------------------------------- */

#define MAPPED_AGENT_MAX (64 << 20) /* bytes of a library that are read */

/* The JDK's own libraries lie in the folder of libjvm.so's folder: lib/server/libjvm.so. */
static size_t jdk_prefix(struct span maps)
{
    static const struct span jvm = SPAN_INIT("/libjvm.so");
    ptrdiff_t at = span_find(maps, jvm);
    if (at < 0)
        return 0;
    size_t from = (size_t)at;
    while (from > 0 && maps.ptr[from - 1] != '\n' && maps.ptr[from - 1] != ' ')
        from--;
    size_t length = (size_t)at - from;
    while (length > 0 && maps.ptr[from + length - 1] != '/')
        length--; /* without "server" */
    return length > 0 ? from : 0;
}

static bool exports_agent(const struct target *target, const char *path)
{
    struct stat status;
    int fd = rooted_read(target, path, ROOTED_LINKS, MAPPED_AGENT_MAX, &status);
    bool found = false;
    if (fd >= 0 && status.st_size > 64) {
        size_t size = (size_t)status.st_size;
        char *bytes = malloc(size); /* read, not mapped: the file may shrink in the meantime */
        ssize_t got = bytes != NULL ? pread(fd, bytes, size, 0) : -1;
        found = got > 0 && (memmem(bytes, (size_t)got, "Agent_OnLoad", 12) != NULL ||
                            memmem(bytes, (size_t)got, "Agent_OnAttach", 14) != NULL);
        free(bytes);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* The agent libraries a JVM has loaded, from its memory map: shared libraries that export Agent_OnLoad or
 * Agent_OnAttach and are no part of the JDK. Agents that came by attach are on no command line. */
static void mapped_agents(const struct target *target, struct jvm_facts *facts)
{
    char path[4096], error[256], last[4096] = "";
    struct span text, rest, line;
    const char *cut;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)target->pid);
    if (!saved_read(path, &text, NULL, &cut, error, sizeof error))
        return;
    facts->agents_known = true;
    size_t jdk_at = jdk_prefix(text);
    struct span jdk = span_of(text.ptr + jdk_at, 0);
    while (jdk_at > 0 && jdk_at + jdk.len < text.len && text.ptr[jdk_at + jdk.len] != '\n')
        jdk.len++;
    ptrdiff_t server = span_find(jdk, SPAN_LITERAL("/server/libjvm.so"));
    jdk.len = server > 0 ? (size_t)server : 0;
    rest = text;
    while (span_take_line(&rest, &line)) {
        struct proc_map map;
        char name[4096];
        if (proc_map_parse(&map, line) != PARSE_OK || !map.executable || map.path.len == 0 ||
            map.path.ptr[0] != '/' || (jdk.len > 0 && span_starts_with(map.path, jdk)))
            continue;
        span_copy(map.path, name, sizeof name);
        if (strcmp(name, last) == 0)
            continue;
        memcpy(last, name, sizeof last);
        if (exports_agent(target, rooted_inner(target->root, name)))
            facts_add_agent(facts, name);
    }
    free((void *)(uintptr_t)text.ptr);
}

#define NOT_EXPENSIVE EXPENSIVE_COMMAND_COUNT
/* A question that stops the JVM waits for a quiet machine, all of them together for so long. */
#define BUSY_WAIT_MS  10000
#define BUSY_LOOK_MS  500

enum moment { FIRST = 1, LAST = 2, BOTH = FIRST | LAST };
enum depth { GENTLE, THOROUGH };

struct step {
    enum moment when;
    enum depth level;
    int first_jdk;
    enum expensive_command expensive;
    const char *file, *command;
};

enum step_id {
#define STEP(id, when, level, jdk, expensive, file, command) STEP_##id,
#include "nmtwatch/triage/steps.def"
#undef STEP
    STEP_COUNT,
};

static const struct step STEPS[STEP_COUNT] = {
#define STEP(id, when, level, jdk, expensive, file, command)                                       \
    [STEP_##id] = {when, level, jdk, expensive, file, command},
#include "nmtwatch/triage/steps.def"
#undef STEP
};

/* While it runs. */
struct asking {
    struct live *live;
    const struct target *target;
    const struct live_options *options;
    struct attach *attach;
    struct pause_budget budget;
    int64_t now_ms;    /* of the watch */
    int64_t waited_ms; /* for a quiet machine, in all */
    int64_t arenas;    /* of Metaspace; -1: not known */
    int texts;         /* kept so far: their number goes in front of the file's name */
    struct family_row mid_rows[EVENT_ROWS_MAX]; /* of the load log, at two thirds of its time */
    int mid_count, mid_load_log;
    struct triage_step *callers;   /* of an observation of class definitions; NULL: none yet */
    struct observe_child *outside; /* of growth outside of NMT; NULL: not now */
    struct triage_step *outside_step;
    int64_t first_rss, first_nmt; /* when the watch began; 0: not yet known */
};

static void say(const struct asking *asking, const char *what)
{
    if (asking->options->progress)
        fprintf(stderr, "\r%s\x1b[K", what);
}

/* --- steps ----------------------------------------------------------------------------------- */

static struct triage_step *add_step(struct live *live, const char *name)
{
    static struct triage_step nowhere;
    struct triage_step *step =
        live->step_count < LIVE_STEPS_MAX ? &live->steps[live->step_count++] : &nowhere;
    memset(step, 0, sizeof *step);
    step->name = name;
    step->pause_us = -1;
    return step;
}

/* The text is kept with the line jcmd would put in front. */
static void keep_text(struct asking *asking, const struct step *step, struct span text,
                      struct triage_step *record)
{
    char path[4096], front[32];
    int length = snprintf(front, sizeof front, "%d:\n", (int)asking->target->pid);
    snprintf(path, sizeof path, "%s/raw/%02d-%s.txt", asking->options->folder, ++asking->texts,
             step->file);
    bool cut = text.len > LIVE_TEXT_MAX;
    size_t kept = cut ? LIVE_TEXT_MAX : text.len;
    int fd = result_create(AT_FDCWD, path, O_NOFOLLOW, 0600);
    bool ok = result_end(fd, AT_FDCWD, path,
                         fd >= 0 && write_all(fd, front, (size_t)length) &&
                             write_all(fd, text.ptr, kept));
    if (!ok)
        snprintf(record->note, sizeof record->note, "its text could not be kept");
    else if (cut)
        snprintf(record->note, sizeof record->note, "its text is kept in part");
}

static bool has_command_line(const struct step *step)
{
    return step == &STEPS[STEP_COMMAND_LINE] || step == &STEPS[STEP_FLAGS];
}

/* In place: the reply is the attach's until the next question, and ours only. */
static struct span without_secrets(struct asking *asking, struct span reply)
{
    reply.len = redact((char *)(uintptr_t)reply.ptr, reply.len, &asking->live->secrets);
    return reply;
}

static void feed(struct asking *asking, struct span text)
{
    char front[32];
    int64_t ignored;
    int length = snprintf(front, sizeof front, "%d:\n", (int)asking->target->pid);
    char *whole = malloc((size_t)length + text.len);
    if (whole == NULL)
        return;
    memcpy(whole, front, (size_t)length);
    memcpy(whole + length, text.ptr, text.len);
    facts_reader_feed(asking->live->reader, "live", span_of(whole, (size_t)length + text.len),
                      &ignored);
    free(whole);
}

static struct pause_inputs inputs_of(const struct asking *asking)
{
    const struct jvm_facts *facts = asking->live->facts;
    struct sample known;
    sample_clear(&known);
    if (facts != NULL) {
        known = facts->sample;
        if (facts->have_rss && !sample_has(&known, SAMPLE_RSS_BYTES))
            sample_set(&known, SAMPLE_RSS_BYTES, facts->rss.rss_bytes);
    }
    struct pause_inputs inputs = pause_inputs_of(&known, asking->arenas);
    if (facts != NULL && facts->loaders.have)
        inputs.loaders = facts->loaders.loaders;
    return inputs;
}

/* Returns how long it has waited; the pressure is that of its end. */
static int64_t wait_for_quiet(struct asking *asking, struct pause_pressure *pressure)
{
    const struct timespec some = {.tv_nsec = BUSY_LOOK_MS * 1000000};
    int64_t waited_ms = 0;
    *pressure = (struct pause_pressure){0};
    if (asking->options->watch.ignore_pressure)
        return 0;
    pressure_read("", asking->target->pid, pressure);
    while (pause_pressed(pressure) && asking->waited_ms < BUSY_WAIT_MS && signals_asked() == 0) {
        say(asking, "waiting for a quiet machine");
        nanosleep(&some, NULL);
        asking->waited_ms += BUSY_LOOK_MS;
        waited_ms += BUSY_LOOK_MS;
        pressure_read("", asking->target->pid, pressure);
    }
    return waited_ms;
}

/* False: the pause it would cost is not in the budget. */
static bool affordable(struct asking *asking, const struct step *step, struct pause_inputs *inputs,
                       struct triage_step *record)
{
    if (step->expensive == NOT_EXPENSIVE)
        return true;
    *inputs = inputs_of(asking);
    int64_t waited_ms = wait_for_quiet(asking, &inputs->pressure);
    if (waited_ms > 0) {
        char words[110];
        pressure_words(&inputs->pressure, words, sizeof words);
        snprintf(record->note, sizeof record->note, "waited %.1f s for a quiet machine: %s",
                 (double)waited_ms / 1000.0, words);
    }
    int64_t predicted = pause_needed(&asking->budget, step->expensive, inputs);
    int64_t left = pause_left_us(&asking->budget, asking->now_ms);
    if (inputs->classes > 0 && predicted <= left)
        return true;
    if (predicted == PAUSE_UNKNOWN_US)
        return text_error(record->note, sizeof record->note,
                          "left out: the size of the heap, and so its pause, is not known");
    return text_error(record->note, sizeof record->note,
                      "left out: %" PRId64 " ms of pause predicted%s, %" PRId64 " ms left",
                      predicted / 1000,
                      pause_pressed(&inputs->pressure) ? " on a busy machine" : "", left / 1000);
}

static enum failure_kind ask(struct asking *asking, const struct step *step,
                             struct failure *failure)
{
    struct span reply;
    struct pause_inputs inputs;
    struct triage_step *record = add_step(asking->live, step->command);
    failure->kind = FAILURE_NONE;
    if (asking->target->identity.jdk_major > 0 &&
        asking->target->identity.jdk_major < step->first_jdk) {
        snprintf(record->note, sizeof record->note, "this JDK does not have it");
        return FAILURE_NONE;
    }
    if (!affordable(asking, step, &inputs, record))
        return FAILURE_NONE;
    say(asking, step->command);
    int64_t began_us = clock_us(CLOCK_MONOTONIC);
    enum failure_kind kind = attach_run(asking->attach, step->command, &reply, failure);
    record->took_us = clock_us(CLOCK_MONOTONIC) - began_us;
    if (kind != FAILURE_NONE) {
        snprintf(record->note, sizeof record->note, "%.150s", failure->sentence);
        return kind;
    }
    record->pause_us = 0;
    if (step->expensive != NOT_EXPENSIVE) {
        record->pause_us = attach_elapsed_us(asking->attach);
        pause_spend(&asking->budget, step->expensive, &inputs, asking->now_ms, record->pause_us);
    }
    if (has_command_line(step) && !asking->options->keep_secrets)
        reply = without_secrets(asking, reply);
    keep_text(asking, step, reply, record);
    struct jcmd_reply words = jcmd_reply_classify(reply);
    if (words.kind != JCMD_OK)
        span_copy(words.message, record->note, sizeof record->note);
    if (step == &STEPS[STEP_METASPACE]) {
        struct memory_reading reading;
        struct sample unused;
        sample_clear(&unused);
        memory_reply_read(reply, false, &unused, &reading);
        asking->arenas = reading.arenas;
    }
    /* The first detail makes the JVM read its symbol files: it is no baseline. */
    if (step == &STEPS[STEP_NMT_DETAIL_WARM])
        snprintf(record->note, sizeof record->note,
                 "thrown away: the JVM reads its symbol files for it");
    else
        feed(asking, reply);
    attach_release(asking->attach);
    return FAILURE_NONE;
}

static void read_smaps(struct asking *asking, const struct step *step)
{
    struct triage_step *record = add_step(asking->live, step->command);
    char path[64], error[300];
    struct span text;
    const char *cut;
    say(asking, step->command);
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)asking->target->pid);
    int64_t began_us = clock_us(CLOCK_MONOTONIC);
    if (!saved_read(path, &text, NULL, &cut, error, sizeof error)) {
        snprintf(record->note, sizeof record->note, "%.150s", error);
        return;
    }
    record->took_us = clock_us(CLOCK_MONOTONIC) - began_us;
    record->pause_us = 0;
    keep_text(asking, step, text, record);
    feed(asking, text);
    free((void *)(uintptr_t)text.ptr);
}

/* The counters of hsperfdata, in the form of PerfCounter.print: jcmd makes it from the same file */
static void read_counters(struct asking *asking, const struct step *step)
{
    struct triage_step *record = add_step(asking->live, step->command);
    const struct target *target = asking->target;
    static const char *const names[] = {
        "java.cls.loadedClasses",         "java.cls.sharedLoadedClasses",
        "java.cls.sharedUnloadedClasses", "java.cls.unloadedClasses",
        "sun.gc.metaspace.maxCapacity",   "sun.gc.metaspace.used",
    };
    int64_t began_us = clock_us(CLOCK_MONOTONIC), value;
    char text[1024] = "";
    size_t used = 0;
    struct perfdata *perfdata = perfdata_open(target);
    if (perfdata == NULL) {
        snprintf(record->note, sizeof record->note, "there is none");
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (perfdata_number(perfdata, names[i], &value))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s=%" PRId64 "\n", names[i],
                                     value);
    }
    perfdata_close(perfdata);
    record->took_us = clock_us(CLOCK_MONOTONIC) - began_us;
    record->pause_us = 0;
    keep_text(asking, step, span_of(text, used), record);
    feed(asking, span_of(text, used));
}

/* False only when the JVM cannot be asked at all. */
static bool ask_all(struct asking *asking, enum moment moment, struct failure *failure)
{
    bool answered = false;
    for (int i = 0; i < STEP_COUNT; i++) {
        const struct step *step = &STEPS[i];
        if (!(step->when & moment) || (step->level == THOROUGH && !asking->options->thorough))
            continue;
        if (i == STEP_SMAPS) {
            read_smaps(asking, step);
            continue;
        }
        if (i == STEP_COUNTERS) {
            read_counters(asking, step);
            continue;
        }
        enum failure_kind kind = ask(asking, step, failure);
        answered = answered || kind == FAILURE_NONE;
        if (!answered || kind == FAILURE_GONE)
            return false;
        if (kind != FAILURE_NONE && signals_asked() > 0)
            break;
        if (asking->live->facts == NULL && facts_reader_count(asking->live->reader) > 0)
            asking->live->facts = facts_reader_edit(asking->live->reader, 0);
    }
    return answered;
}

/* --- the watch in between -------------------------------------------------------------------- */

static void keep_names(struct asking *asking, const struct names_event *names, int64_t ms)
{
    struct jvm_facts *facts = asking->live->facts;
    if (names->method != CENSUS_LOAD_LOG || facts == NULL)
        return;
    int64_t two_thirds_ms = asking->options->for_ms * 2 / 3;
    if (names->load_log != asking->mid_load_log) {
        asking->mid_load_log = names->load_log;
        asking->mid_count = 0;
    }
    if (ms <= two_thirds_ms) {
        asking->mid_count = names->row_count;
        memcpy(asking->mid_rows, names->rows, (size_t)names->row_count * sizeof *names->rows);
    }
    struct facts_names *flow = &facts->flow;
    recorded_names(flow, names, ms);
    for (int i = 0; i < names->row_count; i++) {
        flow->late_loads[i] = names->rows[i].loads;
        for (int k = 0; k < asking->mid_count; k++)
            if (strcmp(asking->mid_rows[k].family, names->rows[i].family) == 0)
                flow->late_loads[i] -= asking->mid_rows[k].loads;
    }
}

/* --- from outside of the JVM ------------------------------------------------------------------ */

#define OUTSIDE_MS      10000 /* of growth, in the middle of the watch */
#define OUTSIDE_LEFT_MS 3000  /* of the watch that stays after it */
#define OUTSIDE_LATE    50    /* tenths of a second that its result is waited for */
#define OUTSIDE_BYTES   (INT64_C(4) << 20)

static void keep_callers(struct asking *asking, const struct callers_event *callers)
{
    if (asking->callers == NULL)
        asking->callers = add_step(asking->live, "observe classes");
    if (!callers->last)
        return;
    asking->callers->pause_us = 0;
    asking->callers->took_us = callers->for_ms * 1000;
    if (asking->live->facts != NULL)
        recorded_callers(asking->live->facts, callers);
    if (callers->problem[0] != '\0')
        snprintf(asking->callers->note, sizeof asking->callers->note, "%.150s", callers->problem);
    else
        snprintf(asking->callers->note, sizeof asking->callers->note,
                 "from outside: %" PRId64 " class definitions", callers->classes);
}

/* NULL: it cannot be, which the step says. */
static struct observe_child *observe(struct asking *asking, enum observe_mode mode,
                                     enum profile_format format, int64_t for_ms,
                                     struct triage_step *record)
{
    const struct observe_request request = {
        .options = {.mode = mode, .duration_ms = for_ms, .interval_ns = 10000000},
        .format_count = 1,
        .format = {format},
    };
    char error[400];
    struct observe_child *child =
        observe_child_start(asking->target, &request, error, sizeof error);
    if (child == NULL)
        snprintf(record->note, sizeof record->note, "%.150s", error);
    return child;
}

/* Its text, or NULL with the reason in the step. */
static char *observed(struct observe_child *child, const struct observe_result *result,
                      struct triage_step *record, size_t *length)
{
    record->took_us = result->elapsed_ms * 1000;
    record->pause_us = 0;
    if (result->code != 0) {
        snprintf(record->note, sizeof record->note, "%.150s", result->sentence);
        return NULL;
    }
    snprintf(record->note, sizeof record->note, "from outside");
    return observe_child_text(child, 0, length);
}

/* How many jmethodIDs there are. */
static void count_ids(struct asking *asking)
{
    struct observe_result result;
    size_t length;
    if (!asking->options->watch.observe || asking->live->facts == NULL ||
        !asking->target->libjvm_mapped)
        return;
    struct triage_step *record = add_step(asking->live, "observe methods");
    struct observe_child *child =
        observe(asking, OBSERVE_METHODS, PROFILE_TOP, 0, record);
    if (child == NULL)
        return;
    observe_child_wait(child, &result);
    char *text = observed(child, &result, record, &length);
    if (text != NULL && !observe_ids(text, length, &asking->live->facts->ids))
        snprintf(record->note, sizeof record->note,
                 "from outside: this JDK keeps its jmethodIDs elsewhere, they are estimated");
    free(text);
    observe_child_close(child);
}

/* Resident memory that NMT does not explain grew since the watch began. */
static bool grows_outside(struct asking *asking, const struct watcher *watcher)
{
    int64_t rss, nmt;
    const struct sample *now = watcher_latest(watcher);
    if (!sample_get(now, SAMPLE_RSS_BYTES, &rss) ||
        !sample_get(now, SAMPLE_NMT_COMMITTED_BYTES, &nmt))
        return false;
    if (asking->first_rss == 0) {
        asking->first_rss = rss;
        asking->first_nmt = nmt;
    }
    int64_t grown = rss - asking->first_rss, known = nmt - asking->first_nmt;
    return grown >= OUTSIDE_BYTES && grown - (known > 0 ? known : 0) >= OUTSIDE_BYTES;
}

/* Once: which code makes it grow, when there is time for it. */
static void follow_outside(struct asking *asking, const struct watcher *watcher)
{
    struct observe_result result;
    struct jvm_facts *facts = asking->live->facts;
    if (asking->outside == NULL) {
        int64_t left_ms = asking->options->for_ms - asking->now_ms - OUTSIDE_LEFT_MS;
        bool grows = grows_outside(asking, watcher);
        if (asking->outside_step != NULL || !asking->options->watch.observe || !grows ||
            !asking->target->libjvm_mapped || left_ms < OUTSIDE_LEFT_MS || facts == NULL)
            return;
        asking->outside_step = add_step(asking->live, "observe rss");
        asking->outside =
            observe(asking, OBSERVE_RSS, PROFILE_TOP, left_ms < OUTSIDE_MS ? left_ms : OUTSIDE_MS,
                    asking->outside_step);
        return;
    }
    if (!observe_child_ended(asking->outside, &result))
        return;
    size_t length;
    char *text = observed(asking->outside, &result, asking->outside_step, &length);
    if (text != NULL) {
        observe_outside(text, length, &facts->toucher);
        facts->toucher.span_s = (double)result.elapsed_ms / 1000.0;
    }
    free(text);
    observe_child_close(asking->outside);
    asking->outside = NULL;
}

static void keep_methods(struct jvm_facts *facts, const struct event *event)
{
    static const enum sample_field FIELDS[] = {SAMPLE_METHODS, SAMPLE_METHODS_SOURCE};
    int64_t value;
    if (event->kind == EVENT_METHODS)
        methods_keep(&facts->methods, &event->methods);
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS && event->kind == EVENT_SAMPLE; i++)
        if (sample_get(&event->sample, FIELDS[i], &value))
            sample_set(&facts->sample, FIELDS[i], value);
}

/* As `observe PID methods` prints it: what `analyze` reads again. */
static void keep_methods_text(struct asking *asking, struct triage_step *record)
{
    static const struct step METHODS = {.file = "observe-methods"};
    const struct jvm_facts *facts = asking->live->facts;
    int64_t source = METHODS_COUNTED;
    char *text = NULL;
    size_t length = 0;
    if (facts == NULL || facts->methods.event.methods == 0)
        return;
    sample_get(&facts->sample, SAMPLE_METHODS_SOURCE, &source);
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        return;
    bool good = methods_table_write(&facts->methods.event, asking->target, -1,
                                    source == METHODS_AGENT, out);
    if (fclose(out) == 0 && good)
        keep_text(asking, &METHODS, span_of(text, length), record);
    free(text);
}

static void on_event(void *context, struct watched *jvm, const struct event *event,
                     const struct alerts *alerts)
{
    struct asking *asking = context;
    struct live *live = asking->live;
    (void)jvm;
    if (event->kind == EVENT_NAMES)
        keep_names(asking, &event->names, event->ms);
    if (event->kind == EVENT_CALLERS)
        keep_callers(asking, &event->callers);
    if (live->facts != NULL)
        keep_methods(live->facts, event);
    if (live->facts != NULL && event->kind == EVENT_SAMPLE)
        facts_add_sample(live->facts, &event->sample, event->ms);
    for (int i = 0; i < alerts->count; i++) {
        const struct alert *alert = &alerts->alert[i];
        if (alert->state == ALERT_RAISED && live->alert_count < TRIAGE_FINDINGS_MAX)
            finding_copy(&live->alerts[live->alert_count++], &live->texts, &alert->finding);
    }
}

static void watch_classes(struct asking *asking)
{
    struct target target;
    struct failure failure;
    struct watch_options options = asking->options->watch;
    const struct watching_sink sink = {.context = asking, .event = on_event};
    struct watching watching;
    struct triage_step *record = add_step(asking->live, "watch of class loads");
    if (target_open(&target, asking->target->pid, &failure) != FAILURE_NONE ||
        target.start_time_ticks != asking->target->start_time_ticks) {
        snprintf(record->note, sizeof record->note, "the JVM has ended");
        return;
    }
    target.identity = asking->target->identity;
    /* The expensive questions are sent here, and counted here. */
    if (!asking->options->thorough)
        options.pause_budget_us = 0;
    watching_open(&watching, &options, &sink);
    struct watched *jvm = watching_add(&watching, &target, watching.now_ms, 0, NULL);
    if (jvm == NULL) {
        snprintf(record->note, sizeof record->note, "%s", strerror(errno));
        watching_close(&watching);
        return;
    }
    int64_t began_us = clock_us(CLOCK_MONOTONIC), left_ms;
    asking->now_ms = 0;
    while ((left_ms = asking->options->for_ms - asking->now_ms) > 0 &&
           !watching_all_ended(&watching) && signals_asked() == 0) {
        char words[64];
        snprintf(words, sizeof words, "watching class loads: %" PRId64 " of %" PRId64 " s",
                 asking->now_ms / 1000, asking->options->for_ms / 1000);
        say(asking, words);
        watching_turn(&watching, left_ms < 1000 ? left_ms : 1000, NULL, 0);
        asking->now_ms = watched_ms(jvm);
        follow_outside(asking, jvm->watcher);
    }
    if (asking->outside != NULL) {
        observe_child_stop(asking->outside);
        for (int i = 0; i < OUTSIDE_LATE && asking->outside != NULL; i++) {
            const struct timespec some = {.tv_nsec = 100000000};
            nanosleep(&some, NULL);
            follow_outside(asking, jvm->watcher);
        }
        observe_child_close(asking->outside);
        asking->outside = NULL;
    }
    watching_stop(&watching);
    asking->now_ms = watched_ms(jvm);
    record->took_us = clock_us(CLOCK_MONOTONIC) - began_us;
    record->pause_us = watcher_counts(jvm->watcher).pause_us;
    if (asking->live->facts != NULL && asking->live->facts->flow.have)
        snprintf(record->note, sizeof record->note, "%s", asking->live->load_log_off_hint);
    keep_methods_text(asking, record);
    watching_close(&watching);
}

static void collect_garbage(struct asking *asking)
{
    struct span reply;
    struct failure failure;
    struct triage_step *record = add_step(asking->live, "GC.run");
    say(asking, "GC.run");
    if (attach_run(asking->attach, "GC.run", &reply, &failure) != FAILURE_NONE) {
        snprintf(record->note, sizeof record->note, "%.150s", failure.sentence);
        return;
    }
    record->took_us = record->pause_us = attach_elapsed_us(asking->attach);
}

enum failure_kind live_run(struct live *live, const struct target *target,
                           const struct live_options *options, struct failure *failure)
{
    struct asking asking = {.live = live, .target = target, .options = options, .arenas = -1};
    const struct attach_limits limits = {.timeout_ms = options->timeout_ms, .until_asked = true};
    memset(live, 0, sizeof *live);
    failure->kind = FAILURE_NONE;
    snprintf(live->load_log_off_hint, sizeof live->load_log_off_hint,
             "its log is off again; by hand: jcmd %d VM.log list, then VM.log "
             "output=#N what=off",
             (int)target->pid);
    pause_budget_init(&asking.budget,
                      options->thorough ? LIVE_THOROUGH_PAUSE_US : LIVE_GENTLE_PAUSE_US,
                      24 * 3600 * 1000);
    live->reader = facts_reader_create(&options->watch.thresholds, NULL, NULL);
    asking.attach = attach_create(target, &limits);
    if (live->reader == NULL || asking.attach == NULL) {
        failure_set(failure, FAILURE_SYSTEM, "nmtwatch", "out of memory");
        if (asking.attach != NULL)
            attach_destroy(asking.attach);
        return FAILURE_SYSTEM;
    }
    bool asked = ask_all(&asking, FIRST, failure);
    if (asked) {
        live->facts->identity = target->identity;
        mapped_agents(target, live->facts);
        if (signals_asked() == 0)
            count_ids(&asking);
        watch_classes(&asking);
        if (options->gc && signals_asked() == 0)
            collect_garbage(&asking);
        struct failure later;
        ask_all(&asking, LAST, &later);
        struct facts_names flow = live->facts->flow;
        facts_reader_finish(live->reader);
        live->facts->flow = flow;
        live->facts->identity = target->identity;
        for (int i = 0; i < live->alert_count; i++)
            finding_add_late_caller(&live->alerts[i], live->facts->callers,
                                    live->facts->caller_count);
        triage_judge(live->facts, live->alerts, live->alert_count, &live->triage);
    }
    attach_destroy(asking.attach);
    if (options->progress)
        fputs("\r\x1b[K", stderr);
    return asked ? FAILURE_NONE : failure->kind;
}

void live_free(struct live *live)
{
    if (live->reader != NULL)
        facts_reader_destroy(live->reader);
    live->reader = NULL;
    texts_free(&live->texts);
    triage_free(&live->triage);
}
