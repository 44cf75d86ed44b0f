/* syscall_filter: what a filter does with a call, from its program and from a unit's files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/syscall_filter.h"

#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

#define NUMBER                   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ARCH                     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch))
#define ARGUMENT                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args))
#define RETURN(action)           BPF_STMT(BPF_RET | BPF_K, action)
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)

#define EVALUATE(call, ...)                                                                        \
    syscall_filter_evaluate((const struct sock_filter[]){__VA_ARGS__},                             \
                            sizeof((const struct sock_filter[]){__VA_ARGS__}) /                    \
                                sizeof(struct sock_filter),                                        \
                            SYS_##call)

static void each_action(void **state)
{
    (void)state;
    static const struct {
        uint32_t action;
        enum filter_verdict verdict;
    } rows[] = {
        {SECCOMP_RET_ALLOW, FILTER_ALLOWS},      {SECCOMP_RET_LOG, FILTER_ALLOWS},
        {SECCOMP_RET_ERRNO | 1, FILTER_ERRNO},   {SECCOMP_RET_TRACE, FILTER_ERRNO},
        {SECCOMP_RET_USER_NOTIF, FILTER_ERRNO},  {SECCOMP_RET_TRAP, FILTER_KILLS},
        {SECCOMP_RET_KILL_THREAD, FILTER_KILLS}, {SECCOMP_RET_KILL_PROCESS, FILTER_KILLS},
        {UINT32_C(0x12340000), FILTER_KILLS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(EVALUATE(mincore, RETURN(rows[i].action)), rows[i].verdict);
}

static void one_call_of_all(void **state)
{
    (void)state;
    assert_int_equal(EVALUATE(mincore, NUMBER, IF_EQUAL(SYS_mincore, 0, 1),
                              RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)),
                     FILTER_KILLS);
    assert_int_equal(EVALUATE(read, NUMBER, IF_EQUAL(SYS_mincore, 0, 1),
                              RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)),
                     FILTER_ALLOWS);
    /* The number is kept in a memory cell, and compared with the other register. */
    assert_int_equal(
        EVALUATE(mincore, NUMBER, BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LDX | BPF_IMM, SYS_mincore),
                 BPF_STMT(BPF_LD | BPF_MEM, 3), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0),
                 RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_ERRNO | 1)),
        FILTER_ERRNO);
}

static void another_architecture_is_not_asked_about(void **state)
{
    (void)state;
    assert_int_equal(EVALUATE(mincore, ARCH, IF_EQUAL(0 /* no machine's */, 0, 1),
                              RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)),
                     FILTER_ALLOWS);
}

static void what_depends_on_an_argument_is_the_worst(void **state)
{
    (void)state;
    assert_int_equal(EVALUATE(socket, ARGUMENT, IF_EQUAL(1, 0, 1), RETURN(SECCOMP_RET_ALLOW),
                              RETURN(SECCOMP_RET_KILL_PROCESS)),
                     FILTER_KILLS);
    assert_int_equal(EVALUATE(socket, ARGUMENT, IF_EQUAL(1, 0, 1), RETURN(SECCOMP_RET_ALLOW),
                              RETURN(SECCOMP_RET_ERRNO | 1)),
                     FILTER_ERRNO);
}

static void a_program_that_does_not_end_kills(void **state)
{
    (void)state;
    assert_int_equal(EVALUATE(read, NUMBER), FILTER_KILLS);
    assert_int_equal(EVALUATE(read, BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX)), FILTER_KILLS);
    /* Each of 40 jumps depends on an argument: 2^40 ways. */
    struct sock_filter program[81];
    for (int i = 0; i < 40; i++) {
        program[2 * i] = (struct sock_filter)ARGUMENT;
        program[2 * i + 1] = (struct sock_filter)IF_EQUAL(1, 0, 0);
    }
    program[80] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    assert_int_equal(syscall_filter_evaluate(program, 81, SYS_read), FILTER_KILLS);
}

/* -1: the text does not decide it. */
static int mincore_by(const char *unit)
{
    struct syscall_filter filter;
    memset(&filter, 0, sizeof filter);
    return syscall_filter_of_unit(span_from_cstr(unit), &filter)
               ? (int)syscall_filter_verdict(&filter, FILTER_CALL_mincore)
               : -1;
}

