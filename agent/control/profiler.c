#include "agent/control/profiler_parts.h"

#include "agent/context/context.h"
#include "agent/control/breaker_apply.h"
#include "agent/control/drain.h"
#include "agent/control/published.h"
#include "floor/hotspot/layout.h"
#include "agent/methods/jmethod_ids.h"
#include "agent/mem/mem.h"
#include "agent/stack/native.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct profiler profiler;

__attribute__((format(printf, 3, 4))) static bool refuse(char *error, size_t size,
                                                         const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(error, size, format, values);
    va_end(values);
    return false;
}

/* --- set-up ----------------------------------------------------------------------------------- */

static void read_version(jvmtiEnv *jvmti)
{
    static const struct {
        const char *property;
        bool major;
    } PROPERTIES[] = {{"java.vm.specification.version", true}, {"java.vm.version", false}};
    for (size_t i = 0; i < sizeof PROPERTIES / sizeof *PROPERTIES; i++) {
        char *value;
        if ((*jvmti)->GetSystemProperty(jvmti, PROPERTIES[i].property, &value) != JVMTI_ERROR_NONE)
            continue;
        int first = 0, second = 0;
        if (PROPERTIES[i].major) {
            sscanf(value, "%d.%d", &first, &second);
            profiler.jdk_major = first == 1 ? second : first; /* "1.8" */
        } else {
            snprintf(profiler.jvm_version, sizeof profiler.jvm_version, "%s", value);
        }
        (*jvmti)->Deallocate(jvmti, (unsigned char *)value);
    }
}

bool profiler_setup(JavaVM *vm, jvmtiEnv *jvmti, profiler_stop_later_fn *stop_later, char *error,
                    size_t error_size)
{
    if (profiler.vm != NULL)
        return true;
    profiler.rss_before_bytes = profiler_rss();
    read_version(jvmti);
    profiler.threads = threads_create(vm, jvmti);
    if (profiler.threads == NULL)
        return refuse(error, error_size, "out of memory");
    profiler.jvmti = jvmti;
    profiler.stop_later = stop_later;
    profiler.vm = vm;
    published_begin();
    return true;
}

bool profiler_is_running(void)
{
    return profiler.running;
}

bool profiler_is_overdue(void)
{
    return profiler.running && profiler.recording->end_ns != 0 &&
           clock_now_ns() >= profiler.recording->end_ns;
}

/* "%p" the pid, "%t" the time, "%%" a percent sign. */
static void expand_file(const char *pattern, char *out, size_t size)
{
    char number[32];
    size_t length = 0;
    if (pattern[0] == '\0')
        pattern = "/tmp/nmtagent-%p.jfr";
    out[0] = '\0';
    for (const char *at = pattern; *at != '\0' && length + 1 < size; at++) {
        if (at[0] == '%' && (at[1] == 'p' || at[1] == 't')) {
            time_t now = time(NULL);
            struct tm local;
            if (at[1] == 'p')
                snprintf(number, sizeof number, "%d", (int)getpid());
            else
                strftime(number, sizeof number, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
            length += (size_t)snprintf(out + length, size - length, "%s", number);
            at++;
        } else {
            if (at[0] == '%' && at[1] == '%')
                at++;
            out[length++] = *at;
            out[length] = '\0';
        }
    }
}

static void switch_events(jvmtiEventMode mode)
{
    /* Names are compared when a class was announced (seen_methods.h): the first two stay on while
     * there are samples. AsyncGetCallTrace wants ClassLoad, too. */
    static const jvmtiEvent EVENTS[] = {JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_CLASS_PREPARE,
                                        JVMTI_EVENT_THREAD_START, JVMTI_EVENT_THREAD_END};
    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++)
        (*profiler.jvmti)->SetEventNotificationMode(profiler.jvmti, mode, EVENTS[i], NULL);
}

/* Where Java code lies: native unwinding stops there. */
static void find_code_cache(void)
{
    uintptr_t low, high;
    if (layout_code_cache(&low, &high))
        native_set_code_cache(low, high);
}

/* --- start ------------------------------------------------------------------------------------ */

