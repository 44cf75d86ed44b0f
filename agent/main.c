/*
 * The agent's entry points: loaded at start (-agentpath), loaded into a running JVM (attach), and
 * the JVM's events.
 *
 * At start: whatever is wrong is one line on standard error, and the application runs without a
 * profiler; a mistake in an option must not keep a service from starting. By attach: the answer
 * goes to the asker's file (control/answer.h), and the JVM gets a code for an asker that has none.
 */
#include "agent/classdef/class_definitions.h"
#include "floor/wire/agent_options.h"
#include "floor/wire/wire_formats.h"
#include "agent/control/commands.h"
#include "agent/control/profiler.h"
#include "agent/mem/file_pages.h"
#include "agent/mem/mem.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct {
    JavaVM *vm;
    jvmtiEnv *jvmti;
    char *text;        /* the options of -agentpath, until VMInit */
    bool unload_names; /* the event ClassUnload passes the class's name */
    char broken[400];  /* why this copy can do nothing */
} agent;

/* --- another copy ----------------------------------------------------------------------------- */

/* The same library under two paths is two agents: two handlers of signals, every thread with two
 * timers. Each copy that serves commands says so through the exported function
 * nmtagent_in_charge(), and looks for that function in every other library that is loaded. So no
 * file, property or environment variable has to be left behind. The same path is loaded once only.
 */
#define MARK "nmtagent_in_charge"

static _Atomic bool in_charge;

__attribute__((visibility("default"))) bool nmtagent_in_charge(void);

bool nmtagent_in_charge(void)
{
    return atomic_load(&in_charge);
}

static void take_charge(void)
{
    atomic_store(&in_charge, true);
}

/* One library a pass: dlopen and dlsym are for outside of dl_iterate_phdr, which holds the loader's
 * lock. */
struct nth_library {
    int wanted, at;
    char path[4096];
};

static int remember_nth(struct dl_phdr_info *info, size_t size, void *context)
{
    struct nth_library *library = context;
    (void)size;
    if (library->at++ != library->wanted)
        return 0;
    snprintf(library->path, sizeof library->path, "%s", info->dlpi_name);
    return 1;
}

/* The library itself must define the mark: dlsym looks into what it depends on as well. */
static bool is_in_charge(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL)
        return false;
    Dl_info ours, theirs;
    bool (*mark)(void);
    *(void **)&mark = dlsym(library, MARK);
    bool other = mark != NULL && dladdr(*(void **)&mark, &theirs) != 0 &&
                 dladdr(&in_charge, &ours) != 0 && theirs.dli_fbase != ours.dli_fbase && mark();
    dlclose(library);
    return other;
}

/* True when one is; path says which. Loads nothing. */
static bool find_other_copy(char *path, size_t size)
{
    struct nth_library library = {0};
    for (;; library.wanted++) {
        library.at = 0;
        if (dl_iterate_phdr(remember_nth, &library) == 0)
            return false;
        if (library.path[0] != '\0' && is_in_charge(library.path)) {
            snprintf(path, size, "%.*s", (int)size - 1, library.path);
            return true;
        }
    }
}

/* --- events ----------------------------------------------------------------------------------- */

/* AsyncGetCallTrace wants the event on, too. */
static void JNICALL on_class_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
    (void)jvmti, (void)thread;
    profiler_class_load(env, class);
}

static void JNICALL on_class_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
    (void)jvmti, (void)thread;
    profiler_class_prepare(env, class);
}

static void JNICALL on_object_sampled(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object,
                                      jclass class, jlong size)
{
    (void)jvmti, (void)thread;
    profiler_object_sampled(env, object, class, size);
}

/* At a safepoint, or in a thread of the collector: no JNI here. */
static void JNICALL on_gc_finish(jvmtiEnv *jvmti)
{
    (void)jvmti;
    profiler_gc_finished();
}

static void JNICALL on_thread_start(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    (void)jvmti;
    profiler_thread_start(env, thread);
}

static void JNICALL on_thread_end(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    (void)jvmti, (void)thread;
    profiler_thread_end(env);
}

/* com.sun.hotspot.events.ClassUnload: (jvmtiEnv, JNIEnv, name); older JVMs pass other things. */
static void JNICALL on_class_unload(jvmtiEnv *jvmti, ...)
{
    const char *name = NULL;
    if (agent.unload_names) {
        va_list arguments;
        va_start(arguments, jvmti);
        (void)va_arg(arguments, JNIEnv *);
        name = va_arg(arguments, const char *);
        va_end(arguments);
    }
    profiler_class_unload(name);
}

static void JNICALL on_vm_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    (void)jvmti, (void)thread;
    commands_run(agent.text, env);
    mem_free(agent.text);
    agent.text = NULL;
}

static void JNICALL on_vm_death(jvmtiEnv *jvmti, JNIEnv *env)
{
    (void)jvmti;
    commands_vm_death(env);
}

#define STILL_STARTING "the JVM is still starting: ask again in a moment"

/* --- set-up ----------------------------------------------------------------------------------- */

static bool broken_by(const char *call, jvmtiError code)
{
    snprintf(agent.broken, sizeof agent.broken, "this JVM refuses %s: JVMTI error %d", call,
             (int)code);
    return false;
}