static void units(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        int mincore;
    } rows[] = {
        {"[Service]\nUser=app\n", -1},
        {"SystemCallFilter=@system-service\n", FILTER_KILLS},
        {" SystemCallFilter = @system-service \n", FILTER_KILLS},
        {"#SystemCallFilter=@system-service\n", -1},
        {"SystemCallFilter=@system-service\nSystemCallErrorNumber=EPERM\n", FILTER_ERRNO},
        {"SystemCallFilter=@system-service\nSystemCallErrorNumber=kill\n", FILTER_KILLS},
        {"SystemCallErrorNumber=EPERM\nSystemCallErrorNumber=\nSystemCallFilter=@system-service\n",
         FILTER_KILLS},
        {"SystemCallFilter=@system-service mincore\n", FILTER_ALLOWS},
        {"SystemCallFilter=@system-service\nSystemCallFilter=mincore\n", FILTER_ALLOWS},
        {"SystemCallFilter=@system-service mincore2\n", FILTER_KILLS},
        /* What only systemd knows. */
        {"SystemCallFilter=@basic-io @file-system\n", -1},
        {"SystemCallFilter=~@mount\n", -1},
        {"SystemCallFilter=@system-service\nSystemCallFilter=~@resources\n", -1},
        {"SystemCallFilter=@system-service\nSystemCallFilter=\n", -1},
        {"SystemCallFilter=~mincore:kill\nSystemCallErrorNumber=EPERM\n", -1},
        {"SystemCallFilter=@system-service \\\n  mincore\n", -1},
        /* Filters that refuse with an error. */
        {"RestrictNamespaces=yes\n", FILTER_ALLOWS},
        {"SystemCallArchitectures=native\n", FILTER_ALLOWS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int verdict = mincore_by(rows[i].unit);
        if (verdict != rows[i].mincore)
            fail_msg("row %zu: %d, wanted %d: %s", i, verdict, rows[i].mincore, rows[i].unit);
    }
}

static void the_question_decides(void **state)
{
    (void)state;
    struct syscall_filter filter;
    memset(&filter, 0, sizeof filter);
    assert_true(
        syscall_filter_of_unit(SPAN_LITERAL("SystemCallFilter=@system-service\n"), &filter));
    filter.source = FILTER_UNIT;
    /* NMT of JDK 8 does not call it; 0: the JDK is not known. */
    assert_null(syscall_filter_kills(&filter, 8, "VM.native_memory"));
    assert_string_equal(syscall_filter_kills(&filter, 0, "VM.native_memory"), "mincore");
    for (int jdk = 9; jdk <= 27; jdk++) {
        assert_string_equal(syscall_filter_kills(&filter, jdk, "VM.native_memory"), "mincore");
        assert_string_equal(syscall_filter_kills(&filter, jdk, "VM.native_memory summary"),
                            "mincore");
        assert_null(syscall_filter_kills(&filter, jdk, ""));
        assert_null(syscall_filter_kills(&filter, jdk, "VM.version"));
    }
}

static void what_was_killed_is_kept(void **state)
{
    (void)state;
    static char text[FILTER_SIBLINGS_TEXT];
    struct filter_sibling first = {.command_line = 0x1234, .group = 0},
                          of_group = {.command_line = 9, .group = 0xffffffffffffffff};
    filter_siblings_recall("\n"
                           "0000000000001234 0000000000000000 VM.native_memory\n"
                           "no line\n\n"
                           "0000000000005678 ffffffffffffffff GC.heap_dump\n");
    assert_true(filter_sibling_was_killed(&first, "VM.native_memory summary"));
    assert_false(filter_sibling_was_killed(&first, "GC.heap_dump"));
    assert_true(filter_sibling_was_killed(&of_group, "GC.heap_dump x"));
    assert_int_equal(filter_siblings_keep(text), 2);
    assert_string_equal(text, "0000000000001234 0000000000000000 VM.native_memory\n"
                              "0000000000005678 ffffffffffffffff GC.heap_dump\n");
    filter_siblings_recall(text);
    assert_int_equal(filter_siblings_keep(text), 2);
    for (uint64_t i = 1; i < 100; i++) /* it stays within its bound */
        filter_sibling_killed(&(struct filter_sibling){.command_line = i << 32, .group = i},
                              "a question that is longer than what is kept of a question is");
    assert_int_equal(filter_siblings_keep(text), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_action),
        cmocka_unit_test(one_call_of_all),
        cmocka_unit_test(another_architecture_is_not_asked_about),
        cmocka_unit_test(what_depends_on_an_argument_is_the_worst),
        cmocka_unit_test(a_program_that_does_not_end_kills),
        cmocka_unit_test(units),
        cmocka_unit_test(the_question_decides),
        cmocka_unit_test(what_was_killed_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
