/* Names on suspicion: the class-load tap, and class lists where a tap is not to be had; and whose code asks for
 * the classes, seen from outside. */
#include "nmtwatch/watch/watcher_internal.h"

#include "analyzers/classes/census.h"
#include "analyzers/parse/jcmd_reply.h"
#include "nmtwatch/observe/observe_answer.h"
#include "reports/text/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAP_MAX_MS          45000 /* a secondary family needs twice its span to be believed */
#define TAP_MAX_BYTES       (24 << 20)
#define TAP_SILENT_MS       10000
#define TAP_LINGER_MS       3000 /* after names are no longer wanted */
#define TAP_EVENT_MS        2000
#define TAP_PAUSE_MS        2000  /* between two taps when the last one ended by itself */
#define TAP_BACKOFF_MS      10000 /* when it ended without a name */
#define TAP_BACKOFF_MAX_MS  300000
#define TAP_OFF_TRIES       3
#define LIST_BACKOFF_MS     12000 /* two lists make a rate */
#define LIST_BACKOFF_MAX_MS 600000
#define OBSERVE_MS          5000
#define OBSERVE_LATE_MS     10000
#define OBSERVE_EACH_MS     300000
#define OBSERVING_MAX       2 /* JVMs at once */
#define OBSERVE_FIRST_JDK   11
#define ACCESSOR_FAMILY     "jdk-reflect-accessor"
#define ACCESSORS_LAST_JDK  21 /* serialization constructors; methods up to 17 */

static bool tap_possible(const struct watcher *watcher)
{
    return watcher->options.tap && !watcher->tap_unusable &&
           watcher->target.identity.jdk_major >= TAP_FIRST_JDK;
}

void naming_emit(struct watcher *watcher, enum census_method method, bool last)
{
    static struct family_row rows[EVENT_ROWS_MAX]; /* one thread; 30 KB */
    struct census_totals totals;
    census_totals(watcher->census, &totals);
    struct event event = {.kind = EVENT_NAMES};
    event.names.method = method;
    event.names.loads = totals.loads;
    event.names.unloads = totals.unloads;
    event.names.row_count = census_rows(watcher->census, rows, EVENT_ROWS_MAX);
    event.names.rows = rows;
    event.names.last = last;
    event.names.from_ms = watcher->now_ms;
    if (method == CENSUS_TAP) {
        event.names.tap = watcher->tap_number;
        event.names.from_ms = watcher->tap_from_ms;
        event.names.lost_bytes = watcher->tap.lost_bytes;
    }
    watcher->tap_event_ms = watcher->now_ms;
    watcher_emit(watcher, &event);
}

/* --- the tap ---------------------------------------------------------------------------------- */

static void tap_must_go_off(struct watcher *watcher, int64_t pause_ms)
{
    watcher->tap_phase = TAP_MUST_GO_OFF;
    watcher->tap_off_tries = 0;
    watcher->tap_next_ms = watcher->now_ms + pause_ms;
}

static void tap_ended_without_name(struct watcher *watcher)
{
    watcher->tap_backoff_ms =
        watcher->tap_backoff_ms == 0 ? TAP_BACKOFF_MS : watcher->tap_backoff_ms * 2;
    if (watcher->tap_backoff_ms > TAP_BACKOFF_MAX_MS)
        watcher->tap_backoff_ms = TAP_BACKOFF_MAX_MS;
    tap_must_go_off(watcher, watcher->tap_backoff_ms);
}

static void follow_tap(struct watcher *watcher)
{
    int64_t got = tap_read(&watcher->tap, watcher->census);
    if (got < 0) {
        watcher_note(watcher, "the class-load log cannot be read any more: %s",
                     strerrordesc_np(errno));
        tap_must_go_off(watcher, TAP_BACKOFF_MS);
        return;
    }
    bool wanted = judge_wants_names(watcher->judge);
    if (got > 0 || !wanted || watcher->noted_failure != FAILURE_NONE)
        watcher->tap_grew_ms = watcher->now_ms;
    if (watcher->now_ms - watcher->tap_grew_ms >= TAP_SILENT_MS) {
        watcher->tap_unusable = true;
        watcher_note(watcher, "classes are loaded and their log stays empty (is the disk of the "
                              "JVM's /tmp full?); class lists are used instead");
        tap_must_go_off(watcher, 0);
        return;
    }
    if (wanted)
        watcher->tap_idle_since_ms = -1;
    else if (watcher->tap_idle_since_ms < 0)
        watcher->tap_idle_since_ms = watcher->now_ms;
    bool idle = !wanted && watcher->now_ms - watcher->tap_idle_since_ms >= TAP_LINGER_MS;
    bool full =
        watcher->now_ms - watcher->tap_from_ms >= TAP_MAX_MS || watcher->tap.bytes >= TAP_MAX_BYTES;
    if (idle || full || watcher->now_ms - watcher->tap_event_ms >= TAP_EVENT_MS)
        naming_emit(watcher, CENSUS_TAP, idle || full);
    if (idle) {
        watcher->tap_backoff_ms = 0;
        tap_must_go_off(watcher, TAP_PAUSE_MS);
    } else if (full) {
        tap_ended_without_name(watcher);
    }
}