static bool prepare_jvmti(JavaVM *vm)
{
    jvmtiEnv *jvmti = NULL;
    jint result = (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2);
    if (result == JNI_EDETACHED) { /* HotSpot's answer to everybody until it is live */
        snprintf(agent.broken, sizeof agent.broken, STILL_STARTING);
        return false;
    }
    if (result != JNI_OK || jvmti == NULL) {
        snprintf(agent.broken, sizeof agent.broken, "this JVM has no JVMTI 1.2: error %d",
                 (int)result);
        return false;
    }
    agent.jvmti = jvmti;

    const jvmtiCapabilities wanted = {.can_get_line_numbers = 1};
    const jvmtiEventCallbacks callbacks = {
        .VMInit = on_vm_init,
        .VMDeath = on_vm_death,
        .ClassLoad = on_class_load,
        .ClassPrepare = on_class_prepare,
        .ThreadStart = on_thread_start,
        .ThreadEnd = on_thread_end,
        .SampledObjectAlloc = on_object_sampled,
        .GarbageCollectionFinish = on_gc_finish,
    };
    jvmtiError code = (*jvmti)->AddCapabilities(jvmti, &wanted);
    if (code != JVMTI_ERROR_NONE)
        return broken_by("line numbers", code);
    code = (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks);
    if (code != JVMTI_ERROR_NONE)
        return broken_by("events", code);
    code = (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL);
    if (code != JVMTI_ERROR_NONE)
        return broken_by("its end as an event", code);
    agent.unload_names = class_unload_listen(jvmti, on_class_unload);
    return true;
}

static void give_back_jvmti(void)
{
    if (agent.jvmti != NULL)
        (*agent.jvmti)->DisposeEnvironment(agent.jvmti);
    agent.jvmti = NULL;
}

/* NULL, or why this copy of the agent can do nothing now: a JVM that has just begun to start
 * refuses what it grants later, so that is tried again at the next load. Agents are loaded one
 * after another.
 */
static const char *set_up(JavaVM *vm)
{
    char path[300];
    if (agent.vm != NULL)
        return NULL;
    if (find_other_copy(path, sizeof path)) {
        snprintf(agent.broken, sizeof agent.broken, ANSWER_OTHER_COPY "%s", path);
        return agent.broken;
    }
    if (!prepare_jvmti(vm)) {
        give_back_jvmti();
        return agent.broken;
    }
    agent.vm = vm;
    libraries_count_own();
    take_charge();
    commands_setup(vm, agent.jvmti);
    return NULL;
}

/* By attach a JVM may be asked before it has got so far that it can be profiled. */
static const char *set_up_by_attach(JavaVM *vm, JNIEnv **env)
{
    jvmtiPhase phase = JVMTI_PHASE_LIVE;
    const char *broken = set_up(vm);
    if (broken != NULL)
        return broken;
    if ((*agent.jvmti)->GetPhase(agent.jvmti, &phase) == JVMTI_ERROR_NONE &&
        phase != JVMTI_PHASE_LIVE)
        return phase == JVMTI_PHASE_DEAD ? "the JVM is ending" : STILL_STARTING;
    if ((*vm)->GetEnv(vm, (void **)env, JNI_VERSION_1_6) != JNI_OK)
        return "the agent was loaded on a thread that is no Java thread";
    return NULL;
}

/* --- entry points ----------------------------------------------------------------------------- */

static void complain(const char *sentence)
{
    fprintf(stderr, "nmtagent: %s; the application runs without it\n", sentence);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *text, void *reserved)
{
    struct agent_options options;
    char error[400];
    (void)reserved;
    if (agent.vm != NULL) {
        fprintf(stderr, "nmtagent: -agentpath is given twice; the first one counts\n");
        return JNI_OK;
    }
    const char *broken = set_up(vm);
    if (broken != NULL) {
        complain(broken);
        return JNI_OK;
    }
    if (!agent_options_parse(text, &options, error, sizeof error)) {
        complain(error);
        return JNI_OK;
    }
    if (options.command != AGENT_START) {
        complain("a JVM that starts can only be asked to start profiling");
        return JNI_OK;
    }
    agent.text = mem_copy_text(COMPONENT_CONTROL, options.whole, strlen(options.whole));
    if (agent.text == NULL)
        complain("out of memory");
    else if ((*agent.jvmti)
                 ->SetEventNotificationMode(agent.jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL) !=
             JVMTI_ERROR_NONE)
        complain("this JVM refuses its start as an event");
    return JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *text, void *reserved)
{
    static bool listed;
    JNIEnv *env = NULL;
    (void)reserved;
    const char *broken = set_up_by_attach(vm, &env);
    enum commands_answered answered =
        broken == NULL ? commands_run(text, env) : commands_refuse(text, broken);
    /* Of each load that went well the JVM keeps a record, forever. One is needed: JDK 21 and later
     * warn of a library that is in none. Callers that get the answer in a file do not use the
     * code. */
    if (answered == COMMANDS_ANSWERED_NOWHERE || (answered == COMMANDS_ANSWERED_IN_FILE && listed))
        return JNI_ERR;
    listed = true;
    return JNI_OK;
}
