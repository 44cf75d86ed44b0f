/* frame_rule: descriptions of all shapes, read at each of their places. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "floor/hotspot/frame_rule.h"
#include "agent/stack/native.h"
#include "agent/stack/native_unwind.h"

#ifdef NATIVE_UNWIND

#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

/* Never run: only its description is read. */
#define SHAPE(name, body)                                                                          \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" body               \
            ".size " #name ", .-" #name "\n");                                                     \
    extern const char name[];

SHAPE(shape_usual, ".cfi_startproc\n"
                   "nop\n" /* +0: as it was called */
                   ".cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
                   "nop\n" /* +1: %rbp saved */
                   ".cfi_def_cfa_register %rbp\n"
                   "nop\n" /* +2: based on it */
                   ".cfi_remember_state\n.cfi_restore %rbp\n.cfi_def_cfa %rsp, 8\n"
                   "ret\n" /* +3: the way out */
                   ".cfi_restore_state\n"
                   "nop\n" /* +4: as at +2 */
                   ".cfi_endproc\n")
SHAPE(shape_large, ".cfi_startproc\n"
                   ".fill 300, 1, 0x90\n" /* a far advance */
                   ".cfi_def_cfa_offset 100008\n"
                   ".fill 70000, 1, 0x90\n"
                   ".cfi_def_cfa_offset 16\n"
                   "nop\n"
                   ".cfi_endproc\n")
SHAPE(shape_last, ".cfi_startproc\n.cfi_undefined %rip\nnop\n.cfi_endproc\n")
SHAPE(shape_expression, /* def_cfa_expression: %rsp + 8 */
      ".cfi_startproc\n.cfi_escape 0x0f, 0x02, 0x77, 0x08\nnop\n"
      ".cfi_def_cfa %rsp, 8\nnop\n.cfi_endproc\n")
SHAPE(shape_other_base, ".cfi_startproc\n.cfi_def_cfa %r10, 0\nnop\n.cfi_endproc\n")
SHAPE(shape_bp_by_expression, ".cfi_startproc\n.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00\nnop\n"
                              ".cfi_endproc\n")
SHAPE(shape_signal, ".cfi_startproc\n.cfi_signal_frame\nnop\n.cfi_endproc\n")
SHAPE(shape_unknown_instruction,
      ".cfi_startproc\n.cfi_escape 0x14, 0x03, 0x01\nnop\n.cfi_endproc\n")
SHAPE(shape_restores_nothing, ".cfi_startproc\n.cfi_escape 0x0b\nnop\n.cfi_endproc\n")
SHAPE(shape_without, "nop\n")

static int setup(void **state)
{
    char error[200];
    static bool available;
    available = native_setup(error, sizeof error);
    *state = &available;
    return 0;
}

static struct frame_rule at(const char *shape, int place)
{
    return frame_rule_of((uintptr_t)shape + (uintptr_t)place);
}

static void is_caller(struct frame_rule rule, bool by_bp, int cfa_offset, int bp_offset)
{
    assert_int_equal(rule.kind, FRAME_RULE_CALLER);
    assert_int_equal(rule.base_is_bp, by_bp);
    assert_int_equal(rule.cfa_words, cfa_offset / 8);
    assert_int_equal(rule.bp_is_saved, bp_offset != 0);
    assert_int_equal(rule.bp_words, bp_offset / 8);
    assert_int_equal(rule.return_words, -1);
    assert_false(rule.return_in_link);
}

static void each_place_has_its_rule(void **state)
{
    assert_true(*(bool *)*state);          /* libunwind-dev: make setup */
    for (int turn = 0; turn < 3; turn++) { /* read, remembered, read again */
        is_caller(at(shape_usual, 0), false, 8, 0);
        is_caller(at(shape_usual, 1), false, 16, -16);
        is_caller(at(shape_usual, 2), true, 16, -16);
        is_caller(at(shape_usual, 3), false, 8, 0);
        is_caller(at(shape_usual, 4), true, 16, -16);
        is_caller(at(shape_large, 299), false, 8, 0);
        is_caller(at(shape_large, 300), false, 100008, 0);
        is_caller(at(shape_large, 70299), false, 100008, 0);
        is_caller(at(shape_large, 70300), false, 16, 0);
        assert_int_equal(at(shape_last, 0).kind, FRAME_RULE_END);
        if (turn == 1)
            frame_rules_forget();
    }
}

