/* What is written is what the JDK's own jfr reads, on each JDK that is installed. */
#include "agent/jfr/jfr_writer.h"
#include "tests/unit/skip.h"
#include "tests/unit/folder.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ODD_NAME                                                                                   \
    "odd/N\"a<m>e$\xc3\xa4\xe2\x82\xac\xed\xa0\xbd\xed\xb8\x80\xff\\" /* CESU pair, bad byte */
#define ODD_READ "odd.N\"a<m>e$\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\\"

static char path[128], error[512];
static char long_name[2001], huge_name[60001];

static int setup(void **state)
{
    if (folder_make(state) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/app.jfr", folder);
    memset(long_name, 'L', sizeof long_name - 1);
    memset(huge_name, 'H', sizeof huge_name - 1);
    return context_setup("tenant;1st task;1st_task") ? 0 : -1;
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct jfr_writer *create(int64_t max_bytes)
{
    struct jfr_options options = {.file = path,
                                  .max_bytes = max_bytes,
                                  .settings = "start,cpu=10ms",
                                  .jvm_version = "17.0.1"};
    struct jfr_writer *writer = jfr_create(&options, error, sizeof error);
    if (writer == NULL)
        fail_msg("%s", error);
    return writer;
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool write_sample(struct jfr_writer *writer, enum sample_kind kind, uint32_t trace, int tid)
{
    uint8_t bytes[JFR_SAMPLE_MAX];
    struct context_record context = {
        .span_id = UINT64_MAX, .root_span_id = 4711, .tags = {1, 0, 2}};
    struct jfr_sample sample = {.kind = kind,
                                .ticks = monotonic_ns(),
                                .tid = tid,
                                .trace_id = trace,
                                .state = 0,
                                .have_context = trace % 2 == 1,
                                .context = &context,
                                .tag_count = context_tag_count()};
    return jfr_events(writer, bytes, jfr_encode_sample(&sample, bytes));
}

/* Trace n has n frames, of methods n, n-1 ... 1; method n has name "<prefix>n". */
static void write_pools(struct jfr_writer *writer, const char *prefix, int traces)
{
    static struct jfr_frame frames[4096];
    static const enum frame_type types[] = {FRAME_TYPE_NATIVE, FRAME_TYPE_INLINED,
                                            FRAME_TYPE_COMPILED, FRAME_TYPE_INTERPRETED,
                                            FRAME_TYPE_UNKNOWN};
    char text[64];
    for (int i = 0; i < traces; i++)
        frames[i] = (struct jfr_frame){(uint32_t)(traces - i), 10 + i, i, types[i % 5]};
    for (int i = 1; i <= traces; i++)
        jfr_pool_trace(writer, (uint32_t)i, frames + traces - i, i, i == traces);
    for (int i = 1; i <= traces; i++) {
        snprintf(text, sizeof text, "%s%d", prefix, i);
        jfr_pool_symbol(writer, (uint32_t)i, text);
        jfr_pool_method(writer, (uint32_t)i, 1 + (uint32_t)i % 3, (uint32_t)i,
                        i % 2 ? (uint32_t)traces + 1 : 0, 1);
    }
    jfr_pool_symbol(writer, (uint32_t)traces + 1, "(ILjava/lang/String;[[J)V");
    jfr_pool_symbol(writer, (uint32_t)traces + 2, huge_name); /* more than a page of the pool */
    jfr_pool_package(writer, 1, "org/example");
    jfr_pool_class(writer, 1, "org/example/Main", 1);
    jfr_pool_class(writer, 2, ODD_NAME, 0);
    jfr_pool_class(writer, 3, long_name, 0);
    jfr_pool_context_value(writer, 1, "acme \"ltd\"");
    jfr_pool_context_value(writer, 2, "blue");
    snprintf(text, sizeof text, "%sthread", prefix);
    jfr_pool_thread(writer, 100, text, 1);
    jfr_pool_thread(writer, 101, "GC Thread#0", 0);
}

static void write_account(struct jfr_writer *writer)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    jfr_component_memory(writer, &snapshot);
    jfr_loss(writer, "busy", 3);
    jfr_jmethod_ids(writer, 10, 100, 2000, 1000);
}
/* Settings, components, their total, Loss, ids */
#define OWN_EVENTS (1 + COMPONENT_COUNT + 1 + 2)

static bool write_chunk(struct jfr_writer *writer, const char *prefix, int cpu, int wall)
{
    if (!jfr_chunk_begin(writer))
        return false;
    for (int i = 0; i < cpu; i++)
        write_sample(writer, SAMPLE_CPU, 1 + (uint32_t)i % 20, 100 + i % 2);
    for (int i = 0; i < wall; i++)
        write_sample(writer, SAMPLE_WALL, 1 + (uint32_t)i % 20, 100);
    write_pools(writer, prefix, 20);
    write_account(writer);
    return jfr_chunk_end(writer);
}

/* --- reading with the JDK --------------------------------------------------------------------- */

/* Everything a command prints; fails when it fails. */
__attribute__((format(printf, 1, 2))) static char *output_of(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int c; (c = fgetc(pipe)) != EOF;)
        fputc(c, out);
    fclose(out);
    if (pclose(pipe) != 0)
        fail_msg("%s: %s", command, text);
    return text;
}

static long count_of(const char *text, const char *part)
{
    long count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

/* The number in the line of `jfr summary` that begins with the name. */
static long summary_count(const char *summary, const char *name)
{
    for (const char *at = summary; (at = strstr(at, name)) != NULL; at++) {
        char after = at[strlen(name)];
        if (at > summary && (at[-1] == ' ' || at[-1] == '\n') && after == ' ')
            return strtol(at + strlen(name), NULL, 10);
    }
    return -1;
}

typedef void with_jfr_fn(const char *jfr);

static void on_each_jdk(with_jfr_fn *test)
{
    glob_t found;
    struct stat same;
    ino_t seen[16];
    size_t count = 0;
    if (glob("/usr/lib/jvm/*/bin/jfr", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && count < 16; i++) {
            bool again = stat(found.gl_pathv[i], &same) != 0;
            for (size_t j = 0; j < count; j++)
                again |= seen[j] == same.st_ino;
            if (again)
                continue;
            seen[count++] = same.st_ino;
            test(found.gl_pathv[i]);
        }
        globfree(&found);
    }
    if (count == 0)
        skip_because("no JDK with bin/jfr in /usr/lib/jvm");
}

/* --- tests ------------------------------------------------------------------------------------ */

static void record(int chunks, int64_t max_bytes)
{
    struct jfr_writer *writer = create(max_bytes);
    char prefix[24];
    for (int i = 0; i < chunks; i++) {
        snprintf(prefix, sizeof prefix, "chunk%d_", i);
        assert_true(write_chunk(writer, prefix, 50, 7));
    }
    struct jfr_counts counts;
    jfr_counts(writer, &counts);
    assert_int_equal(counts.chunks, chunks);
    assert_int_equal(counts.samples, chunks * 57);
    assert_int_equal(counts.events, chunks * (57 + OWN_EVENTS));
    assert_null(jfr_error(writer));
    jfr_destroy(writer);
}

static void check_one_chunk(const char *jfr)
{
    char *summary = output_of("%s -J-XX:TieredStopAtLevel=1 summary %s 2>&1", jfr, path);
    assert_int_equal(summary_count(summary, "Chunks:"), 1);
    assert_int_equal(summary_count(summary, "jdk.ExecutionSample"), 50);
    assert_int_equal(summary_count(summary, "nmtagent.WallClockSample"), 7);
    assert_int_equal(summary_count(summary, "nmtagent.ComponentMemory"), COMPONENT_COUNT + 1);
    assert_int_equal(summary_count(summary, "nmtagent.Loss"), 1);
    assert_int_equal(summary_count(summary, "nmtagent.JMethodIds"), 1);
    assert_int_equal(summary_count(summary, "nmtagent.Settings"), 1);
    free(summary);

    char *text =
        output_of("%s -J-XX:TieredStopAtLevel=1 print --stack-depth 64 %s 2>&1", jfr, path);
    assert_int_equal(count_of(text, "jdk.ExecutionSample {"), 50);
    assert_non_null(strstr(text, "org.example.Main.chunk0_3(int, String, long[][])"));
    assert_non_null(strstr(text, ODD_READ ".chunk0_1("));
    assert_non_null(strstr(text, long_name));
    assert_non_null(strstr(text, "STATE_RUNNABLE"));
    assert_non_null(strstr(text, "\"chunk0_thread\" (javaThreadId = 1)"));
    assert_non_null(strstr(text, "\"GC Thread#0\" (osThreadId = 101)"));
    assert_true(strstr(text, "spanId = 18446744073709551615") != NULL ||
                strstr(text, "spanId = -1") != NULL); /* 17 knows no unsigned ones */
    assert_non_null(strstr(text, "tenant = \"acme"));
    assert_non_null(strstr(text, "_1st_task_2 = \"blue\""));
    assert_non_null(strstr(text, "documented = N/A"));
    assert_non_null(strstr(text, "documented = 512"));
    free(text);

    char *json = output_of("%s print --json --events ExecutionSample --stack-depth 64 %s | jq -c "
                           "'[.recording.events[].values]"
                           "|[(map(select(.rootSpanId==4711))[0]|.tenant,._1st_task),"
                           "(map(.stackTrace.frames[].type)|unique)]'",
                           jfr, path);
    assert_string_equal(json, "[\"acme \\\"ltd\\\"\",null,[\"Inlined\",\"Interpreted\",\"JIT "
                              "compiled\",\"Java\",\"Native\"]]\n");
    free(json);

    char *metadata = output_of("%s metadata %s 2>&1", jfr, path);
    assert_non_null(strstr(metadata, "class ExecutionSample extends jdk.jfr.Event"));
    assert_non_null(strstr(metadata, "@DataAmount(\"BYTES\")"));
    assert_non_null(strstr(metadata, "@Timestamp(\"TICKS\")"));
    assert_non_null(strstr(metadata, "@Label(\"1st task\")"));
    free(metadata);
}

static void one_chunk_is_read(void **state)
{
    (void)state;
    record(1, 0);
    on_each_jdk(check_one_chunk);
}

/* Numbers mean something else in each chunk; readers like to keep what they know. */
static void check_three_chunks(const char *jfr)
{
    char *summary = output_of("%s -J-XX:TieredStopAtLevel=1 summary %s 2>&1", jfr, path);
    assert_int_equal(summary_count(summary, "Chunks:"), 3);
    assert_int_equal(summary_count(summary, "jdk.ExecutionSample"), 150);
    free(summary);
    char *text = output_of(
        "%s -J-XX:TieredStopAtLevel=1 print --events ExecutionSample --stack-depth 64 %s 2>&1", jfr,
        path);
    for (int i = 0; i < 3; i++) {
        char part[32];
        snprintf(part, sizeof part, "chunk%d_1(", i);
        assert_int_equal(count_of(text, part), 50);
        snprintf(part, sizeof part, "\"chunk%d_thread\"", i);
        assert_int_equal(count_of(text, part), 25);
    }
    free(text);
}

static void chunks_do_not_mix_names(void **state)
{
    (void)state;
    record(3, 0);
    on_each_jdk(check_three_chunks);
}

static void concatenated_files_are_read(void **state)
{
    (void)state;
    record(1, 0);
    free(output_of("mv %s %s/a", path, folder));
    struct jfr_writer *writer = create(0);
    assert_true(write_chunk(writer, "chunk1_", 50, 0));
    jfr_destroy(writer);
    free(output_of("mv %s %s/b", path, folder));
    writer = create(0);
    assert_true(write_chunk(writer, "chunk2_", 50, 0));
    jfr_destroy(writer);
    free(output_of("cat %s/a %s/b %s > %s/c && mv %s/c %s", folder, folder, path, folder, folder,
                   path));
    on_each_jdk(check_three_chunks);
}

static void check_view(const char *jfr)
{
    char *text = output_of("if %s help view >/dev/null 2>&1; then"
                           " %s view --width 200 hot-methods %s 2>&1; else echo no view; fi",
                           jfr, jfr, path);
    assert_true(strstr(text, "chunk0_") != NULL || strcmp(text, "no view\n") == 0);
    free(text);
}

static void views_are_read(void **state)
{
    (void)state;
    record(1, 0);
    on_each_jdk(check_view);
}

static void check_deep(const char *jfr)
{
    char *lines = output_of("%s print --stack-depth 5000 %s | grep -c deep", jfr, path);
    assert_int_equal(atoi(lines), 2 * 2048 + 2); /* frames and threads */
    free(lines);
}

/* Pools of more than a page, and stacks that are larger than one. */
static void large_pools_are_read(void **state)
{
    (void)state;
    struct jfr_writer *writer = create(0);
    assert_true(jfr_chunk_begin(writer));
    write_sample(writer, SAMPLE_CPU, 2048, 100);
    write_sample(writer, SAMPLE_CPU, 2048, 100);
    write_pools(writer, "deep", 2048);
    assert_true(jfr_chunk_end(writer));
    jfr_destroy(writer);
    on_each_jdk(check_deep);
}

static void rotates_by_size(void **state)
{
    (void)state;
    struct stat info, old;
    char old_path[160];
    unlink(path);
    record(1, 0);
    assert_int_equal(stat(path, &info), 0);
    int64_t chunk = info.st_size;
    record(5, 2 * chunk + chunk / 2);
    snprintf(old_path, sizeof old_path, "%s.1", path);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(stat(old_path, &old), 0);
    assert_true(info.st_size < chunk * 3 / 2); /* 5 = 2 (gone) + 2 + 1 */
    assert_true(old.st_size > chunk * 3 / 2 && old.st_size < chunk * 5 / 2);
}

static int64_t size_of(const char *name)
{
    struct stat info;
    return stat(name, &info) == 0 ? info.st_size : -1;
}

static void check_two_chunks(const char *jfr)
{
    char *summary = output_of("%s -J-XX:TieredStopAtLevel=1 summary %s 2>&1", jfr, path);
    assert_int_equal(summary_count(summary, "Chunks:"), 2);
    free(summary);
}

static void check_all_three(const char *jfr)
{
    char *summary = output_of("%s -J-XX:TieredStopAtLevel=1 summary %s 2>&1", jfr, path);
    assert_int_equal(summary_count(summary, "Chunks:"), 3);
    free(summary);
}

/* Killed in the middle of the third chunk. */
static void killed_process_leaves_whole_chunks(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct jfr_writer *writer = create(0);
        write_chunk(writer, "a", 50, 0);
        write_chunk(writer, "b", 50, 0);
        jfr_chunk_begin(writer);
        for (int i = 0; i < 5000; i++)
            write_sample(writer, SAMPLE_CPU, 1, 100);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    on_each_jdk(check_two_chunks);
    record(1, 0); /* what the killed one left is no obstacle */
}

/* A bound on the size of files stands for a full disk. */
static void full_disk_loses_the_chunk_with_a_sentence(void **state)
{
    (void)state;
    unlink(path);
    signal(SIGXFSZ, SIG_IGN);
    struct jfr_writer *writer = create(0);
    assert_true(write_chunk(writer, "a", 50, 0));
    assert_true(write_chunk(writer, "b", 50, 0));
    int64_t size = size_of(path);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = (rlim_t)(size + 100);
    setrlimit(RLIMIT_FSIZE, &limit);
    bool written = write_chunk(writer, "c", 50, 0);
    bool again = write_chunk(writer, "c", 50, 0);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(written);
    assert_false(again);
    assert_non_null(jfr_error(writer));
    assert_non_null(strstr(jfr_error(writer), "2 complete chunks are kept"));
    assert_null(strchr(jfr_error(writer), '\n'));
    assert_int_equal(size_of(path), size);
    struct jfr_counts counts;
    jfr_counts(writer, &counts);
    assert_int_equal(counts.lost_chunks, 2);
    assert_int_equal(counts.lost_events, 2 * 50);
    assert_true(write_chunk(writer, "d", 50, 0)); /* there is room again */
    assert_null(jfr_error(writer));
    assert_non_null(jfr_last_error(writer));
    assert_true(size_of(path) > size);
    jfr_destroy(writer);
    char chunk_path[160];
    snprintf(chunk_path, sizeof chunk_path, "%s.chunk", path);
    assert_int_equal(size_of(chunk_path), -1);
    on_each_jdk(check_all_three);
}

/* Somebody moves FILE away and puts another one in its place: that one is not added to. */
static void a_file_put_in_its_place_is_left_whole(void **state)
{
    (void)state;
    char moved[160], aside[160];
    snprintf(moved, sizeof moved, "%s.moved", path);
    snprintf(aside, sizeof aside, "%s.1", path);
    unlink(path);
    struct jfr_writer *writer = create(0);
    assert_true(write_chunk(writer, "a", 50, 0));
    assert_int_equal(rename(path, moved), 0);
    FILE *other = fopen(path, "we");
    assert_non_null(other);
    fputs("somebody else's\n", other);
    fclose(other);
    assert_true(write_chunk(writer, "b", 50, 0));
    assert_int_equal(size_of(aside), 16);
    assert_true(size_of(path) > 100);
    /* What cannot be renamed is reported as such. */
    unlink(aside);
    assert_int_equal(mkdir(aside, 0700), 0);
    assert_int_equal(unlink(path), 0);
    other = fopen(path, "we");
    assert_non_null(other);
    fclose(other);
    assert_false(write_chunk(writer, "c", 50, 0));
    assert_non_null(strstr(jfr_error(writer), "cannot be renamed to"));
    jfr_destroy(writer);
    rmdir(aside);
    unlink(moved);
    unlink(path);
}

static void refuses(const char *file, const char *why)
{
    struct jfr_options options = {.file = file};
    error[0] = '\0';
    assert_null(jfr_create(&options, error, sizeof error));
    if (strstr(error, why) == NULL)
        fail_msg("\"%s\" does not say %s", error, why);
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    refuses("/dev/null", "not a regular file");
    refuses("/nowhere/app.jfr", "No such file");
    refuses(folder, "not a regular file");
    refuses(long_name, "longer");
    struct jfr_writer *writer = create(0);
    refuses(path, "another process");
    jfr_destroy(writer);
}

/* /tmp/nmtagent-PID.jfr can be predicted: whoever makes it first must not read along. */
static void refuses_what_belongs_to_somebody_else(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"", ".chunk"};
    if (geteuid() != 0)
        skip_because("refused: needs root");
    for (int i = 0; i < 2; i++) {
        char predicted[160], chunk[170];
        snprintf(predicted, sizeof predicted, "%s/predicted.jfr", folder);
        snprintf(chunk, sizeof chunk, "%s%s", predicted, suffixes[i]);
        close(open(chunk, O_CREAT | O_WRONLY, 0666));
        if (chown(chunk, 12345, 12345) != 0)
            skip_because("refused: chown, here are no other users");
        refuses(predicted, "another user");
        assert_int_equal(size_of(chunk), 0);
        unlink(chunk);
    }
}

/* A hard link made for us to empty another file of this user's. */
static void a_second_name_of_the_chunk(void **state)
{
    (void)state;
    char predicted[160], chunk[170], other[170];
    snprintf(predicted, sizeof predicted, "%s/linked.jfr", folder);
    snprintf(chunk, sizeof chunk, "%s.chunk", predicted);
    snprintf(other, sizeof other, "%s.precious", predicted);
    int fd = open(other, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, "precious", 8), 8);
    close(fd);
    assert_int_equal(link(other, chunk), 0);
    refuses(predicted, "hard link");
    assert_int_equal(size_of(other), 8);
    unlink(chunk);
    unlink(other);
}

