/* Error files of several ages and systems: how the JVM ended, and the figures of its limits. */
#include "analyzers/parse/hs_err.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#define LINUX_OOM                                                                                  \
    "#\n# There is insufficient memory for the Java Runtime Environment to continue.\n"            \
    "# Native memory allocation (mmap) failed to map 2147483648 bytes for committing reserved "    \
    "memory.\n"                                                                                    \
    "# Possible reasons:\n#   The system is out of physical RAM or swap space\n"                   \
    "#  Out of Memory Error (os_linux.cpp:2795), pid=4242, tid=0x00007fd9\n#\n"                    \
    "# JRE version:  (8.0_372-b07) (build )\n"                                                     \
    "# Java VM: OpenJDK 64-Bit Server VM (25.372-b07 mixed mode linux-amd64 compressed oops)\n"    \
    "\n---------------  T H R E A D  ---------------\n\n"                                          \
    "Current thread (0x00007f): JavaThread \"main\" [_thread_in_vm, id=4243]\n"                    \
    "\n---------------  P R O C E S S  ---------------\n\n"                                        \
    "Java Threads: ( => current thread )\n"                                                        \
    "=>0x00007f01 JavaThread \"main\" [_thread_in_vm, id=4243]\n"                                  \
    "  0x00007f02 JavaThread \"pool-1-thread-1\" daemon [_thread_blocked, id=1]\n"                 \
    "  0x00007f03 JavaThread \"pool-2-thread-17\" daemon [_thread_blocked, id=2]\n\n"              \
    "Other Threads:\n=>0x00007f04 VMThread [id=3]\n\n"                                             \
    "VM state:not at safepoint (normal execution)\n\n"                                             \
    " Metaspace       used 100K, capacity 200K, committed 300K, reserved 1056768K\n"               \
    "  class space    used 10K, capacity 20K, committed 30K, reserved 1048576K\n\n"                \
    "Internal exceptions (2 events):\n"                                                            \
    "Event: 1.0 Thread 0x1 Exception <a 'java/lang/OutOfMemoryError'> thrown\n"                    \
    "Event: 1.1 Thread 0x1 Exception <a 'java/lang/NoSuchFieldError'> thrown\n\n"                  \
    "Dynamic libraries:\n"                                                                         \
    "00400000-00401000 r-xp 00000000 08:01 1 /opt/jdk/bin/java\n"                                  \
    "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n\n"                                         \
    "VM Arguments:\njvm_args: -Xms2g -Xmx4g -XX:MaxMetaspaceSize=5g -Xss512k \n"                   \
    "\n---------------  S Y S T E M  ---------------\n\n"                                          \
    "OS:Debian GNU/Linux 12 (bookworm)\n"                                                          \
    "rlimit: STACK 8192k, CORE 0k, NPROC 4096, NOFILE 1024, AS infinity\n\n"                       \
    "/proc/meminfo:\nMemTotal:        2048000 kB\nMemAvailable:     512000 kB\n"                   \
    "SwapTotal:             0 kB\nSwapFree:              0 kB\n"                                   \
    "CommitLimit:     1024000 kB\nCommitted_AS:    3000000 kB\n\n"                                 \
    "/proc/sys/kernel/threads-max (system-wide limit on the number of threads):\n7777\n"           \
    "/proc/sys/vm/max_map_count (maximum number of memory map areas a process may have):\n65530\n" \
    "container (cgroup) information:\ncontainer_type: cgroupv2\n"                                  \
    "memory_limit_in_bytes: 1048576 k\nmemory_usage_in_bytes: 1000000 k\n"                         \
    "memory_max_usage_in_bytes: unlimited\nmaximum number of tasks: 512\n"                         \
    "current number of tasks: 99\n"

static struct hs_err read_text(const char *text)
{
    static struct hs_err file;
    hs_err_read(&file, span_from_cstr(text));
    return file;
}

static void is_text(struct span span, const char *text)
{
    char copy[256];
    span_copy(span, copy, sizeof copy);
    assert_string_equal(copy, text);
}

