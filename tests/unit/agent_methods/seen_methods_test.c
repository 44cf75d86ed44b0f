/* seen_methods: names copied when first sampled, over the same addresses, within the bound, until
 * nobody can ask for them any more. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/mem/mem.h"
#include "agent/methods/method_facts.h"
#include "agent/methods/seen_methods.h"
#include "tests/unit/agent_methods/fake_methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define METHODS    600
#define BOUND      ((size_t)8 << 20)
#define NAMES_KEPT 64

static struct seen_methods *seen;

/* What was collected, the last of it; and what is gone. */
static struct {
    uint64_t number;
    char class_name[8192], name[8192], signature[256];
    int32_t modifiers;
    int line_5, line_20, line_100;
    bool lines;
} last;
static int64_t collected, gone;
static uint64_t last_gone;

static int64_t held_by_account(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.component[COMPONENT_SEEN_METHODS].requested_bytes;
}

static int64_t resident(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.component[COMPONENT_SEEN_METHODS].resident_bytes;
}

static void visit(void *context, uint64_t number, const struct seen_method *method)
{
    (void)context;
    collected++;
    last.number = number;
    snprintf(last.class_name, sizeof last.class_name, "%s", method->class_name);
    snprintf(last.name, sizeof last.name, "%s", method->name);
    snprintf(last.signature, sizeof last.signature, "%s", method->signature);
    last.modifiers = method->modifiers;
    last.lines = method->lines != NULL;
    if (last.lines) {
        struct line_table *table =
            line_table_decode(method->lines, method->lines_bytes, method->lines_lowest);
        assert_non_null(table);
        last.line_5 = line_table_line(table, 5);
        last.line_20 = line_table_line(table, 20);
        last.line_100 = line_table_line(table, 100);
        line_table_destroy(table);
    }
}

static void see_gone(void *context, uint64_t number)
{
    (void)context;
    gone++;
    last_gone = number;
}

static void collect(void)
{
    seen_methods_collect(seen, visit, NULL);
}

static void end_chunk(void)
{
    collect();
    seen_methods_turn(seen, see_gone, NULL);
}

static struct seen_methods_counts counts(void)
{
    struct seen_methods_counts now;
    seen_methods_counts(seen, &now);
    return now;
}

static uintptr_t fill(size_t n, const char *class_name, const char *name)
{
    return fake_fill(n, class_name, name, "(I)V", 1, NULL, 0);
}

static int begin(void **state)
{
    (void)state;
    memset(&last, 0, sizeof last);
    collected = gone = 0;
    fake_begin(METHODS);
    seen = seen_methods_create(BOUND);
    return seen == NULL;
}

