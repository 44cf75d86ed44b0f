/* The walk over native frames, from a real signal handler. Without libunwind: skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/hotspot/registers.h"
#include "agent/calltrace/calltrace.h"
#include "agent/stack/engine.h"
#include "agent/stack/native.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#define FRAMES 64

static struct frame frames[FRAMES];
static volatile int depth, limit = FRAMES;
static uintptr_t damaged_sp;

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    struct registers before, damaged;
    (void)number, (void)info;
    registers_read(ucontext, &before);
    damaged = before;
    damaged.sp = damaged.fp = damaged_sp;
    if (damaged_sp != 0)
        registers_write(ucontext, &damaged);
    depth = native_walk(ucontext, frames, limit);
    registers_write(ucontext, &before);
}

/* Each level returns to one place in itself. */
static __attribute__((noinline)) int recurse(int levels)
{
    if (levels == 0)
        return raise(SIGUSR1);
    int below = recurse(levels - 1);
    __asm__ volatile("" ::: "memory");
    return below + 1;
}

static int setup(void **state)
{
    char error[200] = "";
    static bool available;
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_signal;
    sigaction(SIGUSR1, &action, NULL);
    available = native_setup(error, sizeof error);
    if (!available)
        print_message("%s\n", error);
    *state = &available;
    return 0;
}

static void need(void **state)
{
    assert_true(*(bool *)*state); /* libunwind-dev: make setup */
    damaged_sp = 0;
    limit = FRAMES;
    native_set_code_cache(0, 0);
}

static void every_level_is_found(void **state)
{
    need(state);
    recurse(20);
    int same = 0;
    for (int i = 1; i < depth; i++) {
        assert_int_equal(frames[i].bci, FRAME_BCI_PC);
        assert_int_equal(frames[i].kind, 0);
        same += i > 1 && frames[i].value == frames[i - 1].value;
    }
    assert_in_range(depth, 23, FRAMES);
    assert_int_equal(same, 19);
}

static void depth_is_a_limit(void **state)
{
    need(state);
    limit = 5;
    recurse(20);
    assert_int_equal(depth, 5);
    limit = 0;
    recurse(2);
    assert_int_equal(depth, 0);
}

static void java_code_ends_the_walk(void **state)
{
    need(state);
    recurse(20);
    int found = depth;
    uintptr_t level = frames[found / 2].value;
    native_set_code_cache(level, level + 1);
    recurse(20);
    assert_true(depth > 0 && depth < found);
    for (int i = 0; i < depth; i++)
        assert_int_not_equal(frames[i].value, level);
    native_set_code_cache(frames[0].value, frames[0].value + 1);
    recurse(20);
    assert_int_equal(depth, 0);
}

/* The place that the other handler interrupts, which stands for Java code, and what it interrupted there. */
static volatile bool goes_on;
static struct native_caller interrupted;
static struct registers at_interrupt;

static __attribute__((noinline)) void spin(void)
{
    while (goes_on)
        ;
}

/* A function of its own: its callee is the one that is walked over. */
static __attribute__((noinline)) void find(void)
{
    ucontext_t here;
    getcontext(&here);
    /* All of it: with a sanitizer its loop has more than 64 bytes. */
    uintptr_t begin = (uintptr_t)spin, next = (uintptr_t)find;
    native_set_code_cache(begin, next > begin && next < begin + 1024 ? next : begin + 64);
    if (!native_find_java(&here, &interrupted))
        interrupted.pc = 0;
    native_set_code_cache(0, 0);
}

static void on_others_signal(int number, siginfo_t *info, void *ucontext)
{
    (void)number, (void)info;
    registers_read(ucontext, &at_interrupt);
    find();
    goes_on = false;
}

/* What another handler has interrupted has not called: its registers are those of the interrupt. */
static void over_the_handler_of_another(void **state)
{
    need(state);
    struct sigaction action = {.sa_flags = SA_SIGINFO}, before;
    struct itimerval soon = {.it_value = {.tv_usec = 1000}};
    stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536}, own;
    action.sa_sigaction = on_others_signal;
    for (int round = 0; round < 2; round++) {
        sigaltstack(&other, &own);
        sigaction(SIGPROF, &action, &before);
        goes_on = true;
        setitimer(ITIMER_PROF, &soon, NULL);
        spin();
        sigaction(SIGPROF, &before, NULL);
        assert_int_equal(interrupted.pc, at_interrupt.pc);
        assert_int_equal(interrupted.sp, at_interrupt.sp);
        assert_int_equal(interrupted.bp, at_interrupt.fp);
        assert_non_null(interrupted.interrupted);
        action.sa_flags |= SA_ONSTACK; /* then from a stack of its own */
    }
    sigaltstack(&own, NULL);
    free(other.ss_sp);
}

/* A stack pointer that leads nowhere, or to the edge of what is mapped: no fault, few frames. */
static void damaged_registers_do_no_harm(void **state)
{
    need(state);
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    memset(pages, 0x41, 4096);
    mprotect(pages + 4096, 4096, PROT_NONE);
    const uintptr_t bad[] = {8,
                             4096,
                             UINTPTR_MAX - 7,
                             (uintptr_t)1 << 60,
                             (uintptr_t)pages,
                             (uintptr_t)pages + 4092,
                             (uintptr_t)pages + 4088,
                             (uintptr_t)pages + 4096};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        damaged_sp = bad[i];
        recurse(3);
        assert_in_range(depth, 1, 8);
    }
    munmap(pages, 8192);
}

static void *many(void *argument)
{
    (void)argument;
    struct frame own[FRAMES];
    ucontext_t here;
    for (int i = 0; i < 3000; i++) {
        getcontext(&here);
        if (native_walk(&here, own, FRAMES) < 2)
            return (void *)1;
    }
    return NULL;
}

static void threads_walk_at_once(void **state)
{
    need(state);
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, many, NULL);
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(thread[i], &bad);
        assert_null(bad);
    }
}

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int code = 0; code < WALK_CODE_COUNT; code++) {
        assert_non_null(walk_code_name((enum walk_code)code));
        for (int other = 0; other < code; other++)
            assert_string_not_equal(walk_code_name((enum walk_code)code),
                                    walk_code_name((enum walk_code)other));
    }
    assert_string_equal(walk_code_name((enum walk_code)999), "other");
}

static void agct_needs_a_jvm_and_a_java_thread(void **state)
{
    (void)state;
    char error[100] = "";
    enum walk_code code = WALK_OK;
    struct frame out[4];
    assert_false(engine_agct.setup(NULL, NULL, error, sizeof error));
    assert_string_equal(error, "this JVM has no AsyncGetCallTrace");
    assert_int_equal(engine_agct.walk(NULL, NULL, out, 4, &code), 0);
    assert_int_equal(code, WALK_NOT_A_JAVA_THREAD);
    assert_true(engine_agct.needs_method_ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_is_found),
        cmocka_unit_test(depth_is_a_limit),
        cmocka_unit_test(java_code_ends_the_walk),
        cmocka_unit_test(over_the_handler_of_another),
        cmocka_unit_test(damaged_registers_do_no_harm),
        cmocka_unit_test(threads_walk_at_once),
        cmocka_unit_test(every_code_has_a_name),
        cmocka_unit_test(agct_needs_a_jvm_and_a_java_thread),
    };
    return cmocka_run_group_tests_name("stack/native_walk", tests, setup, NULL);
}
