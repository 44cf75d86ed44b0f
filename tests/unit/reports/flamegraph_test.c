/* Call trees, and what is written from them: collapsed stacks, flame graph, top table. */
#include "reports/page/page.h"
#include "reports/profile/call_tree.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "c b a": innermost first, one letter or word each. */
static bool add(struct call_tree *tree, const char *stack, int64_t samples)
{
    static char words[65536];
    static struct stack_frame frames[16384];
    int depth = 0;
    snprintf(words, sizeof words, "%s", stack);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        frames[depth++] = (struct stack_frame){
            .name = word, .kind = word[0] == '[' ? CALL_FRAME_NATIVE : CALL_FRAME_JAVA};
    return call_tree_add(tree, frames, depth, samples);
}

static struct call_tree *sample_tree(void)
{
    struct call_tree *tree = call_tree_create();
    assert_true(add(tree, "c b a", 5));
    assert_true(add(tree, "b a", 3));
    assert_true(add(tree, "[n] c b a", 2));
    assert_true(add(tree, "a b a", 10)); /* a calls itself, through b */
    assert_true(add(tree, "d", 1));
    assert_true(add(tree, "", 4)); /* without a stack */
    call_tree_finish(tree);
    return tree;
}

static char *collapsed_of(const struct call_tree *tree)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(collapsed_write(tree, out));
    fclose(out);
    return text;
}

static void collapsed_has_every_sample(void **state)
{
    (void)state;
    struct call_tree *tree = sample_tree();
    char *text = collapsed_of(tree);
    assert_string_equal(text, "[no stack] 4\na;b 3\na;b;a 10\na;b;c 5\na;b;c;[n] 2\nd 1\n");
    free(text);
    assert_int_equal(call_tree_samples(tree), 25);
    call_tree_destroy(tree);
}

static void names_cannot_break_a_line(void **state)
{
    (void)state;
    struct call_tree *tree = call_tree_create();
    struct stack_frame frames[] = {{.name = "x;y\n\033[2J", .kind = CALL_FRAME_NATIVE},
                                   {.name = "a b", .kind = CALL_FRAME_JAVA}};
    assert_true(call_tree_add(tree, frames, 2, 1));
    call_tree_finish(tree);
    char *text = collapsed_of(tree);
    assert_string_equal(text, "a b;x:y\\x0a\\x1b[2J 1\n");
    free(text);
    call_tree_destroy(tree);
}

static void recursion_is_counted_once(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t self, total;
    } expected[] = {{"a", 10, 20}, {"c", 5, 7}, {"b", 3, 20}, {"[n]", 2, 2}, {"d", 1, 1}};
    struct call_tree *tree = sample_tree();
    struct toptable *table = toptable_create(tree, 0);
    assert_int_equal(toptable_row_count(table), 5);
    for (uint32_t i = 0; i < 5; i++) {
        const struct top_row *row = toptable_row(table, i);
        assert_string_equal(call_tree_name(tree, row->name).name, expected[i].name);
        assert_int_equal(row->self, expected[i].self);
        assert_int_equal(row->total, expected[i].total);
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(toptable_print(table, 2, out));
    fclose(out);
    assert_non_null(
        strstr(text, "  SELF          TOTAL          METHOD\n    10  40.00%     20  80.00%  a\n"));
    assert_non_null(strstr(text, "and 3 methods more"));
    free(text);

    struct json_out json = {0};
    json_out_begin(&json, NULL, '{');
    toptable_json(table, &json);
    json_out_end(&json, '}');
    json_t *read = json_loads(json_out_line(&json, &size), 0, NULL);
    json_t *methods = json_object_get(read, "methods");
    assert_int_equal(json_array_size(methods), 5);
    assert_string_equal(json_string_value(json_object_get(json_array_get(methods, 3), "kind")),
                        "native");
    json_decref(read);
    json_out_free(&json);
    toptable_destroy(table);
    call_tree_destroy(tree);
}

static char *page_of(const struct call_tree *tree, const char *note)
{
    struct flamegraph_page page = {
        .title = "<pid 1>", .unit = "samples", .notes = &note, .note_count = 1};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(flamegraph_write(tree, &page, out));
    fclose(out);
    return text;
}

