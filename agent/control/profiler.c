#include "agent/control/profiler.h"

#include "agent/context/context.h"
#include "agent/control/drain.h"
#include "agent/control/profiler_json.h"
#include "agent/control/published.h"
#include "agent/control/recording.h"
#include "agent/stack/native.h"
#include "agent/stack/unwind_tables.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    int64_t rss_before_bytes; /* of the process, when the agent was loaded */
    JavaVM *vm;
    jvmtiEnv *jvmti;
    int jdk_major;
    char jvm_version[128];
    bool running;
    char file[AGENT_TEXT_MAX];
    char native_missing[160]; /* why there are no native frames */
    struct threads *threads;
    struct jmethod_ids *ids;
    struct recording *recording;
    struct recording_counts last; /* of the recording that ended */
    struct drain *drain;
} profiler;

/* Callbacks may still be running when their events have been switched off: they come in through a
 * door that is closed, and left, before the parts are taken down. */
static _Atomic bool door_open;
static _Atomic int inside;

static bool come_in(void)
{
    /* Sequentially consistent: pairs with close_door, which stores and then reads the other way
     * round; one of the two sees the other. */
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&door_open))
        return true;
    atomic_fetch_sub(&inside, 1);
    return false;
}

static void go_out(void)
{
    atomic_fetch_sub(&inside, 1);
}

static void close_door(void)
{
    atomic_store(&door_open, false);
    while (atomic_load(&inside) != 0)
        usleep(100);
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

bool profiler_setup(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size)
{
    if (profiler.vm != NULL)
        return true;
    profiler.rss_before_bytes = profiler_json_rss();
    read_version(jvmti);
    profiler.threads = threads_create(vm);
    if (profiler.threads == NULL) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    profiler.jvmti = jvmti;
    profiler.vm = vm;
    published_begin();
    return true;
}

bool profiler_is_running(void)
{
    return profiler.running;
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
    /* ClassLoad does nothing here, but AsyncGetCallTrace wants the event to be on. */
    static const jvmtiEvent EVENTS[] = {JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_CLASS_PREPARE,
                                        JVMTI_EVENT_THREAD_START, JVMTI_EVENT_THREAD_END};
    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++)
        (*profiler.jvmti)->SetEventNotificationMode(profiler.jvmti, mode, EVENTS[i], NULL);
}

/* Where Java code lies: native unwinding stops there. HotSpot exports the addresses of its fields.
 */
static void find_code_cache(void)
{
    char **entries = dlsym(RTLD_DEFAULT, "gHotSpotVMStructs");
    if (entries == NULL)
        return;
    const struct {
        const char *symbol;
        uint64_t *at;
    } LAYOUT[] = {{"gHotSpotVMStructEntryTypeNameOffset", &(uint64_t){0}},
                  {"gHotSpotVMStructEntryFieldNameOffset", &(uint64_t){0}},
                  {"gHotSpotVMStructEntryAddressOffset", &(uint64_t){0}},
                  {"gHotSpotVMStructEntryArrayStride", &(uint64_t){0}}};
    for (size_t i = 0; i < sizeof LAYOUT / sizeof *LAYOUT; i++) {
        const uint64_t *value = dlsym(RTLD_DEFAULT, LAYOUT[i].symbol);
        if (value == NULL)
            return;
        *LAYOUT[i].at = *value;
    }
    uintptr_t low = 0, high = 0;
    for (const char *entry = *entries;; entry += *LAYOUT[3].at) {
        const char *type = *(const char *const *)(entry + *LAYOUT[0].at);
        const char *field = *(const char *const *)(entry + *LAYOUT[1].at);
        uintptr_t *address = *(uintptr_t *const *)(entry + *LAYOUT[2].at);
        if (type == NULL)
            break;
        if (strcmp(type, "CodeCache") != 0 || field == NULL || address == NULL)
            continue;
        if (strcmp(field, "_low_bound") == 0)
            low = *address;
        else if (strcmp(field, "_high_bound") == 0)
            high = *address;
    }
    if (low < high)
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
    close_door();
    threads_stop(profiler.threads);
    threads_on_sample(profiler.threads, NULL, NULL);
    unwind_tables_release();
    if (profiler.recording != NULL)
        recording_destroy(profiler.recording);
    if (profiler.ids != NULL)
        jmethod_ids_destroy(profiler.ids);
    profiler.recording = NULL;
    profiler.ids = NULL;
}

static const struct stack_engine *find_engine(const struct agent_options *options, char *error,
                                              size_t error_size)
{
    const struct stack_engine *engine = &engine_agct;
    if (strcmp(options->text[OPTION_ENGINE], engine->name) != 0) {
        snprintf(error, error_size, "engine=%.32s: there is only %s", options->text[OPTION_ENGINE],
                 engine->name);
        return NULL;
    }
    return engine->setup(profiler.vm, profiler.jvmti, error, error_size) ? engine : NULL;
}

