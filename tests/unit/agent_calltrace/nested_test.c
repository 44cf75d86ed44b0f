/*
 * A handler may interrupt another one of the same thread anywhere. So: single-step through each
 * call of the signal part and of the drain part, and put from the trap handler after every
 * instruction. Then the same with a timer, as it comes.
 */
#include "agent/calltrace/calltrace.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <cmocka.h>

#define ME     4711
#define STACKS 20000
#define SAME   1 /* the stack that everybody puts */
#define DEPTH  3
#define EACH   0

static struct calltrace_storage *storage;

static struct {
    volatile sig_atomic_t on;
    volatile sig_atomic_t fresh; /* put a new stack each time, not the same one */
    int64_t at;                  /* the instruction after which is put; EACH: after each */
    int64_t steps, next;         /* next: the next new stack */
    _Atomic int64_t offered, refused;
    uint32_t id[STACKS];       /* what a put answered */
    _Atomic int64_t differing; /* two puts of a stack between rotations that did not agree */
} trap;

static void make_stack(int64_t n, struct frame *frames)
{
    for (int i = 0; i < DEPTH; i++)
        frames[i] = (struct frame){.value = (uintptr_t)n * 8, .bci = i};
}

static void put(int64_t n)
{
    struct frame frames[DEPTH];
    make_stack(n, frames);
    trap.offered++;
    int slot = calltrace_enter(storage, ME);
    if (slot < 0) {
        trap.refused++;
        return;
    }
    uint32_t id = calltrace_put(storage, slot, frames, DEPTH, false);
    calltrace_leave(storage, slot);
    if (id == 0)
        trap.refused++;
    else if (trap.id[n] != 0 && trap.id[n] != id)
        trap.differing++;
    else
        trap.id[n] = id;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
#ifdef __x86_64__
    const greg_t trap_flag = 0x100;
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    if (!trap.on) {
        *flags &= ~trap_flag;
        return;
    }
    *flags |= trap_flag;
    trap.steps++;
    if (trap.at != EACH && trap.steps != trap.at)
        return;
    if (trap.steps == trap.at)
        *flags &= ~trap_flag; /* no need to see the rest */
    if (trap.fresh && trap.next < STACKS)
        put(trap.next++);
    else
        put(SAME);
#else
    (void)context;
#endif
}

static void step_through(void (*call)(void))
{
    trap.steps = 0;
    trap.on = 1;
    raise(SIGTRAP);
    call();
    trap.on = 0;
    raise(SIGTRAP); /* in case nothing is executed any more */
}

static void see(void *context, const struct calltrace *trace)
{
    int64_t *seen = context;
    struct frame frames[DEPTH];
    int64_t n = (int64_t)(trace->frames[0].value / 8);
    assert_in_range(n, 1, STACKS - 1);
    make_stack(n, frames);
    assert_int_equal(trace->depth, DEPTH);
    assert_memory_equal(trace->frames, frames, sizeof frames);
    assert_int_equal(trace->id, trap.id[n]);
    trap.id[n] = 0;
    (*seen)++;
}

/* Every id that was handed out is there with its stack, and nothing else is. */
static void check_chunk(void)
{
    int64_t seen = 0;
    calltrace_rotate(storage);
    calltrace_collect(storage, see, &seen);
    for (int64_t n = 0; n < STACKS; n++)
        assert_int_equal(trap.id[n], 0);
    assert_int_equal(trap.differing, 0);
    assert_int_equal(trap.refused, 0);
    struct calltrace_counts counts;
    calltrace_counts(storage, &counts);
    assert_int_equal(counts.offered, trap.offered);
    assert_int_equal(counts.stored_new + counts.stored_seen, trap.offered);
}

static void refill(void)
{
    calltrace_refill(storage);
}

/* The chunk of an id that is put while it runs is open, so they are checked by count only. */
static void rotate(void)
{
    calltrace_rotate(storage);
}

static void count_one(void *context, const struct calltrace *trace)
{
    assert_in_range(trace->frames[0].value / 8, 1, STACKS - 1);
    assert_int_equal(trace->depth, DEPTH);
    ++*(int64_t *)context;
}

