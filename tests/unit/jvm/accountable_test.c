/* accountable: ids that stand for another user. */
#include "nmtwatch/jvm/accountable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/skip.h"

#define EVIL  1001
#define INNER 3000000000U /* in no range */

static void expect_range(const char *text, uid_t uid, const char *name, uid_t from)
{
    struct span owner = {0};
    uid_t first = 0;
    assert_true(subordinate_range(span_from_cstr(text), uid, &owner, &first));
    assert_true(span_equals(owner, span_from_cstr(name)));
    assert_int_equal(first, from);
}

static void ranges(void **state)
{
    static const char TEXT[] = "bob:165536:65536\nevil:100000:65536\n1003:300000:2\n\n# nothing\n"
                               "broken:1\n:400000:1\nlarge:4294967295:9\nnegative:-5:10\nnone:5:0";
    struct span owner;
    uid_t first;
    (void)state;
    expect_range(TEXT, 100000, "evil", 100000);
    expect_range(TEXT, 165535, "evil", 100000);
    expect_range(TEXT, 165536, "bob", 165536);
    expect_range(TEXT, 300001, "1003", 300000);
    static const uid_t NONE[] = {0, 1, 5, 99999, 231072, 300002, 400000, 4294967294U};
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        assert_false(subordinate_range(span_from_cstr(TEXT), NONE[i], &owner, &first));
}

static bool write_map(pid_t pid, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "we");
    bool good = file != NULL && fputs(text, file) >= 0;
    return file != NULL && fclose(file) == 0 && good;
}

/* A namespace of EVIL's that root has mapped another id into, and one in it. */
static void a_namespace(void **state)
{
    int ready[2], go[2];
    char byte = 0, map[64];
    (void)state;
    if (geteuid() != 0)
        skip_because("refused: only root gives ids");
    assert_int_equal(pipe(ready) | pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool good = setresgid(EVIL, EVIL, EVIL) == 0 && setresuid(EVIL, EVIL, EVIL) == 0 &&
                    unshare(CLONE_NEWUSER) == 0 && write(ready[1], "1", 1) == 1 &&
                    read(go[0], &byte, 1) == 1 && setresgid(7, 7, 7) == 0 &&
                    setresuid(7, 7, 7) == 0 && unshare(CLONE_NEWUSER) == 0;
        if (write(ready[1], good ? "2" : "0", 1) == 1)
            pause();
        _exit(1);
    }
    snprintf(map, sizeof map, "7 %u 1\n", INNER);
    bool unshared = read(ready[0], &byte, 1) == 1 && byte == '1';
    bool mapped = unshared && write_map(pid, "uid_map", map) && write_map(pid, "gid_map", map) &&
                  write(go[1], "1", 1) == 1 && read(ready[0], &byte, 1) == 1 && byte == '2';
    uid_t user = mapped ? accountable_uid(pid, INNER) : 0;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (!unshared)
        skip_because("refused: no user namespaces");
    assert_true(mapped);
    assert_int_equal(user, EVIL);
}

static void itself(void **state)
{
    (void)state;
    assert_int_equal(accountable_uid(getpid(), 0), 0);
    assert_int_equal(accountable_uid(getpid(), INNER), INNER);
    assert_int_equal(accountable_uid(-1, INNER), INNER); /* it has ended */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),
        cmocka_unit_test(a_namespace),
        cmocka_unit_test(itself),
    };
    return cmocka_run_group_tests_name("jvm/accountable", tests, NULL, NULL);
}