bool profiler_start(const struct agent_options *options, JNIEnv *env, char *error,
                    size_t error_size)
{
    if (profiler.running) {
        snprintf(error, error_size, "already running: stop it first");
        return false;
    }
    const struct stack_engine *engine = find_engine(options, error, error_size);
    if (engine == NULL)
        return false;
    expand_file(options->text[OPTION_FILE], profiler.file, sizeof profiler.file);
    profiler.native_missing[0] = '\0';
    bool native = options->number[OPTION_NATIVE] != 0 &&
                  native_setup(profiler.native_missing, sizeof profiler.native_missing);
    find_code_cache();
    if (!context_setup(options->text[OPTION_CONTEXT])) {
        snprintf(error, error_size, "context=%.64s: at most %d tags in all",
                 options->text[OPTION_CONTEXT], NMTAGENT_CONTEXT_TAGS);
        return false;
    }
    if (engine->needs_method_ids) {
        profiler.ids = jmethod_ids_create(profiler.jvmti, profiler.jdk_major);
        if (profiler.ids == NULL) {
            snprintf(error, error_size, "out of memory");
            return false;
        }
    }
    const struct recording_parts parts = {
        .jvmti = profiler.jvmti,
        .engine = engine,
        .native = native,
        .threads = profiler.threads,
        .ids = profiler.ids,
        .file = profiler.file,
        .jvm_version = profiler.jvm_version,
    };
    profiler.recording = recording_create(&parts, options, error, error_size);
    if (profiler.recording == NULL) {
        tear_down();
        return false;
    }
    atomic_store(&door_open, true);
    switch_events(JVMTI_ENABLE);
    if (profiler.ids != NULL) /* after the event is on: no class falls between the two */
        jmethod_ids_prepare_all(profiler.ids, env);
    profiler.running = true;
    if (start_timers(options, error, error_size)) {
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
    if (!profiler.running) {
        snprintf(error, error_size, "not running");
        return false;
    }
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
    snprintf(notes, size,
             "cannot be given back: the jmethodIDs of %" PRId64 " classes, %" PRId64
             " methods, about %" PRId64 " bytes in the JVM (%" PRId64
             " of them stay for ever even when the classes unload)",
             bill.classes, bill.methods, bill.loaded_bytes, bill.kept_if_all_unload_bytes);
}

bool profiler_stop(JNIEnv *env, char *notes, size_t notes_size)
{
    if (!profiler.running) {
        snprintf(notes, notes_size, "not running");
        return false;
    }
    threads_stop(profiler.threads);
    drain_stop(profiler.drain);
    profiler.drain = NULL;
    recording_end_chunk(profiler.recording, env, true);
    recording_counts(profiler.recording, &profiler.last);
    profiler.running = false;
    describe_rest(notes, notes_size);
    published_figures(profiler.ids); /* what stays in the JVM ... */
    tear_down();
    published_figures(NULL); /* ... and here */
    return true;
}

void profiler_vm_death(JNIEnv *env)
{
    char notes[512];
    if (profiler.running)
        profiler_stop(env, notes, sizeof notes);
    published_end();
}

/* --- callbacks -------------------------------------------------------------------------------- */

void profiler_class_prepare(JNIEnv *env, jclass class)
{
    if (!come_in())
        return;
    if (profiler.ids != NULL)
        jmethod_ids_prepare(profiler.ids, env, class);
    go_out();
}

void profiler_class_unload(void)
{
    if (!come_in())
        return;
    if (profiler.ids != NULL)
        jmethod_ids_unloaded(profiler.ids);
    go_out();
}

void profiler_thread_start(JNIEnv *env, jthread thread)
{
    if (!come_in())
        return;
    threads_started(profiler.threads, env, thread);
    go_out();
}

void profiler_thread_end(JNIEnv *env)
{
    (void)env;
    context_thread_ended();
    if (!come_in())
        return;
    threads_ended(profiler.threads);
    go_out();
}

/* --- what people ask ----------------------------------------------------------------------------
 */

void profiler_status_json(FILE *out)
{
    struct recording_counts counts = profiler.last;
    if (profiler.recording != NULL)
        recording_counts(profiler.recording, &counts);
    const struct profiler_view view = {
        .counts = &counts,
        .running = profiler.running,
        .file = profiler.file,
        .native_missing = profiler.native_missing,
        .threads = profiler.threads,
        .recording = profiler.recording,
        .ids = profiler.ids,
        .jdk_major = profiler.jdk_major,
    };
    profiler_json_status(&view, out);
}

void profiler_memory_json(FILE *out)
{
    const struct profiler_view view = {
        .running = profiler.running,
        .recording = profiler.recording,
        .threads = profiler.threads,
        .ids = profiler.ids,
        .jdk_major = profiler.jdk_major,
        .rss_before_bytes = profiler.rss_before_bytes,
    };
    profiler_json_memory(&view, out);
}
