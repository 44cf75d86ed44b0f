/* attach against fake JVMs: what it gets when all is well, and its sentence for each way it is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/attach.h"
#include "tests/sim/spawn.h"
#include "tests/unit/skip.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#define OTHER_UID 65534

static const struct attach_limits short_limits = {.timeout_ms = 400, .reply_max_bytes = 1 << 20};
/* Where the answer comes and its time is not what is tested: a busy machine may take long. */
static const struct attach_limits patient_limits = {.timeout_ms = 60000,
                                                    .reply_max_bytes = 1 << 20};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct target open_target(const struct fake *fake)
{
    struct target target;
    struct failure failure;
    if (target_open(&target, fake->pid, &failure) != FAILURE_NONE)
        fail_msg("%s", failure.sentence);
    return target;
}

/* Asks once, and demands this kind of failure, within the limits, with this in its sentence. */
static void expect_within(const struct attach_limits *limits, const struct fake *fake,
                          const char *commands, enum failure_kind kind, const char *words)
{
    struct target target = open_target(fake);
    struct attach *attach = attach_create(&target, limits);
    struct span reply;
    struct failure failure;
    int64_t began_ms = now_ms();
    assert_int_equal(attach_run(attach, commands, &reply, &failure), kind);
    assert_true(now_ms() - began_ms < 3 * limits->timeout_ms);
    assert_int_equal(failure.kind, kind);
    assert_non_null(strstr(failure.sentence, words));
    assert_int_equal(reply.len, 0);
    attach_destroy(attach);
}

static void expect_failure(const struct fake *fake, const char *commands, enum failure_kind kind,
                           const char *words)
{
    expect_within(&short_limits, fake, commands, kind, words);
}

static bool contains(struct span text, const char *words)
{
    return span_find(text, span_from_cstr(words)) >= 0;
}

static void expect_version(struct attach *attach, const char *version)
{
    struct span reply;
    struct failure failure;
    if (attach_run(attach, "VM.version", &reply, &failure) != FAILURE_NONE)
        fail_msg("%s", failure.sentence);
    assert_true(contains(reply, version));
}

static void answers(void **state)
{
    (void)state;
    static const char *const jdks[] = {"17", "25"};
    for (int i = 0; i < 2; i++) {
        struct fake fake = fake_start("--jdk", jdks[i]);
        struct target target = open_target(&fake);
        struct attach *attach = attach_create(&target, NULL);
        char version[16];
        snprintf(version, sizeof version, "JDK %s", jdks[i]);
        expect_version(attach, version);
        expect_version(attach, version);

        struct span reply;
        struct failure failure;
        assert_int_equal(attach_run(attach, "VM.native_memory summary scale=B\nVM.metaspace basic",
                                    &reply, &failure),
                         FAILURE_NONE);
        assert_true(span_starts_with(span_trim(span_of(reply.ptr + 1, reply.len - 1)),
                                     SPAN_LITERAL("Native Memory Tracking:")));
        assert_true(contains(reply, "MaxMetaspaceSize: unlimited"));
        attach_destroy(attach);
        assert_false(fake_end(&fake));
    }
}

static void without_hsperfdata_the_version_is_probed(void **state)
{
    (void)state;
    static const char *const jdks[] = {"17", "25"};
    for (int i = 0; i < 2; i++) {
        struct fake fake = fake_start("--no-perfdata", "--jdk", jdks[i]);
        struct target target = open_target(&fake);
        assert_int_equal(target.identity.jdk_major, 0);
        struct attach *attach = attach_create(&target, NULL);
        expect_version(attach, jdks[i]);
        attach_destroy(attach);
        assert_false(fake_end(&fake));
    }
}

static void long_commands_need_version_2(void **state)
{
    (void)state;
    char command[3000];
    memset(command, ' ', sizeof command);
    memcpy(command, "VM.version", 10);
    command[sizeof command - 1] = '\0';

    struct fake fake = fake_start("--jdk", "25");
    struct target target = open_target(&fake);
    struct attach *attach = attach_create(&target, NULL);
    struct span reply;
    struct failure failure;
    assert_int_equal(attach_run(attach, command, &reply, &failure), FAILURE_NONE);
    assert_true(contains(reply, "JDK 25"));
    attach_destroy(attach);
    fake_end(&fake);

    fake = fake_start("--jdk", "17");
    target = open_target(&fake);
    attach = attach_create(&target, NULL);
    assert_int_equal(attach_ask(attach, command), -1);
    assert_int_equal(errno, E2BIG);
    expect_version(attach, "JDK 17");
    attach_destroy(attach);
    fake_end(&fake);
}