static long count_of(const char *text, const char *part)
{
    long count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

static void page_is_whole_and_escaped(void **state)
{
    (void)state;
    struct call_tree *tree = call_tree_create();
    struct stack_frame frames[] = {
        {.name = "</title><script>alert(1)</script>", .kind = CALL_FRAME_JAVA},
        {.name = "a&b\"'", .kind = CALL_FRAME_NATIVE}};
    assert_true(call_tree_add(tree, frames, 2, 3));
    call_tree_finish(tree);
    char *text = page_of(tree, "a <note>");
    assert_int_equal(count_of(text, "<script>"), 1);
    assert_int_equal(count_of(text, "<svg"), 1 + 3);
    assert_int_equal(count_of(text, "</svg>"), 1 + 3);
    assert_non_null(strstr(text, "a &lt;note&gt;"));
    assert_non_null(strstr(text, "a&amp;b&quot;&#39;\n3 samples, 100.00%; native</title>"));
    assert_null(strstr(text, "src=")); /* nothing is loaded */
    assert_null(strstr(text, "href="));
    assert_non_null(strstr(text, "</html>"));
    free(text);
    call_tree_destroy(tree);
}

/* Children stand beside each other, inside of their parent. */
static void places_are_shares(void **state)
{
    (void)state;
    struct call_tree *tree = sample_tree();
    char *text = page_of(tree, "");
    assert_non_null(strstr(text, "x=\"0%\" y=\"0\" width=\"100%\""));  /* all */
    assert_non_null(strstr(text, "x=\"0%\" y=\"18\" width=\"80%\""));  /* a */
    assert_non_null(strstr(text, "x=\"80%\" y=\"18\" width=\"4%\""));  /* d */
    assert_non_null(strstr(text, "x=\"40%\" y=\"54\" width=\"28%\"")); /* c */
    assert_non_null(strstr(text, "7 samples, 28.00%; itself 5"));
    free(text);
    call_tree_destroy(tree);
}

static void narrow_frames_are_counted(void **state)
{
    (void)state;
    struct call_tree *tree = call_tree_create();
    assert_true(add(tree, "wide", 100000));
    assert_true(add(tree, "y x", 1));
    call_tree_finish(tree);
    char *text = page_of(tree, "");
    assert_non_null(strstr(text, "2 frames narrower"));
    assert_int_equal(count_of(text, "class=\"f\""), 2);
    free(text);
    call_tree_destroy(tree);
}

static void no_samples_is_a_page_too(void **state)
{
    (void)state;
    struct call_tree *tree = call_tree_create();
    call_tree_finish(tree);
    char *text = page_of(tree, "");
    assert_non_null(strstr(text, "There are no samples."));
    assert_int_equal(count_of(text, "<script>"), 0);
    free(text);
    text = collapsed_of(tree);
    assert_string_equal(text, "");
    free(text);
    struct toptable *table = toptable_create(tree, 0);
    assert_int_equal(toptable_row_count(table), 0);
    toptable_destroy(table);
    call_tree_destroy(tree);
}

/* A stack as deep as one can be recorded, with siblings at each depth. */
static void deep_stacks(void **state)
{
    (void)state;
    enum { DEPTH = 8192 };
    static struct stack_frame frames[DEPTH];
    struct call_tree *tree = call_tree_create();
    for (int i = 0; i < DEPTH; i++)
        frames[i] = (struct stack_frame){.name = i % 2 ? "odd" : "even", .kind = CALL_FRAME_JAVA};
    for (int depth = 1; depth <= DEPTH; depth += 7)
        assert_true(call_tree_add(tree, frames + (DEPTH - depth), depth, 1));
    call_tree_finish(tree);
    struct toptable *table = toptable_create(tree, 0);
    assert_int_equal(toptable_row_count(table), 2);
    assert_int_equal(toptable_row(table, 0)->total, call_tree_samples(tree));
    toptable_destroy(table);
    free(page_of(tree, ""));
    free(collapsed_of(tree));
    call_tree_destroy(tree);
}

static void a_full_tree_refuses_whole_stacks(void **state)
{
    (void)state;
    struct call_tree *tree = call_tree_create();
    struct stack_frame frames[64];
    char names[64][16];
    int64_t offered = 0, refused = 0;
    for (uint32_t i = 0; i < CALL_TREE_NODES_MAX / 64 + 100; i++) {
        for (int j = 0; j < 64; j++) {
            snprintf(names[j], sizeof names[j], "m%u", j == 63 ? i : (unsigned)j);
            frames[j] = (struct stack_frame){.name = names[j], .kind = CALL_FRAME_JAVA};
        }
        offered += 2;
        refused += 2 * !call_tree_add(tree, frames, 64, 2);
    }
    call_tree_finish(tree);
    assert_true(refused > 0);
    assert_int_equal(call_tree_refused(tree), refused);
    assert_int_equal(call_tree_samples(tree) + refused, offered);
    assert_true(call_tree_node_count(tree) <= CALL_TREE_NODES_MAX);
    call_tree_destroy(tree);
}

/* "'sha256-...'" of a text, as a policy has it. */
static void hash_of(const char *from, const char *to, char hash[64])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char path[64], command[128];
    snprintf(path, sizeof path, "/tmp/flamegraph_test.%d", (int)getpid());
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fwrite(from, 1, (size_t)(to - from), out);
    assert_int_equal(fclose(out), 0);
    snprintf(command, sizeof command, "sha256sum %s", path);
    FILE *pipe = popen(command, "r");
    unsigned bytes[33] = {0};
    for (int i = 0; i < 32; i++)
        assert_int_equal(fscanf(pipe, "%2x", &bytes[i]), 1);
    pclose(pipe);
    unlink(path);
    char *at = stpcpy(hash, "'sha256-");
    for (int i = 0; i < 33; i += 3) {
        unsigned three = bytes[i] << 16 | bytes[i + 1] << 8 | (i + 2 < 32 ? bytes[i + 2] : 0);
        for (int k = 0; k < 4; k++)
            *at++ = digits[three >> (18 - 6 * k) & 63];
    }
    strcpy(at - 1, "='");
}

