/*
 * seen_methods_stress SECONDS: two threads, interrupted by a signal, look up methods and store
 * their numbers in stacks, while a third thread puts other methods at the same addresses and the
 * main thread ends chunks. Checked for each stack that is written: the number has a name, and it is
 * that of the method that was at the address when the stack was taken.
 */
#include "agent/calltrace/calltrace.h"
#include "agent/mem/mem.h"
#include "agent/methods/seen_methods.h"
#include "tests/unit/agent_methods/fake_methods.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define METHODS     200
#define THREADS     2
#define KNOWN       (1u << 20) /* numbers are not used twice; this many are alive at most */
#define TURN_US     1000
#define TURNS       5 /* a chunk */
#define BOUND_BYTES ((size_t)1 << 20)

/* Which method is at an address, and how many handlers have it on their stacks; -1: it is being
 * replaced. */
static struct {
    _Atomic int users;
    int generation;
} place[METHODS];

/* By number: place and generation + 1 of the name that was collected; 0: none. */
static uint64_t known[KNOWN];

static struct seen_methods *seen;
static struct calltrace_storage *traces;
static _Atomic bool over;
static _Atomic int64_t wrong;
static int64_t checked, refused;
static __thread uint64_t random_state;
static __thread int own_tid; /* 0: not one of those who take stacks */

static void complain(const char *what, uint64_t a, uint64_t b)
{
    if (atomic_fetch_add(&wrong, 1) < 10)
        fprintf(stderr, "seen_methods_stress: %s (%llu, %llu)\n", what, (unsigned long long)a,
                (unsigned long long)b);
}

static uint32_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33);
}

/* --- methods ---------------------------------------------------------------------------------- */

static void name_of(size_t n, int generation, char name[64])
{
    snprintf(name, 64, "stress/Class%zu_%d", n, generation);
}

static void fill(size_t n)
{
    static const uint8_t LINES[] = {9, 10, 11, 0};
    char name[64];
    name_of(n, place[n].generation, name);
    fake_fill(n, name, "run", "()V", 1, LINES, sizeof LINES);
}

static void replace(size_t n)
{
    char old[64];
    int nobody = 0;
    if (!atomic_compare_exchange_strong(&place[n].users, &nobody, -1))
        return;
    name_of(n, place[n].generation++, old);
    fill(n);
    seen_methods_class_loaded(seen);
    atomic_store(&place[n].users, 0);
    if (n % 2 == 0) /* the others are not reported */
        seen_methods_class_unloaded(seen, old);
}

static void *churn(void *argument)
{
    (void)argument;
    random_state = 77;
    while (!over) {
        replace(next_random() % METHODS);
        if (next_random() % 4 == 0)
            usleep(100);
    }
    return NULL;
}

/* --- handlers --------------------------------------------------------------------------------- */

static void take_stack(size_t n)
{
    int users = atomic_load(&place[n].users);
    do {
        if (users < 0)
            return;
    } while (!atomic_compare_exchange_weak(&place[n].users, &users, users + 1));
    int slot = calltrace_enter(traces, own_tid);
    if (slot >= 0) {
        const struct frame frames[2] = {
            {.value = seen_methods_put(seen, fake_method(n)), .kind = FRAME_SEEN},
            {.value = n, .bci = place[n].generation},
        };
        calltrace_put(traces, slot, frames, 2, false);
        calltrace_leave(traces, slot);
    }
    atomic_fetch_sub(&place[n].users, 1);
}

static void on_signal(int number)
{
    (void)number;
    uint64_t before = random_state;
    if (own_tid != 0)
        take_stack(next_random() % METHODS);
    random_state = before + 1;
}

static void *work(void *argument)
{
    own_tid = (int)(uintptr_t)argument;
    random_state = (uint64_t)own_tid;
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    while (!over)
        take_stack(next_random() % METHODS);
    return NULL;
}

/* --- the drain -------------------------------------------------------------------------------- */

static void learn(void *context, uint64_t number, const struct seen_method *method)
{
    unsigned long n, generation;
    (void)context;
    if (known[number % KNOWN] != 0)
        complain("a number is used twice", number, known[number % KNOWN]);
    if (sscanf(method->class_name, "stress/Class%lu_%lu", &n, &generation) != 2 || n >= METHODS)
        complain(method->class_name, number, 0);
    else
        known[number % KNOWN] = (generation + 1) << 32 | n;
    if (strcmp(method->name, "run") != 0 || strcmp(method->signature, "()V") != 0 ||
        method->lines_bytes != 4)
        complain(method->name, number, method->lines_bytes);
}

static void forget(void *context, uint64_t number)
{
    (void)context;
    if (known[number % KNOWN] == 0)
        complain("gone before it was known", number, 0);
    known[number % KNOWN] = 0;
}

static void check(void *context, const struct calltrace *trace)
{
    uint64_t number = trace->frames[0].value;
    (void)context;
    checked++;
    if (number == SEEN_OVER_BUDGET) {
        refused++;
        return;
    }
    if (known[number % KNOWN] == 0)
        seen_methods_collect(seen, learn, NULL);
    uint64_t name = known[number % KNOWN];
    if (name == 0)
        complain("a frame without a name", number, 0);
    else if (name != (((uint64_t)trace->frames[1].bci + 1) << 32 | trace->frames[1].value))
        complain("a frame with the name of another method", name, (uint64_t)trace->frames[1].bci);
}

static void end_chunk(void)
{
    calltrace_rotate(traces);
    seen_methods_collect(seen, learn, NULL);
    calltrace_collect(traces, check, NULL);
    calltrace_peek(traces, check, NULL);
    seen_methods_turn(seen, forget, NULL);
}

int main(int argc, char **argv)
{
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
    pthread_t threads[THREADS + 1];
    sigset_t mask;
    fake_begin(METHODS);
    seen = seen_methods_create(BOUND_BYTES);
    traces = calltrace_create((size_t)64 << 20);
    if (seen == NULL || traces == NULL)
        return 1;
    for (size_t n = 0; n < METHODS; n++)
        fill(n);
    sigemptyset(&mask);
    sigaddset(&mask, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    signal(SIGALRM, on_signal);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)) != 0)
            return 1;
    if (pthread_create(&threads[THREADS], NULL, churn, NULL) != 0)
        return 1;
    const struct itimerval every = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &every, NULL);
    while (time(NULL) < end) {
        for (int turn = 0; turn < TURNS; turn++) {
            usleep(TURN_US);
            seen_methods_collect(seen, learn, NULL);
            calltrace_refill(traces);
        }
        end_chunk();
    }
    over = true;
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < THREADS + 1; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SEEN_AGE_MAX + 2; i++)
        end_chunk();
    struct seen_methods_counts counts;
    seen_methods_counts(seen, &counts);
    if (counts.methods != 0 || counts.held_bytes != 0)
        complain("something is left", (uint64_t)counts.methods, (uint64_t)counts.held_bytes);
    for (uint64_t i = 0; i < KNOWN; i++)
        if (known[i] != 0)
            complain("a name is left", i, known[i]);
    seen_methods_destroy(seen);
    calltrace_destroy(traces);
    fake_end();
    printf("seen_methods_stress: %ld stacks, %ld methods, %ld reused addresses, %ld over budget, "
           "%ld unreadable, %ld wrong\n",
           (long)checked, (long)counts.seen, (long)counts.reused, (long)refused,
           (long)counts.unreadable, (long)wrong);
    return wrong != 0 || checked == 0 || counts.reused == 0 || counts.unreadable != 0;
}
