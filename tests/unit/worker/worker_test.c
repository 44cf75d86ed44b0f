/* The worker of an owner's JVMs against a service that has been taken over: it gets what a watch asks for, of JVMs,
 * and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/watch/load_log.h"
#include "nmtwatch/worker/worker.h"
#include "tests/sim/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static bool cpu_only(const void *context, enum observe_mode mode)
{
    (void)context;
    return mode == OBSERVE_CPU;
}

static pid_t worker;  /* the last one that was started */
static int worker_fd; /* our end of its socket */

static int start_worker(uid_t owner, pid_t *pid)
{
    static const struct worker_rules rules = {.observes = cpu_only};
    int fd = worker_start_with(owner, pid, &rules);
    if (pid != NULL) {
        worker = *pid;
        worker_fd = fd;
    }
    return fd;
}

struct pair {
    struct fake fake;
    struct target target;
};

static struct pair start_beside(const char *opens_socket)
{
    struct pair pair = {.fake = fake_start("--jdk", "17", "--socket", opens_socket)};
    struct failure failure;
    privileged_workers(start_worker);
    if (privileged_look(&pair.target, pair.fake.pid, &failure) != FAILURE_NONE)
        fail_msg("%s", failure.sentence);
    return pair;
}

static struct pair start(void)
{
    return start_beside("now");
}

static void stop(struct pair *pair)
{
    privileged_workers(NULL); /* closes its socket, which ends it */
    int status;
    assert_int_equal(waitpid(worker, &status, 0), worker);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    workers_end();
    fake_end(&pair->fake);
}

/* The error of a request that is sent as it is. */
static int error_of(const void *bytes, size_t length, int fd)
{
    struct privileged_answer answer;
    int came;
    assert_true(privileged_send(worker_fd, bytes, length, fd, 0));
    assert_int_equal(privileged_receive(worker_fd, &answer, sizeof answer, &came, 0),
                     sizeof answer);
    assert_int_equal(came, -1);
    return answer.error;
}

#define HEAD offsetof(struct privileged_request, text)

static void malformed_requests(void **state)
{
    (void)state;
    struct pair pair = start();
    struct privileged_request request = {.kind = PRIVILEGED_KINDS};
    assert_int_equal(error_of(&request, HEAD, -1), EINVAL);
    request.kind = UINT32_MAX;
    assert_int_equal(error_of(&request, HEAD, -1), EINVAL);
    for (request.kind = PRIVILEGED_WORKER; request.kind < PRIVILEGED_KINDS; request.kind++)
        assert_int_equal(error_of(&request, HEAD, -1), EINVAL); /* the helper's */
    request.kind = PRIVILEGED_LOOK;
    assert_int_equal(error_of(&request, 1, -1), EINVAL);
    assert_int_equal(error_of(&request, HEAD - 1, -1), EINVAL);
    request.length = 1;
    assert_int_equal(error_of(&request, HEAD, -1), EINVAL);
    request.length = UINT32_MAX;
    assert_int_equal(error_of(&request, sizeof request, -1), EINVAL);
    request.length = 0;
    assert_int_equal(error_of(&request, HEAD, 0), EINVAL); /* a descriptor of ours */
    request.kind = PRIVILEGED_CONNECT;
    assert_int_equal(error_of(&request, HEAD, -1), EINVAL); /* nowhere to answer */
    request.kind = PRIVILEGED_OBSERVE;
    assert_int_equal(error_of(&request, HEAD, -1), EINVAL);
    request = (struct privileged_request){.kind = PRIVILEGED_PERFDATA,
                                          .pid = pair.target.pid,
                                          .start_time_ticks = pair.target.start_time_ticks,
                                          .from = -1,
                                          .size = UINT32_MAX};
    assert_int_not_equal(error_of(&request, HEAD, -1), 0);
    char bytes[64];
    int64_t size;
    assert_int_equal(
        privileged_read(PRIVILEGED_PERFDATA, &pair.target, 0, bytes, sizeof bytes, &size),
        sizeof bytes);
    assert_true(size > (int64_t)sizeof bytes);
    assert_int_equal(privileged_read(PRIVILEGED_PERFDATA, &pair.target, INT64_C(1) << 40, bytes,
                                     sizeof bytes, NULL),
                     0);
    stop(&pair);
}

