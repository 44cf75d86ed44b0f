/*
 * A handler may interrupt another one of the same thread anywhere. So: single-step through each
 * call of the signal part and of the drain part, and put from the trap handler after every
 * instruction. Then the same with a timer, as it comes.
 */
#include "agent/calltrace/calltrace.h"
#include "tests/unit/skip.h"

#include <pthread.h>
#include <semaphore.h>
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
#define RUNS   200 /* a single step costs some 15 us */

static struct calltrace_storage *storage;

static struct {
    volatile sig_atomic_t on;
    void (*act)(void);
    int64_t first,
        stride;          /* put after instructions first, first + stride, ...; 0: only the first */
    int64_t steps, next; /* next: the next new stack */
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
    trap.offered++; /* atomic: in one instruction */
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

static void put_same(void)
{
    put(SAME);
}

static void put_fresh(void)
{
    put(trap.next < STACKS ? trap.next++ : SAME);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    const greg_t trap_flag = 0x100;
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    if (!trap.on) {
        *flags &= ~trap_flag;
        return;
    }
    *flags |= trap_flag;
    trap.steps++;
    if (trap.steps < trap.first)
        return;
    if (trap.stride == 0)
        *flags &= ~trap_flag; /* no need to see the rest */
    else if ((trap.steps - trap.first) % trap.stride != 0)
        return;
    trap.act();
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

static void put_new_and_seen(void)
{
    put(SAME);
    put(SAME);
}

static void skip_without_single_steps(void)
{
    if (trap.steps > 0)
        return;
    skip_because("refused: this machine does no single steps");
}

static int64_t instructions_of(void (*call)(void))
{
    call(); /* the dynamic linker has been here */
    check_chunk();
    trap.first = INT64_MAX;
    step_through(call);
    check_chunk();
    skip_without_single_steps();
    print_message("%ld instructions\n", (long)trap.steps);
    assert_true(trap.steps > 100);
    return trap.steps;
}

/* The stack that is being put is put, once. With a sanitizer's instructions in between, after each
 * third or so. */
static void test_same_stack_at_every_instruction(void **state)
{
    (void)state;
    int64_t all = instructions_of(put_same);
    trap.act = put_same;
    for (trap.first = 1; trap.first <= all; trap.first += 1 + all / RUNS) {
        step_through(put_same);
        check_chunk();
    }
}

static void test_new_stack_at_every_instruction(void **state)
{
    (void)state;
    instructions_of(put_new_and_seen);
    trap.act = put_fresh;
    /* Far from each other: a new stack goes to the head of a list, and who wanted to be there at
     * that moment tries again. */
    trap.stride = 37;
    for (trap.first = 1; trap.first <= trap.stride; trap.first++) {
        trap.next = 100;
        step_through(put_new_and_seen);
        check_chunk();
    }
}

static void test_put_at_every_instruction_of_the_drain(void **state)
{
    (void)state;
    int64_t collected = 0;
    trap.act = put_fresh;
    trap.stride = 1;
    step_through(refill);
    step_through(rotate);
    skip_without_single_steps();
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

/* --- another thread rotates at every instruction ---------------------------------------------- */

static sem_t wanted, done;
static _Atomic bool over;
static int64_t found; /* visits of SAME */

static void find(void *context, const struct calltrace *trace)
{
    (void)context;
    found += trace->frames[0].value == SAME * 8;
}

static void *rotate_on_demand(void *unused)
{
    (void)unused;
    while (sem_wait(&wanted) == 0 && !atomic_load(&over)) {
        calltrace_rotate(storage);
        calltrace_collect(storage, find, NULL);
        sem_post(&done);
    }
    return NULL;
}

/* In the middle of a put: a rotation either is over soon, or it waits for that put. */
static void ask_for_rotation(void)
{
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 3000000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    sem_post(&wanted);
    if (sem_timedwait(&done, &soon) == 0)
        sem_post(&done); /* for who looks after the put */
}

/* Whichever chunk the stack has got into, it is found there, once. */
static void test_rotation_at_every_instruction(void **state)
{
    (void)state;
    pthread_t thread;
    int64_t all = instructions_of(put_same), runs = 0;
    sem_init(&wanted, 0, 0);
    sem_init(&done, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, rotate_on_demand, NULL), 0);
    trap.act = ask_for_rotation;
    for (trap.first = 1; trap.first <= all; trap.first += 1 + all / RUNS, runs++) {
        step_through(put_same);
        assert_int_equal(trap.refused, 0);
        trap.id[SAME] = 0;
        if (trap.steps >= trap.first)
            sem_wait(&done);
        calltrace_rotate(storage);
        calltrace_collect(storage, find, NULL);
        assert_int_equal(found, runs + 1);
    }
    atomic_store(&over, true);
    sem_post(&wanted);
    pthread_join(thread, NULL);
    atomic_store(&over, false);
}

/* --- as it comes ------------------------------------------------------------------------------ */

static _Atomic int64_t alarms;
static int64_t rotated, twice, chunk_end_ms;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A machine that is slow enough lets the timer overtake its handlers without end. Sixteen is what a
 * thread's slots bear, and what the sampler's own guard makes one. */
#define NESTED_MAX 8

static void on_alarm(int signal)
{
    (void)signal;
    static _Atomic uint32_t turn;
    static _Atomic int nested; /* one thread takes the signal */
    if (atomic_fetch_add(&nested, 1) >= NESTED_MAX) {
        atomic_fetch_sub(&nested, 1);
        return;
    }
    struct frame frames[DEPTH];
    int64_t n = 1 + (int64_t)atomic_fetch_add(&turn, 1) * 7 % (STACKS - 1);
    make_stack(n, frames);
    atomic_fetch_add(&alarms, 1);
    int slot = calltrace_enter(storage, ME);
    if (slot >= 0)
        calltrace_put(storage, slot, frames, DEPTH, false);
    calltrace_leave(storage, slot);
    atomic_fetch_sub(&nested, 1);
}

/* A stack is in a chunk once, also when its index was doubled while it was put. */
static void count_once(void *context, const struct calltrace *trace)
{
    static int64_t chunk_of[STACKS];
    int64_t n = (int64_t)(trace->frames[0].value / 8);
    count_one(context, trace);
    twice += chunk_of[n] == rotated + 1;
    chunk_of[n] = rotated + 1;
}

/* A chunk is long enough for its indexes to double. */
static void *drain(void *stored)
{
    while (!atomic_load(&over)) {
        struct calltrace_counts counts;
        calltrace_refill(storage);
        calltrace_counts(storage, &counts);
        if (counts.used < STACKS * 9 / 10 && now_ms() < chunk_end_ms)
            continue;
        calltrace_rotate(storage);
        calltrace_collect(storage, count_once, stored);
        chunk_end_ms = now_ms() + 50;
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
    int64_t stored = 0, own = 0, refused = 0;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
    assert_int_equal(pthread_create(&thread, NULL, drain, &stored), 0);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    int64_t end_ms = now_ms() + 1000;
    for (; now_ms() < end_ms; own++) {
        struct frame frames[DEPTH];
        make_stack(1 + own % (STACKS - 1), frames);
        int slot = calltrace_enter(storage, ME);
        assert_true(slot >= 0);
        refused += calltrace_put(storage, slot, frames, DEPTH, false) == 0;
        calltrace_leave(storage, slot);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    calltrace_rotate(storage);
    calltrace_collect(storage, count_once, &stored);
    struct calltrace_counts counts;
    calltrace_counts(storage, &counts);
    assert_int_equal(twice, 0);
    print_message("%ld puts, %ld interruptions, %ld rotations\n", (long)own,
                  (long)atomic_load(&alarms), (long)rotated);
    assert_true(atomic_load(&alarms) > 10 && rotated > 3);
    assert_int_equal(counts.offered, own + atomic_load(&alarms));
    assert_int_equal(counts.stored_new, stored);
    /* They come as fast as a processor can, so that the drain may be late. */
    assert_in_range(counts.dropped_late, refused, counts.offered / 2);
    assert_int_equal(counts.stored_new + counts.stored_seen + counts.dropped_late, counts.offered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_stack_at_every_instruction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new_stack_at_every_instruction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put_at_every_instruction_of_the_drain, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_rotation_at_every_instruction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_timer, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("calltrace nested", tests, NULL, NULL);
}