static int elements_allowed(const char *page, const char *begin, const char *end,
                            const char *directive)
{
    int count = 0;
    const char *from = page;
    const char *policy = strstr(page_csp, directive);
    assert_non_null(policy);
    while ((from = strstr(from, begin)) != NULL) {
        char hash[64];
        from += strlen(begin);
        hash_of(from, strstr(from, end), hash);
        const char *found = strstr(policy, hash);
        assert_true(found != NULL && found < strchr(policy, ';'));
        count++;
    }
    return count;
}

/* A style or a script counts only where its hash stands in the policy of every page. */
static void the_policy_lets_styles_and_script_in(void **state)
{
    (void)state;
    const struct flamegraph_page page = {.title = "t", .unit = "samples"};
    struct call_tree *tree = sample_tree();
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(flamegraph_write(tree, &page, out));
    fclose(out);
    call_tree_destroy(tree);
    assert_int_equal(elements_allowed(text, "<style>", "</style>", "style-src"), 2);
    assert_int_equal(elements_allowed(text, "<script>", "</script>", "script-src"), 1);
    assert_non_null(strstr(text, page_csp));
    assert_null(strstr(page_csp, "unsafe"));
    assert_null(strstr(text, " style="));
    free(text);
}

/* What the script draws from. */
static json_t *data_of(const char *page)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    const char *from = strstr(page, begin) + strlen(begin), *to = strstr(from, "</script>");
    json_error_t error;
    json_t *data = json_loadb(from, (size_t)(to - from), 0, &error);
    if (data == NULL)
        fail_msg("%s", error.text);
    return data;
}