static void only_jvms(void **state)
{
    (void)state;
    struct pair pair = start();
    struct target target;
    struct failure failure;
    char bytes[64];
    const pid_t pids[] = {-1, 0, 1, getpid(), worker};
    for (size_t i = 0; i < sizeof pids / sizeof *pids; i++) {
        const struct target stranger = {.pid = pids[i], .uid = geteuid()};
        assert_int_equal(
            privileged_read(PRIVILEGED_PERFDATA, &stranger, 0, bytes, sizeof bytes, NULL), -1);
        assert_int_equal(errno, ESRCH);
        assert_int_equal(
            privileged_read(PRIVILEGED_FIGURES, &stranger, 0, bytes, sizeof bytes, NULL), -1);
        assert_int_equal(errno, ESRCH);
        assert_int_equal(privileged_open(PRIVILEGED_LOAD_LOG_BEGIN, &stranger, ""), -1);
        assert_int_equal(errno, ESRCH);
        assert_false(privileged_do(PRIVILEGED_LOAD_LOG_OPEN, &stranger, ""));
        assert_int_equal(errno, ESRCH);
        assert_int_equal(privileged_proc(pids[i], "environ"), -1);
        if (privileged_look(&target, pids[i], &failure) == FAILURE_NONE)
            assert_false(target.libjvm_mapped);
    }
    int fd = privileged_proc(pair.target.pid, "environ");
    assert_true(fd >= 0);
    close(fd);
    static const char *const names[] = {"mem", "root", "", "../1/environ", "fd/0", "status"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(privileged_proc(pair.target.pid, names[i]), -1);
        assert_int_equal(errno, EINVAL);
    }
    /* Of another process that had this number. */
    target = pair.target;
    target.start_time_ticks++;
    assert_int_equal(privileged_read(PRIVILEGED_PERFDATA, &target, 0, bytes, sizeof bytes, NULL),
                     -1);
    assert_int_equal(errno, ESRCH);
    stop(&pair);
}

/* A worker that is new, because the last one was ended, looks at the JVM by itself. */
static void a_new_one_knows_the_jvm(void **state)
{
    (void)state;
    struct pair pair = start();
    char bytes[64];
    pid_t first = worker;
    workers_end();
    assert_int_equal(
        privileged_read(PRIVILEGED_PERFDATA, &pair.target, 0, bytes, sizeof bytes, NULL),
        sizeof bytes);
    assert_int_not_equal(worker, first);
    stop(&pair);
}

static void only_names_of_ours(void **state)
{
    (void)state;
    struct pair pair = start();
    static const char *const names[] = {"",
                                        "/etc/shadow",
                                        "/tmp/nmtwatch-tap-1-1-01234567.log",
                                        "/tmp/nmtwatch-tap-%d-1-01234567.log/../../etc/passwd",
                                        "/tmp/nmtwatch-tap-%d-1-0123456.log",
                                        "/tmp/nmtwatch-tap-%d-1-0123456 what=all",
                                        "/tmp/nmtwatch-tap-%d--01234567.log"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[128], number[16];
        const char *rest = strstr(names[i], "%d");
        snprintf(number, sizeof number, "%d", (int)pair.target.nspid);
        snprintf(name, sizeof name, "%.*s%s%s", (int)(rest != NULL ? rest - names[i] : 100),
                 names[i], rest != NULL ? number : "", rest != NULL ? rest + 2 : "");
        assert_int_equal(privileged_open(PRIVILEGED_LOAD_LOG_BEGIN, &pair.target, name), -1);
        assert_int_equal(errno, EINVAL);
        assert_false(privileged_do(PRIVILEGED_LOAD_LOG_OPEN, &pair.target, name));
        assert_int_equal(errno, EINVAL);
        assert_false(privileged_do(PRIVILEGED_LOAD_LOG_REMOVE, &pair.target, name));
        assert_int_equal(errno, EINVAL);
    }
    stop(&pair);
}

/* --- questions to a JVM ----------------------------------------------------------------------- */

struct row {
    bool permitted;
    const char *bytes;
    size_t length;
};
#define ROW(permitted, text)                                                                       \
    {                                                                                              \
        permitted, text, sizeof text - 1                                                           \
    }

