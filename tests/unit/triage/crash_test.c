/* One figure of an error file changed at a time: the limit that was hit is that one. */
#include "analyzers/triage/crash.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#define MB (INT64_C(1) << 20)
#define GB (INT64_C(1) << 30)

/* 64 KB refused on a machine of 16 GB with 8 GB available: nothing says why. */
static struct crash ample(void)
{
    static const struct {
        enum hs_err_figure figure;
        int64_t value;
    } figures[] = {
        {HS_ERR_REQUEST, 65536},        {HS_ERR_MEM_TOTAL, 16 * GB}, {HS_ERR_MEM_AVAILABLE, 8 * GB},
        {HS_ERR_SWAP_TOTAL, 4 * GB},    {HS_ERR_SWAP_FREE, 4 * GB},  {HS_ERR_COMMIT_LIMIT, 12 * GB},
        {HS_ERR_COMMITTED_AS, 14 * GB}, {HS_ERR_JAVA_THREADS, 60},   {HS_ERR_NPROC, 60000},
    };
    struct crash crash = {
        .have = true, .end = HS_ERR_NATIVE_OOM, .platform = HS_ERR_LINUX, .how = "Native (mmap)"};
    for (int i = 0; i < HS_ERR_FIGURE_COUNT; i++)
        crash.figure[i] = HS_ERR_UNKNOWN;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        crash.figure[figures[i].figure] = figures[i].value;
    return crash;
}

static void is_cause(const struct crash *crash, enum oom_cause cause, const char *words)
{
    char sentence[400];
    enum oom_cause found = crash_cause(crash);
    assert_string_equal(oom_cause_row(found)->key, oom_cause_row(cause)->key);
    crash_sentence(crash, found, sentence, sizeof sentence);
    if (strstr(sentence, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, sentence);
}

static void nothing_says_why(void **state)
{
    (void)state;
    struct crash crash = ample();
    is_cause(&crash, OOM_CAUSE_PROCESS_LIMIT, "8 GB of 16 GB available");
    crash.figure[HS_ERR_MEM_AVAILABLE] = HS_ERR_UNKNOWN;
    is_cause(&crash, OOM_CAUSE_UNKNOWN, "refused 64 KB");
}

static void one_limit_at_a_time(void **state)
{
    (void)state;
    struct crash crash = ample();
    crash.figure[HS_ERR_CONTAINER_LIMIT] = GB;
    crash.figure[HS_ERR_CONTAINER_USAGE] = GB - MB;
    is_cause(&crash, OOM_CAUSE_CONTAINER, "limit of 1 GB is used up");

    crash = ample();
    crash.figure[HS_ERR_MEM_AVAILABLE] = 10 * MB;
    crash.figure[HS_ERR_SWAP_FREE] = 0;
    is_cause(&crash, OOM_CAUSE_HOST, "10 MB of 16 GB available");

    crash = ample();
    crash.figure[HS_ERR_COMMITTED_AS] = 12 * GB - MB;
    is_cause(&crash, OOM_CAUSE_COMMIT_LIMIT, "12.0 GB of 12 GB committed");
    crash.figure[HS_ERR_OVERCOMMIT] = 1; /* nobody enforces it */
    is_cause(&crash, OOM_CAUSE_PROCESS_LIMIT, "");

    crash = ample();
    crash.figure[HS_ERR_MAPPINGS] = 65000;
    is_cause(&crash, OOM_CAUSE_MAP_COUNT, "65000 mappings, vm.max_map_count is 65530 by default");
    crash.figure[HS_ERR_MAP_COUNT_MAX] = 262144;
    is_cause(&crash, OOM_CAUSE_PROCESS_LIMIT, "");

    crash = ample();
    crash.figure[HS_ERR_METASPACE_COMMITTED] = 5 * GB;
    crash.figure[HS_ERR_MAX_METASPACE] = 5 * GB;
    is_cause(&crash, OOM_CAUSE_METASPACE, "MaxMetaspaceSize=5 GB");
    crash.figure[HS_ERR_MAX_METASPACE] = HS_ERR_UNLIMITED;
    is_cause(&crash, OOM_CAUSE_PROCESS_LIMIT, "");

    crash = ample();
    crash.figure[HS_ERR_CLASS_SPACE_COMMITTED] = GB - MB;
    is_cause(&crash, OOM_CAUSE_CLASS_SPACE, "of 1 GB");

    crash = ample();
    crash.is_32bit = true;
    crash.figure[HS_ERR_XMX] = 1303 * MB;
    is_cause(&crash, OOM_CAUSE_ADDRESS_32, "heap -Xmx 1.3 GB and 60 threads");

    crash = ample();
    crash.figure[HS_ERR_ADDRESS_SPACE] = 10 * GB;
    crash.figure[HS_ERR_PROCESS_VIRTUAL] = 10 * GB - MB;
    is_cause(&crash, OOM_CAUSE_ADDRESS_SPACE, "limited to 10 GB");

    crash = ample();
    crash.platform = HS_ERR_WINDOWS;
    crash.figure[HS_ERR_SWAP_FREE] = MB;
    is_cause(&crash, OOM_CAUSE_PAGE_FILE, "1 MB of 4 GB");
}

static void what_was_asked_for(void **state)
{
    (void)state;
    struct crash crash = ample();
    crash.figure[HS_ERR_REQUEST] = 30 * GB;
    crash.figure[HS_ERR_XMS] = 30 * GB;
    is_cause(&crash, OOM_CAUSE_HEAP_TOO_LARGE, "(-Xms 30 GB)");

    crash = ample();
    crash.figure[HS_ERR_REQUEST] = 512 * MB;
    snprintf(crash.how, sizeof crash.how, "Native memory allocation (malloc) failed");
    snprintf(crash.what, sizeof crash.what, "Chunk::new");
    snprintf(crash.thread, sizeof crash.thread, "C2 CompilerThread0");
    is_cause(&crash, OOM_CAUSE_COMPILER, "512 MB for the JIT compiler (thread C2 CompilerThread0)");
    crash.figure[HS_ERR_REQUEST] = MB; /* as every compilation */
    is_cause(&crash, OOM_CAUSE_PROCESS_LIMIT, "");
}

static void threads(void **state)
{
    (void)state;
    struct crash crash = ample();
    crash.thread_failed = true;
    crash.figure[HS_ERR_JAVA_THREADS] = 8508;
    crash.stem_count = 1;
    crash.stem[0].threads = 8301;
    snprintf(crash.stem[0].name, sizeof crash.stem[0].name, "worker-#");
    is_cause(&crash, OOM_CAUSE_THREADS, "8508, 8301 of them named \"worker-#\"; limits: ulimit -u");
    crash.thread_failed = false; /* malloc failed first */
    is_cause(&crash, OOM_CAUSE_THREADS, "in a process with very many threads");
}

static void keys_of_the_overview(void **state)
{
    (void)state;
    struct crash crash = ample();
    char key[64];
    crash_key(&crash, key, sizeof key);
    assert_string_equal(key, "process-limit");
    crash.end = HS_ERR_SIGNAL;
    snprintf(crash.signal, sizeof crash.signal, "SIGBUS (0x7)");
    crash_key(&crash, key, sizeof key);
    assert_string_equal(key, "crash-SIGBUS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_says_why),     cmocka_unit_test(one_limit_at_a_time),
        cmocka_unit_test(what_was_asked_for),   cmocka_unit_test(threads),
        cmocka_unit_test(keys_of_the_overview),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