static void the_data_is_the_tree(void **state)
{
    (void)state;
    struct call_tree *tree = call_tree_create();
    call_tree_at(tree, 1000000000020); /* slot 0 begins at the full second */
    assert_true(add(tree, "b a", 2));
    call_tree_at(tree, 1000000001049);
    assert_true(add(tree, "b a", 3));
    call_tree_at(tree, 999999999990); /* a chunk's events are not in order */
    assert_true(add(tree, "</script><b>\xe2\x80\xae\x1b a", 1));
    call_tree_finish(tree);
    char *text = page_of(tree, "");
    assert_int_equal(count_of(text, "</script>"), 2);
    json_t *data = data_of(text), *names = json_object_get(data, "names");
    char *dumped = json_dumps(json_object_get(data, "frames"), JSON_COMPACT);
    /* all, a, the stranger, b: depth, name, samples that end there */
    assert_string_equal(dumped, "[0,0,0,1,1,0,1,2,1,0,3,5]");
    free(dumped);
    assert_string_equal(json_string_value(json_array_get(names, 4)), "</script><b>\\u202e\\x1b");
    assert_int_equal(json_integer_value(json_object_get(data, "slot")), 50);
    assert_true(json_integer_value(json_object_get(data, "start")) == 999999999000);
    json_t *slots = json_object_get(data, "slots");
    assert_int_equal(json_array_size(slots), 20 + 20 + 1);
    assert_string_equal(json_string_value(json_array_get(slots, 19)), "2");
    assert_string_equal(json_string_value(json_array_get(slots, 20)), "3*2");
    assert_string_equal(json_string_value(json_array_get(slots, 40)), "3*3");
    assert_string_equal(json_string_value(json_array_get(slots, 30)), "");
    json_decref(data);
    free(text);
    call_tree_destroy(tree);
}

/* More frames and cells than a page has. */
static void a_large_profile_is_a_bounded_page(void **state)
{
    (void)state;
    enum { SAMPLES = 300000 };
    struct call_tree *tree = call_tree_create();
    char names[3][200];
    struct stack_frame frames[3];
    unsigned random = 1;
    for (int i = 0; i < SAMPLES; i++) {
        unsigned path = (random = random * 1103515245 + 12345) >> 8;
        for (int j = 0; j < 3; j++) {
            path = j == 0 ? path % 150000 : path / 7;
            snprintf(names[j], sizeof names[j], "com.acme.%c%080u.method%u", 'a' + j, path, path);
            frames[j] = (struct stack_frame){.name = names[j], .kind = CALL_FRAME_JAVA};
        }
        call_tree_at(tree, 1700000000000 + INT64_C(86) * i);
        assert_true(call_tree_add(tree, frames, 3, 1));
    }
    call_tree_finish(tree);
    char *text = page_of(tree, "");
    assert_true(strlen(text) < 16 << 20);
    json_t *data = data_of(text), *list = json_object_get(data, "frames");
    int64_t sum = 0;
    assert_int_equal(json_array_size(list) / 3, 100000);
    assert_non_null(strstr(text, "smallest frames are left out of this page"));
    for (size_t i = 2; i < json_array_size(list); i += 3)
        sum += json_integer_value(json_array_get(list, i));
    assert_int_equal(sum, SAMPLES); /* those of frames that are left out are their callers' */
    assert_true(json_array_size(json_object_get(data, "slots")) <= 4800);
    assert_true(count_of(text, "class=\"f\"") <= 5000);
    json_decref(data);
    free(text);
    call_tree_destroy(tree);
}

/* Times that no recording has. */
static void damaged_times_are_no_heat_map(void **state)
{
    (void)state;
    static const int64_t times[] = {INT64_MIN / 2, INT64_MAX / 2, 0, -1, 1};
    struct call_tree *tree = call_tree_create();
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        call_tree_at(tree, times[i]);
        assert_true(add(tree, "b a", 1));
    }
    call_tree_finish(tree);
    char *text = page_of(tree, "");
    json_t *data = data_of(text);
    assert_null(json_object_get(data, "slots"));
    json_decref(data);
    free(text);
    call_tree_destroy(tree);
}

static void add_thread(struct call_tree *tree, const char *thread, int64_t samples)
{
    struct stack_frame frames[4] = {
        {.name = "work [libjvm]", .kind = CALL_FRAME_NATIVE},
        {.name = "[unknown]", .kind = CALL_FRAME_NATIVE, .library = "libc"}};
    char name[CALL_THREAD_NAME_MAX];
    int depth = call_frames_of_thread(frames, 2, thread, name);
    assert_int_equal(depth, 2);
    assert_true(call_tree_add(tree, frames, depth, samples));
}

