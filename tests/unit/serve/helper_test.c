/* The root helper of serve against a service that has been taken over: it gets what a watch asks
 * for, of JVMs, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/serve/helper.h"
#include "nmtwatch/watch/load_log.h"
#include "tests/sim/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct serve_options options;
static char secret[64];

static bool configure(void *context, struct serve_options *into, char *error, size_t error_size)
{
    (void)context;
    if (access(secret, R_OK) != 0) {
        snprintf(error, error_size, "no secret");
        return false;
    }
    serve_options_default(into);
    snprintf(into->user_file, sizeof into->user_file, "%s", secret);
    serve_options_take_section(into, "often", "what", "cpu", error, error_size);
    return true;
}

struct pair {
    int fd;
    pid_t helper;
    struct fake fake;
    struct target target;
};

static struct pair start_beside(const char *opens_socket)
{
    struct pair pair;
    char error[64];
    int ends[2];
    snprintf(secret, sizeof secret, "/tmp/helper_test.%d", (int)getpid());
    int file = open(secret, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(file, "a:b\n", 4), 4);
    close(file);
    assert_true(configure(NULL, &options, error, sizeof error));
    pair.fake = fake_start("--jdk", "17", "--socket", opens_socket);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pair.helper = fork();
    if (pair.helper == 0) {
        close(ends[0]);
        struct helper *helper = helper_create(ends[1], configure, NULL, &options);
        while (helper_step(helper, 1000)) {
        }
        helper_destroy(helper);
        _exit(0);
    }
    close(ends[1]);
    pair.fd = ends[0];
    privileged_begin(pair.fd);
    return pair;
}

static struct pair start(void)
{
    return start_beside("now");
}

static struct pair start_with_target_beside(const char *opens_socket)
{
    struct pair pair = start_beside(opens_socket);
    struct failure failure;
    if (privileged_look(&pair.target, pair.fake.pid, &failure) != FAILURE_NONE)
        fail_msg("%s", failure.sentence);
    return pair;
}

static struct pair start_with_target(void)
{
    return start_with_target_beside("now");
}

static void stop(struct pair *pair)
{
    int status;
    privileged_begin(-1);
    close(pair->fd);
    waitpid(pair->helper, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fake_end(&pair->fake);
    unlink(secret);
}

/* The error of a request that is sent as it is. */
static int error_of(const struct pair *pair, const void *bytes, size_t length, int fd)
{
    struct privileged_answer answer;
    int came;
    assert_true(privileged_send(pair->fd, bytes, length, fd, 0));
    assert_int_equal(privileged_receive(pair->fd, &answer, sizeof answer, &came, 0), sizeof answer);
    assert_int_equal(came, -1);
    return answer.error;
}

#define HEAD offsetof(struct privileged_request, text)

static void malformed_requests(void **state)
{
    (void)state;
    struct pair pair = start_with_target();
    struct privileged_request request = {.kind = PRIVILEGED_KINDS};
    assert_int_equal(error_of(&pair, &request, HEAD, -1), EINVAL);
    request.kind = UINT32_MAX;
    assert_int_equal(error_of(&pair, &request, HEAD, -1), EINVAL);
    request.kind = PRIVILEGED_LOOK;
    assert_int_equal(error_of(&pair, &request, 1, -1), EINVAL);
    assert_int_equal(error_of(&pair, &request, HEAD - 1, -1), EINVAL);
    request.length = 1;
    assert_int_equal(error_of(&pair, &request, HEAD, -1), EINVAL);
    request.length = UINT32_MAX;
    assert_int_equal(error_of(&pair, &request, sizeof request, -1), EINVAL);
    request.length = 0;
    assert_int_equal(error_of(&pair, &request, HEAD, 0), EINVAL); /* a descriptor of ours */
    request.kind = PRIVILEGED_CONNECT;
    assert_int_equal(error_of(&pair, &request, HEAD, -1), EINVAL); /* nowhere to answer */
    uint64_t device, inode;
    assert_true(privileged_exe(pair.fake.pid, &device, &inode));
    stop(&pair);
}

static void only_jvms(void **state)
{
    (void)state;
    struct pair pair = start();
    struct target target;
    struct failure failure;
    static const enum privileged_kind kinds[] = {PRIVILEGED_ENVIRON, PRIVILEGED_PERFDATA,
                                                 PRIVILEGED_FIGURES, PRIVILEGED_LOAD_LOG_BEGIN,
                                                 PRIVILEGED_LOAD_LOG_OPEN};
    const pid_t pids[] = {-1, 0, 1, getpid(), pair.helper, pair.fake.pid /* not looked at yet */};
    for (size_t pid = 0; pid < sizeof pids / sizeof *pids; pid++) {
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
            assert_int_equal(privileged_open(kinds[kind], pids[pid], 0, ""), -1);
            assert_int_equal(errno, ESRCH);
        }
        if (pids[pid] != pair.fake.pid)
            assert_int_not_equal(privileged_look(&target, pids[pid], &failure), FAILURE_NONE);
    }
    assert_int_equal(privileged_look(&target, pair.fake.pid, &failure), FAILURE_NONE);
    assert_int_equal(target.pid, pair.fake.pid);
    int fd = privileged_open(PRIVILEGED_ENVIRON, target.pid, 0, "");
    assert_true(fd >= 0);
    close(fd);
    /* Of another process that had this number. */
    assert_int_equal(
        privileged_open(PRIVILEGED_FIGURES, target.pid, target.start_time_ticks + 1, ""), -1);
    assert_int_equal(errno, ESRCH);
    stop(&pair);
}