static void one_question_at_a_time(void **state)
{
    (void)state;
    struct fake fake = fake_start("--jdk", "17");
    struct target target = open_target(&fake);
    struct attach *attach = attach_create(&target, NULL);
    assert_int_equal(attach_ask(attach, "VM.version"), 0);
    assert_int_equal(attach_ask(attach, "VM.version"), -1);
    assert_int_equal(errno, EBUSY);
    attach_abandon(attach);
    expect_version(attach, "JDK 17");
    attach_destroy(attach);
    fake_end(&fake);
}

static void deleted_socket_is_opened_again(void **state)
{
    (void)state;
    struct fake fake = fake_start("--jdk", "17");
    struct target target = open_target(&fake);
    struct attach *attach = attach_create(&target, NULL);
    char path[64], trigger[64];
    snprintf(path, sizeof path, "/tmp/.java_pid%d", fake.pid);
    snprintf(trigger, sizeof trigger, "/tmp/.attach_pid%d", fake.pid);
    expect_version(attach, "JDK 17");
    assert_int_equal(unlink(path), 0);
    expect_version(attach, "JDK 17");
    assert_int_equal(access(trigger, F_OK), -1);
    attach_destroy(attach);
    assert_false(fake_end(&fake));
}

static void refusals(void **state)
{
    (void)state;
    struct fake fake = fake_start("--answer", "unknown");
    expect_failure(&fake, "VM.version", FAILURE_UNKNOWN_COMMAND, "Unknown diagnostic command");
    fake_end(&fake);
    fake = fake_start("--answer", "ok");
    expect_failure(&fake, "VM.version\nVM.nonsense", FAILURE_UNKNOWN_COMMAND, "Unknown diagnostic");
    fake_end(&fake);
    fake = fake_start("--answer", "reject");
    expect_failure(&fake, "VM.version", FAILURE_REJECTED, "rejected");
    fake_end(&fake);
    fake = fake_start("--answer", "code", "--code", "101");
    expect_failure(&fake, "VM.version", FAILURE_REJECTED, "result code 101");
    fake_end(&fake);
}

static void deadlines(void **state)
{
    (void)state;
    struct fake fake = fake_start("--answer", "silent");
    expect_failure(&fake, "VM.version", FAILURE_NO_ANSWER, "0 bytes of an unfinished reply");
    fake_end(&fake);
    fake = fake_start("--delay-ms", "30");
    expect_failure(&fake, "VM.version", FAILURE_NO_ANSWER, "bytes of an unfinished reply");
    fake_end(&fake);
    fake = fake_start("--delay-ms", "1");
    struct target target = open_target(&fake);
    struct attach *attach = attach_create(&target, NULL);
    expect_version(attach, "JDK 17"); /* byte by byte, but in time */
    assert_true(attach_elapsed_us(attach) > 20000);
    attach_destroy(attach);
    fake_end(&fake);
}

static void stopped_process_is_not_signalled(void **state)
{
    (void)state;
    struct fake fake = fake_start("--socket", "signal");
    fake_stop(&fake);
    expect_failure(&fake, "VM.version", FAILURE_NO_ANSWER, "stopped (state T)");
    assert_false(fake_end(&fake));

    fake = fake_start("--socket", "now");
    fake_stop(&fake);
    expect_failure(&fake, "VM.version", FAILURE_NO_ANSWER, "stopped (state T)");
    assert_false(fake_end(&fake));
}

static void unanswered_signal_leaves_no_file(void **state)
{
    (void)state;
    struct fake fake = fake_start("--socket", "none");
    char trigger[64];
    snprintf(trigger, sizeof trigger, "/tmp/.attach_pid%d", fake.pid);
    expect_failure(&fake, "VM.version", FAILURE_NO_ANSWER, "opened no attach socket");
    assert_int_equal(access(trigger, F_OK), -1);
    assert_int_equal(access(trigger + 5, F_OK), -1); /* nor in the current folder */
    assert_false(fake_end(&fake));
}

static void full_backlog_is_waited_for(void **state)
{
    (void)state;
    struct fake fake = fake_start("--socket", "now", "--answer", "silent");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/.java_pid%d", fake.pid);
    int fds[16];
    for (int i = 0; i < 16; i++) {
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fds[i], (struct sockaddr *)&address, sizeof address);
        poll(NULL, 0, 2); /* the listener takes the first one off the queue */
    }
    expect_failure(&fake, "VM.version", FAILURE_NO_ANSWER, "no more connections");
    for (int i = 0; i < 16; i++)
        close(fds[i]);
    fake_end(&fake);
}

static void never_signals_where_it_would_hurt(void **state)
{
    (void)state;
    struct fake fake = fake_start("--args", "-Xmx1g -XX:+DisableAttachMechanism");
    expect_failure(&fake, "VM.version", FAILURE_ATTACH_DISABLED, "does not accept attach");
    assert_false(fake_end(&fake));

    fake = fake_start("--no-sigquit");
    expect_failure(&fake, "VM.version", FAILURE_ATTACH_DISABLED, "does not accept attach");
    assert_int_equal(kill(fake.pid, 0), 0); /* SIGQUIT would have ended it */
    assert_false(fake_end(&fake));

    fake = fake_start("--socket", "stale");
    expect_failure(&fake, "VM.version", FAILURE_STALE_SOCKET, "stale attach socket");
    assert_false(fake_end(&fake));
}

