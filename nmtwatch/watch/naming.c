/* Names above the trigger rate: the class-load log, and class lists where a load log is not to be had; and
 * whose code asks for the classes, seen from outside. */
#include "nmtwatch/watch/watcher_internal.h"

#include "reports/text/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define LOAD_LOG_MAX_MS         45000 /* a secondary family needs twice its span to be believed */
#define LOAD_LOG_MAX_BYTES      (24 << 20)
#define LOAD_LOG_SILENT_MS      10000
#define LOAD_LOG_LINGER_MS      3000 /* after names are no longer wanted */
#define LOAD_LOG_EVENT_MS       2000
#define LOAD_LOG_PAUSE_MS       2000  /* between two load logs when the last one ended by itself */
#define LOAD_LOG_BACKOFF_MS     10000 /* when it ended without a name */
#define LOAD_LOG_BACKOFF_MAX_MS 300000
#define LOAD_LOG_OFF_TRIES      3
#define LIST_BACKOFF_MS         12000 /* two lists make a rate */
#define LIST_BACKOFF_MAX_MS     600000
#define OBSERVE_MS              5000
#define OBSERVE_LATE_MS         10000
#define OBSERVE_EACH_MS         300000
#define OBSERVING_MAX           2 /* JVMs at once */
#define OBSERVE_FIRST_JDK       11
#define ACCESSOR_FAMILY         "jdk-reflect-accessor"
#define ACCESSORS_LAST_JDK      21 /* serialization constructors; methods up to 17 */

static bool load_log_possible(const struct watcher *watcher)
{
    return watcher->options.load_log && !watcher->load_log_unusable &&
           watcher->target.identity.jdk_major >= LOAD_LOG_FIRST_JDK;
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
    if (method == CENSUS_LOAD_LOG) {
        event.names.load_log = watcher->load_log_number;
        event.names.from_ms = watcher->load_log_from_ms;
        event.names.lost_bytes = watcher->load_log.lost_bytes;
    }
    watcher->load_log_event_ms = watcher->now_ms;
    watcher_emit(watcher, &event);
}

/* --- the load log ---------------------------------------------------------------------------------- */

static void load_log_must_go_off(struct watcher *watcher, int64_t pause_ms)
{
    watcher->load_log_phase = LOAD_LOG_MUST_GO_OFF;
    watcher->load_log_off_tries = 0;
    watcher->load_log_next_ms = watcher->now_ms + pause_ms;
}

static void load_log_ended_without_name(struct watcher *watcher)
{
    watcher->load_log_backoff_ms =
        watcher->load_log_backoff_ms == 0 ? LOAD_LOG_BACKOFF_MS : watcher->load_log_backoff_ms * 2;
    if (watcher->load_log_backoff_ms > LOAD_LOG_BACKOFF_MAX_MS)
        watcher->load_log_backoff_ms = LOAD_LOG_BACKOFF_MAX_MS;
    load_log_must_go_off(watcher, watcher->load_log_backoff_ms);
}