/* --- who asks for the classes, from outside --------------------------------------------------- */

static int observing; /* by all watchers of this process; one thread */

static void emit_callers(struct watcher *watcher, const struct observe_result *result,
                         const struct caller_row *rows, int count)
{
    struct event event = {.kind = EVENT_CALLERS,
                          .callers = {.last = result != NULL,
                                      .from_ms = watcher->observe_from_ms,
                                      .for_ms = OBSERVE_MS,
                                      .classes = result != NULL ? result->count : 0,
                                      .row_count = count,
                                      .rows = rows}};
    if (result != NULL && result->code != 0)
        escape(ESCAPE_UTF8, result->sentence, event.callers.problem, sizeof event.callers.problem);
    watcher_emit(watcher, &event);
}

static bool observation_due(const struct watcher *watcher)
{
    const struct target_identity *identity = &watcher->target.identity;
    return watcher->options.observe && !watcher->observe_unusable && !watcher->stopping &&
           observing < OBSERVING_MAX && watcher->now_ms >= watcher->observe_next_ms &&
           identity->jdk_major >= OBSERVE_FIRST_JDK && watcher->target.libjvm_mapped &&
           judge_wants_names(watcher->judge);
}

static void cannot_observe(struct watcher *watcher, const char *sentence)
{
    watcher->observe_unusable = true;
    watcher_note(watcher, "which code asks for classes cannot be seen from outside: %.400s",
                 sentence);
}

static void begin_observation(struct watcher *watcher)
{
    const struct observe_request request = {
        .options = {.mode = OBSERVE_CLASSES, .duration_ms = OBSERVE_MS, .interval_ns = 10000000},
        .format_count = 1,
        .format = {PROFILE_TOP},
    };
    char error[400];
    watcher->observing = observe_child_start(&watcher->target, &request, error, sizeof error);
    if (watcher->observing == NULL) {
        cannot_observe(watcher, error);
        return;
    }
    observing++;
    watcher->observe_from_ms = watcher->now_ms;
    watcher->observe_next_ms = watcher->now_ms + OBSERVE_EACH_MS;
    emit_callers(watcher, NULL, NULL, 0);
}

void naming_stop_observing(struct watcher *watcher)
{
    observing -= watcher->observing != NULL;
    observe_child_close(watcher->observing);
    watcher->observing = NULL;
}

static void follow_observation(struct watcher *watcher)
{
    static struct caller_row rows[EVENT_ROWS_MAX]; /* one thread; 13 KB */
    struct observe_result result;
    size_t length;
    if (!observe_child_ended(watcher->observing, &result)) {
        if (watcher->now_ms - watcher->observe_from_ms > OBSERVE_MS + OBSERVE_LATE_MS)
            observe_child_stop(watcher->observing);
        return;
    }
    char *text = result.code == 0 ? observe_child_text(watcher->observing, 0, &length) : NULL;
    int count = text != NULL ? observe_callers(text, length, rows, EVENT_ROWS_MAX) : 0;
    free(text);
    watcher->counts.observed_cpu_us += result.cpu_us;
    naming_stop_observing(watcher);
    emit_callers(watcher, &result, rows, count);
    if (result.code != 0)
        cannot_observe(watcher, result.sentence);
}

void naming_tick(struct watcher *watcher)
{
    if (watcher->tap_phase == TAP_IS_ON && !watcher->ended)
        follow_tap(watcher);
    if (watcher->observing != NULL)
        follow_observation(watcher);
    else if (observation_due(watcher))
        begin_observation(watcher);
}

static bool ask_tap_on(struct watcher *watcher)
{
    if (watcher->now_ms < watcher->tap_next_ms)
        return false;
    if (tap_prepare(&watcher->tap, &watcher->target) != 0) {
        watcher->tap_unusable = true;
        watcher_note(watcher, "no class-load log: %s", strerrordesc_np(errno));
        return false;
    }
    char command[320];
    tap_on_command(&watcher->tap, command, sizeof command);
    if (!ask(watcher, QUESTION_TAP_ON, command)) {
        tap_closed(&watcher->tap, true);
        return false;
    }
    watcher->tap_phase = TAP_GOES_ON;
    return true;
}

