/* What the kernel and those above it say of a kill. */
#include "analyzers/parse/oom_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/parse/every_cut.h"

static const char TEXT[] =
    "[1.2] C2 CompilerThre invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=2, "
    "oom_score_adj=0\n"
    "[1.3] memory: usage 2097152kB, limit 2097152kB, failcnt 411\n"
    "[1.4] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
    "[1.5] [   71]  1000    71  1759121   514257  4964096        0             0 java\n"
    "[1.6] [   90]  1000    90  9759121   614257  4964096        0             0 chrome\n"
    "[1.7] "
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/docker/88,task=java,pid=71\n"
    "[1.8] Memory cgroup out of memory: Killed process 71 (java) total-vm:7036484kB, "
    "anon-rss:2057028kB, file-rss:12kB, shmem-rss:0kB\n";

static struct oom_killer read_text(const char *text)
{
    struct oom_killer report;
    oom_killer_read(&report, span_from_cstr(text));
    return report;
}

static void a_report_of_the_kernel(void **state)
{
    (void)state;
    struct oom_killer report = read_text(TEXT);
    assert_int_equal(report.reports, 1);
    assert_true(report.killed && report.container && !report.orchestrator);
    assert_int_equal(report.pid, 71);
    assert_string_equal(report.name, "java");
    assert_string_equal(report.invoker, "C2 CompilerThre");
    assert_string_equal(report.cgroup, "/docker/88");
    assert_int_equal(report.order, 2);
    assert_int_equal(report.limit_bytes, INT64_C(2097152) * 1024);
    assert_int_equal(report.anon_rss_bytes, INT64_C(2057028) * 1024);
    assert_string_equal(report.largest, "chrome");
    assert_int_equal(report.largest_bytes, INT64_C(614257) * 4096);
}

#define ROW                                                                                        \
    "[1.4] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"   \
    "[1.5] [   71]  1000    71    10000     5000  4964096        0             0 java\n"

static void a_kernel_with_other_pages(void **state)
{
    (void)state;
    struct oom_killer free_list = read_text(
        "[1.2] java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n"
        "[1.3] Node 0 DMA free:15360kB boost:0kB min:340kB\n"
        "[1.3] Node 0 DMA: 11*64kB (UME) 5*128kB (UM) 0*256kB = 1344kB\n" ROW
        "[1.8] Out of memory: Killed process 72 (other) total-vm:640000kB, anon-rss:5kB\n");
    assert_int_equal(free_list.largest_bytes, INT64_C(5000) * 65536);
    struct oom_killer by_kill =
        read_text("[1.2] java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n" ROW
                  "[1.8] Memory cgroup out of memory: Killed process 71 (java) total-vm:640000kB, "
                  "anon-rss:5kB\n");
    assert_int_equal(by_kill.largest_bytes, INT64_C(5000) * 65536);
    struct oom_killer odd =
        read_text("[1.2] java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n"
                  "[1.3] Node 0 DMA: 11*63kB 5*0kB\n" ROW
                  "[1.8] Memory cgroup out of memory: Killed process 71 (java) total-vm:650000kB, "
                  "anon-rss:5kB\n");
    assert_int_equal(odd.largest_bytes, INT64_C(5000) * 4096);
}

static void a_kernel_of_old(void **state)
{
    (void)state;
    struct oom_killer report =
        read_text("Out of memory: Kill process 7 (java) score 9 or sacrifice child\n"
                  "Killed process 8 (java) total-vm:9kB, anon-rss:5kB, file-rss:1kB\n");
    assert_true(report.killed && !report.container);
    assert_int_equal(report.pid, 8);
    assert_int_equal(report.anon_rss_bytes, 5 * 1024);
}

static void those_above_the_kernel(void **state)
{
    (void)state;
    struct oom_killer report =
        read_text("  Reason: OOMKilled\n  Exit Code: 137\n  Limits:\n    memory:  1Gi\n"
                  "  Requests:\n    memory:  512Mi\n");
    assert_true(report.orchestrator && report.container);
    assert_int_equal(report.limit_bytes, INT64_C(1) << 30);
    report = read_text("app.service: Failed with result 'oom-kill'.\n");
    assert_true(report.orchestrator && !report.container);
    assert_int_equal(read_text("\"OOMKilled\": false,\n").reports, 0);
    assert_true(read_text("OUT Exit status 137 (out of memory)\n").container);
}

/* A report that is cut in front of its verdict: what is left of it says whose memory it was, or does not. */
static void whose_memory(void **state)
{
    (void)state;
    struct oom_killer report =
        read_text("[5.1] java invoked oom-killer: gfp_mask=0xd0, order=0\n"
                  "[5.2]  [<ffffffff811d1234>] mem_cgroup_oom_synchronize+0x2f3/0x360\n");
    assert_true(report.container && !report.host && !report.killed);
    report = read_text("[5.1] java invoked oom-killer: gfp_mask=0xd0, order=0\n"
                       "[5.3] memory: usage 3145728kB, limit 3145728kB, failcnt 20\n");
    assert_true(report.container && !report.host);
    report = read_text("[5.1] java invoked oom-killer: gfp_mask=0xd0, order=0\n[5.2] Mem-Info:\n");
    assert_true(report.host && !report.container);
    report = read_text("[5.1] java invoked oom-killer: gfp_mask=0xd0, order=0\n");
    assert_true(!report.host && !report.container);
    /* A whole report, and the first line of the next one. */
    report = read_text("[5.1] java invoked oom-killer: gfp_mask=0xd0, order=0\n"
                       "[5.3] memory: usage 3145728kB, limit 3145728kB, failcnt 20\n"
                       "[5.4] Memory cgroup out of memory: Killed process 93 (java) "
                       "total-vm:9000000kB, anon-rss:3100000kB\n"
                       "[9.1] node invoked oom-killer: gfp_mask=0xd0, order=0\n");
    assert_true(report.killed && report.container && !report.host);
    assert_int_equal(report.reports, 2);
    assert_int_equal(report.pid, 93);
    assert_int_equal(report.limit_bytes, INT64_C(3) << 30);
}

static void lines(void **state)
{
    (void)state;
    assert_true(oom_killer_is_line(SPAN_LITERAL("Jan 1 h kernel: java invoked oom-killer: gfp")));
    assert_true(
        oom_killer_is_line(SPAN_LITERAL("Killed process 7 (java) total-vm:9kB, anon-rss:5kB")));
    assert_false(oom_killer_is_line(SPAN_LITERAL("Killed process 7")));
    assert_false(oom_killer_is_line(SPAN_LITERAL("")));
}

static void read_cut(struct span text)
{
    struct oom_killer cut;
    oom_killer_read(&cut, text);
}

static void every_cut(void **state)
{
    (void)state;
    read_every_cut(TEXT, sizeof TEXT, read_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_of_the_kernel),
        cmocka_unit_test(a_kernel_with_other_pages),
        cmocka_unit_test(a_kernel_of_old),
        cmocka_unit_test(those_above_the_kernel),
        cmocka_unit_test(whose_memory),
        cmocka_unit_test(lines),
        cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests_name("oom_killer", tests, NULL, NULL);
}
