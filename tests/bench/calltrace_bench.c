/*
 * calltrace_bench OLD NEW ROUNDS: what a put of a stack costs, in two builds of agent/calltrace.
 *
 * OLD and NEW are shared objects of agent/calltrace and agent/mem, loaded beside each other. Stacks
 * have 40 frames (tests/unit/stacks.h). In each round both take the same stacks in turns of 500, so
 * that they meet the same neighbours; their tables are rotated and collected between rounds. One
 * thread; its CPU time, with the page faults of fresh tables, without the drain's part.
 *
 * Samples, nanoseconds a put of old and new, and their ratio:
 *   hot_...          300 stacks of an application, seen before
 *   seen_...         20 000 of them, seen before, in random order
 *   new_...          20 000 of them, each for the first time
 *   random_...       20 000 random stacks, each for the first time
 *   mixed_...        as a profile of an application meets them: one in ten is new
 */
#include "agent/calltrace/calltrace.h"
#include "tests/unit/stacks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#define STACKS 20000
#define HOT    300
#define TURN   500
#define BOUND  ((size_t)1 << 30) /* neither is short of room */

struct storage {
    struct calltrace_storage *traces;
    struct calltrace_storage *(*create)(size_t);
    int (*enter)(struct calltrace_storage *, int);
    uint32_t (*put)(struct calltrace_storage *, int, const struct frame *, int, bool);
    void (*leave)(struct calltrace_storage *, int);
    void (*rotate)(struct calltrace_storage *);
    int64_t (*collect)(struct calltrace_storage *, calltrace_visit_fn *, void *);
    void (*refill)(struct calltrace_storage *);
    double ns;
    int64_t puts;
};

_Noreturn static void die(const char *why)
{
    fprintf(stderr, "calltrace_bench: %s\n", why);
    exit(1);
}

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        die(dlerror());
    return found;
}

static void load(struct storage *storage, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        die(dlerror());
    *(void **)&storage->create = find(library, "calltrace_create");
    *(void **)&storage->enter = find(library, "calltrace_enter");
    *(void **)&storage->put = find(library, "calltrace_put");
    *(void **)&storage->leave = find(library, "calltrace_leave");
    *(void **)&storage->rotate = find(library, "calltrace_rotate");
    *(void **)&storage->collect = find(library, "calltrace_collect");
    *(void **)&storage->refill = find(library, "calltrace_refill");
    storage->traces = storage->create(BOUND);
    if (storage->traces == NULL)
        die("out of memory");
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void see(void *context, const struct calltrace *trace)
{
    (void)context, (void)trace;
}

/* order: which of the stacks, count of them. */
static void put_all(struct storage *storage, const struct frame *stacks, const uint32_t *order,
                    size_t count)
{
    storage->refill(storage->traces);
    double began_ns = cpu_ns();
    for (size_t i = 0; i < count; i++) {
        int slot = storage->enter(storage->traces, 4711);
        if (storage->put(storage->traces, slot, stacks + (size_t)order[i] * STACK_FRAMES,
                         STACK_FRAMES, false) == 0)
            die("a stack found no room");
        storage->leave(storage->traces, slot);
    }
    storage->ns += cpu_ns() - began_ns;
    storage->puts += (int64_t)count;
}

static void begin(struct storage *storage)
{
    storage->ns = 0;
    storage->puts = 0;
}

static void end(const char *name, const struct storage *storage)
{
    double old_ns = storage[0].ns / (double)storage[0].puts;
    double new_ns = storage[1].ns / (double)storage[1].puts;
    printf("%s_old_ns %.6g\n%s_new_ns %.6g\n%s_ratio %.6g\n", name, old_ns, name, new_ns, name,
           new_ns / old_ns);
}

static void in_turns(const char *name, struct storage *storage, const struct frame *stacks,
                     const uint32_t *order, size_t count)
{
    begin(&storage[0]);
    begin(&storage[1]);
    for (size_t at = 0; at < count; at += TURN) {
        size_t turn = count - at < TURN ? count - at : TURN;
        int first = at / TURN % 2 == 0 ? 0 : 1;
        put_all(&storage[first], stacks, order + at, turn);
        put_all(&storage[1 - first], stacks, order + at, turn);
    }
    if (name != NULL)
        end(name, storage);
}

static void fresh_chunk(struct storage *storage)
{
    for (int i = 0; i < 2; i++) {
        storage[i].rotate(storage[i].traces);
        storage[i].collect(storage[i].traces, see, NULL);
    }
}

int main(int argc, char **argv)
{
    static struct storage storage[2];
    static uint32_t in_order[STACKS], shuffled[STACKS], hot[STACKS], mixed[STACKS];
    if (argc != 4)
        die("usage: calltrace_bench OLD NEW ROUNDS");
    load(&storage[0], argv[1]);
    load(&storage[1], argv[2]);
    struct frame *application = stacks_make(stack_application_make, STACKS);
    struct frame *random = stacks_make(stack_random_make, STACKS);
    uint64_t state = 7;
    if (application == NULL || random == NULL)
        die("out of memory");
    for (uint32_t i = 0; i < STACKS; i++) {
        in_order[i] = i;
        shuffled[i] = (uint32_t)(stack_random(&state) % STACKS);
        hot[i] = (uint32_t)(stack_random(&state) % HOT);
        mixed[i] = i % 10 == 0 ? i : (uint32_t)(stack_random(&state) % HOT);
    }
    for (int round = atoi(argv[3]); round > 0; round--) {
        in_turns("new", storage, application, in_order, STACKS);
        in_turns("seen", storage, application, shuffled, STACKS);
        fresh_chunk(storage);
        in_turns(NULL, storage, application, hot, STACKS / 10);
        in_turns("hot", storage, application, hot, STACKS);
        fresh_chunk(storage);
        in_turns("random", storage, random, in_order, STACKS);
        fresh_chunk(storage);
        in_turns("mixed", storage, application, mixed, STACKS);
        fresh_chunk(storage);
    }
    free(application);
    free(random);
    return 0;
}
