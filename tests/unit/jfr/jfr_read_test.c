/* What the agent writes is what is read back, also from what is torn, damaged or hostile. */
#include "agent/jfr/jfr_writer.h"
#include "nmtwatch/jfr/jfr_profile.h"
#include "nmtwatch/jfr/jfr_read.h"
#include "tests/unit/folder.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char path[128], error[700];

static int setup(void **state)
{
    if (folder_make(state) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/app.jfr", folder);
    return context_setup("tenant;task") ? 0 : -1;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void write_sample(struct jfr_writer *writer, enum sample_kind kind, uint32_t trace,
                         bool context)
{
    uint8_t bytes[JFR_SAMPLE_MAX];
    struct context_record record = {
        .span_id = UINT64_MAX, .root_span_id = 1ull << 56, .tags = {1, 0}};
    struct jfr_sample sample = {.kind = kind,
                                .ticks = monotonic_ns(),
                                .tid = 100,
                                .trace_id = trace,
                                .state = kind == SAMPLE_WALL ? THREAD_IN_NATIVE : THREAD_SLEEPING,
                                .have_context = context,
                                .context = &record,
                                .tag_count = 2};
    assert_true(jfr_events(writer, bytes, jfr_encode_sample(&sample, bytes)));
}

/* main -> run -> work -> malloc [libc.so.6]; trace n leaves out the last 3 - n. prefix differs. */
static void write_chunk(struct jfr_writer *writer, const char *prefix)
{
    struct jfr_frame frames[] = {{4, 0, 0, FRAME_TYPE_NATIVE},
                                 {3, 30, 5, FRAME_TYPE_COMPILED},
                                 {2, 20, 5, FRAME_TYPE_INLINED},
                                 {1, 10, 5, FRAME_TYPE_INTERPRETED}};
    char name[64];
    assert_true(jfr_chunk_begin(writer));
    for (int i = 0; i < 10; i++)
        write_sample(writer, SAMPLE_CPU, 1 + (uint32_t)i % 3, i == 0);
    write_sample(writer, SAMPLE_WALL, 3, false);
    write_sample(writer, SAMPLE_WALL, 99, false); /* a trace that found no room in the pool */
    jfr_pool_trace(writer, 3, frames, 4, false);
    jfr_pool_trace(writer, 2, frames + 1, 3, false);
    jfr_pool_trace(writer, 1, frames + 2, 2, true);
    jfr_pool_class(writer, 1, "org/example/Main", 0);
    jfr_pool_class(writer, 2, "libc.so.6", 0);
    jfr_pool_class(writer, 3, "Gen\"<\xc3\xa9>/0x7f00", 0);
    static const char *const names[] = {"main", "run", "work", "malloc", "(I)V"};
    for (uint32_t i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%s%s", i == 1 ? prefix : "", names[i]);
        jfr_pool_symbol(writer, i + 1, name);
    }
    jfr_pool_method(writer, 1, 1, 1, 5, 0);
    jfr_pool_method(writer, 2, 1, 2, 5, 0);
    jfr_pool_method(writer, 3, 3, 3, 5, 0);
    jfr_pool_method(writer, 4, 2, 4, 0, 0);
    jfr_pool_context_value(writer, 1, "acme");
    jfr_pool_thread(writer, 100, "worker", 7);
    struct mem_snapshot snapshot = {.total = {.requested_bytes = 12345, .frees = 3}};
    jfr_component_memory(writer, &snapshot);
    jfr_loss(writer, "busy", 4);
    jfr_jmethod_ids(writer, 1, 2, 3, 4);
    assert_true(jfr_chunk_end(writer));
}

static void record(int chunks)
{
    struct jfr_options options = {
        .file = path, .settings = "start,cpu=10ms", .jvm_version = "25.0.1"};
    unlink(path);
    struct jfr_writer *writer = jfr_create(&options, error, sizeof error);
    assert_non_null(writer);
    for (int i = 0; i < chunks; i++)
        write_chunk(writer, i % 2 ? "odd_" : "");
    jfr_destroy(writer);
}

static int64_t size_of(const char *name)
{
    struct stat info;
    return stat(name, &info) == 0 ? info.st_size : -1;
}

/* --- reading ---------------------------------------------------------------------------------- */

static struct jfr_reader *open_reader(int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(*fd >= 0);
    return jfr_reader_open(*fd, path, error, sizeof error);
}

static void events_come_back(void **state)
{
    (void)state;
    int64_t counts[JFR_EVENT_KINDS] = {0};
    struct jfr_event event;
    int fd;
    int64_t before_ns = (int64_t)time(NULL) * 1000000000;
    record(2);
    struct jfr_reader *reader = open_reader(&fd);
    assert_non_null(reader);
    bool first_sample = true, first_wall = true;
    int with_span = 1;
    while (jfr_reader_next(reader, &event)) {
        counts[event.kind]++;
        assert_true(event.time_ns >= before_ns && event.time_ns < before_ns + INT64_C(60000000000));
        if (event.kind == JFR_EVENT_CPU_SAMPLE && first_sample) {
            first_sample = false;
            assert_int_equal(event.sample.trace->depth, 2);
            assert_true(event.sample.trace->truncated);
            assert_string_equal(event.sample.trace->frames[0].name, "org.example.Main.run");
            assert_int_equal(event.sample.trace->frames[0].line, 20);
            assert_string_equal(event.sample.thread->name, "worker");
            assert_int_equal(event.sample.thread->os_id, 100);
            assert_string_equal(event.sample.state, "STATE_SLEEPING");
            assert_false(event.sample.in_native);
            assert_true(event.sample.span_id == UINT64_MAX);
            assert_true(event.sample.root_span_id == 1ull << 56);
            assert_int_equal(event.sample.tag_count, 2);
            assert_int_equal(event.sample.tag[0].name.len, 6);
            assert_string_equal(event.sample.tag[0].value, "acme");
            assert_null(event.sample.tag[1].value);
        } else if (event.kind == JFR_EVENT_CPU_SAMPLE) {
            with_span += event.sample.span_id != 0;
        } else if (event.kind == JFR_EVENT_WALL_SAMPLE && first_wall) {
            first_wall = false;
            assert_string_equal(event.sample.state, "STATE_RUNNABLE");
            assert_true(event.sample.in_native);
            assert_int_equal(event.sample.trace->depth, 4);
            assert_string_equal(event.sample.trace->frames[0].name, "malloc");
            assert_string_equal(event.sample.trace->frames[0].library, "libc.so.6");
            assert_int_equal(event.sample.trace->frames[0].kind, CALL_FRAME_NATIVE);
            assert_string_equal(event.sample.trace->frames[1].name, "Gen\"<\xc3\xa9>/0x7f00.work");
        } else if (event.kind == JFR_EVENT_COMPONENT_MEMORY &&
                   strcmp(event.memory.name, "total") == 0) {
            assert_int_equal(event.memory.requested_bytes, 12345);
            assert_int_equal(event.memory.documented_bytes, -1);
            assert_int_equal(event.memory.frees, 3);
        } else if (event.kind == JFR_EVENT_LOSS) {
            assert_string_equal(event.loss.reason, "busy");
            assert_int_equal(event.loss.count, 4);
        } else if (event.kind == JFR_EVENT_SETTINGS) {
            assert_string_equal(event.settings.options, "start,cpu=10ms");
            assert_string_equal(event.settings.jvm_version, "25.0.1");
        } else if (event.kind == JFR_EVENT_JMETHOD_IDS) {
            assert_int_equal(event.ids.kept_bytes, 4);
        }
    }
    assert_null(jfr_reader_damage(reader));
    assert_int_equal(counts[JFR_EVENT_CPU_SAMPLE], 20);
    assert_int_equal(with_span, 2); /* one in each chunk */
    assert_int_equal(counts[JFR_EVENT_WALL_SAMPLE], 4);
    assert_int_equal(counts[JFR_EVENT_COMPONENT_MEMORY], 2 * (COMPONENT_COUNT + 1));
    assert_int_equal(counts[JFR_EVENT_SETTINGS], 2);
    struct jfr_reader_counts chunks;
    jfr_reader_counts(reader, &chunks);
    assert_int_equal(chunks.chunks, 2);
    assert_int_equal(chunks.other_events, 0);
    jfr_reader_close(reader);
    close(fd);
}

static void profile_sums_up(void **state)
{
    (void)state;
    struct jfr_profile profile;
    record(2);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(jfr_profile_read(&profile, fd, path, false, error, sizeof error));
    close(fd);
    assert_int_equal(call_tree_samples(profile.cpu), 20);
    assert_int_equal(call_tree_samples(profile.wall), 4);
    assert_int_equal(call_tree_node(profile.wall, 0)->self, 0);
    uint32_t worker = call_tree_node(profile.wall, 0)->first_child;
    while (call_tree_name(profile.wall, call_tree_node(profile.wall, worker)->name).kind !=
           CALL_FRAME_THREAD)
        worker = call_tree_node(profile.wall, worker)->next_sibling;
    assert_int_equal(call_tree_node(profile.wall, worker)->self, 2); /* without a stack */
    assert_int_equal(profile.loss_count, 1);
    assert_int_equal(profile.loss[0].count, 4); /* since the start, not a sum of chunks */
    assert_int_equal(profile.component_count, COMPONENT_COUNT + 1);
    assert_string_equal(profile.damage, "");
    const char *unit;
    assert_ptr_equal(jfr_profile_samples(&profile, &unit), profile.cpu);

    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(jfr_profile_write(&profile, PROFILE_HTML, 0, "<app>", out));
    fclose(out);
    assert_non_null(strstr(text, "<title>&lt;app&gt;</title>"));
    assert_non_null(strstr(text, "odd_run"));
    assert_non_null(strstr(text, "Gen&quot;&lt;\xc3\xa9&gt;/0x7f00.work"));
    assert_non_null(strstr(text, "Lost or not walked, busy: 4"));
    free(text);
    out = open_memstream(&text, &size);
    assert_true(jfr_profile_top_json(&profile, out));
    fclose(out);
    assert_non_null(strstr(text, "\"losses\":[{\"reason\":\"busy\",\"count\":4}]"));
    free(text);
    jfr_profile_free(&profile);
}

static void profile_by_state(void **state)
{
    (void)state;
    struct jfr_profile profile;
    const char *unit;
    char *text = NULL;
    size_t size = 0;
    record(2);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(jfr_profile_read(&profile, fd, path, true, error, sizeof error));
    close(fd);
    assert_ptr_equal(jfr_profile_samples(&profile, &unit), profile.wall);
    assert_int_equal(call_tree_node(profile.wall, 0)->self,
                     0); /* without a stack, but with a state */
    FILE *out = open_memstream(&text, &size);
    assert_true(jfr_profile_top(&profile, 9, out));
    fclose(out);
    assert_non_null(strstr(text, "\nSTATE_RUNNABLE (in native code): 4 of 4 samples, 100.00%\n"));
    assert_non_null(strstr(text, "50.00%  malloc [libc.so.6]"));
    free(text);
    out = open_memstream(&text, &size);
    assert_true(jfr_profile_top_json(&profile, out));
    fclose(out);
    assert_non_null(strstr(text, "\"states\":[{\"state\":\"STATE_SLEEPING\",\"samples\":20,"));
    assert_null(strstr(text, "\"kind\":\"state\""));
    free(text);
    out = open_memstream(&text, &size);
    assert_true(jfr_profile_write(&profile, PROFILE_HTML, 0, "app", out));
    fclose(out);
    assert_non_null(strstr(text, "what the thread was doing"));
    assert_non_null(strstr(text, "; state</title>"));
    free(text);
    jfr_profile_free(&profile);
}

/* Reads everything; returns the number of samples. */
static int64_t samples_of(char *damage, size_t size)
{
    struct jfr_event event;
    int64_t samples = 0;
    int fd;
    struct jfr_reader *reader = open_reader(&fd);
    snprintf(damage, size, "%s", reader == NULL ? error : "");
    if (reader != NULL) {
        while (jfr_reader_next(reader, &event))
            samples += event.kind == JFR_EVENT_CPU_SAMPLE;
        assert_false(jfr_reader_next(reader, &event));
        if (jfr_reader_damage(reader) != NULL)
            snprintf(damage, size, "%s", jfr_reader_damage(reader));
        jfr_reader_close(reader);
    }
    close(fd);
    return samples;
}

static void torn_tail_is_named_and_repaired(void **state)
{
    (void)state;
    char damage[700];
    int64_t cut;
    static const int64_t cuts[] = {1, 100, 2000};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        record(3);
        int64_t length = size_of(path) - cuts[i];
        assert_int_equal(truncate(path, length), 0);
        assert_int_equal(samples_of(damage, sizeof damage), 20);
        assert_non_null(strstr(damage, "is truncated"));
        assert_true(jfr_repair(path, &cut, error, sizeof error));
        assert_true(cut > 0 && size_of(path) == length - cut);
        assert_int_equal(samples_of(damage, sizeof damage), 20);
        assert_string_equal(damage, "");
        assert_true(jfr_repair(path, &cut, error, sizeof error));
        assert_int_equal(cut, 0);
    }
    record(1);
    int64_t chunk = size_of(path);
    FILE *more = fopen(path, "a");
    fputs("FLR", more); /* less than a header */
    fclose(more);
    assert_int_equal(samples_of(damage, sizeof damage), 10);
    assert_non_null(strstr(damage, "is truncated"));
    assert_true(jfr_repair(path, &cut, error, sizeof error));
    assert_int_equal(cut, 3);
    assert_int_equal(size_of(path), chunk);
    assert_int_equal(truncate(path, 1000), 0);
    assert_false(jfr_repair(path, &cut, error, sizeof error));
    assert_non_null(strstr(error, "no complete chunk"));
    assert_int_equal(size_of(path), 1000);
}

static void what_is_no_recording_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "empty"},
        {"FLR", "truncated"},
        {"This is no recording. It is only a text that is longer than a header of a chunk.",
         "no chunk"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FILE *out = fopen(path, "w");
        fputs(cases[i].text, out);
        fclose(out);
        int fd;
        assert_null(open_reader(&fd));
        close(fd);
        if (strstr(error, cases[i].why) == NULL)
            fail_msg("\"%s\" does not say %s", error, cases[i].why);
    }
}