static void foreign_socket_is_not_touched(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("refused: needs root");
    struct fake fake = fake_start("--socket", "now");
    char path[64];
    snprintf(path, sizeof path, "/tmp/.java_pid%d", fake.pid);
    assert_int_equal(chown(path, OTHER_UID, OTHER_UID), 0);
    expect_failure(&fake, "VM.version", FAILURE_SYSTEM, "not a socket of its user");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    expect_failure(&fake, "VM.version", FAILURE_SYSTEM, "not a socket of its user");
    fake_end(&fake);
}

static void foreign_trigger_means_no_signal(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("refused: needs root");
    struct fake fake = fake_start("--socket", "signal");
    char trigger[64];
    snprintf(trigger, sizeof trigger, ".attach_pid%d", fake.pid);
    close(open(trigger, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(chown(trigger, OTHER_UID, OTHER_UID), 0);
    expect_failure(&fake, "VM.version", FAILURE_SYSTEM, "belongs to another user");
    assert_false(fake_end(&fake));
    unlink(trigger);
}

static void other_users_jvm(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("refused: needs root");
    /* JDK 17 lets root in; JDK 8 only its own ids: then a child connects. Without hsperfdata the
     * version is not known beforehand and the hang-up tells. */
    static const char *const cases[][4] = {
        {"--jdk", "17", NULL}, {"--jdk", "8", NULL}, {"--jdk", "8", "--no-perfdata", NULL}};
    for (int i = 0; i < 3; i++) {
        struct fake fake = fake_start_as(OTHER_UID, cases[i]);
        struct target target = open_target(&fake);
        assert_int_equal(target.uid, OTHER_UID);
        struct attach *attach = attach_create(&target, NULL);
        expect_version(attach, "JDK");
        expect_version(attach, "JDK");
        assert_int_equal(geteuid(), 0);
        attach_destroy(attach);
        assert_false(fake_end(&fake));
    }
}

/* Root of a container without it: the mode 0600 of the socket keeps it out. */
static void without_dac_override(void **state)
{
    (void)state;
    if (geteuid() != 0 || !as_target_possible(OTHER_UID, OTHER_UID))
        skip_because("refused: needs root");
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct all[2], fewer[2];
    assert_int_equal(syscall(SYS_capget, &header, all), 0);
    memcpy(fewer, all, sizeof all);
    fewer[0].effective &= ~CAP_TO_MASK(CAP_DAC_OVERRIDE);
    struct fake fake =
        fake_start_as(OTHER_UID, (const char *const[]){"--jdk", "17", "--socket", "now", NULL});
    struct target target = open_target(&fake);
    struct attach *attach = attach_create(&target, NULL);
    assert_int_equal(syscall(SYS_capset, &header, fewer), 0);
    expect_version(attach, "JDK 17");
    expect_version(attach, "JDK 17");
    fewer[0].effective &= ~CAP_TO_MASK(CAP_SETUID);
    assert_int_equal(syscall(SYS_capset, &header, fewer), 0);
    expect_failure(&fake, "VM.version", FAILURE_PERMISSION, "(CAP_SETUID is missing)");
    assert_int_equal(syscall(SYS_capset, &header, all), 0);
    attach_destroy(attach);
    assert_false(fake_end(&fake));
}

static void failures_keep_their_distance(void **state)
{
    (void)state;
    struct fake fake = fake_start("--socket", "stale");
    struct target target = open_target(&fake);
    struct attach *attach = attach_create(&target, NULL);
    int64_t began_ms = now_ms();
    for (int i = 0; i < 6; i++) {
        struct span reply;
        struct failure failure;
        assert_int_equal(attach_run(attach, "VM.version", &reply, &failure), FAILURE_STALE_SOCKET);
    }
    assert_true(now_ms() - began_ms >= 500);
    attach_destroy(attach);
    fake_end(&fake);
}

static void killed_in_the_middle(void **state)
{
    (void)state;
    struct fake fake = fake_start("--answer", "silent");
    struct target target = open_target(&fake);
    struct attach *attach = attach_create(&target, NULL);
    assert_int_equal(attach_ask(attach, "VM.version"), 0);
    for (int i = 0; i < 30; i++) {
        struct pollfd ready;
        ready.fd = attach_fd(attach, &ready.events);
        assert_int_equal(attach_step(attach), ATTACH_BUSY);
        poll(&ready, 1, 5);
    }
    fake_kill(&fake);
    while (attach_step(attach) == ATTACH_BUSY)
        poll(NULL, 0, 1);
    assert_int_equal(attach_failure(attach)->kind, FAILURE_GONE);
    assert_int_equal(attach_ask(attach, "VM.version"), 0);
    while (attach_step(attach) == ATTACH_BUSY)
        poll(NULL, 0, 1);
    assert_int_equal(attach_failure(attach)->kind, FAILURE_GONE);
    attach_destroy(attach);
    char path[64];
    snprintf(path, sizeof path, "/tmp/.java_pid%d", fake.pid);
    unlink(path);
    fclose(fake.out);
    unlink(target.perfdata);
}

static void recycled_pid(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("refused: needs root");
    struct fake fake = fake_start("--socket", "now");
    struct target target = open_target(&fake);
    struct attach *attach = attach_create(&target, NULL);
    expect_version(attach, "JDK 17");
    fake_end(&fake);
    struct timespec tick = {0, 30 * 1000 * 1000};
    nanosleep(&tick, NULL); /* start times are told in hundredths */

    char number[16];
    snprintf(number, sizeof number, "%d", target.pid);
    struct fake other = fake_start("--socket", "now", "--pid", number);
    assert_int_equal(other.pid, target.pid);
    assert_false(target_still_same(&target));
    struct span reply;
    struct failure failure;
    assert_int_equal(attach_run(attach, "VM.version", &reply, &failure), FAILURE_GONE);
    attach_destroy(attach);
    assert_false(fake_end(&other));
}

static void too_large_replies(void **state)
{
    (void)state;
    struct fake fake = fake_start("--pad-mb", "1000");
    expect_failure(&fake, "VM.version", FAILURE_REPLY_TOO_LARGE, "1048576 bytes");
    fake_end(&fake);
    fake = fake_start("--answer", "garbage", "--seed", "7", "--pad-mb", "1000");
    expect_failure(&fake, "VM.version", FAILURE_BAD_REPLY, "not a HotSpot reply");
    fake_end(&fake);
}

/* Every prefix of a reply, and every flipped bit: an answer or a failure, and in time. */
static void every_damage(void **state)
{
    (void)state;
    static const char *const damages[] = {"--prefix", "--flip"};
    for (int d = 0; d < 2; d++) {
        struct fake fake = fake_start("--jdk", "17", "--step", damages[d], "0");
        struct target target = open_target(&fake);
        struct attach *attach = attach_create(&target, &patient_limits);
        int kinds[FAILURE_KIND_COUNT] = {0};
        for (int i = 0; i < 1500; i++) {
            struct span reply;
            struct failure failure;
            kinds[attach_run(attach, "VM.native_memory summary scale=B", &reply, &failure)]++;
        }
        if (d == 0) {
            assert_int_equal(kinds[FAILURE_REJECTED], 1);  /* nothing at all */
            assert_int_equal(kinds[FAILURE_BAD_REPLY], 1); /* "0" without its newline */
            assert_int_equal(kinds[FAILURE_NONE], 1498);
        } else {
            assert_true(kinds[FAILURE_BAD_REPLY] > 0 && kinds[FAILURE_NONE] > 1400);
            assert_int_equal(kinds[FAILURE_SYSTEM] + kinds[FAILURE_NO_ANSWER], 0);
        }
        attach_destroy(attach);
        fake_end(&fake);
    }
}

static void garbage(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 8; seed++) {
        char number[16];
        snprintf(number, sizeof number, "%d", seed);
        struct fake fake = fake_start("--answer", "garbage", "--seed", number);
        expect_within(&patient_limits, &fake, "VM.version", FAILURE_BAD_REPLY, "result code");
        fake_end(&fake);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(without_hsperfdata_the_version_is_probed),
        cmocka_unit_test(long_commands_need_version_2),
        cmocka_unit_test(one_question_at_a_time),
        cmocka_unit_test(deleted_socket_is_opened_again),
        cmocka_unit_test(refusals),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(stopped_process_is_not_signalled),
        cmocka_unit_test(unanswered_signal_leaves_no_file),
        cmocka_unit_test(full_backlog_is_waited_for),
        cmocka_unit_test(never_signals_where_it_would_hurt),
        cmocka_unit_test(foreign_socket_is_not_touched),
        cmocka_unit_test(foreign_trigger_means_no_signal),
        cmocka_unit_test(other_users_jvm),
        cmocka_unit_test(without_dac_override),
        cmocka_unit_test(failures_keep_their_distance),
        cmocka_unit_test(killed_in_the_middle),
        cmocka_unit_test(recycled_pid),
        cmocka_unit_test(too_large_replies),
        cmocka_unit_test(every_damage),
        cmocka_unit_test(garbage),
    };
    return cmocka_run_group_tests_name("attach", tests, NULL, NULL);
}