static bool ask_tap_off(struct watcher *watcher)
{
    char command[192];
    tap_off_command(&watcher->tap, command, sizeof command);
    if (!ask(watcher, QUESTION_TAP_OFF, command))
        return false;
    watcher->tap_phase = TAP_GOES_OFF;
    return true;
}

static void tap_is_on(struct watcher *watcher, struct span reply, int result_code)
{
    struct jcmd_reply answer = jcmd_reply_classify(reply);
    bool refused = result_code != 0 || (answer.kind != JCMD_OK && answer.kind != JCMD_EMPTY);
    if (refused || tap_opened(&watcher->tap) != 0) {
        char why[96];
        if (refused || span_trim(answer.rest).len > 0)
            span_copy(span_trim(refused && answer.message.len > 0 ? answer.message : reply), why,
                      sizeof why);
        else
            snprintf(why, sizeof why, "%s", strerrordesc_np(errno));
        watcher->tap_unusable = true;
        watcher_note(watcher, "no class-load log from this JVM (%s); class lists are used instead",
                     why);
        if (refused) {
            tap_closed(&watcher->tap, true);
            watcher->tap_phase = TAP_IS_OFF;
        } else {
            tap_must_go_off(watcher, 0);
        }
        return;
    }
    watcher->tap_phase = TAP_IS_ON;
    watcher->tap_number++;
    watcher->tap_from_ms = watcher->tap_event_ms = watcher->tap_grew_ms = watcher->now_ms;
    watcher->tap_idle_since_ms = -1;
    census_reset(watcher->census);
    if (watcher->stopping)
        tap_must_go_off(watcher, 0);
}

/* Without the JVM's yes the tap stays ours: later tries keep the pace of all other questions. */
static void tap_is_off(struct watcher *watcher, bool off)
{
    if (!off && ++watcher->tap_off_tries == TAP_OFF_TRIES)
        watcher_note(watcher,
                     "the class-load log %s could not be switched off yet (it is tried again); by "
                     "hand: jcmd %d VM.log output=file=%s what=all=off",
                     watcher->tap.file, (int)watcher->target.nspid, watcher->tap.file);
    if (!off && !(watcher->stopping && watcher->tap_off_tries >= TAP_OFF_TRIES)) {
        watcher->tap_phase = TAP_MUST_GO_OFF;
        return;
    }
    tap_closed(&watcher->tap, off); /* not off: the guard goes on trying */
    watcher->tap_phase = TAP_IS_OFF;
}

void naming_abandon(struct watcher *watcher)
{
    naming_stop_observing(watcher);
    if (watcher->tap_phase == TAP_IS_OFF)
        return;
    bool same = target_still_same(&watcher->target);
    tap_closed(&watcher->tap, !same); /* a log that is still on is the guard's business now */
    watcher->tap_phase = TAP_IS_OFF;
}

/* --- class lists ------------------------------------------------------------------------------ */

static enum expensive_command list_command(const struct watcher *watcher)
{
    int jdk = watcher->target.identity.jdk_major;
    if (jdk >= expensive_command_first_jdk(EXPENSIVE_CLASSES))
        return EXPENSIVE_CLASSES;
    if (jdk >= expensive_command_first_jdk(EXPENSIVE_CLASS_HIERARCHY))
        return EXPENSIVE_CLASS_HIERARCHY;
    return watcher->options.allow_full_gc ? EXPENSIVE_HISTOGRAM_FULL_GC : EXPENSIVE_HISTOGRAM_ALL;
}

static enum census_method list_method(enum expensive_command command)
{
    switch (command) {
    case EXPENSIVE_CLASSES:
        return CENSUS_CLASSES;
    case EXPENSIVE_CLASS_HIERARCHY:
        return CENSUS_CLASS_HIERARCHY;
    case EXPENSIVE_HISTOGRAM_ALL:
    case EXPENSIVE_HISTOGRAM_FULL_GC:
        return CENSUS_CLASS_HISTOGRAM;
    case EXPENSIVE_LOADER_STATS:
    case EXPENSIVE_COMMAND_COUNT:
        break;
    }
    return CENSUS_LOADER_TYPES;
}

static bool ask_list(struct watcher *watcher)
{
    if (watcher->now_ms < watcher->next_list_ms || ask_waits(watcher, list_command(watcher)))
        return false;
    watcher->list_backoff_ms =
        watcher->list_backoff_ms == 0 ? LIST_BACKOFF_MS : watcher->list_backoff_ms * 2;
    if (watcher->list_backoff_ms > LIST_BACKOFF_MAX_MS)
        watcher->list_backoff_ms = LIST_BACKOFF_MAX_MS;
    watcher->next_list_ms = watcher->now_ms + watcher->list_backoff_ms;
    return ask_expensive(watcher, QUESTION_CLASS_LIST, list_command(watcher), INT64_MAX);
}

