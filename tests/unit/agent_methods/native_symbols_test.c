/* native_symbols: what is looked up together is read once, and stays bounded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/mem/mem.h"
#include "agent/methods/native_symbols.h"
#include "tests/unit/skip.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct native_symbols *symbols;

static struct component_usage usage(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.component[COMPONENT_NATIVE_SYMBOLS];
}

static int set_up(void **state)
{
    (void)state;
    symbols = native_symbols_create();
    return symbols == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    native_symbols_destroy(symbols);
    assert_int_equal(usage().requested_bytes, 0);
    return 0;
}

/* The linker does not know it. */
static __attribute__((noinline, used)) void of_this_file(void)
{
    __asm__ volatile("nop; nop; nop; nop");
}

static struct native_symbol name_of(uintptr_t pc)
{
    struct native_place place;
    struct native_symbol symbol;
    assert_true(native_symbols_place(symbols, pc, &place));
    native_symbols_name(symbols, &place, &symbol);
    return symbol;
}

static void places_and_names(void **state)
{
    struct native_place place, same;
    uintptr_t pc = (uintptr_t)of_this_file;
    (void)state;
    assert_true(native_symbols_place(symbols, pc, &place));
    assert_true(place.is_function);
    assert_int_equal(place.start, pc);
    assert_true(native_symbols_place(symbols, pc + 2, &same));
    assert_int_equal(same.start, pc);
    assert_string_equal(name_of(pc).function, "of_this_file");
    assert_string_equal(name_of(pc).library, "native_symbols_test");

    struct native_symbol known_to_linker = name_of((uintptr_t)dlsym(RTLD_NEXT, "getenv"));
    assert_string_equal(known_to_linker.function, "getenv");
    assert_string_equal(known_to_linker.library, "libc");

    void *code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_false(native_symbols_place(symbols, (uintptr_t)code, &place));
    assert_false(native_symbols_place(symbols, 0, &place));
    munmap(code, 4096);
    native_symbols_rest(symbols);
    assert_string_equal(name_of(pc).function, "of_this_file");
}

/* Reading a table takes a buffer: allocations show how often it was read. */
static void what_was_looked_up_is_not_read_again(void **state)
{
    const uintptr_t pcs[] = {(uintptr_t)native_symbols_create, 0,
                             (uintptr_t)of_this_file,          (uintptr_t)native_symbols_rest,
                             (uintptr_t)of_this_file,          (uintptr_t)of_this_file + 1};
    (void)state;
    native_symbols_look_up(symbols, pcs, sizeof pcs / sizeof *pcs);
    int64_t after = usage().allocations;
    assert_string_equal(name_of(pcs[0]).function, "native_symbols_create");
    assert_string_equal(name_of(pcs[2]).function, "of_this_file");
    assert_string_equal(name_of(pcs[3]).function, "native_symbols_rest");
    assert_string_equal(name_of(pcs[5]).function, "of_this_file");
    assert_int_equal(usage().allocations, after);
    name_of((uintptr_t)native_symbols_look_up);
    assert_true(usage().allocations > after);
    native_symbols_look_up(symbols, pcs, 0);
}

/* --- a large library -------------------------------------------------------------------------- */

#define ADDRESSES 40000

/* There may be some of another architecture. */
static void *open_libjvm(void)
{
    glob_t found = {0};
    void *library = NULL;
    glob("/usr/lib/jvm/*/lib/server/libjvm.so", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && library == NULL; i++)
        library = dlopen(found.gl_pathv[i], RTLD_LAZY);
    globfree(&found);
    return library;
}

static void many_functions_stay_bounded(void **state)
{
    struct link_map *map;
    Dl_info info;
    struct native_place place;
    int functions = 0;
    (void)state;
    void *library = open_libjvm();
    if (library == NULL)
        skip_because("no JDK with a libjvm.so in /usr/lib/jvm");
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    void *known = dlsym(library, "JNI_CreateJavaVM");
    assert_true(dladdr(known, &info) != 0);
    uintptr_t low = (uintptr_t)known - (4 << 20); /* within the code, which is larger */
    uintptr_t *pcs = calloc(ADDRESSES, sizeof *pcs);
    for (int i = 0; i < ADDRESSES; i++)
        pcs[i] = low + (uintptr_t)i * 7919 * 16 % (6 << 20);
    int64_t before = usage().allocations;
    for (int i = 0; i < ADDRESSES; i += NATIVE_SYMBOLS_TOGETHER) {
        int count =
            ADDRESSES - i < NATIVE_SYMBOLS_TOGETHER ? ADDRESSES - i : NATIVE_SYMBOLS_TOGETHER;
        native_symbols_look_up(symbols, pcs + i, (size_t)count);
        int64_t allocations = usage().allocations;
        for (int j = i; j < i + count; j += 97) {
            assert_true(native_symbols_place(symbols, pcs[j], &place));
            assert_true(place.start <= pcs[j]);
            functions += place.is_function;
        }
        assert_in_range(usage().allocations - allocations, 0, 8); /* a function inside another */
    }
    assert_true(functions > ADDRESSES / 97 / 2);
    assert_in_range(usage().allocations - before, 20, 200);
    assert_in_range(usage().requested_bytes, 1, 300000);

    /* The same when it is asked alone, also of what has been forgotten. */
    struct native_symbols *fresh = native_symbols_create();
    for (int i = 0; i < ADDRESSES; i += 1999) {
        struct native_place alone;
        assert_true(native_symbols_place(symbols, pcs[i], &place));
        assert_true(native_symbols_place(fresh, pcs[i], &alone));
        assert_int_equal(place.start, alone.start);
        assert_int_equal(place.is_function, alone.is_function);
    }
    native_symbols_destroy(fresh);
    struct native_symbol symbol = name_of((uintptr_t)known);
    assert_string_equal(symbol.function, "JNI_CreateJavaVM");
    assert_string_equal(symbol.library, "libjvm");
    free(pcs);
    /* It stays open: its constructors left things that only it knows. */
}

int main(void)
{
#define WITH_SYMBOLS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SYMBOLS(places_and_names),
        WITH_SYMBOLS(what_was_looked_up_is_not_read_again),
        WITH_SYMBOLS(many_functions_stay_bounded),
    };
    return cmocka_run_group_tests_name("agent_methods/native_symbols", tests, NULL, NULL);
}