static enum timer_kind wanted_timer(const struct agent_options *options)
{
    static const enum timer_kind KINDS[] = {TIMER_PERF, TIMER_POSIX, TIMER_ITIMER};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        if (strcmp(options->text[OPTION_TIMER], timer_kind_name(KINDS[i])) == 0)
            return KINDS[i];
    }
    return TIMER_NONE; /* the best that works */
}

static bool start_timers(const struct agent_options *options, char *error, size_t error_size)
{
    threads_on_sample(profiler.threads, sampler_sample, &profiler.recording->sampler);
    threads_set_stack(profiler.threads, profiler.recording->sampler.engine->stack_bytes);
    if (!threads_start(profiler.threads, wanted_timer(options), options->number[OPTION_CPU], error,
                       error_size))
        return false;
    int64_t wall_ns = options->number[OPTION_WALL];
    return wall_ns == 0 ||
           threads_start_wall(profiler.threads, wall_ns, (int)options->number[OPTION_WALL_THREADS],
                              error, error_size);
}

static void tear_down(void)
{
    switch_events(JVMTI_DISABLE);
    if (profiler.allocs != NULL)
        alloc_profile_quiet(profiler.allocs);
    callbacks_close(&profiler.gate);
    threads_stop(profiler.threads);
    threads_on_sample(profiler.threads, NULL, NULL);
    unwind_tables_release();
    if (profiler.recording != NULL)
        recording_destroy(profiler.recording);
    if (profiler.ids != NULL)
        jmethod_ids_destroy(profiler.ids);
    JNIEnv *env = NULL;
    if ((*profiler.vm)->GetEnv(profiler.vm, (void **)&env, JNI_VERSION_1_6) == JNI_OK)
        live_objects_destroy(profiler.live, env);
    class_definitions_destroy(profiler.classes);
    alloc_profile_destroy(profiler.allocs);
    if (profiler.engine != NULL && profiler.engine->end != NULL)
        profiler.engine->end();
    profiler.engine = NULL;
    profiler.recording = NULL;
    profiler.ids = NULL;
    profiler.classes = NULL;
    profiler.live = NULL;
    profiler.allocs = NULL;
}

static bool create_allocs(const struct agent_options *options, JNIEnv *env, char *error,
                          size_t error_size)
{
    int64_t interval_bytes = options->number[OPTION_ALLOC], live = options->number[OPTION_LIVE];
    if (interval_bytes == 0 && live > 0)
        interval_bytes = LIVE_INTERVAL_BYTES;
    if (interval_bytes == 0)
        return true;
    profiler.allocs =
        alloc_profile_create(profiler.vm, profiler.jvmti, env, interval_bytes, error, error_size);
    profiler.recording->allocs = profiler.allocs;
    if (profiler.allocs == NULL || live == 0)
        return profiler.allocs != NULL;
    profiler.live = live_objects_create(profiler.jvmti, live, interval_bytes, error, error_size);
    profiler.recording->live = profiler.live;
    return profiler.live != NULL;
}