/* Two allocations of one stack, one without any; bytes are summed up, classes are leaves. */
static void allocations_are_bytes_by_stack_and_class(void **state)
{
    (void)state;
    struct jfr_options options = {.file = path};
    struct jfr_frame frame = {1, 10, 5, FRAME_TYPE_COMPILED};
    struct jfr_profile profile;
    const char *unit;
    unlink(path);
    struct jfr_writer *writer = jfr_create(&options, error, sizeof error);
    assert_true(jfr_chunk_begin(writer));
    jfr_allocation_sample(writer, monotonic_ns(), 100, 1, 2, 500000, 1);
    jfr_allocation_sample(writer, monotonic_ns(), 100, 1, 3, 300, 1);
    jfr_allocation_sample(writer, monotonic_ns(), 100, 0, 4, 7, 1);
    jfr_allocation_sample(writer, monotonic_ns(), 100, 0, 0, 1, 1); /* no class found room */
    jfr_pool_trace(writer, 1, &frame, 1, false);
    jfr_pool_class(writer, 1, "org/example/Main", 0);
    jfr_pool_class(writer, 2, "[[B", 0);
    jfr_pool_class(writer, 3, "[Ljava/lang/String;", 0);
    jfr_pool_class(writer, 4, "java/util/HashMap$Node", 0);
    jfr_pool_symbol(writer, 1, "main");
    jfr_pool_method(writer, 1, 1, 1, 0, 0);
    jfr_pool_thread(writer, 100, "worker", 7);
    assert_true(jfr_chunk_end(writer));
    jfr_destroy(writer);

    int fd = open(path, O_RDONLY);
    assert_true(jfr_profile_read(&profile, fd, path, false, error, sizeof error));
    close(fd);
    assert_string_equal(profile.damage, "");
    const struct call_tree *tree = jfr_profile_samples(&profile, &unit);
    assert_ptr_equal(tree, profile.alloc);
    assert_int_equal(call_tree_samples(tree), 500308);
    static const struct {
        const char *name;
        int64_t bytes;
        int depth;
    } leaves[] = {{"byte[][]", 500000, 2},
                  {"java.lang.String[]", 300, 2},
                  {"java.util.HashMap$Node", 7, 1},
                  {"[unknown class]", 1, 1}};
    for (size_t i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        int depth = 0;
        uint32_t node = 0;
        while ((node = call_tree_next(tree, node, &depth)) != CALL_TREE_NONE &&
               strcmp(call_tree_name(tree, call_tree_node(tree, node)->name).name,
                      leaves[i].name) != 0)
            continue;
        if (node == CALL_TREE_NONE)
            fail_msg("%s is not there", leaves[i].name);
        assert_int_equal(call_tree_node(tree, node)->self, leaves[i].bytes);
        assert_int_equal(depth, leaves[i].depth);
        assert_int_equal(call_tree_name(tree, call_tree_node(tree, node)->name).kind,
                         CALL_FRAME_CLASS);
    }
    jfr_profile_free(&profile);
}

/* Any byte changed: never a crash, and what is read is bounded. */
static void changed_bytes_are_survived(void **state)
{
    (void)state;
    char damage[700];
    static uint8_t bytes[65536];
    record(1);
    FILE *file = fopen(path, "r");
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(length > 1000 && length < sizeof bytes);
    int damaged = 0;
    for (size_t i = 0; i < length; i += i < 100 || i > length - 1200 ? 1 : 17) {
        uint8_t before = bytes[i];
        bytes[i] ^= (uint8_t)(i % 2 ? 0x80 : 0xff);
        file = fopen(path, "w");
        fwrite(bytes, 1, length, file);
        fclose(file);
        assert_true(samples_of(damage, sizeof damage) <= 10);
        damaged += damage[0] != '\0';
        bytes[i] = before;
    }
    assert_true(damaged > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(profile_sums_up),
        cmocka_unit_test(profile_by_state),
        cmocka_unit_test(torn_tail_is_named_and_repaired),
        cmocka_unit_test(what_is_no_recording_is_refused),
        cmocka_unit_test(allocations_are_bytes_by_stack_and_class),
        cmocka_unit_test(changed_bytes_are_survived),
    };
    return cmocka_run_group_tests_name("jfr_read", tests, setup, folder_remove);
}
