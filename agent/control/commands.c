#include "agent/control/commands.h"

#include "floor/wire/agent_options.h"
#include "agent/control/answer.h"
#include "agent/control/breaker_apply.h"
#include "agent/control/profiler.h"
#include "agent/mem/mem.h"
#include "agent/sampling/own_thread.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* A stop writes the last chunk and waits for handlers: tens of milliseconds, seconds on a slow
 * disk.
 */
#define DEATH_WAIT_S 5

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    JavaVM *vm;
    jvmtiEnv *jvmti;
    bool dead; /* the JVM ends */
} served;

void commands_setup(JavaVM *vm, jvmtiEnv *jvmti)
{
    pthread_mutex_lock(&lock);
    served.vm = vm;
    served.jvmti = jvmti;
    pthread_mutex_unlock(&lock);
}

static enum mem_level wanted_level(const struct agent_options *options)
{
    const char *word = options->text[OPTION_MEMORY_LEVEL];
    return strcmp(word, "off") == 0      ? MEM_OFF
           : strcmp(word, "detail") == 0 ? MEM_DETAIL
                                         : MEM_SUMMARY;
}

static void *stop_itself(void *argument)
{
    char name[] = "nmtagent-stop", notes[1024];
    JavaVMAttachArgs attach = {.version = JNI_VERSION_1_6, .name = name};
    struct breaker_view breaker;
    JNIEnv *env;
    (void)argument;
    if ((*served.vm)->AttachCurrentThreadAsDaemon(served.vm, (void **)&env, &attach) != JNI_OK)
        return NULL; /* the JVM is ending, and stops it */
    pthread_mutex_lock(&lock);
    breaker_apply_view(&breaker);
    bool wanted = breaker.state == BREAKER_STOPPED || profiler_is_overdue();
    if (!served.dead && wanted && profiler_is_running())
        profiler_stop(env, NULL, notes, sizeof notes);
    pthread_mutex_unlock(&lock);
    (*served.vm)->DetachCurrentThread(served.vm);
    return NULL;
}

/* If it is still that recording when its turn comes. Drain thread. */
static bool stop_later(void)
{
    pthread_t thread;
    bool started = own_thread_start(&thread, stop_itself, NULL) == 0;
    if (started)
        pthread_detach(thread);
    return started;
}

/* False with error: it cannot be done. Of a stop error has its notes. */
static bool act(const struct agent_options *options, JNIEnv *env, struct json *json, char *error,
                size_t size)
{
    if (served.dead) {
        snprintf(error, size, "the JVM is ending");
        return false;
    }
    if (!profiler_setup(served.vm, served.jvmti, stop_later, error, size))
        return false;
    switch (options->command) {
    case AGENT_START:
        return profiler_start(options, env, error, size);
    case AGENT_STOP:
        json_begin(json, NULL, '{');
        return profiler_stop(env, json, error, size);
    case AGENT_ALLOC:
        if (profiler_is_running() && !profiler_has_alloc()) {
            snprintf(error, size, "it runs without allocations: start it with alloc=512k");
            return false;
        }
        return profiler_dump(env, error, size); /* the table is of whole chunks */
    case AGENT_DUMP:
        return profiler_dump(env, error, size);
    case AGENT_SET:
        return profiler_set(env, options, error, size);
    case AGENT_STATUS:
    case AGENT_MEMORY:
    case AGENT_SITES:
    case AGENT_BASELINE:
        break;
    }
    return true;
}

static void obey(const struct agent_options *options, JNIEnv *env, struct answer *answer)
{
    char error[1024] = "";
    struct json *json = &answer->json;
    if (!act(options, env, json, error, sizeof error)) {
        answer_refuse(answer, "%s", error);
        return;
    }
    switch (options->command) {
    case AGENT_STOP:
        json_text(json, "notes", error);
        profiler_status_json(json, "status");
        json_end(json, '}');
        break;
    case AGENT_MEMORY:
    case AGENT_SITES:
    case AGENT_BASELINE:
        profiler_memory_json(json, options->command == AGENT_SITES);
        if (options->command == AGENT_BASELINE)
            profiler_memory_baseline();
        break;
    case AGENT_ALLOC:
        profiler_alloc_json(json);
        break;
    case AGENT_START:
    case AGENT_DUMP:
    case AGENT_STATUS:
    case AGENT_SET:
        profiler_status_json(json, NULL);
        break;
    }
}

/* refusal: NULL, or what to answer in any case. env may be NULL then. */
static enum commands_answered serve(const char *text, const char *refusal, JNIEnv *env)
{
    /* 18 KB of stack: the level of the account has to be known before anything is allocated. */
    struct agent_options options;
    struct answer answer;
    char error[400] = "";
    bool understood = agent_options_parse(text, &options, error, sizeof error);

    pthread_mutex_lock(&lock);
    if (refusal == NULL && understood && options.command == AGENT_START && !profiler_is_running())
        mem_set_level(wanted_level(&options));
    if (!answer_begin(&answer))
        answer_refuse(&answer, "out of memory");
    else if (refusal != NULL)
        answer_refuse(&answer, "%s", refusal);
    else if (!understood)
        answer_refuse(&answer, "%s", error);
    else
        obey(&options, env, &answer);
    if (answer.out != NULL)
        fputc('\n', answer.out);

    const char *file = options.text[OPTION_ANSWER];
    enum commands_answered answered = file[0] != '\0'  ? COMMANDS_ANSWERED_IN_FILE
                                      : answer.refused ? COMMANDS_ANSWERED_NOWHERE
                                                       : COMMANDS_ANSWERED;
    /* Nobody waits for "done" without a file; a figure that was asked for has to go somewhere. */
    bool silent = file[0] == '\0' && !answer.refused && options.command != AGENT_STATUS &&
                  options.command != AGENT_MEMORY && options.command != AGENT_ALLOC &&
                  options.command != AGENT_SITES && options.command != AGENT_BASELINE;
    if (!silent && !answer_send(&answer, file, error, sizeof error))
        answered = COMMANDS_ANSWERED_NOWHERE;
    answer_end(&answer);
    pthread_mutex_unlock(&lock);
    return answered;
}

enum commands_answered commands_run(const char *text, JNIEnv *env)
{
    return serve(text, NULL, env);
}

enum commands_answered commands_refuse(const char *text, const char *sentence)
{
    return serve(text, sentence, NULL);
}

void commands_vm_death(JNIEnv *env)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int left = DEATH_WAIT_S * 100;
    while (pthread_mutex_trylock(&lock) != 0) {
        if (left-- == 0)
            return; /* a command hangs: what it holds is not safe to touch */
        nanosleep(&pause, NULL);
    }
    if (!served.dead && served.vm != NULL)
        profiler_vm_death(env);
    served.dead = true;
    pthread_mutex_unlock(&lock);
}