static void permitted_questions(void **state)
{
    (void)state;
    const struct target target = {.nspid = 7};
    static const struct row rows[] = {
        ROW(true, "1\0jcmd\0VM.version\0\0\0"),
        ROW(true, "1\0getversion\0options\0\0\0"),
        ROW(true, "2\0"
                  "30\0jcmd streaming=0\0VM.version\0\0\0"),
        ROW(true, "1\0jcmd\0VM.native_memory summary scale=KB\nVM.metaspace basic\0\0\0"),
        ROW(true, "1\0jcmd\0GC.class_histogram -all\0\0\0"),
        ROW(true,
            "1\0jcmd\0VM.log output=file=/tmp/nmtwatch-tap-7-1-01234567.log what=all=off\0\0\0"),
        ROW(false,
            "1\0jcmd\0VM.log output=file=/tmp/nmtwatch-tap-8-1-01234567.log what=all=off\0\0\0"),
        ROW(false, "1\0jcmd\0VM.log output=file=/etc/x what=all=off\0\0\0"),
        ROW(false,
            "1\0jcmd\0VM.log output=file=/tmp/nmtwatch-tap-7-1-01234567.log what=all=trace\0\0\0"),
        ROW(false, "1\0jcmd\0VM.version\nGC.run\0\0\0"),
        ROW(false, "1\0jcmd\0VM.version\n\0\0\0"),
        ROW(false, "1\0jcmd\0Thread.print\0\0\0"),
        ROW(false, "1\0jcmd\0JVMTI.agent_load /tmp/x.so\0\0\0"),
        ROW(false, "1\0jcmd\0VM.version\0x\0\0"),
        ROW(false, "1\0load\0/tmp/x.so\0true\0\0"),
        ROW(false, "1\0setflag\0HeapDumpPath\0/tmp/x\0\0"),
        ROW(false, "1\0jcmd\0VM.version\0\0"),
        ROW(false, "1\0jcmd\0VM.version\0\0\0\0"),
        ROW(false, "1\0jcmd\0VM.version\0\0\0"
                   "1\0jcmd\0GC.run\0\0\0"),
        ROW(false, "2\0"
                   "29\0jcmd streaming=0\0VM.version\0\0\0"),
        ROW(false, "2\0"
                   "30\0jcmd streaming=1\0VM.version\0\0\0"),
        ROW(false, "3\0jcmd\0VM.version\0\0\0"),
        ROW(false, "1\0jcmd\0VM.version\0\0"
                   "x"),
        ROW(false, ""),
        ROW(false, "\0"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (permitted_request(&target, rows[i].bytes, rows[i].length) != rows[i].permitted)
            fail_msg("row %zu: %s", i, rows[i].bytes);
    }
}

static struct failure connect_with(const struct target *target, const char *bytes, size_t length,
                                   int *jvm)
{
    struct privileged_connected answer = {.failure.kind = FAILURE_KIND_COUNT};
    int64_t asked_us = clock_us(CLOCK_MONOTONIC);
    int fd = privileged_connect(target, false, 3000, bytes, length);
    assert_true(fd >= 0);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 10000), 1);
    assert_int_equal(privileged_receive(fd, &answer, sizeof answer, jvm, 0), sizeof answer);
    close(fd);
    if (answer.failure.kind == FAILURE_NONE)
        assert_in_range(answer.sent_us, asked_us, clock_us(CLOCK_MONOTONIC));
    return answer.failure;
}