static int end(void **state)
{
    (void)state;
    seen_methods_destroy(seen);
    fake_end();
    return held_by_account() != 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static void names_at_first_sight(void **state)
{
    (void)state;
    uintptr_t method = fake_fill(0, "org/some/Thing", "work", "(ILjava/lang/String;)V",
                                 0x7f000000u | 0x0111u, NULL, 0);
    uint64_t number = seen_methods_put(seen, method);
    assert_true(number >= SEEN_FIRST);
    assert_int_equal(seen_methods_put(seen, method), number);
    collect();
    assert_int_equal(collected, 1);
    assert_int_equal(last.number, number);
    assert_string_equal(last.class_name, "org/some/Thing");
    assert_string_equal(last.name, "work");
    assert_string_equal(last.signature, "(ILjava/lang/String;)V");
    assert_int_equal(last.modifiers, 0x0111);
    assert_false(last.lines);
    collect();
    assert_int_equal(collected, 1); /* each once */
    assert_int_equal(counts().methods, 1);
    assert_int_equal(counts().seen, 1);
}

static void lines_of_both_encodings(void **state)
{
    /* (3, 10) escaped, for the line; (11, 12) in a byte; (43, 7) escaped, for the line. */
    static const uint8_t OLD[] = {0xff, 6, 20, 8 << 3 | 2, 0xff, 64, 9, 0};
    static const uint8_t NEW[] = {0xff, 7, 21, 8 << 3 | 2, 0xff, 65, 10, 0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        layout.jdk_major = i == 0 ? 17 : 25;
        seen_methods_put(
            seen, fake_fill((size_t)i, "A", "lines", "()V", 1, i == 0 ? OLD : NEW, sizeof OLD));
        collect();
        assert_true(last.lines);
        assert_int_equal(last.line_5, 10);
        assert_int_equal(last.line_20, 12);
        assert_int_equal(last.line_100, 7);
    }
}

static void hidden_classes_are_named_as_the_jvm_prints_them(void **state)
{
    static const struct {
        const char *symbol, *printed;
    } NAMES[] = {
        {"pkg/Gen$$Lambda+0x00007f01c8001000", "pkg/Gen$$Lambda/0x00007f01c8001000"},
        {"pkg/A+0x", "pkg/A+0x"},
        {"pkg/A+0x12_", "pkg/A+0x12_"},
        {"pkg/A+B", "pkg/A+B"},
        {"a", "a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        seen_methods_put(seen, fill(i, NAMES[i].symbol, "m"));
        collect();
        assert_string_equal(last.class_name, NAMES[i].printed);
    }
}

static void long_names_are_cut_and_say_so(void **state)
{
    static char name[8001];
    (void)state;
    memset(name, 'x', sizeof name - 1);
    assert_true(seen_methods_put(seen, fill(0, name, "m")) >= SEEN_FIRST);
    collect();
    assert_int_equal(strlen(last.class_name), 4096);
    assert_string_equal(last.class_name + 4090, "xxx...");
}

/* --- the same address ------------------------------------------------------------------------- */

static void another_method_at_the_same_addresses(void **state)
{
    (void)state;
    uintptr_t method = fill(0, "gen/Gen1", "run");
    uint64_t first = seen_methods_put(seen, method);
    fill(0, "gen/Gen2", "run");
    seen_methods_class_loaded(seen);
    uint64_t second = seen_methods_put(seen, method);
    assert_true(second != first && second >= SEEN_FIRST);
    collect();
    assert_int_equal(collected, 2);
    assert_int_equal(counts().reused, 1);
    /* The old entry is no longer compared. */
    int64_t compared = counts().compared;
    for (int i = 0; i < 10; i++) {
        seen_methods_class_loaded(seen);
        assert_int_equal(seen_methods_put(seen, method), second);
    }
    assert_int_equal(counts().compared, compared + 10);
}

static void what_differs_makes_another_method(void **state)
{
    static const uint8_t LINES[2][2] = {{9, 0}, {10, 0}};
    (void)state;
    uint64_t before = 0;
    for (int i = 0; i < 5; i++) {
        fake_fill(0, i == 1 ? "B" : "A", i == 2 ? "n" : "m", i == 3 ? "()I" : "()V", 1,
                  LINES[i == 4], 2);
        seen_methods_class_loaded(seen);
        uint64_t number = seen_methods_put(seen, fake_method(0));
        assert_true(number > before);
        before = number;
    }
}

static void nothing_is_compared_while_no_class_comes(void **state)
{
    (void)state;
    for (size_t n = 0; n < METHODS; n++)
        seen_methods_put(seen, fill(n, "A", "m"));
    for (size_t n = 0; n < METHODS; n++)
        seen_methods_put(seen, fake_method(n));
    assert_int_equal(counts().compared, 0);
    assert_int_equal(counts().seen, METHODS);
    seen_methods_class_loaded(seen);
    for (int round = 0; round < 2; round++)
        for (size_t n = 0; n < METHODS; n++)
            seen_methods_put(seen, fake_method(n));
    assert_int_equal(counts().compared, METHODS);
    assert_int_equal(counts().seen, METHODS);
}

/* Redefinition announces no class; it takes a safepoint to free a method, one to run another. */
static void a_safepoint_makes_all_be_compared(void **state)
{
    (void)state;
    uint64_t first = seen_methods_put(seen, fill(0, "A", "old"));
    fake_safepoints++;
    assert_int_equal(seen_methods_put(seen, fake_method(0)), first);
    assert_int_equal(counts().compared, 1);
    assert_int_equal(seen_methods_put(seen, fake_method(0)), first);
    assert_int_equal(counts().compared, 1);
    fill(0, "A", "new");
    fake_safepoints++;
    assert_int_not_equal(seen_methods_put(seen, fake_method(0)), first);
}

static void without_a_count_of_safepoints_each_frame_is_compared(void **state)
{
    (void)state;
    fake_safepoints = -1;
    uint64_t first = seen_methods_put(seen, fill(0, "A", "old"));
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(seen_methods_put(seen, fake_method(0)), first);
        assert_int_equal(counts().compared, i);
    }
    fill(0, "A", "new");
    assert_int_not_equal(seen_methods_put(seen, fake_method(0)), first);
}

/* The last of a thousand lines. */
static void any_line_makes_another_method(void **state)
{
    static uint8_t lines[1001];
    (void)state;
    memset(lines, 9, sizeof lines - 1);
    uint64_t first = seen_methods_put(seen, fake_fill(0, "A", "m", "()V", 1, lines, sizeof lines));
    lines[sizeof lines - 2]++;
    fake_fill(0, "A", "m", "()V", 1, lines, sizeof lines);
    fake_safepoints++;
    assert_int_not_equal(seen_methods_put(seen, fake_method(0)), first);
}

/* A class redefined for hours: what is at one address now is found, however many were there. */
static void many_versions_at_one_address(void **state)
{
    enum { VERSIONS = 2000 };
    char name[32];
    (void)state;
    for (int version = 0; version < VERSIONS; version++) {
        snprintf(name, sizeof name, "v%d", version);
        fill(0, "A", name);
        fake_safepoints++;
        uint64_t number = seen_methods_put(seen, fake_method(0));
        for (int i = 0; i < 3; i++)
            assert_int_equal(seen_methods_put(seen, fake_method(0)), number);
        assert_int_equal(counts().seen, version + 1);
    }
    collect();
    assert_int_equal(counts().methods, VERSIONS);
    end_chunk(); /* those before the last one need not grow old */
    assert_int_equal(counts().methods, 1);
    end_chunk();
    assert_int_equal(gone, VERSIONS - 1);
}

/* A redefined method: its ConstMethod is another one, and no class was announced. */
static void another_const_method_is_another_method(void **state)
{
    (void)state;
    uint64_t first = seen_methods_put(seen, fill(0, "A", "old"));
    fill(1, "A", "new");
    fake_pointer(fake_page(0) + layout.method_const, fake_page(1) + FAKE_CONST);
    assert_int_not_equal(seen_methods_put(seen, fake_method(0)), first);
    collect();
    assert_int_equal(counts().reused, 1);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void damage_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(seen_methods_put(seen, 0), SEEN_UNKNOWN);
    assert_int_equal(seen_methods_put(seen, 8), SEEN_UNKNOWN);
    assert_int_equal(seen_methods_put(seen, fill(0, "A", "m") + 4), SEEN_UNKNOWN);
    fake_pointer(fake_page(0) + FAKE_CONST + layout.const_constants, NULL);
    assert_int_equal(seen_methods_put(seen, fake_method(0)), SEEN_UNKNOWN);
    fill(0, "A", "m");
    fake_u16(fake_page(0) + FAKE_CONST + layout.const_name_index, 77);
    assert_int_equal(seen_methods_put(seen, fake_method(0)), SEEN_UNKNOWN);
    fill(0, "A", "");
    assert_int_equal(seen_methods_put(seen, fake_method(0)), SEEN_UNKNOWN);
    fill(0, "A", "m");
    fake_symbol(fake_page(0) + FAKE_NAME, "four");
    fake_page(0)[FAKE_NAME + layout.symbol_body + 1] = '\0';
    assert_int_equal(seen_methods_put(seen, fake_method(0)), SEEN_UNKNOWN);
    fill(METHODS - 1, "A", "m"); /* reaches beyond what can be read */
    fake_u16(fake_page(METHODS - 1) + FAKE_SIGNATURE + layout.symbol_length, 3000);
    assert_int_equal(seen_methods_put(seen, fake_method(METHODS - 1)), SEEN_UNKNOWN);
    assert_int_equal(counts().unreadable, 8);
    collect();
    assert_int_equal(collected, 0);
    assert_int_equal(counts().held_bytes, 0);
}

static void damaged_lines_are_none(void **state)
{
    static uint8_t endless[FAKE_WORDS * 8 - FAKE_CODE - 56];
    (void)state;
    memset(endless, 9, sizeof endless);
    assert_true(seen_methods_put(seen, fake_fill(0, "A", "m", "()V", 1, endless, sizeof endless)) >=
                SEEN_FIRST);
    collect();
    assert_false(last.lines);
    memset(endless, 0xff, sizeof endless);
    seen_methods_put(seen, fake_fill(1, "A", "m", "()V", 1, endless, sizeof endless));
    collect();
    assert_false(last.lines);
    fake_fill(2, "A", "m", "()V", 1, endless, 2);
    fake_u32(fake_page(2) + FAKE_CONST + layout.const_words, 3);
    seen_methods_put(seen, fake_method(2));
    collect();
    assert_int_equal(collected, 3);
    assert_false(last.lines);
}

/* --- forgetting ------------------------------------------------------------------------------- */

static void forgets_by_age_and_in_two_turns(void **state)
{
    (void)state;
    uint64_t stays = seen_methods_put(seen, fill(0, "A", "stays"));
    uint64_t goes = seen_methods_put(seen, fill(1, "A", "goes"));
    end_chunk();
    for (int i = 1; i < SEEN_AGE_MAX; i++) {
        assert_int_equal(seen_methods_put(seen, fake_method(0)), stays);
        end_chunk();
        assert_int_equal(counts().methods, 2);
    }
    seen_methods_put(seen, fake_method(0));
    end_chunk();
    assert_int_equal(counts().methods, 1); /* not found any more, and still named */
    assert_int_equal(gone, 0);
    uint64_t again = seen_methods_put(seen, fake_method(1));
    assert_true(again != goes);
    seen_methods_put(seen, fake_method(0));
    end_chunk();
    assert_int_equal(gone, 1);
    assert_int_equal(last_gone, goes);
    assert_int_equal(counts().forgotten, 1);
    assert_int_equal(seen_methods_put(seen, fake_method(0)), stays);
}

static void forgets_what_was_unloaded(void **state)
{
    (void)state;
    uint64_t other = seen_methods_put(seen, fill(0, "gen/Stays", "run"));
    uint64_t unloaded = seen_methods_put(seen, fill(1, "gen/Goes+0x00000001", "run"));
    seen_methods_class_unloaded(seen, "gen/Goes+0x00000001");
    seen_methods_class_unloaded(seen, NULL);
    end_chunk();
    assert_int_equal(gone, 0);
    end_chunk();
    assert_int_equal(gone, 1);
    assert_int_equal(last_gone, unloaded);
    assert_int_equal(seen_methods_put(seen, fake_method(0)), other);
    /* Once: the class of that name that comes next stays. */
    seen_methods_put(seen, fake_method(1));
    end_chunk();
    end_chunk();
    assert_int_equal(gone, 1);
}

/* A million methods, five hundred classes a second for the time of it: nothing grows. */
static void steady_churn_does_not_grow(void **state)
{
    enum { CHUNKS = 200, NEW = 5000 };
    char name[64];
    int64_t after_some = 0, most = 0;
    (void)state;
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        for (int i = 0; i < NEW; i++) {
            int n = chunk * NEW + i;
            snprintf(name, sizeof name, "com/acme/generated/Accessor%07d", n);
            uint64_t number = seen_methods_put(seen, fill((size_t)(n % METHODS), name, "invoke"));
            assert_true(number >= SEEN_FIRST);
            seen_methods_class_loaded(seen);
            seen_methods_class_unloaded(seen, name);
            if (i % 500 == 0)
                collect();
        }
        end_chunk();
        if (counts().held_bytes > most)
            most = counts().held_bytes;
        if (chunk == 5)
            after_some = resident();
    }
    assert_int_equal(collected, CHUNKS * NEW);
    assert_int_equal(counts().over_budget, 0);
    assert_true(gone >= (CHUNKS - 2) * NEW);
    assert_true(most <= 3 * NEW * 600);
    assert_true(resident() <= after_some + 65536);
    end_chunk();
    end_chunk();
    assert_int_equal(gone, collected);
    assert_int_equal(counts().methods, 0);
    assert_int_equal(counts().held_bytes, 0);
}