static void threads_without_java_are_roots(void **state)
{
    (void)state;
    static const char *const whole[][2] = {{"C2 CompilerThre", "C2 CompilerThread"},
                                           {"C2 Comp..hread0", "C2 CompilerThread0"},
                                           {"C1 Comp..read12", "C1 CompilerThread12"},
                                           {"VM Peri..Thread", "VM Periodic Task Thread"},
                                           {"G1 Conc#0", "G1 Conc#0"},
                                           {"C2 Comp..x", "C2 Comp..x"},
                                           {"ForkJoinPool.co", "ForkJoinPool.co"}};
    struct stack_frame frames[4] = {
        {.name = "not_a_java_thread", .kind = CALL_FRAME_NATIVE, .library = "stack not walked"}};
    char name[CALL_THREAD_NAME_MAX], long_name[300];
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        frames[0] = (struct stack_frame){.name = "no_java_frame",
                                         .kind = CALL_FRAME_NATIVE,
                                         .library = "stack not walked"};
        assert_int_equal(call_frames_of_thread(frames, 1, whole[i][0], name), 1);
        assert_string_equal(frames[0].name, whole[i][1]);
        assert_int_equal(frames[0].kind, CALL_FRAME_THREAD);
    }
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(call_frames_of_thread(frames, 0, long_name, name), 1);
    assert_int_equal(strlen(name), CALL_THREAD_NAME_MAX - 1);
    /* A thread that is not known, a stack with Java in it: nothing changes. */
    frames[0] =
        (struct stack_frame){.name = "[unknown]", .kind = CALL_FRAME_NATIVE, .library = "libc"};
    frames[1] = (struct stack_frame){.name = "a.Main.run", .kind = CALL_FRAME_JAVA};
    assert_int_equal(call_frames_of_thread(frames, 1, NULL, name), 1);
    assert_int_equal(call_frames_of_thread(frames, 1, "", name), 1);
    assert_int_equal(call_frames_of_thread(frames, 2, "main", name), 2);
    assert_string_equal(frames[1].name, "a.Main.run");
}

static void many_threads_are_folded(void **state)
{
    (void)state;
    char name[64];
    struct call_tree *tree = call_tree_create();
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "GC Thread#%d", i);
        add_thread(tree, name, 10);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "G1 Conc#%d", i);
        add_thread(tree, name, 5);
    }
    call_tree_finish(tree);
    assert_int_equal(call_tree_samples(tree), 315);
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    assert_true(collapsed_write(tree, out));
    fclose(out);
    assert_string_equal(text, "G1 Conc#0;work [libjvm] 5\nG1 Conc#1;work [libjvm] 5\n"
                              "G1 Conc#2;work [libjvm] 5\nGC Thread#*;work [libjvm] 300\n");
    free(text);
    call_tree_destroy(tree);

    /* Names of strangers, which no number folds. */
    tree = call_tree_create();
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "%c%c%c", 'a' + i / 100, 'a' + i / 10 % 10, 'a' + i % 10);
        add_thread(tree, name, 1 + i);
    }
    call_tree_finish(tree);
    assert_int_equal(call_tree_samples(tree), 500 * 501 / 2);
    int roots = 0;
    int64_t others = 0;
    for (uint32_t i = call_tree_node(tree, 0)->first_child; i != CALL_TREE_NONE;
         i = call_tree_node(tree, i)->next_sibling) {
        const struct call_node *node = call_tree_node(tree, i);
        if (strcmp(call_tree_name(tree, node->name).name, "[other threads]") == 0)
            others = node->total;
        roots++;
    }
    assert_int_equal(roots, CALL_THREADS_MAX);
    assert_int_equal(others, 437 * 438 / 2);
    call_tree_destroy(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collapsed_has_every_sample),
        cmocka_unit_test(names_cannot_break_a_line),
        cmocka_unit_test(recursion_is_counted_once),
        cmocka_unit_test(page_is_whole_and_escaped),
        cmocka_unit_test(places_are_shares),
        cmocka_unit_test(narrow_frames_are_counted),
        cmocka_unit_test(no_samples_is_a_page_too),
        cmocka_unit_test(the_policy_lets_styles_and_script_in),
        cmocka_unit_test(the_data_is_the_tree),
        cmocka_unit_test(a_large_profile_is_a_bounded_page),
        cmocka_unit_test(damaged_times_are_no_heat_map),
        cmocka_unit_test(threads_without_java_are_roots),
        cmocka_unit_test(many_threads_are_folded),
        cmocka_unit_test(deep_stacks),
        cmocka_unit_test(a_full_tree_refuses_whole_stacks),
    };
    return cmocka_run_group_tests_name("flamegraph", tests, NULL, NULL);
}
