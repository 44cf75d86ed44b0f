/* class_graph: loaders and classes that are there, that have gone, and lists that never end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "floor/hotspot/class_graph.h"
#include "tests/unit/floor_hotspot/fake_memory.h"

#define HEAD    FAKE_BASE
#define LOADER  (FAKE_BASE + 0x1000)
#define CLASS   (FAKE_BASE + 0x4000)
#define METHODS (FAKE_BASE + 0x8000)

enum { NEXT = 8, CLASSES = 16, OWNER = 24, LINK = 32, HELPER = 40, METHOD_LIST = 48 };

static uintptr_t loader(int i)
{
    return LOADER + (uintptr_t)i * 64;
}

static uintptr_t class(int i)
{
    return CLASS + (uintptr_t)i * 64;
}

/* Of a loader, in front of the one before it: methods < 0: an array's. */
static void put_class(int i, int of, int before, int methods)
{
    put_word(loader(of) + CLASSES, class(i));
    put_word(class(i) + OWNER, loader(of));
    put_word(class(i) + LINK, before >= 0 ? class(before) : 0);
    put(class(i) + HELPER, methods < 0 ? 0x80000000u : 16, 4);
    put_word(class(i) + METHOD_LIST, METHODS + (uintptr_t)i * 8);
    put(METHODS + (uintptr_t)i * 8, methods < 0 ? 0 : (uint64_t)methods, 4);
}

/* Two loaders, the second one the boot loader's; five classes. */
static int setup(void **state)
{
    (void)state;
    memset(fake_bytes, 0, sizeof fake_bytes);
    layout = (struct layout){.jdk_major = 25,
                             .loaders_head = HEAD,
                             .loader_next = NEXT,
                             .loader_classes = CLASSES,
                             .klass_loader_data = OWNER,
                             .klass_next = LINK,
                             .klass_layout_helper = HELPER,
                             .instance_methods = METHOD_LIST,
                             .instance_method_ids = -1};
    put_word(HEAD, loader(0));
    put_word(loader(0) + NEXT, loader(1));
    put_class(0, 0, -1, 15);
    put_class(1, 0, 0, -1);
    put_class(2, 0, 1, 7);
    put_class(3, 1, -1, 100);
    put_class(4, 1, 3, 3);
    return 0;
}

static bool walk(struct loaded_methods *out)
{
    char error[200] = "";
    bool good = class_graph_walk(out, NULL, error, sizeof error);
    assert_int_equal(good, error[0] == '\0');
    return good;
}

static void sums(void **state)
{
    (void)state;
    struct loaded_methods out;
    assert_true(walk(&out));
    assert_int_equal(out.loaders, 2);
    assert_int_equal(out.classes, 4); /* an array has none */
    assert_int_equal(out.methods, 125);
    assert_int_equal(out.own_classes, 2);
    assert_int_equal(out.own_methods, 22);
    assert_int_equal(out.slots, 15 + 8 + 100 + 8);
    assert_int_equal(out.torn, 0);
}

static void what_has_gone_is_left(void **state)
{
    (void)state;
    struct loaded_methods out;
    put_word(class(2) + OWNER, 0x1234); /* somebody else's memory by now */
    assert_true(walk(&out));
    assert_int_equal(out.torn, 1);
    assert_int_equal(out.methods, 103);
    put_word(loader(1) + CLASSES, 0x10); /* cannot be read */
    assert_true(walk(&out));
    assert_int_equal(out.torn, 2);
    assert_int_equal(out.methods, 0);
    layout.loaders_head = 0x10;
    assert_true(walk(&out));
    assert_int_equal(out.loaders, 0);
}

static void nonsense_is_no_class(void **state)
{
    (void)state;
    struct loaded_methods out;
    put(METHODS + 2 * 8, 70000, 4); /* more than a class file may have */
    assert_true(walk(&out));
    assert_int_equal(out.classes, 3);
    assert_int_equal(out.methods, 118);
}

static void circles_end(void **state)
{
    (void)state;
    struct loaded_methods out;
    put_word(class(0) + LINK, class(2));
    assert_false(walk(&out));
    setup(NULL);
    put_word(loader(1) + NEXT, loader(0));
    assert_false(walk(&out));
}

static void a_jvm_that_does_not_tell(void **state)
{
    (void)state;
    struct loaded_methods out;
    layout.loader_next = -1;
    assert_false(walk(&out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sums, setup),
        cmocka_unit_test_setup(what_has_gone_is_left, setup),
        cmocka_unit_test_setup(nonsense_is_no_class, setup),
        cmocka_unit_test_setup(circles_end, setup),
        cmocka_unit_test_setup(a_jvm_that_does_not_tell, setup),
    };
    return cmocka_run_group_tests_name("class_graph", tests, NULL, NULL);
}