static void over_budget_is_counted_and_ends(void **state)
{
    enum { ROOM = 100 };
    char name[32];
    (void)state;
    seen_methods_destroy(seen);
    seen = seen_methods_create(ROOM * (512 + 8 + 6 + 4 + 3));
    int64_t over = 0;
    for (int n = 0; n < METHODS; n++) {
        snprintf(name, sizeof name, "a/A%05d", n);
        uint64_t number = seen_methods_put(seen, fill((size_t)n, name, "method"));
        over += number == SEEN_OVER_BUDGET;
    }
    assert_int_equal(over, METHODS - ROOM);
    assert_int_equal(counts().over_budget, over);
    assert_int_equal(counts().methods + collected, 0);
    for (int i = 0; i < SEEN_AGE_MAX + 2; i++)
        end_chunk();
    assert_int_equal(gone, ROOM);
    assert_int_equal(counts().held_bytes, 0);
    assert_true(seen_methods_put(seen, fake_method(METHODS - 1)) >= SEEN_FIRST);
}

static void a_full_handover_is_over_budget_until_it_is_collected(void **state)
{
    static char name[4001];
    (void)state;
    memset(name, 'x', sizeof name - 1);
    int over = 0;
    for (size_t n = 0; n < METHODS; n++) {
        snprintf(name + 3990, 11, "%010zu", n);
        over += seen_methods_put(seen, fill(n, name, "m")) == SEEN_OVER_BUDGET;
    }
    assert_in_range(over, METHODS / 2, METHODS - 1);
    collect();
    assert_int_equal(collected, METHODS - over);
    assert_true(seen_methods_put(seen, fake_method(METHODS - 1)) >= SEEN_FIRST);
    collect();
    assert_int_equal(collected, METHODS - over + 1);
}