static void what_is_handed_over_can_only_be_read(void **state)
{
    (void)state;
    static const char good[] = "1\0jcmd\0VM.version\0\0\0", bad[] = "1\0jcmd\0GC.run\0\0\0";
    struct pair pair = start();
    int jvm;
    char text[256] = "";
    assert_int_equal(connect_with(&pair.target, bad, sizeof bad - 1, &jvm).kind, FAILURE_SYSTEM);
    assert_int_equal(jvm, -1);
    struct target stranger = pair.target;
    stranger.pid = getpid();
    assert_int_equal(connect_with(&stranger, good, sizeof good - 1, &jvm).kind, FAILURE_GONE);
    assert_int_equal(jvm, -1);
    struct failure failure = connect_with(&pair.target, good, sizeof good - 1, &jvm);
    if (failure.kind != FAILURE_NONE)
        fail_msg("%s", failure.sentence);
    assert_int_equal(send(jvm, bad, sizeof bad - 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
    struct pollfd ready = {.fd = jvm, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 10000), 1);
    assert_true(recv(jvm, text, sizeof text - 1, 0) > 0);
    assert_int_equal(text[0], '0');
    close(jvm);
    stop(&pair);
}

/* What comes back for this request; the observing process is no child of ours. */
static struct observe_result observe_with(const struct target *target, enum observe_mode mode,
                                          int64_t duration_ms)
{
    struct observe_request request;
    struct observe_result result;
    char error[200];
    memset(&request, 0, sizeof request);
    request.options.mode = mode;
    request.options.duration_ms = duration_ms;
    request.options.interval_ns = 10000000;
    struct observe_child *child = observe_child_start(target, &request, error, sizeof error);
    assert_non_null(child);
    observe_child_wait(child, &result);
    observe_child_close(child);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* the worker and the fake JVM only */
    return result;
}

static void only_what_a_section_asks_for_is_observed(void **state)
{
    (void)state;
    struct pair pair = start();
    struct observe_result result = observe_with(&pair.target, OBSERVE_RSS, 100);
    assert_string_equal(result.sentence, "no [observe NAME] of the configuration asks for this");
    result = observe_with(&pair.target, OBSERVE_CPU, 600001);
    assert_string_equal(result.sentence, "this is no observation that is made for another process");
    struct target stranger = pair.target;
    stranger.pid = getpid();
    result = observe_with(&stranger, OBSERVE_CPU, 100);
    assert_string_equal(result.sentence, "the process has gone");
    result =
        observe_with(&pair.target, OBSERVE_CPU, 100); /* tried: a pretended JVM has no libjvm */
    assert_int_not_equal(result.code, 0);
    assert_null(strstr(result.sentence, "serve"));
    assert_true(result.cpu_us > 0);
    stop(&pair);
}

static void attach_goes_through_it(void **state)
{
    (void)state;
    struct pair pair = start();
    struct attach *attach = attach_create(&pair.target, NULL);
    struct span reply;
    struct failure failure;
    for (int i = 0; i < 3; i++) {
        if (attach_run(attach, "VM.version", &reply, &failure) != FAILURE_NONE)
            fail_msg("%s", failure.sentence);
        assert_true(span_find(reply, SPAN_LITERAL("JDK 17")) >= 0);
    }
    attach_destroy(attach);
    stop(&pair);
}

/* --- more than it takes ----------------------------------------------------------------------- */

static int count_fds(pid_t pid)
{
    char path[32];
    int count = -2; /* "." and ".." */
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static bool read_a_little(const struct target *target, char bytes[8])
{
    return privileged_read(PRIVILEGED_PERFDATA, target, 0, bytes, 8, NULL) == 8;
}

static void floods(void **state)
{
    (void)state;
    static const char good[] = "1\0jcmd\0VM.version\0\0\0";
    struct pair pair = start_beside("none"); /* attaching takes its time */
    int fds[400], refused = 0;
    for (int i = 0; i < 400; i++)
        fds[i] = privileged_connect(&pair.target, false, INT32_MAX, good, sizeof good - 1);
    char bytes[8];
    for (int i = 0; i < 2000; i++)
        assert_true(read_a_little(&pair.target, bytes));
    assert_true(count_fds(worker) < 300);
    for (int i = 0; i < 400; i++) {
        char byte;
        refused += fds[i] >= 0 && recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0;
        close(fds[i]);
    }
    assert_true(refused >= 300);
    for (int i = 0; i < 50 && count_fds(worker) > 20; i++) {
        read_a_little(&pair.target, bytes);
        poll(NULL, 0, 100);
    }
    assert_true(count_fds(worker) <= 20);
    stop(&pair);
}

/* The process that starts workers has caught signals: the descriptor that they wake is none of the worker's, where
 * its number belongs to something else. */
static void an_observer_keeps_its_answer(void **state)
{
    (void)state;
    int fill[32];
    for (int i = 0; i < 32; i++)
        fill[i] = -1;
    for (int at = 0; at < 8; at++) {
        /* The eventfd gets the lowest free number, so will what the worker receives. */
        pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < at; i++)
                fill[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
            signals_catch(SIGNALS_END);
            for (int i = 0; i < at; i++)
                close(fill[i]);
            struct pair pair = start();
            struct observe_result result = observe_with(&pair.target, OBSERVE_CPU, 100);
            bool answered =
                strcmp(result.sentence, "the observing process ended without a result") != 0;
            privileged_workers(NULL);
            fake_end(&pair.fake);
            _exit(answered ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("with %d descriptors before it: status %x", at, (unsigned)status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permitted_questions),
        cmocka_unit_test(malformed_requests),
        cmocka_unit_test(only_jvms),
        cmocka_unit_test(a_new_one_knows_the_jvm),
        cmocka_unit_test(only_names_of_ours),
        cmocka_unit_test(what_is_handed_over_can_only_be_read),
        cmocka_unit_test(only_what_a_section_asks_for_is_observed),
        cmocka_unit_test(an_observer_keeps_its_answer),
        cmocka_unit_test(attach_goes_through_it),
        cmocka_unit_test(floods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