static void damaged_events_do_not_ruin_the_chunk(void **state)
{
    (void)state;
    uint8_t bytes[2 * JFR_SAMPLE_MAX] = {0};
    struct jfr_sample sample = {.trace_id = 1, .tid = 100, .tag_count = context_tag_count()};
    struct jfr_writer *writer = create(0);
    struct jfr_counts counts;
    assert_true(jfr_chunk_begin(writer));
    size_t length = jfr_encode_sample(&sample, bytes);
    assert_false(jfr_events(writer, bytes, length + 7)); /* zeros behind it */
    assert_false(jfr_events(writer, bytes, length - 1)); /* cut */
    write_pools(writer, "x", 20);
    assert_true(jfr_chunk_end(writer));
    jfr_counts(writer, &counts);
    assert_int_equal(counts.samples, 1);
    assert_int_equal(counts.events, 3); /* sample, Settings, Loss */
    jfr_destroy(writer);
}

static void nothing_is_left_allocated(void **state)
{
    (void)state;
    struct mem_snapshot snapshot;
    record(2, 0);
    mem_snapshot(&snapshot);
    assert_int_equal(snapshot.component[COMPONENT_JFR_WRITER].requested_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_chunk_is_read),
        cmocka_unit_test(chunks_do_not_mix_names),
        cmocka_unit_test(concatenated_files_are_read),
        cmocka_unit_test(views_are_read),
        cmocka_unit_test(large_pools_are_read),
        cmocka_unit_test(rotates_by_size),
        cmocka_unit_test(killed_process_leaves_whole_chunks),
        cmocka_unit_test(full_disk_loses_the_chunk_with_a_sentence),
        cmocka_unit_test(a_file_put_in_its_place_is_left_whole),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(refuses_what_belongs_to_somebody_else),
        cmocka_unit_test(a_second_name_of_the_chunk),
        cmocka_unit_test(damaged_events_do_not_ruin_the_chunk),
        cmocka_unit_test(nothing_is_left_allocated),
    };
    return cmocka_run_group_tests_name("jfr_writer", tests, setup, folder_remove);
}
