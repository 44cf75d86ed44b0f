/* class_data: the way from a jmethodID to the flag, over structures laid out as tables may say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "floor/hotspot/layout.h"
#include "agent/methods/jmethod_ids.h"

struct loader_data {
    char before[33];
    uint8_t own;
};
struct klass {
    uint64_t before[19];
    struct loader_data *data;
};
struct constants {
    uint64_t before[3];
    struct klass *holder;
};
struct const_method {
    uint64_t before;
    struct constants *constants;
};
struct method {
    uint64_t before;
    struct const_method *body;
};

static struct loader_data data;
static struct klass klass = {.data = &data};
static struct constants constants = {.holder = &klass};
static struct const_method body = {.constants = &constants};
static struct method method = {.body = &body};
static struct method *slot = &method;

static jmethodID id(void)
{
    return (jmethodID)&slot;
}

static int tables_are_read(void **state)
{
    (void)state;
    slot = &method;
    klass.data = &data;
    data.own = 1;
    layout = (struct layout){
        .jdk_major = 25,
        .method_const = offsetof(struct method, body),
        .const_constants = offsetof(struct const_method, constants),
        .pool_holder = offsetof(struct constants, holder),
        .klass_loader_data = offsetof(struct klass, data),
        .loader_data_own = offsetof(struct loader_data, own),
    };
    return 0;
}

static void the_flag_is_found(void **state)
{
    (void)state;
    assert_true(class_data_is_own(id()));
    data.own = 0;
    assert_false(class_data_is_own(id()));
}

static void a_way_that_ends_is_no(void **state)
{
    (void)state;
    klass.data = NULL;
    assert_false(class_data_is_own(id()));
    slot = NULL; /* a class that is gone */
    assert_false(class_data_is_own(id()));
    assert_false(class_data_is_own(NULL)); /* a class without methods */
}

static void without_tables_nothing_is_looked_at(void **state)
{
    (void)state;
    layout.loader_data_own = -1;
    assert_false(class_data_is_own((jmethodID)8));
    layout = (struct layout){0};
    assert_false(class_data_is_own((jmethodID)8));
}

static void ids_of_jdk_26_lead_nowhere(void **state)
{
    (void)state;
    layout.jdk_major = 26;
    assert_false(class_data_is_own((jmethodID)8));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, tables_are_read)
    const struct CMUnitTest tests[] = {
        TEST(the_flag_is_found),
        TEST(a_way_that_ends_is_no),
        TEST(without_tables_nothing_is_looked_at),
        TEST(ids_of_jdk_26_lead_nowhere),
    };
    return cmocka_run_group_tests_name("agent_methods/class_data", tests, NULL, NULL);
}
