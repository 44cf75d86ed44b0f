/* target, proc and discover, against fake JVMs and against this very process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/target.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/proc.h"
#include "tests/sim/spawn.h"

#include <pthread.h>
#include <sys/syscall.h>

static struct target open_target(const struct fake *fake)
{
    struct target target;
    struct failure failure;
    if (target_open(&target, fake->pid, &failure) != FAILURE_NONE)
        fail_msg("%s", failure.sentence);
    return target;
}

static void identity(void **state)
{
    (void)state;
    struct fake fake =
        fake_start("--jdk", "25", "--args", "-Xmx1g -XX:NativeMemoryTracking=detail");
    struct target target = open_target(&fake);
    assert_true(target.libjvm_mapped);
    assert_false(target.attach_disabled);
    assert_int_equal(target.nspid, fake.pid);
    assert_string_equal(target.tmp, "/tmp");
    assert_int_equal(target.identity.jdk_major, 25);
    assert_string_equal(target.identity.jdk, "25.0.0-fake");
    assert_string_equal(target.identity.main, "com.example.Fake");
    assert_string_equal(target.identity.nmt_level, "detail");
    assert_true(target.identity.uptime_ms < 5000);
    assert_true(target_state_now(&target).handles_sigquit);
    assert_false(target_state_now(&target).stopped);
    fake_stop(&fake);
    assert_true(target_state_now(&target).stopped);
    fake_end(&fake);
    assert_false(target_still_same(&target));
    assert_false(target_state_now(&target).handles_sigquit);
    target_close(&target);
}

static void old_and_flagged(void **state)
{
    (void)state;
    struct fake fake = fake_start("--jdk", "8", "--args", "-XX:+DisableAttachMechanism");
    struct target target = open_target(&fake);
    assert_int_equal(target.identity.jdk_major, 8);
    assert_string_equal(target.identity.nmt_level, "off");
    assert_true(target.attach_disabled);
    fake_end(&fake);
}

/* HotSpot cuts its list of flags at 1024 bytes: the level may have been behind the cut. */
static void cut_flags_prove_nothing(void **state)
{
    (void)state;
    char args[1024];
    memset(args, 'x', sizeof args - 1);
    args[sizeof args - 1] = '\0';
    struct fake fake = fake_start("--args", args);
    struct target target = open_target(&fake);
    assert_string_equal(target.identity.nmt_level, "unknown");
    fake_end(&fake);
}

static void no_hsperfdata(void **state)
{
    (void)state;
    struct fake fake = fake_start("--no-perfdata");
    struct target target = open_target(&fake);
    assert_string_equal(target.perfdata, "");
    assert_int_equal(target.identity.jdk_major, 0);
    assert_string_equal(target.identity.jdk, "");
    fake_end(&fake);
}

static void expect_not_open(pid_t pid, enum failure_kind kind, const char *words)
{
    struct target target;
    struct failure failure;
    assert_int_equal(target_open(&target, pid, &failure), kind);
    assert_non_null(strstr(failure.sentence, words));
}

static void *sleeper(void *into)
{
    *(volatile pid_t *)into = (pid_t)syscall(SYS_gettid);
    while (true)
        pause();
    return NULL;
}

static void what_is_no_jvm(void **state)
{
    (void)state;
    expect_not_open(getpid(), FAILURE_NOT_A_JVM, "no libjvm.so mapped");
    expect_not_open(4194305, FAILURE_GONE, "no such process");

    volatile pid_t tid = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sleeper, (void *)&tid), 0);
    while (tid == 0)
        usleep(1000);
    expect_not_open(tid, FAILURE_NOT_A_JVM, "it is a thread of pid");

    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT); /* a zombie now */
    expect_not_open(child, FAILURE_GONE, "no such process");
    waitpid(child, NULL, 0);
}

static void samples(void **state)
{
    (void)state;
    struct fake fake = fake_start("--rate", "1000");
    struct target target = open_target(&fake);
    struct proc proc;
    struct sample sample;
    int64_t value;
    sample_clear(&sample);
    assert_int_equal(proc_open(&proc, &target), 0);
    assert_true(proc_sample(&proc, &sample));
    assert_true(sample_get(&sample, SAMPLE_THREADS, &value));
    assert_int_equal(value, 1);
    assert_true(sample_get(&sample, SAMPLE_RSS_BYTES, &value) && value > 100000);
    assert_true(sample_has(&sample, SAMPLE_CPU_MS));

    struct perfdata *perfdata = perfdata_open(&target);
    assert_non_null(perfdata);
    usleep(300 * 1000);
    assert_true(perfdata_sample(perfdata, &sample));
    assert_true(sample_get(&sample, SAMPLE_CLASSES_LOADED, &value));
    assert_in_range(value, 5100, 15000);
    perfdata_close(perfdata);

    fake_end(&fake);
    assert_false(proc_sample(&proc, &sample));
    proc_close(&proc);
}

static void discovers(void **state)
{
    (void)state;
    struct fake one = fake_start("--jdk", "17"), two = fake_start("--jdk", "25");
    struct discovery found;
    assert_int_equal(discover_jvms(&found), 0);
    int seen = 0;
    for (int i = 0; i < found.count; i++) {
        assert_true(i == 0 || found.targets[i - 1].pid < found.targets[i].pid);
        seen += found.targets[i].pid == one.pid || found.targets[i].pid == two.pid;
    }
    assert_int_equal(seen, 2);
    discovery_free(&found);
    fake_end(&one);
    fake_end(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity),
        cmocka_unit_test(old_and_flagged),
        cmocka_unit_test(cut_flags_prove_nothing),
        cmocka_unit_test(no_hsperfdata),
        cmocka_unit_test(what_is_no_jvm),
        cmocka_unit_test(samples),
        cmocka_unit_test(discovers),
    };
    return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