void naming_add_loaders(struct watcher *watcher, const struct loader_row *rows, int count)
{
    census_reset(watcher->census);
    census_add_loaders(watcher->census, rows, count);
    naming_emit(watcher, CENSUS_LOADER_TYPES, true);
    census_reset(watcher->census);
}

/* JDK 9 to 21 print beside each reflection accessor what it invokes: the culprit's name, worth one
 * look within the budget once accessors have been named. */
static bool wants_callees(const struct watcher *watcher)
{
    int jdk = watcher->target.identity.jdk_major;
    return !watcher->callees_asked &&
           jdk >= expensive_command_first_jdk(EXPENSIVE_CLASS_HIERARCHY) &&
           jdk <= ACCESSORS_LAST_JDK && judge_has_named(watcher->judge, ACCESSOR_FAMILY);
}

static bool ask_callees(struct watcher *watcher)
{
    if (ask_waits(watcher, EXPENSIVE_CLASS_HIERARCHY))
        return false;
    watcher->callees_asked = true;
    return ask_expensive(watcher, QUESTION_CLASS_LIST, EXPENSIVE_CLASS_HIERARCHY, INT64_MAX);
}

static void note_callee(struct watcher *watcher)
{
    static struct family_row rows[EVENT_ROWS_MAX]; /* one thread; 30 KB */
    int count = census_rows(watcher->census, rows, EVENT_ROWS_MAX);
    for (int i = 0; i < count; i++) {
        if (strcmp(rows[i].family, ACCESSOR_FAMILY) == 0 && rows[i].invokes[0] != '\0')
            watcher_note(watcher, "most of the %" PRId64 " live reflection accessors invoke %s",
                         rows[i].loads, rows[i].invokes);
    }
}

static void answered_list(struct watcher *watcher, struct span reply)
{
    ask_charge(watcher);
    enum census_method method = list_method(watcher->expensive);
    census_reset(watcher->census);
    if (census_add_list(watcher->census, method, reply) == PARSE_OK) {
        naming_emit(watcher, method, true);
        note_callee(watcher);
    } else {
        watcher_note(watcher, "%s: a reply that ends too early was not used",
                     expensive_command_text(watcher->expensive));
    }
    census_reset(watcher->census);
}

/* --- for polling ------------------------------------------------------------------------ */

bool naming_is_urgent(const struct watcher *watcher)
{
    return watcher->tap_phase == TAP_MUST_GO_OFF &&
           (watcher->stopping || watcher->tap_off_tries < TAP_OFF_TRIES);
}

bool naming_ask(struct watcher *watcher)
{
    if (watcher->stopping && watcher->tap_phase == TAP_IS_ON) {
        follow_tap(watcher);
        if (watcher->tap_phase == TAP_IS_ON)
            tap_must_go_off(watcher, 0);
    }
    if (watcher->tap_phase == TAP_MUST_GO_OFF)
        return ask_tap_off(watcher);
    if (watcher->stopping || watcher->tap_phase != TAP_IS_OFF)
        return false;
    if (wants_callees(watcher) && ask_callees(watcher))
        return true;
    if (!judge_wants_names(watcher->judge))
        return false;
    return tap_possible(watcher) ? ask_tap_on(watcher) : ask_list(watcher);
}

void naming_answered(struct watcher *watcher, struct span reply, int result_code)
{
    switch (watcher->question) {
    case QUESTION_TAP_ON:
        tap_is_on(watcher, reply, result_code);
        break;
    case QUESTION_TAP_OFF:
        tap_is_off(watcher, result_code == 0);
        break;
    case QUESTION_CLASS_LIST:
        answered_list(watcher, reply);
        break;
    default:
        break;
    }
}

void naming_failed(struct watcher *watcher)
{
    switch (watcher->question) {
    case QUESTION_TAP_ON:
        if (attach_failure(watcher->attach)->kind == FAILURE_UNKNOWN_COMMAND) {
            watcher->tap_unusable = true;
            tap_closed(&watcher->tap, true);
            watcher->tap_phase = TAP_IS_OFF;
            break;
        }
        /* It may have gone on all the same (no answer in time): switch it off to be sure. */
        tap_must_go_off(watcher, TAP_BACKOFF_MS);
        break;
    case QUESTION_TAP_OFF:
        tap_is_off(watcher, false);
        break;
    default:
        break;
    }
}