static void follow_load_log(struct watcher *watcher)
{
    int64_t got = load_log_read(&watcher->load_log, watcher->census);
    if (got < 0) {
        watcher_note(watcher, "the class-load log cannot be read any more: %s",
                     strerrordesc_np(errno));
        load_log_must_go_off(watcher, LOAD_LOG_BACKOFF_MS);
        return;
    }
    bool wanted = judge_wants_names(watcher->judge);
    if (got > 0 || !wanted || watcher->noted_failure != FAILURE_NONE)
        watcher->load_log_grew_ms = watcher->now_ms;
    if (watcher->now_ms - watcher->load_log_grew_ms >= LOAD_LOG_SILENT_MS) {
        watcher->load_log_unusable = true;
        watcher_note(watcher, "classes are loaded and their log stays empty (is the disk of the "
                              "JVM's /tmp full?); class lists are used instead");
        load_log_must_go_off(watcher, 0);
        return;
    }
    if (wanted)
        watcher->load_log_idle_since_ms = -1;
    else if (watcher->load_log_idle_since_ms < 0)
        watcher->load_log_idle_since_ms = watcher->now_ms;
    bool idle = !wanted && watcher->now_ms - watcher->load_log_idle_since_ms >= LOAD_LOG_LINGER_MS;
    int64_t starved_ms =
        sample_value(&watcher->latest, SAMPLE_STARVED_MS) - watcher->load_log_starved_ms;
    bool full = watcher->now_ms - watcher->load_log_from_ms - starved_ms >= LOAD_LOG_MAX_MS ||
                watcher->load_log.bytes >= LOAD_LOG_MAX_BYTES;
    if (idle || full || watcher->now_ms - watcher->load_log_event_ms >= LOAD_LOG_EVENT_MS)
        naming_emit(watcher, CENSUS_LOAD_LOG, idle || full);
    if (idle) {
        watcher->load_log_backoff_ms = 0;
        load_log_must_go_off(watcher, LOAD_LOG_PAUSE_MS);
    } else if (full) {
        load_log_ended_without_name(watcher);
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
           observing < OBSERVING_MAX &&
           (watcher->now_ms >= watcher->observe_next_ms || judge_wants_callers(watcher->judge)) &&
           identity->jdk_major >= OBSERVE_FIRST_JDK && watcher->target.libjvm_mapped &&
           (judge_wants_names(watcher->judge) || judge_wants_callers(watcher->judge));
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
    watcher_looked(watcher, result.cpu_us);
    naming_stop_observing(watcher);
    emit_callers(watcher, &result, rows, count);
    if (result.code != 0)
        cannot_observe(watcher, result.sentence);
}

void naming_tick(struct watcher *watcher)
{
    if (watcher->observing != NULL) /* before the names: an alert of this tick has its call site */
        follow_observation(watcher);
    else if (observation_due(watcher))
        begin_observation(watcher);
    if (watcher->load_log_phase == LOAD_LOG_IS_ON && !watcher->ended)
        follow_load_log(watcher);
}

static bool ask_load_log_on(struct watcher *watcher)
{
    if (watcher->now_ms < watcher->load_log_next_ms)
        return false;
    if (load_log_prepare(&watcher->load_log, &watcher->target) != 0) {
        watcher->load_log_unusable = true;
        watcher_note(watcher, "no class-load log: %s", strerrordesc_np(errno));
        return false;
    }
    char command[320];
    load_log_on_command(&watcher->load_log, command, sizeof command);
    if (!ask(watcher, QUESTION_LOAD_LOG_ON, command)) {
        load_log_closed(&watcher->load_log, true);
        return false;
    }
    watcher->load_log_phase = LOAD_LOG_GOES_ON;
    return true;
}

static bool ask_load_log_off(struct watcher *watcher)
{
    char command[192];
    load_log_off_command(&watcher->load_log, command, sizeof command);
    if (!ask(watcher, QUESTION_LOAD_LOG_OFF, command))
        return false;
    watcher->load_log_phase = LOAD_LOG_GOES_OFF;
    return true;
}

static void load_log_is_on(struct watcher *watcher, struct span reply, int result_code)
{
    struct jcmd_reply answer = jcmd_reply_classify(reply);
    bool refused = result_code != 0 || (answer.kind != JCMD_OK && answer.kind != JCMD_EMPTY);
    if (refused || load_log_opened(&watcher->load_log) != 0) {
        char why[96];
        if (refused || span_trim(answer.rest).len > 0)
            span_copy(span_trim(refused && answer.message.len > 0 ? answer.message : reply), why,
                      sizeof why);
        else
            snprintf(why, sizeof why, "%s", strerrordesc_np(errno));
        watcher->load_log_unusable = true;
        watcher_note(watcher, "no class-load log from this JVM (%s); class lists are used instead",
                     why);
        if (refused) {
            load_log_closed(&watcher->load_log, true);
            watcher->load_log_phase = LOAD_LOG_IS_OFF;
        } else {
            load_log_must_go_off(watcher, 0);
        }
        return;
    }
    watcher->load_log_phase = LOAD_LOG_IS_ON;
    watcher->load_log_number++;
    watcher->load_log_starved_ms = sample_value(&watcher->latest, SAMPLE_STARVED_MS);
    watcher->load_log_from_ms = watcher->load_log_event_ms = watcher->load_log_grew_ms =
        watcher->now_ms;
    watcher->load_log_idle_since_ms = -1;
    census_reset(watcher->census);
    if (watcher->stopping)
        load_log_must_go_off(watcher, 0);
}

/* Without the JVM's yes the load log stays ours: later tries keep the pace of all other questions. */
static void load_log_is_off(struct watcher *watcher, bool off)
{
    if (!off && ++watcher->load_log_off_tries == LOAD_LOG_OFF_TRIES)
        watcher_note(watcher,
                     "the class-load log %s could not be switched off yet (it is tried again); by "
                     "hand: jcmd %d VM.log output=file=%s what=all=off",
                     watcher->load_log.file, (int)watcher->target.nspid, watcher->load_log.file);
    if (!off && !(watcher->stopping && watcher->load_log_off_tries >= LOAD_LOG_OFF_TRIES)) {
        watcher->load_log_phase = LOAD_LOG_MUST_GO_OFF;
        return;
    }
    load_log_closed(&watcher->load_log, off); /* not off: the guard goes on trying */
    watcher->load_log_phase = LOAD_LOG_IS_OFF;
}

void naming_abandon(struct watcher *watcher)
{
    naming_stop_observing(watcher);
    if (watcher->load_log_phase == LOAD_LOG_IS_OFF)
        return;
    bool same = target_still_same(&watcher->target);
    load_log_closed(&watcher->load_log,
                    !same); /* a log that is still on is the guard's business now */
    watcher->load_log_phase = LOAD_LOG_IS_OFF;
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
    return watcher->load_log_phase == LOAD_LOG_MUST_GO_OFF &&
           (watcher->stopping || watcher->load_log_off_tries < LOAD_LOG_OFF_TRIES);
}

bool naming_ask(struct watcher *watcher)
{
    if (watcher->stopping && watcher->load_log_phase == LOAD_LOG_IS_ON) {
        follow_load_log(watcher);
        if (watcher->load_log_phase == LOAD_LOG_IS_ON)
            load_log_must_go_off(watcher, 0);
    }
    if (watcher->load_log_phase == LOAD_LOG_MUST_GO_OFF)
        return ask_load_log_off(watcher);
    if (watcher->stopping || watcher->load_log_phase != LOAD_LOG_IS_OFF)
        return false;
    if (wants_callees(watcher) && ask_callees(watcher))
        return true;
    if (!judge_wants_names(watcher->judge))
        return false;
    return load_log_possible(watcher) ? ask_load_log_on(watcher) : ask_list(watcher);
}

void naming_answered(struct watcher *watcher, struct span reply, int result_code)
{
    switch (watcher->question) {
    case QUESTION_LOAD_LOG_ON:
        load_log_is_on(watcher, reply, result_code);
        break;
    case QUESTION_LOAD_LOG_OFF:
        load_log_is_off(watcher, result_code == 0);
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
    case QUESTION_LOAD_LOG_ON:
        if (attach_failure(watcher->attach)->kind == FAILURE_UNKNOWN_COMMAND) {
            watcher->load_log_unusable = true;
            load_log_closed(&watcher->load_log, true);
            watcher->load_log_phase = LOAD_LOG_IS_OFF;
            break;
        }
        /* It may have gone on all the same (no answer in time): switch it off to be sure. */
        load_log_must_go_off(watcher, LOAD_LOG_BACKOFF_MS);
        break;
    case QUESTION_LOAD_LOG_OFF:
        load_log_is_off(watcher, false);
        break;
    default:
        break;
    }
}
