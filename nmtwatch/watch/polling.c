/* What to ask the JVM next, and what its answers mean for the questions after that. */
#include "analyzers/model/memory_reply.h"
#include "nmtwatch/watch/watcher_internal.h"

#include "analyzers/classes/loader_table.h"
#include "analyzers/parse/jcmd_reply.h"

#include <inttypes.h>
#include <stdio.h>

#define BACKOFF_FIRST_MS 5000
#define BACKOFF_MAX_MS   300000
#define LOADERS_CAP_US   20000 /* without suspicion a safepoint must be shorter than this */
#define LOADERS_SUSPECT_MS                                                                         \
    6000 /* between loader censuses when they are the only names there are                         \
          */
#define REPLY_KEEP_BYTES 262144
/* Without hsperfdata NMT is all that counts classes, and a rate needs more than one count in 4 s.
 * A summary is no safepoint and 50-240 us. */
#define COUNT_CLASSES_MS 1000

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
    bool tap_possible = watcher->options.tap && !watcher->tap_unusable &&
                        watcher->target.identity.jdk_major >= TAP_FIRST_JDK;
    return !tap_possible && judge_wants_names(watcher->judge);
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

static bool ask_leftovers(struct watcher *watcher)
{
    if (watcher->leftover[0] != '\0') {
        char command[192];
        snprintf(command, sizeof command, "VM.log output=file=%s what=all=off", watcher->leftover);
        return ask(watcher, QUESTION_LEFTOVER_OFF, command);
    }
    if (watcher->now_ms < watcher->next_leftovers_ms || !watcher->options.tap ||
        watcher->target.identity.jdk_major < TAP_FIRST_JDK)
        return false;
    watcher->next_leftovers_ms = INT64_MAX;
    return ask(watcher, QUESTION_LEFTOVERS, "VM.log list");
}

void polling_ask_next(struct watcher *watcher)
{
    if (watcher->now_ms < watcher->next_attach_ms && !naming_is_urgent(watcher))
        return;
    if (naming_ask(watcher) || watcher->stopping)
        return;
    if (ask_memory(watcher) || ask_leftovers(watcher))
        return;
    ask_loaders(watcher);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Without hsperfdata NMT's count of classes tells how many were loaded and unloaded at the least.
 */
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

static void answered_memory(struct watcher *watcher, struct span reply)
{
    struct sample sample;
    struct memory_reading reading;
    if (!watcher_look(watcher, &sample))
        return; /* gone: the next tick tells */
    memory_reply_read(reply, watcher->asked_nmt, &sample, &reading);
    if (reading.arenas >= 0)
        watcher->arenas = reading.arenas;
    count_classes(watcher, reading.classes, &sample);
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
    watcher_emit_sample(watcher, &sample);
}

static void answered_loaders(struct watcher *watcher, struct span reply)
{
    ask_charge(watcher);
    struct loader_table table;
    if (loader_table_parse(&table, reply) == PARSE_OK) {
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

/* "#2: file=/tmp/nmtwatch-tap-... class+load=info" of a run that was killed together with its
 * guard. A younger one may belong to another nmtwatch that is at work: it is looked for again. */
static void answered_leftovers(struct watcher *watcher, struct span reply)
{
    struct span line;
    bool terminated;
    while (span_next_line(&reply, &line, &terminated)) {
        ptrdiff_t at = span_find(line, SPAN_LITERAL("file="));
        if (at < 0)
            continue;
        struct span file = span_of(line.ptr + at + 5, line.len - (size_t)at - 5);
        for (size_t i = 0; i < file.len; i++) {
            if (file.ptr[i] == ' ')
                file.len = i;
        }
        enum tap_origin origin = tap_origin(file);
        if (origin == TAP_IN_USE)
            watcher->next_leftovers_ms = watcher->now_ms + TAP_LEFTOVER_S * 1000;
        if (origin != TAP_LEFTOVER || file.len >= sizeof watcher->leftover)
            continue;
        span_copy(file, watcher->leftover, sizeof watcher->leftover);
        return;
    }
}

static void answered_leftover_off(struct watcher *watcher)
{
    watcher_note(watcher, "switched off a class-load log that a killed run had left: %s",
                 watcher->leftover);
    tap_remove_leftover(&watcher->target, watcher->leftover);
    watcher->leftover[0] = '\0';
    watcher->next_leftovers_ms = watcher->now_ms; /* there may be more */
}

void polling_answered(struct watcher *watcher)
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
    case QUESTION_LEFTOVERS:
        answered_leftovers(watcher, reply);
        break;
    case QUESTION_LEFTOVER_OFF:
        answered_leftover_off(watcher);
        break;
    case QUESTION_TAP_ON:
    case QUESTION_TAP_OFF:
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

void polling_failed(struct watcher *watcher)
{
    const struct failure *failure = attach_failure(watcher->attach);
    enum question question = watcher->question;
    watcher->counts.failures++;
    watcher->counts.failed[failure->kind]++;
    watcher->counts.last_failure = failure->kind;
    if (question == QUESTION_TAP_ON || question == QUESTION_TAP_OFF ||
        question == QUESTION_CLASS_LIST)
        naming_failed(watcher);
    watcher->question = QUESTION_NONE;
    if (question == QUESTION_LEFTOVER_OFF)
        watcher->leftover[0] = '\0';
    if (failure->kind == FAILURE_GONE)
        return; /* the next tick tells */
    /* A command this JVM does not know says nothing about the next one. */
    if (failure->kind == FAILURE_UNKNOWN_COMMAND)
        return;
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
