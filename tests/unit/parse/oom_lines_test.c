/* What a JVM says of memory on its console and in GC logs. */
#include "analyzers/parse/oom_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/parse/every_cut.h"

static const char TEXT[] =
    "java.lang.OutOfMemoryError: Cannot reserve 4096 bytes of direct buffer memory (allocated: 90, "
    "limit: 100)\n"
    "[1s][info][gc,metaspace] GC(7) Metaspace: 34M(40M)->33M(41M) NonClass: 1K(2K)->1K(2K)\n"
    "[Full GC (Ergonomics) [PSYoungGen: 3K->2K(9K)] [ParOldGen: 7K->7K(8K)] 10K->20K(20K), "
    "[Metaspace: 35M->35M(99M)], 1 secs]\n";

static struct oom_lines read_text(const char *text)
{
    struct oom_lines found;
    oom_lines_read(&found, span_from_cstr(text));
    return found;
}

static void each_kind_by_its_words(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum oom_line kind;
    } rows[] = {
        {"java.lang.OutOfMemoryError: Java heap space", OOM_LINE_HEAP},
        {"Caused by: java.lang.OutOfMemoryError: GC overhead limit exceeded", OOM_LINE_GC_OVERHEAD},
        {"java.lang.OutOfMemoryError: Metaspace", OOM_LINE_METASPACE},
        {"java.lang.OutOfMemoryError: Compressed class space", OOM_LINE_CLASS_SPACE},
        {"java.lang.OutOfMemoryError: PermGen space", OOM_LINE_PERMGEN},
        {"java.lang.OutOfMemoryError: Direct buffer memory", OOM_LINE_DIRECT},
        {"io.netty.util.internal.OutOfDirectMemoryError: failed to allocate 16 byte(s)",
         OOM_LINE_DIRECT},
        {"java.lang.OutOfMemoryError: Requested array size exceeds VM limit", OOM_LINE_ARRAY_SIZE},
        {"java.lang.OutOfMemoryError: unable to create native thread: possibly out",
         OOM_LINE_THREAD},
        {"[1s][warning][os,thread] Failed to start thread - pthread_create failed (EAGAIN)",
         OOM_LINE_THREAD},
        {"java.lang.OutOfMemoryError: Map failed", OOM_LINE_MAP_FAILED},
        {"java.lang.OutOfMemoryError: request 32756 bytes for x. Out of swap space?",
         OOM_LINE_REQUEST},
        {"INFO: os::commit_memory(0x1, 12288, 0) failed; error='x' (errno=12)", OOM_LINE_COMMIT},
        {"os::commit_memory(0x1, 9, 0) failed; error='x' (DOS error/errno=1455)",
         OOM_LINE_PAGE_FILE},
        {"Could not reserve enough space for 2097152KB object heap", OOM_LINE_RESERVE},
        {"catch (OutOfMemoryError e) {", OOM_LINE_NONE},
        {"", OOM_LINE_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(oom_line_kind(span_from_cstr(rows[i].line)), rows[i].kind);
        assert_int_equal(read_text(rows[i].line).last,
                         rows[i].kind); /* the fast search finds it, too */
    }
}

static void figures(void **state)
{
    (void)state;
    struct oom_lines found = read_text(TEXT);
    assert_int_equal(found.request_bytes, 4096);
    assert_int_equal(found.direct_used_bytes, 90);
    assert_int_equal(found.direct_limit_bytes, 100);
    assert_int_equal(found.metaspace_lines, 2);
    assert_int_equal(found.metaspace_first_bytes, INT64_C(34) << 20);
    assert_int_equal(found.metaspace_last_bytes, INT64_C(35) << 20);
    assert_int_equal(found.gc.useless, 1);
    assert_int_equal(found.gc.after_bytes, 20 * 1024);
    assert_int_equal(found.gc.heap_bytes, 20 * 1024);
    found =
        read_text("[9s][info][gc] GC(9) Pause Full (G1 Compaction Pause) 511M->510M(512M) 1ms\n"
                  "[9s][info][gc] GC(9) Pause Full (G1 Compaction Pause) 511M->51M(512M) 1ms\n");
    assert_int_equal(found.gc.full, 2);
    assert_int_equal(found.gc.useless_run, 0); /* the last one made room */
    found = read_text("unable to create native thread\nmax user processes  (-u) 1024\n");
    assert_int_equal(found.threads_limit, 1024);
}

/* In pieces of whole lines it is the same. */
static void pieces(void **state)
{
    (void)state;
    struct oom_lines whole = read_text(TEXT), parts;
    struct span rest = SPAN_LITERAL(TEXT), line;
    bool terminated;
    oom_lines_begin(&parts);
    while (span_next_line(&rest, &line, &terminated))
        oom_lines_feed(&parts, line);
    assert_memory_equal(&whole, &parts, sizeof whole);
}

static void the_page_file_before_what_follows(void **state)
{
    (void)state;
    struct oom_lines found =
        read_text("os::commit_memory(0x1, 9, 0) failed; (DOS error/errno=1455)\n"
                  "# Native memory allocation (mmap) failed to map 9 bytes\n");
    assert_int_equal(found.last, OOM_LINE_PAGE_FILE);
}

static void read_cut(struct span text)
{
    struct oom_lines cut;
    oom_lines_read(&cut, text);
}

static void every_cut(void **state)
{
    (void)state;
    read_every_cut(TEXT, sizeof TEXT, read_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_by_its_words),
        cmocka_unit_test(figures),
        cmocka_unit_test(pieces),
        cmocka_unit_test(the_page_file_before_what_follows),
        cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests_name("oom_lines", tests, NULL, NULL);
}
