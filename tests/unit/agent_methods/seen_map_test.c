/* method_map with frames of seen_methods: what a stack holds has its name, as long as one may ask;
 * and what the two hold together is within the bound. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/mem/mem.h"
#include "agent/methods/method_map.h"
#include "tests/unit/agent_methods/fake_methods.h"

#include <stdio.h>

#define METHODS 4000
#define BOUND   ((size_t)16 << 20)

static struct seen_methods *seen;
static struct method_map *map;
static struct method_names names;
static int64_t bytes_before;

/* Without the maps of seen_methods, which are fixed. */
static int64_t agent_bytes(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.total.reserved_bytes -
           snapshot.component[COMPONENT_SEEN_METHODS].reserved_bytes -
           snapshot.component[COMPONENT_ACCOUNTING].reserved_bytes;
}

static struct method_names new_names(void)
{
    return (struct method_names){
        .classes = dictionary_create(COMPONENT_DICTIONARY_CLASS, 1000000),
        .labels = dictionary_create(COMPONENT_DICTIONARY_LABEL, 1000000),
        .packages = dictionary_create(COMPONENT_DICTIONARY_PACKAGE, 1000000),
    };
}

static void destroy_names(struct method_names *old)
{
    dictionary_destroy(old->classes);
    dictionary_destroy(old->labels);
    dictionary_destroy(old->packages);
}

static int begin_with(size_t bound_bytes, bool cleanup)
{
    fake_begin(METHODS);
    bytes_before = agent_bytes();
    names = new_names();
    seen = seen_methods_create(bound_bytes);
    map = method_map_create(NULL, &names, cleanup); /* JVMTI is not asked */
    method_map_set_seen(map, seen);
    return seen == NULL || map == NULL;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(BOUND, true);
}

static int end(void **state)
{
    (void)state;
    method_map_destroy(map);
    seen_methods_destroy(seen);
    destroy_names(&names);
    fake_end();
    return agent_bytes() != bytes_before;
}

static struct frame met(size_t n, int bci)
{
    return (struct frame){seen_methods_put(seen, fake_method(n)), bci, FRAME_SEEN,
                          FRAME_TYPE_COMPILED};
}

static const struct method_info *get(struct frame frame)
{
    return method_map_get(map, NULL, &frame);
}

struct wanted {
    uint32_t id;
    char text[128];
};

static void keep_text(void *context, uint32_t id, const char *text, size_t length)
{
    struct wanted *wanted = context;
    if (id == wanted->id)
        snprintf(wanted->text, sizeof wanted->text, "%.*s", (int)length, text);
}

static void is_text(const struct dictionary *dictionary, uint32_t id, const char *text)
{
    struct wanted wanted = {.id = id};
    dictionary_each(dictionary, keep_text, &wanted);
    assert_string_equal(wanted.text, text);
}

static void fill(size_t n, const char *class_name, const char *name)
{
    static const uint8_t LINES[] = {10 << 3 | 7, 10 << 3 | 1, 0};
    fake_fill(n, class_name, name, "()V", 1, LINES, sizeof LINES);
}

static void end_chunk(void)
{
    method_map_sweep(map);
    method_map_mark(map);
}

static void names_and_lines(void **state)
{
    (void)state;
    fill(0, "org/some/Gen$$Lambda+0x00007f01", "run");
    struct frame frame = met(0, 25);
    const struct method_info *info = get(frame);
    is_text(names.classes, info->class_id, "org/some/Gen$$Lambda/0x00007f01");
    is_text(names.packages, info->package_id, "org/some");
    is_text(names.labels, info->name_id, "run");
    is_text(names.labels, info->signature_id, "()V");
    assert_int_equal(info->modifiers, 1);
    assert_false(info->unknown || info->native_frame);
    assert_int_equal(method_map_line(map, &frame), 8);
    frame.bci = 5;
    assert_int_equal(method_map_line(map, &frame), 0);
    fill(1, "Main", "main");
    assert_int_equal(get(met(1, 0))->package_id, 0);
}

static void those_of_unloaded_classes_keep_their_names(void **state)
{
    (void)state;
    fill(0, "gen/One", "run");
    struct frame one = met(0, 12);
    seen_methods_class_unloaded(seen, "gen/One");
    fill(0, "gen/Two", "run");
    seen_methods_class_loaded(seen);
    struct frame two = met(0, 12);
    method_map_mark(map);
    is_text(names.classes, get(one)->class_id, "gen/One");
    is_text(names.classes, get(two)->class_id, "gen/Two");
    end_chunk();
    /* A stack of the next chunk, whose handler had found it just before. */
    is_text(names.classes, get(one)->class_id, "gen/One");
    end_chunk();
    end_chunk();
    struct method_map_counts counts;
    method_map_counts(map, &counts);
    assert_int_equal(counts.unknown, 0);
    assert_int_equal(counts.swept, 1);
    assert_int_equal(counts.methods, 1);
}

