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
    privileged_helper(pair.fd);
    return pair;
}

static struct pair start(void)
{
    return start_beside("now");
}

static void stop(struct pair *pair)
{
    int status;
    privileged_helper(-1);
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
    struct pair pair = start();
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
    uint64_t program;
    assert_true(privileged_exe(pair.fake.pid, &program));
    stop(&pair);
}

static void only_names_of_ours(void **state)
{
    (void)state;
    struct pair pair = start();
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
        if (privileged_notify(rows[i].text) != rows[i].good)
            fail_msg("%s", rows[i].text);
    }
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

/* A worker of an owner is one; the one that was is ended. */
static void one_worker_of_an_owner(void **state)
{
    (void)state;
    struct pair pair = start();
    struct privileged_request request = {.kind = PRIVILEGED_WORKER, .owner = 4711};
    struct privileged_answer answer;
    pid_t before = 0;
    int fd;
    for (int i = 0; i < 3; i++) {
        assert_true(privileged_send(pair.fd, &request, HEAD, -1, 0));
        assert_int_equal(privileged_receive(pair.fd, &answer, sizeof answer, &fd, 0),
                         sizeof answer);
        assert_int_equal(answer.error, 0);
        assert_true(fd >= 0 && answer.worker > 1 && answer.worker != before);
        for (int ms = 0; before != 0 && kill(before, 0) == 0 && ms < 5000; ms++)
            poll(NULL, 0, 1);
        before = answer.worker;
        close(fd);
    }
    request.pid = -1;
    assert_int_equal(error_of(&pair, &request, HEAD, -1), 0);
    stop(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_requests), cmocka_unit_test(only_names_of_ours),
        cmocka_unit_test(only_news_of_serve), cmocka_unit_test(one_worker_of_an_owner),
        cmocka_unit_test(configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
