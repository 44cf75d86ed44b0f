#include "agent/sampling/sigprof.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static int structure; /* stands for the JVM's own one of this thread */

static void *elsewhere(void *key)
{
    *(bool *)key = jvm_key_find((intptr_t)&structure, &(pthread_key_t){0});
    return NULL;
}

static void test_key_with_the_value_is_found(void **state)
{
    pthread_key_t others[3], key, found;
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_key_create(&others[i], NULL), 0);
        pthread_setspecific(others[i], &others[i]);
    }
    assert_int_equal(pthread_key_create(&key, NULL), 0);
    pthread_setspecific(key, &structure);
    assert_true(jvm_key_find((intptr_t)&structure, &found));
    assert_int_equal(found, key);

    bool there = true; /* another thread has nothing under it */
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, elsewhere, &there), 0);
    pthread_join(thread, NULL);
    assert_false(there);

    pthread_key_delete(key);
    for (int i = 0; i < 3; i++)
        pthread_key_delete(others[i]);
}

static void test_unknown_value_and_none(void **state)
{
    pthread_key_t found;
    (void)state;
    assert_false(jvm_key_find((intptr_t)&structure, &found));
    assert_false(jvm_key_find(0, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_with_the_value_is_found),
        cmocka_unit_test(test_unknown_value_and_none),
    };
    return cmocka_run_group_tests_name("jvm_key", tests, NULL, NULL);
}