/* Those who keep frames longer than seen_methods knows them ask in each chunk. */
static void what_is_asked_for_stays(void **state)
{
    (void)state;
    fill(0, "A", "kept");
    struct frame kept = met(0, 0);
    for (int chunk = 0; chunk < 4 * METHOD_MAP_AGE_MAX; chunk++) {
        is_text(names.labels, get(kept)->name_id, "kept");
        end_chunk();
    }
    end_chunk();
    assert_true(get(kept)->unknown);
}

static void a_method_that_is_met_is_not_forgotten(void **state)
{
    (void)state;
    fill(0, "A", "met");
    struct frame first = met(0, 0);
    uint32_t id = get(first)->id;
    for (int chunk = 0; chunk < 4 * METHOD_MAP_AGE_MAX; chunk++) {
        /* met, and its stack found no room: not asked for */
        assert_int_equal(met(0, 0).value, first.value);
        end_chunk();
    }
    assert_int_equal(get(first)->id, id);
}

static void special_numbers_say_why(void **state)
{
    (void)state;
    struct frame frame = {SEEN_OVER_BUDGET, 4, FRAME_SEEN, 0};
    const struct method_info *info = get(frame);
    is_text(names.labels, info->name_id, "[over budget]");
    assert_int_equal(method_map_line(map, &frame), 0);
    frame.value = SEEN_UNKNOWN;
    is_text(names.labels, get(frame)->name_id, "[method that cannot be read]");
}

static void without_cleanup_nothing_goes(void **state)
{
    (void)state;
    end(state);
    begin_with(BOUND, false);
    fill(0, "A", "m");
    struct frame frame = met(0, 0);
    for (int chunk = 0; chunk < 20; chunk++)
        end_chunk();
    assert_false(get(frame)->unknown);
}

static void names_survive_fresh_dictionaries(void **state)
{
    (void)state;
    char name[64];
    for (size_t n = 0; n < 100; n++) {
        snprintf(name, sizeof name, "pkg/Class%zu", n);
        fill(n, name, "run");
        met(n, 0);
    }
    method_map_learn_seen(map);
    struct method_names fresh = new_names();
    assert_true(method_map_reintern(map, &fresh));
    destroy_names(&names);
    names = fresh;
    is_text(names.classes, get(met(77, 0))->class_id, "pkg/Class77");
    assert_int_equal(dictionary_size(names.classes), 100);
}

static int64_t fill_up(size_t bound_bytes)
{
    char name[64];
    int64_t over = 0;
    end(NULL);
    begin_with(bound_bytes, true);
    int64_t before = agent_bytes();
    for (size_t n = 0; n < METHODS; n++) {
        snprintf(name, sizeof name, "com/acme/generated/proxies/Accessor%05zu", n);
        fill(n, name, n % 2 == 0 ? "invoke" : name + 27);
        over += met(n, 0).value == SEEN_OVER_BUDGET;
        if (n % 100 == 0)
            method_map_learn_seen(map);
    }
    method_map_learn_seen(map);
    struct seen_methods_counts counts;
    seen_methods_counts(seen, &counts);
    int64_t used = agent_bytes() - before;
    print_message("%ld methods: %ld bytes of the map and its names, %ld counted\n",
                  (long)counts.methods, (long)used, (long)counts.held_bytes);
    assert_true(used <= counts.held_bytes);
    assert_true(counts.held_bytes <= (int64_t)bound_bytes);
    assert_true(over == METHODS - counts.methods);
    return over;
}

static void the_bound_is_of_all_that_is_kept(void **state)
{
    (void)state;
    assert_int_equal(fill_up(BOUND), 0);
    assert_true(fill_up(BOUND / 16) > METHODS / 4);
}

int main(void)
{
#define WITH_MAP(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH_MAP(names_and_lines),
        WITH_MAP(those_of_unloaded_classes_keep_their_names),
        WITH_MAP(what_is_asked_for_stays),
        WITH_MAP(a_method_that_is_met_is_not_forgotten),
        WITH_MAP(special_numbers_say_why),
        WITH_MAP(without_cleanup_nothing_goes),
        WITH_MAP(names_survive_fresh_dictionaries),
        WITH_MAP(the_bound_is_of_all_that_is_kept),
    };
    return cmocka_run_group_tests_name("agent_methods/seen_map", tests, NULL, NULL);
}
