/* Classes counted while threads load and unload them, with a JVM that is none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/classdef/class_definitions.h"
#include "tests/unit/fake_jvm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the JVM: a jclass is a pointer to its signature and state -------------------------------- */

struct fake_class {
    char signature[64];
    jint status, hash;
};

static jvmtiError JNICALL get_signature(jvmtiEnv *env, jclass class, char **signature,
                                        char **generic)
{
    (void)env, (void)generic;
    if (class == NULL)
        return JVMTI_ERROR_INVALID_CLASS;
    *signature = fake_text(((struct fake_class *)class)->signature);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_status(jvmtiEnv *env, jclass class, jint *status)
{
    (void)env;
    *status = ((struct fake_class *)class)->status;
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_hash(jvmtiEnv *env, jobject object, jint *hash)
{
    (void)env;
    *hash = ((struct fake_class *)object)->hash;
    return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ FUNCTIONS = {
    .GetClassSignature = get_signature,
    .GetClassStatus = get_status,
    .GetObjectHashCode = get_hash,
    .Deallocate = fake_deallocate,
};
static jvmtiEnv jvm = &FUNCTIONS;

static void load(struct class_definitions *definitions, struct sampler *stacks,
                 struct fake_class *class)
{
    class_definitions_loaded(definitions, stacks, NULL, (jclass) class);
}

static struct fake_class named(const char *signature, jint hash)
{
    struct fake_class class = {.hash = hash};
    snprintf(class.signature, sizeof class.signature, "%s", signature);
    return class;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static int fake_walk_here(JNIEnv *env, struct frame *out, int max, enum walk_code *code)
{
    (void)env, (void)max;
    out[0] = (struct frame){.value = 16, .kind = FRAME_SEEN};
    *code = WALK_OK;
    return 1;
}

static void make_sampler(struct sampler *sampler, const struct stack_engine *engine)
{
    memset(sampler, 0, sizeof *sampler);
    sampler->engine = engine;
    sampler->depth = 8;
    sampler->traces = calltrace_create(0);
    sampler->buffers = recording_buffers_create();
    sampler->thread_ids = thread_id_tables_create();
    sampler->scratch = calloc(RECORDING_BUFFERS * 9, sizeof *sampler->scratch);
    assert_true(sampler->traces && sampler->buffers && sampler->thread_ids && sampler->scratch);
}

static void end_sampler(struct sampler *sampler)
{
    calltrace_destroy(sampler->traces);
    recording_buffers_destroy(sampler->buffers);
    thread_id_tables_destroy(sampler->thread_ids);
    free(sampler->scratch);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_class_counts_once(void **state)
{
    struct class_definitions *definitions = class_definitions_create(&jvm, false, false);
    struct class_churn churn;
    struct fake_class first = named("La/b/Gen1;", 1), second = named("La/b/Gen2;", 2),
                      found = named("Ljava/lang/Object;", 3),
                      hidden = named("La/b/H.0x0000000801001000;", 4);
    (void)state;
    found.status = JVMTI_CLASS_STATUS_VERIFIED | JVMTI_CLASS_STATUS_PREPARED;
    hidden.status = found.status; /* linked before anybody hears of it */
    load(definitions, NULL, &first);
    load(definitions, NULL, &first); /* found by the loader that had asked the other one */
    load(definitions, NULL, &second);
    load(definitions, NULL, &found);
    load(definitions, NULL, &hidden);
    load(definitions, NULL, &hidden);                        /* another one of the same hash */
    class_definitions_loaded(definitions, NULL, NULL, NULL); /* no name */
    class_definitions_unloaded(definitions, "a/b/Gen1");
    class_definitions_unloaded(definitions, "a/b/H+0x0000000801001000");
    class_definitions_unloaded(definitions, NULL);
    class_definitions_churn(definitions, &churn);
    assert_int_equal(churn.loaded, 5);
    assert_int_equal(churn.unloaded, 3);
    assert_string_equal(churn.family, "a.b.Gen#");
    assert_int_equal(churn.family_loaded, 2);
    assert_int_equal(churn.family_net, 1);
    class_definitions_churn(definitions, &churn);
    assert_string_equal(churn.family, "");
    class_definitions_destroy(definitions);
}

static char *json_of(struct class_definitions *definitions)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    class_definitions_json(definitions, &(struct json){.out = out}, NULL);
    fclose(out);
    return text;
}

static bool count_events(void *context, const uint8_t *bytes, size_t length)
{
    int *events = context;
    for (size_t at = 0; at < length; ++*events) {
        size_t size = 0;
        for (int digit = 0; digit < 4; digit++)
            size |= (size_t)(bytes[at + (size_t)digit] & 0x7f) << 7 * digit;
        assert_true(size > 4 && size <= length - at);
        at += size;
    }
    return true;
}

static void stacks_are_few(void **state)
{
    const struct stack_engine engine = {.name = "fake", .walk_here = fake_walk_here};
    struct class_definitions *definitions = class_definitions_create(&jvm, true, false);
    struct sampler sampler;
    int events = 0;
    (void)state;
    make_sampler(&sampler, &engine);
    for (int i = 1; i <= 500; i++) { /* as many families, in a moment */
        char name[64];
        snprintf(name, sizeof name, "Lp%c%c%c/Name;", 'a' + i / 100, 'a' + i / 10 % 10,
                 'a' + i % 10);
        struct fake_class class = named(name, i);
        load(definitions, &sampler, &class);
        class.hash = -i;
        load(definitions, &sampler, &class); /* the family has just given a stack */
    }
    recording_buffers_flush(sampler.buffers, count_events, &events);
    assert_true(events >= CLASS_STACKS_PER_S && events <= 2 * CLASS_STACKS_PER_S);
    char *text = json_of(definitions);
    assert_non_null(strstr(text, "\"loaded\":1000,"));
    assert_non_null(strstr(text, "\"stacks_lost\":0,"));
    free(text);
    end_sampler(&sampler);
    class_definitions_destroy(definitions);
}

#define THREADS 4
#define EACH    3000

struct worker {
    struct class_definitions *definitions;
    struct sampler *stacks;
    int number;
};

static void *churn(void *argument)
{
    const struct worker *worker = argument;
    char name[64];
    for (int i = 1; i <= EACH; i++) {
        snprintf(name, sizeof name, "Lgen/Gen%d;", i);
        struct fake_class class = named(name, worker->number * EACH + i);
        load(worker->definitions, worker->stacks, &class);
        if (i % 2 == 0) {
            snprintf(name, sizeof name, "gen/Gen%d", i);
            class_definitions_unloaded(worker->definitions, name);
        }
    }
    return NULL;
}

static void many_threads(void **state)
{
    const struct stack_engine engine = {.name = "fake", .walk_here = fake_walk_here};
    struct class_definitions *definitions = class_definitions_create(&jvm, true, false);
    struct sampler sampler;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    struct class_churn churned;
    int64_t grown = 0;
    int events = 0;
    (void)state;
    make_sampler(&sampler, &engine);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){definitions, &sampler, i};
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &workers[i]), 0);
    }
    for (int i = 0; i < 50; i++) {
        class_definitions_churn(definitions, &churned);
        grown += churned.family_loaded;
        recording_buffers_flush(sampler.buffers, count_events, &events);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    class_definitions_churn(definitions, &churned);
    assert_int_equal(grown + churned.family_loaded, THREADS * EACH);
    assert_int_equal(churned.loaded, THREADS * EACH);
    assert_int_equal(churned.unloaded, THREADS * EACH / 2);
    recording_buffers_flush(sampler.buffers, count_events, &events);
    assert_true(events > 0);
    end_sampler(&sampler);
    class_definitions_destroy(definitions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_counts_once),
        cmocka_unit_test(stacks_are_few),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests_name("class_definitions", tests, NULL, fake_nothing_is_left);
}