static void at_rest_it_is_small(void **state)
{
    char name[64];
    int64_t page = sysconf(_SC_PAGESIZE);
    (void)state;
    assert_true(resident() <= 2 * page);
    for (size_t n = 0; n < 300; n++) {
        snprintf(name, sizeof name, "java/util/concurrent/locks/Some%zu", n);
        seen_methods_put(seen, fill(n, name, "method"));
        if (n % 20 == 0)
            collect();
    }
    collect();
    print_message("resident with 300 methods: %lld bytes\n", (long long)resident());
    assert_true(resident() <= 25 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(names_at_first_sight),
        TEST(lines_of_both_encodings),
        TEST(hidden_classes_are_named_as_the_jvm_prints_them),
        TEST(long_names_are_cut_and_say_so),
        TEST(another_method_at_the_same_addresses),
        TEST(what_differs_makes_another_method),
        TEST(nothing_is_compared_while_no_class_comes),
        TEST(a_safepoint_makes_all_be_compared),
        TEST(without_a_count_of_safepoints_each_frame_is_compared),
        TEST(any_line_makes_another_method),
        TEST(many_versions_at_one_address),
        TEST(another_const_method_is_another_method),
        TEST(damage_is_unknown),
        TEST(damaged_lines_are_none),
        TEST(forgets_by_age_and_in_two_turns),
        TEST(forgets_what_was_unloaded),
        TEST(steady_churn_does_not_grow),
        TEST(over_budget_is_counted_and_ends),
        TEST(a_full_handover_is_over_budget_until_it_is_collected),
        TEST(at_rest_it_is_small),
    };
    return cmocka_run_group_tests_name("agent_methods/seen_methods", tests, NULL, NULL);
}