bool profiler_start(const struct agent_options *options, JNIEnv *env, char *error,
                    size_t error_size)
{
    if (profiler.running)
        return refuse(error, error_size, "already running: stop it first");
    expand_file(options->text[OPTION_FILE], profiler.file, sizeof profiler.file);
    snprintf(profiler.native_missing, sizeof profiler.native_missing, "%s",
             options->number[OPTION_NATIVE] != 0 ? "" : "not asked for (native=false)");
    bool native = options->number[OPTION_NATIVE] != 0 &&
                  native_setup(profiler.native_missing, sizeof profiler.native_missing);
    find_code_cache();
    if (!context_setup(options->text[OPTION_CONTEXT]))
        return refuse(error, error_size, "context=%.64s: at most %d tags in all",
                      options->text[OPTION_CONTEXT], NMTAGENT_CONTEXT_TAGS);
    class_data_setup(profiler.jvmti, env); /* without it only the bill is less exact */
    const struct stack_engine *engine =
        engine_choose(options->text[OPTION_ENGINE], profiler.vm, profiler.jvmti,
                      profiler.engine_fallback, sizeof profiler.engine_fallback, error, error_size);
    if (engine == NULL)
        return false;
    profiler.engine = engine;
    profiler.ids = jmethod_ids_create(profiler.jvmti, profiler.jdk_major);
    if (profiler.ids == NULL) {
        tear_down();
        return refuse(error, error_size, "out of memory");
    }
    /* Without signals nothing is walked that needs ids. */
    bool signals = options->number[OPTION_CPU] != 0 || options->number[OPTION_WALL] != 0;
    bool needs_ids = engine->needs_method_ids && signals;
    profiler.without_ids = engine->needs_method_ids && !signals;
    profiler.interval_changes = 0;
    jmethod_ids_set_policy(profiler.ids, id_policy_of(options->text[OPTION_JMETHODID], needs_ids),
                           options->number[OPTION_JMETHODID]);
    breaker_apply_begin(options);
    profiler.classes = class_definitions_create(
        profiler.jvmti, options->number[OPTION_CLASSES] != 0, engine->walk_here != NULL);
    const struct recording_parts parts = {
        .classes = profiler.classes,
        .jvmti = profiler.jvmti,
        .engine = engine,
        .native = native,
        .threads = profiler.threads,
        .ids = profiler.ids,
        .file = profiler.file,
        .jvm_version = profiler.jvm_version,
        .stop_later = profiler.stop_later,
    };
    profiler.recording = recording_create(&parts, options, error, error_size);
    if (profiler.recording == NULL || !create_allocs(options, env, error, error_size)) {
        tear_down();
        return false;
    }
    if (options->number[OPTION_END_AFTER] != 0)
        profiler.recording->end_ns = clock_now_ns() + options->number[OPTION_END_AFTER];
    callbacks_open(&profiler.gate);
    switch_events(JVMTI_ENABLE);
    if (profiler.ids != NULL) /* after the event is on: no class falls between the two */
        jmethod_ids_prepare_all(profiler.ids, env);
    profiler.running = true;
    if (start_timers(options, error, error_size) &&
        (profiler.allocs == NULL || alloc_profile_begin(profiler.allocs, error, error_size))) {
        profiler.drain = drain_start(profiler.vm, profiler.recording, options->number[OPTION_CHUNK],
                                     error, error_size);
        if (profiler.drain != NULL)
            return true;
    }
    profiler.running = false;
    tear_down();
    return false;
}

/* --- dump, stop ------------------------------------------------------------------------------- */

bool profiler_dump(JNIEnv *env, char *error, size_t error_size)
{
    if (!profiler.running)
        return refuse(error, error_size, "not running");
    drain_lock(profiler.drain);
    bool good = recording_end_chunk(profiler.recording, env, false);
    const char *why = jfr_error(profiler.recording->writer);
    if (!good)
        snprintf(error, error_size, "%s", why != NULL ? why : "the chunk could not be written");
    drain_unlock(profiler.drain);
    return good;
}

static void describe_rest(char *notes, size_t size)
{
    struct jmethod_ids_bill bill;
    notes[0] = '\0';
    if (profiler.ids == NULL)
        return;
    jmethod_ids_bill(profiler.ids, &bill);
    if (bill.classes == 0)
        return;
    snprintf(notes, size,
             "cannot be given back: the jmethodIDs of %" PRId64 " classes, %" PRId64
             " methods, about %" PRId64 " bytes in the JVM (%" PRId64
             " of them are never freed, not even when the classes unload)",
             bill.classes, bill.methods, bill.loaded_bytes, bill.kept_if_all_unload_bytes);
}

void profiler_alloc_json(struct json *json)
{
    if (profiler.allocs != NULL)
        alloc_profile_json(profiler.allocs, json, NULL);
}

bool profiler_has_alloc(void)
{
    return profiler.allocs != NULL;
}