static void a_file_of_linux(void **state)
{
    (void)state;
    struct hs_err file = read_text(LINUX_OOM);
    assert_int_equal(file.end, HS_ERR_NATIVE_OOM);
    assert_int_equal(file.platform, HS_ERR_LINUX);
    assert_int_equal(file.jdk_major, 8); /* at start-up the build is empty */
    assert_int_equal(file.pid, 4242);
    assert_false(file.is_32bit);
    is_text(file.what, "committing reserved memory");
    is_text(file.thread, "main");
    is_text(file.os, "Debian GNU/Linux 12 (bookworm)");
    static const struct {
        enum hs_err_figure figure;
        int64_t value;
    } figures[] = {
        {HS_ERR_REQUEST, INT64_C(2147483648)},
        {HS_ERR_MEM_TOTAL, INT64_C(2048000) << 10},
        {HS_ERR_MEM_AVAILABLE, INT64_C(512000) << 10},
        {HS_ERR_COMMIT_LIMIT, INT64_C(1024000) << 10},
        {HS_ERR_CONTAINER_LIMIT, INT64_C(1048576) << 10},
        {HS_ERR_CONTAINER_USAGE, INT64_C(1000000) << 10},
        {HS_ERR_CONTAINER_PEAK, HS_ERR_UNLIMITED},
        {HS_ERR_TASKS_MAX, 512},
        {HS_ERR_TASKS, 99},
        {HS_ERR_NPROC, 4096},
        {HS_ERR_ADDRESS_SPACE, HS_ERR_UNLIMITED},
        {HS_ERR_THREADS_MAX, 7777},
        {HS_ERR_MAP_COUNT_MAX, 65530},
        {HS_ERR_MAPPINGS, 2},
        {HS_ERR_JAVA_THREADS, 3},
        {HS_ERR_OTHER_THREADS, 1},
        {HS_ERR_XMS, INT64_C(2) << 30},
        {HS_ERR_XMX, INT64_C(4) << 30},
        {HS_ERR_MAX_METASPACE, INT64_C(5) << 30},
        {HS_ERR_XSS, INT64_C(512) << 10},
        {HS_ERR_METASPACE_COMMITTED, 300 << 10},
        {HS_ERR_CLASS_SPACE_USED, 10 << 10},
        {HS_ERR_EXCEPTIONS, 2},
        {HS_ERR_OOM_EVENTS, 1},
        {HS_ERR_MAX_DIRECT, HS_ERR_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (file.figure[figures[i].figure] != figures[i].value)
            fail_msg("figure %zu: %lld", i, (long long)file.figure[figures[i].figure]);
    }
    assert_int_equal(file.stem_count, 2);
    assert_string_equal(file.stem[1].name, "pool-#-thread-#");
    assert_int_equal(file.stem[1].threads, 2);
}

/* Markdown eats "# ", a quotation adds "> ". */
static void without_its_hashes(void **state)
{
    (void)state;
    static char text[sizeof LINUX_OOM + 4096];
    size_t at = 0;
    for (const char *from = LINUX_OOM; *from != '\0'; from++) {
        if (*from != '#')
            text[at++] = *from;
    }
    struct hs_err file = read_text(text);
    assert_int_equal(file.end, HS_ERR_NATIVE_OOM);
    assert_int_equal(file.jdk_major, 8);
    assert_int_equal(file.figure[HS_ERR_REQUEST], INT64_C(2147483648));
    assert_true(hs_err_is_head(SPAN_LITERAL("There is insufficient memory for the Java Runtime "
                                            "Environment to continue.")));
    assert_true(hs_err_is_head(
        SPAN_LITERAL("> # A fatal error has been detected by the Java Runtime Environment:")));
}

static void a_file_of_windows(void **state)
{
    (void)state;
    struct hs_err file = read_text(
        "#  Out of Memory Error (arena.cpp:189), pid=5, tid=6\n"
        "# JRE version: OpenJDK Runtime Environment Temurin-21.0.4+7 (21.0.4+7) (build 21.0.4+7)\n"
        "# Java VM: OpenJDK 64-Bit Server VM Temurin-21.0.4+7 (21.0.4+7, mixed mode, "
        "windows-amd64)\n"
        "---------------  S U M M A R Y ------------\n"
        "Command Line: -Xmx8G app.jar\n"
        "Host: AMD Ryzen 5, 12 cores, 15G,  Windows 11 , 64 bit Build 22621\n"
        "Memory: 4k page, system-wide physical 15803M (1024M free)\n"
        "TotalPageFile size 26025M (AvailPageFile size 5M)\n"
        "current process WorkingSet (physical memory assigned to process): 900M, peak: 950M\n"
        "current process commit charge (\"private bytes\"): 2000M, peak: 2001M\n");
    assert_int_equal(file.platform, HS_ERR_WINDOWS);
    assert_int_equal(file.jdk_major, 21);
    assert_int_equal(file.figure[HS_ERR_SWAP_TOTAL], INT64_C(26025) << 20);
    assert_int_equal(file.figure[HS_ERR_SWAP_FREE], INT64_C(5) << 20);
    assert_int_equal(file.figure[HS_ERR_MEM_FREE], INT64_C(1024) << 20);
    assert_int_equal(file.figure[HS_ERR_PROCESS_RSS], INT64_C(900) << 20);
    assert_int_equal(file.figure[HS_ERR_PROCESS_COMMIT], INT64_C(2000) << 20);
    assert_int_equal(file.figure[HS_ERR_XMX], INT64_C(8) << 30);
    is_text(file.os, "Windows 11 , 64 bit Build 22621");
}

static void crashes(void **state)
{
    (void)state;
    struct hs_err file =
        read_text("# A fatal error has been detected by the Java Runtime Environment:\n#\n"
                  "#  SIGSEGV (0xb) at pc=0x00007f1a, pid=12, tid=13\n#\n"
                  "# JRE version: Java(TM) SE Runtime Environment (9.0+181) (build 9+181)\n"
                  "# Java VM: Java HotSpot(TM) 64-Bit Server VM (9+181, mixed mode, bsd-aarch64)\n"
                  "# Problematic frame:\n# C  [libc.so.6+0x9ee76]  memcpy+0x16\n#\n"
                  "---------------  T H R E A D  ---------------\n"
                  "Native frames: (J=compiled Java code)\n"
                  "C  [libc.so.6+0x9ee76]  memcpy+0x16\nC  [libcodec.so+0x12]  decode+0x2\n");
    assert_int_equal(file.end, HS_ERR_SIGNAL);
    assert_int_equal(file.platform, HS_ERR_MACOS);
    assert_int_equal(file.jdk_major, 9);
    is_text(file.signal, "SIGSEGV (0xb)");
    is_text(file.library, "libc.so.6");
    is_text(file.caller, "libcodec.so");
    file = read_text("#  Internal Error (os_windows_x86.cpp:149), pid=3048, tid=13292\n"
                     "#  guarantee(result == 1) failed: Unexpected result\n"
                     "# JRE version: 6.0_29-b11\n");
    assert_int_equal(file.end, HS_ERR_INTERNAL);
    assert_int_equal(file.jdk_major, 6);
    is_text(file.how, "guarantee(result == 1) failed: Unexpected result");
    file = read_text("#  Internal Error (debug.cpp:321), pid=3, tid=4\n"
                     "#  fatal error: OutOfMemory encountered: Java heap space\n");
    assert_int_equal(file.end, HS_ERR_JAVA_OOM);
    file = read_text("#  EXCEPTION_ACCESS_VIOLATION (0xc0000005) at pc=0x7fff, pid=2804, tid=1\n");
    assert_int_equal(file.end, HS_ERR_SIGNAL);
}

static void ends_at_the_next_file(void **state)
{
    (void)state;
    struct hs_err file;
    static const char two[] =
        LINUX_OOM "# A fatal error has been detected by the Java Runtime Environment:\n"
                  "#  SIGSEGV (0xb) at pc=0x1, pid=77, tid=1\n";
    hs_err_read(&file, span_from_cstr(two));
    assert_int_equal(file.end, HS_ERR_NATIVE_OOM);
    assert_int_equal(file.pid, 4242);
    assert_int_equal(file.consumed, sizeof LINUX_OOM - 1);
}

static void a_thread_of_a_32_bit_jvm(void **state)
{
    (void)state;
    struct hs_err file =
        read_text("# There is insufficient memory for the Java Runtime Environment to continue.\n"
                  "# Cannot create GC thread. Out of system resources.\n"
                  "# JRE version: 7.0_21-b11\n"
                  "# Java VM: Java HotSpot(TM) Server VM (23.21-b01 mixed mode linux-x86 )\n");
    assert_true(file.thread_failed);
    assert_true(file.is_32bit);
    assert_int_equal(file.jdk_major, 7);
    assert_false(read_text("# Java VM: OpenJDK 64-Bit Server VM (25.1 mixed mode linux-ppc64le)\n")
                     .is_32bit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_linux),       cmocka_unit_test(without_its_hashes),
        cmocka_unit_test(a_file_of_windows),     cmocka_unit_test(crashes),
        cmocka_unit_test(ends_at_the_next_file), cmocka_unit_test(a_thread_of_a_32_bit_jvm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