static int set_up(void **state)
{
    (void)state;
    memset(&trap, 0, sizeof trap);
    trap.next = 100;
    storage = calltrace_create((size_t)64 << 20);
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    return storage == NULL || sigaction(SIGTRAP, &action, NULL) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    signal(SIGTRAP, SIG_DFL);
    calltrace_destroy(storage);
    return 0;
}

/* One interruption a call, after its first instruction, its second, ... until the call has no more.
 */
static void interrupt_everywhere(void (*call)(void), bool fresh)
{
    trap.fresh = fresh;
    for (trap.at = 1; trap.at == 1 || trap.steps == trap.at - 1; trap.at++) {
        trap.next = 100;
        step_through(call);
        if (trap.steps == 0)
            skip(); /* no single steps here */
        check_chunk();
    }
    print_message("%ld instructions, each interrupted by a put\n", (long)trap.steps);
    assert_true(trap.steps > 100);
}

static void put_twice(void)
{
    put(SAME); /* new */
    put(SAME); /* seen */
}

static void test_same_stack_at_every_instruction(void **state)
{
    (void)state;
    interrupt_everywhere(put_twice, false);
}

static void test_new_stack_at_every_instruction(void **state)
{
    (void)state;
    interrupt_everywhere(put_twice, true);
}

static void test_put_at_every_instruction_of_the_drain(void **state)
{
    (void)state;
    int64_t collected = 0;
    trap.fresh = true;
    trap.at = EACH;
    step_through(refill);
    step_through(rotate);
    if (trap.steps == 0)
        skip();
    print_message("%ld instructions, each interrupted by a put\n", (long)trap.steps);
    assert_int_equal(trap.refused, 0);
    calltrace_collect(storage, count_one, &collected);
    assert_true(collected > 0); /* from before the swap */
    int64_t after = calltrace_peek(storage, count_one, &collected);
    assert_true(after > 0);
    struct calltrace_counts counts;
    calltrace_counts(storage, &counts);
    assert_int_equal(counts.stored_new, collected);
    assert_int_equal(counts.offered, trap.offered);
}

/* --- as it comes ------------------------------------------------------------------------------ */

static _Atomic bool over;
static _Atomic int64_t alarms;
static int64_t rotated;

static void on_alarm(int signal)
{
    (void)signal;
    static _Atomic uint32_t turn;
    struct frame frames[DEPTH];
    int64_t n = 1 + atomic_fetch_add(&turn, 1) % 1000;
    make_stack(n, frames);
    atomic_fetch_add(&alarms, 1);
    int slot = calltrace_enter(storage, ME);
    if (slot >= 0)
        calltrace_put(storage, slot, frames, DEPTH, false);
    calltrace_leave(storage, slot);
}

static void *drain(void *stored)
{
    while (!atomic_load(&over)) {
        calltrace_rotate(storage);
        calltrace_collect(storage, count_one, stored);
        calltrace_refill(storage);
        rotated++;
    }
    return NULL;
}

static void test_timer(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_NODEFER};
    const struct itimerval often = {.it_interval.tv_usec = 50, .it_value.tv_usec = 50}, never = {0};
    pthread_t thread;
    sigset_t alarm_only;
    int64_t stored = 0, own = 0;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
    assert_int_equal(pthread_create(&thread, NULL, drain, &stored), 0);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    time_t end = time(NULL) + 2;
    for (; time(NULL) < end; own++) {
        struct frame frames[DEPTH];
        make_stack(1 + own % 1000, frames);
        int slot = calltrace_enter(storage, ME);
        assert_true(slot >= 0);
        assert_true(calltrace_put(storage, slot, frames, DEPTH, false) > 0);
        calltrace_leave(storage, slot);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    calltrace_rotate(storage);
    calltrace_collect(storage, count_one, &stored);
    struct calltrace_counts counts;
    calltrace_counts(storage, &counts);
    print_message("%ld puts, %ld interruptions, %ld rotations\n", (long)own,
                  (long)atomic_load(&alarms), (long)rotated);
    assert_true(atomic_load(&alarms) > 10 && rotated > 10);
    assert_int_equal(counts.offered, own + atomic_load(&alarms));
    assert_int_equal(counts.stored_new, stored);
    assert_int_equal(counts.dropped_full, 0);
    assert_int_equal(counts.dropped_slots, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_stack_at_every_instruction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new_stack_at_every_instruction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put_at_every_instruction_of_the_drain, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_timer, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("calltrace nested", tests, NULL, NULL);
}