static bool set_alloc(int64_t interval_bytes, char *error, size_t error_size)
{
    if (profiler.allocs == NULL)
        snprintf(error, error_size, "it runs without allocations: start it with alloc=512k");
    else if (profiler.live != NULL)
        snprintf(
            error, error_size,
            "live objects are followed: their weights need the interval that profiling began with");
    else
        return alloc_profile_set_interval(profiler.allocs, interval_bytes, error, error_size);
    return false;
}

static bool set_wall(const struct agent_options *options, char *error, size_t error_size)
{
    int64_t wall_ns = options->number[OPTION_WALL];
    if (wall_ns == 0) {
        threads_stop_wall(profiler.threads);
        return true;
    }
    return threads_set_wall(profiler.threads, wall_ns) ||
           threads_start_wall(profiler.threads, wall_ns, (int)options->number[OPTION_WALL_THREADS],
                              error, error_size);
}

static bool is_given(const struct agent_options *options, enum agent_option option)
{
    return (options->given & 1u << option) != 0;
}

/* The samples of a kind in one chunk are of one interval, which its Settings tell: at a change it ends, but not for a
 * pause. */
static bool end_chunk_of_others(JNIEnv *env, char *error, size_t error_size)
{
    struct alloc_counts allocs = {0};
    if (profiler.allocs != NULL)
        alloc_profile_counts(profiler.allocs, &allocs);
    const struct jfr_intervals intervals = {.cpu_ns = threads_interval_ns(profiler.threads),
                                            .wall_ns = threads_wall_interval_ns(profiler.threads),
                                            .alloc_bytes = allocs.interval_bytes};
    drain_lock(profiler.drain);
    bool told = jfr_set_intervals(profiler.recording->writer, &intervals);
    drain_unlock(profiler.drain);
    return told || profiler_dump(env, error, error_size);
}

static bool set_intervals(const struct agent_options *options, char *error, size_t error_size)
{
    bool cpu = is_given(options, OPTION_CPU), wall = is_given(options, OPTION_WALL);
    if ((cpu || wall) && profiler.without_ids)
        return refuse(
            error, error_size,
            "engine %s needs method ids, which it asks for at the start: start it with cpu or "
            "wall",
            profiler.engine->name);
    if (is_given(options, OPTION_ALLOC) &&
        !set_alloc(options->number[OPTION_ALLOC], error, error_size))
        return false;
    if (cpu &&
        !threads_set_interval(profiler.threads, options->number[OPTION_CPU], error, error_size))
        return false;
    if (wall && !set_wall(options, error, error_size))
        return false;
    profiler.interval_changes += cpu || wall;
    return true;
}

bool profiler_set(JNIEnv *env, const struct agent_options *options, char *error, size_t error_size)
{
    char why[400];
    if (!profiler.running)
        return refuse(error, error_size, "not running");
    if ((options->given & ~(1u << OPTION_ANSWER)) == 0)
        return refuse(error, error_size, "set what? cpu=TIME, wall=TIME or alloc=SIZE");
    bool good = set_intervals(options, error, error_size);
    if (end_chunk_of_others(env, why, sizeof why) || !good)
        return good; /* of several one may have been set */
    return refuse(error, error_size, "%s", why);
}

bool profiler_stop(JNIEnv *env, struct json *json, char *notes, size_t notes_size)
{
    if (!profiler.running)
        return refuse(notes, notes_size, "not running");
    threads_stop(profiler.threads);
    drain_stop(profiler.drain);
    profiler.drain = NULL;
    if (profiler.allocs != NULL)
        alloc_profile_quiet(profiler.allocs);
    recording_end_chunk(profiler.recording, env, true);
    if (json != NULL && profiler.allocs != NULL)
        alloc_profile_json(profiler.allocs, json, "alloc");
    recording_counts(profiler.recording, &profiler.last);
    profiler.running = false;
    describe_rest(notes, notes_size);
    published_figures(profiler.ids); /* what stays in the JVM ... */
    tear_down();
    published_figures(NULL); /* ... and here */
    published_methods(NULL);
    return true;
}

void profiler_vm_death(JNIEnv *env)
{
    char notes[512];
    if (profiler.running)
        profiler_stop(env, NULL, notes, sizeof notes);
    published_end();
}