static void only_names_of_ours(void **state)
{
    (void)state;
    struct pair pair = start_with_target();
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
        assert_int_equal(privileged_open(PRIVILEGED_LOAD_LOG_BEGIN, pair.target.pid,
                                         pair.target.start_time_ticks, name),
                         -1);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(privileged_open(PRIVILEGED_LOAD_LOG_OPEN, pair.target.pid,
                                         pair.target.start_time_ticks, name),
                         -1);
        assert_int_equal(errno, EINVAL);
        assert_false(privileged_do(PRIVILEGED_LOAD_LOG_REMOVE, pair.target.pid,
                                   pair.target.start_time_ticks, name));
    }
    assert_null(privileged_fopen("/etc/shadow"));
    assert_null(privileged_fopen("/etc/passwd"));
    assert_null(privileged_fopen(""));
    FILE *file = privileged_fopen(secret);
    assert_non_null(file);
    fclose(file);
    stop(&pair);
}

/* What systemd is told is of serve, and one message at a time. */
static void only_news_of_serve(void **state)
{
    (void)state;
    struct pair pair = start();
    static const struct {
        bool good;
        const char *text;
    } rows[] = {
        {true, "READY=1"},
        {true, "WATCHDOG=1"},
        {true, "RELOADING=1\nMONOTONIC_USEC=123"},
        {true, "STATUS=watching 3 JVMs"},
        {false, ""},
        {false, "MAINPID=1"},
        {false, "READY=1\nMAINPID=1"},
        {false, "STATUS=x\nMAINPID=1"},
        {false, "STATUS=\033[2J"},
        {false, "RELOADING=1\nMONOTONIC_USEC=1\nFDSTORE=1"},
        {false, "WATCHDOG=trigger"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (privileged_do(PRIVILEGED_NOTIFY, 0, 0, rows[i].text) != rows[i].good)
            fail_msg("%s", rows[i].text);
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
    struct failure failure = {.kind = FAILURE_KIND_COUNT};
    int fd = privileged_connect(target, false, 3000, bytes, length);
    assert_true(fd >= 0);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 10000), 1);
    assert_int_equal(privileged_receive(fd, &failure, sizeof failure, jvm, 0), sizeof failure);
    close(fd);
    return failure;
}

static void what_is_handed_over_can_only_be_read(void **state)
{
    (void)state;
    static const char good[] = "1\0jcmd\0VM.version\0\0\0", bad[] = "1\0jcmd\0GC.run\0\0\0";
    struct pair pair = start_with_target();
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

/* What comes back for this request; by the root helper there is no child of ours. */
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
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* the helper and the fake JVM only */
    return result;
}

static void only_what_a_section_asks_for_is_observed(void **state)
{
    (void)state;
    struct pair pair = start_with_target();
    struct observe_result result = observe_with(&pair.target, OBSERVE_RSS, 100);
    assert_string_equal(result.sentence, "no [observe NAME] of the configuration asks for this");
    result = observe_with(&pair.target, OBSERVE_CPU, 600001);
    assert_string_equal(result.sentence, "this is no observation that serve asks for");
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
    struct pair pair = start_with_target();
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

static void floods(void **state)
{
    (void)state;
    static const char good[] = "1\0jcmd\0VM.version\0\0\0";
    struct pair pair = start_with_target_beside("none"); /* attaching takes its time */
    int fds[400], refused = 0;
    for (int i = 0; i < 400; i++)
        fds[i] = privileged_connect(&pair.target, false, INT32_MAX, good, sizeof good - 1);
    uint64_t device, inode;
    for (int i = 0; i < 20000; i++)
        assert_true(privileged_exe(pair.fake.pid, &device, &inode));
    assert_true(count_fds(pair.helper) < 300);
    for (int i = 0; i < 400; i++) {
        char byte;
        refused += fds[i] >= 0 && recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0;
        close(fds[i]);
    }
    assert_true(refused >= 300);
    for (int i = 0; i < 50 && count_fds(pair.helper) > 20; i++) {
        privileged_exe(pair.fake.pid, &device, &inode);
        poll(NULL, 0, 100);
    }
    assert_true(count_fds(pair.helper) <= 20);
    stop(&pair);
}

static void configuration(void **state)
{
    (void)state;
    struct pair pair = start();
    struct serve_options read_here;
    char error[128] = "";
    assert_true(privileged_config(&read_here, sizeof read_here, error, sizeof error));
    assert_string_equal(read_here.user_file, secret);
    unlink(secret);
    assert_false(privileged_config(&read_here, sizeof read_here, error, sizeof error));
    assert_string_equal(error, "no secret");
    stop(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permitted_questions),
        cmocka_unit_test(malformed_requests),
        cmocka_unit_test(only_jvms),
        cmocka_unit_test(only_names_of_ours),
        cmocka_unit_test(only_news_of_serve),
        cmocka_unit_test(what_is_handed_over_can_only_be_read),
        cmocka_unit_test(only_what_a_section_asks_for_is_observed),
        cmocka_unit_test(attach_goes_through_it),
        cmocka_unit_test(floods),
        cmocka_unit_test(configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