static void what_is_said_otherwise_is_left(void **state)
{
    const char *const others[] = {
        shape_expression, shape_other_base,          shape_bp_by_expression, shape_signal,
        shape_without,    shape_unknown_instruction, shape_restores_nothing};
    assert_true(*(bool *)*state); /* libunwind-dev: make setup */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(at(others[i], 0).kind, FRAME_RULE_OTHER);
    is_caller(at(shape_expression, 1), false, 8, 0);
    assert_int_equal(frame_rule_of(16).kind, FRAME_RULE_OTHER);
    assert_int_equal(frame_rule_of(UINTPTR_MAX).kind, FRAME_RULE_OTHER);
    int on_the_stack;
    assert_int_equal(frame_rule_of((uintptr_t)&on_the_stack).kind, FRAME_RULE_OTHER);
}

/* More places than are remembered; those of code that is there are all found. */
static void more_than_are_remembered(void **state)
{
    assert_true(*(bool *)*state); /* libunwind-dev: make setup */
    for (int i = 0; i < 70000; i++)
        is_caller(at(shape_large, i + 300), false, 100008, 0);
    is_caller(at(shape_large, 0), false, 8, 0);
}

/* --- a stack with a frame that is libunwind's ------------------------------------------------- */

static struct frame frames[32], by_libunwind[32];
static int depth, depth_by_libunwind;

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    (void)number, (void)info;
    depth = native_walk(ucontext, frames, 32);
    depth_by_libunwind = native_walk_by_libunwind(ucontext, by_libunwind, 32);
}

void frame_rule_test_inner(void);
void frame_rule_test_inner(void)
{
    raise(SIGUSR1);
    __asm__ volatile("" ::: "memory");
}

/* Its CFA is %rsp + 16, as an expression. */
__asm__(".text\n.globl call_oddly\n.type call_oddly, @function\ncall_oddly:\n"
        ".cfi_startproc\n"
        "sub $8, %rsp\n"
        ".cfi_escape 0x0f, 0x02, 0x77, 0x10\n"
        "call frame_rule_test_inner\n"
        "call_oddly_returns:\n"
        "add $8, %rsp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n.size call_oddly, .-call_oddly\n");
void call_oddly(void);
extern const char call_oddly_returns[];

static __attribute__((noinline)) int calls_it(void)
{
    call_oddly();
    __asm__ volatile("" ::: "memory");
    return 1;
}

static void such_a_stack_is_whole(void **state)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_signal};
    assert_true(*(bool *)*state); /* libunwind-dev: make setup */
    assert_int_equal(at(call_oddly_returns, -1).kind, FRAME_RULE_OTHER);
    native_set_code_cache(0, 0);
    sigaction(SIGUSR1, &action, NULL);
    calls_it();
    int odd = -1;
    for (int i = 0; i < depth; i++)
        if (frames[i].value == (uintptr_t)call_oddly_returns)
            odd = i;
    assert_true(odd > 1);
    assert_in_range(frames[odd + 1].value, (uintptr_t)calls_it, (uintptr_t)calls_it + 1000);
    assert_true(depth > odd + 3);
}

static int compare_numbers(const void *a, const void *b)
{
    raise(SIGUSR1);
    return *(const int *)a - *(const int *)b;
}

static void libunwind_comes_to_the_same(void **state)
{
    int numbers[] = {3, 1, 2};
    assert_true(*(bool *)*state);                        /* libunwind-dev: make setup */
    qsort(numbers, 3, sizeof *numbers, compare_numbers); /* through the C library */
    assert_true(depth > 6);
    assert_int_equal(depth, depth_by_libunwind);
    assert_memory_equal(frames, by_libunwind, (size_t)depth * sizeof *frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_has_its_rule),
        cmocka_unit_test(what_is_said_otherwise_is_left),
        cmocka_unit_test(more_than_are_remembered),
        cmocka_unit_test(such_a_stack_is_whole),
        cmocka_unit_test(libunwind_comes_to_the_same),
    };
    return cmocka_run_group_tests_name("agent_stack/frame_rule", tests, setup, NULL);
}

#else
int main(void)
{
    return 0;
}
#endif
