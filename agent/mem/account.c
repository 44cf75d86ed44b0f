#include "agent/mem/account.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How often a reader looks at a stripe whose two counts differ, and how often after that with a
 * millisecond between. A change takes nanoseconds, so only a writer that was descheduled (it may be for many time
 * slices; sched_yield does not wait for it: a thousand took 0.8 ms) or vanished (fork) makes them differ for longer. */
#define READ_YIELDS 100
#define READ_WAITS  500

static _Atomic(struct account *) the_account;

static _Atomic int the_level = MEM_SUMMARY;

enum mem_level mem_get_level(void)
{
    return (enum mem_level)atomic_load_explicit(&the_level, memory_order_relaxed);
}

/* By who takes the stripe and by who sets the level, at once perhaps: the last to write has seen the
 * last level, for each looks again after it has written (sequentially consistent). A tag of another
 * level is right too for a moment, blocks are freed by a longer way then. */
static void tell_level(struct stripe *stripe)
{
    int level;
    do {
        level = atomic_load(&the_level);
        if (atomic_load_explicit(&stripe->tally[0].tag, memory_order_relaxed) !=
            account_tag((enum mem_level)level, 0, SITE_NONE))
            for (int i = 0; i < COMPONENT_COUNT; i++)
                atomic_store_explicit(
                    &stripe->tally[i].tag,
                    account_tag((enum mem_level)level, (enum component)i, SITE_NONE),
                    memory_order_relaxed);
        atomic_store(&stripe->plain_below, level == MEM_DETAIL ? 0 : CALLOC_FROM_BYTES);
    } while (atomic_load(&the_level) != level);
}

void account_set_level(enum mem_level level)
{
    atomic_store(&the_level, level);
    struct account *account = atomic_load(&the_account);
    uint32_t used = account == NULL ? 0 : atomic_load(&account->stripes_used);
    for (uint32_t i = 0; i < used; i++)
        tell_level(&account->stripe[i]);
}

struct stripe account_no_stripe;
__thread struct stripe *account_own_stripe __attribute__((tls_model("initial-exec"))) =
    &account_no_stripe;
static __thread bool thread_ending __attribute__((tls_model("initial-exec")));

static void give_back(struct stripe *stripe)
{
    atomic_store_explicit(&stripe->taken, 0, memory_order_release);
}

/* Other destructors of this thread may still allocate and free: they borrow. */
static void end_thread(void *stripe)
{
    thread_ending = true;
    account_own_stripe = &account_no_stripe;
    give_back(stripe);
}

/* A forked child has one thread. Stripes of the others are free again; where a thread was copied
 * between its two counts, the second one is made up for. */
static void forget_vanished_threads(void)
{
    struct account *account = atomic_load_explicit(&the_account, memory_order_acquire);
    for (int i = 0; account != NULL && i < STRIPES; i++) {
        struct stripe *stripe = &account->stripe[i];
        int64_t sum_bytes = 0;
        if (stripe == account_own_stripe)
            continue;
        for (int c = 0; c < COMPONENT_COUNT; c++)
            sum_bytes +=
                atomic_load_explicit(&stripe->tally[c].reserved_bytes, memory_order_relaxed);
        atomic_store_explicit(&stripe->all_reserved_bytes, sum_bytes, memory_order_relaxed);
        atomic_store_explicit(&stripe->taken, 0, memory_order_relaxed);
    }
}

static size_t account_size(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (sizeof(struct account) + page - 1) / page * page;
}

/* The account's first entry is the account. */
static void count_itself(struct account *account)
{
    int64_t size = (int64_t)account_size();
    struct stripe *stripe = &account->stripe[0];
    struct tally *tally = &stripe->tally[COMPONENT_ACCOUNTING];
    atomic_init(&stripe->all_reserved_bytes, size);
    atomic_init(&tally->requested_bytes, (int64_t)sizeof *account);
    atomic_init(&tally->reserved_bytes, size);
    atomic_init(&tally->mapped_bytes, size);
    atomic_init(&tally->allocations, 1);
    atomic_init(&account->peak_bytes[COMPONENT_ACCOUNTING], size);
    atomic_init(&account->peak_total_bytes, size);
    atomic_init(&account->stripes_used, 1);
    struct listed_map *map = &account->map[0];
    atomic_init(&map->size, (size_t)size);
    atomic_init(&map->component, COMPONENT_ACCOUNTING);
    atomic_init(&map->site, SITE_NONE);
    atomic_init(&map->address, (uintptr_t)account);
    atomic_init(&account->maps_used, 1);
}

static struct account *make_account(void)
{
    size_t size = account_size();
    struct account *account =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (account == MAP_FAILED)
        return NULL;
    account->have_thread_end = pthread_key_create(&account->thread_end, end_thread) == 0;
    count_itself(account);
    struct account *winner = NULL;
    if (atomic_compare_exchange_strong_explicit(&the_account, &winner, account,
                                                memory_order_acq_rel, memory_order_acquire)) {
        pthread_atfork(NULL, NULL, forget_vanished_threads);
        return account;
    }
    if (account->have_thread_end)
        pthread_key_delete(account->thread_end);
    munmap(account, size);
    return winner;
}

struct account *account_get(void)
{
    struct account *account = atomic_load_explicit(&the_account, memory_order_acquire);
    return account != NULL ? account : make_account();
}

/* Acquire pairs with the release of the last owner: what it counted is seen. Who sets the level sees
 * this stripe used, or the level it has set is seen here. */
static bool try_take(struct account *account, int index)
{
    struct stripe *stripe = &account->stripe[index];
    uint32_t nobody = 0;
    if (atomic_load_explicit(&stripe->taken, memory_order_relaxed) != 0 ||
        !atomic_compare_exchange_strong_explicit(&stripe->taken, &nobody, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    uint32_t used = atomic_load(&account->stripes_used);
    while (used < (uint32_t)index + 1 &&
           !atomic_compare_exchange_weak(&account->stripes_used, &used, (uint32_t)index + 1))
        ;
    tell_level(stripe);
    return true;
}

static struct stripe *borrow_stripe(struct account *account)
{
    /* Stacks, and so these addresses, are multiples of 2 MB from each other where pages have 64 KB. */
    unsigned start = (uint32_t)((uintptr_t)&account_own_stripe >> 12) * UINT32_C(2654435761) >> 16;
    for (;;) {
        for (unsigned i = 0; i < BORROWED_STRIPES; i++) {
            int index = THREAD_STRIPES + (int)((start + i) % BORROWED_STRIPES);
            if (try_take(account, index))
                return &account->stripe[index];
        }
        sched_yield();
    }
}

/* NULL: the thread has to borrow. */
static struct stripe *take_own_stripe(struct account *account)
{
    if (!account->have_thread_end || thread_ending)
        return NULL;
    for (int i = 0; i < THREAD_STRIPES; i++) {
        if (!try_take(account, i))
            continue;
        if (pthread_setspecific(account->thread_end, &account->stripe[i]) == 0)
            return account_own_stripe = &account->stripe[i];
        give_back(&account->stripe[i]);
        return NULL;
    }
    return NULL;
}

bool account_count_first(enum component component, int sign, int64_t requested_bytes,
                         int64_t reserved_bytes, int64_t mapped_bytes)
{
    struct account *account = account_get();
    if (account == NULL)
        return false;
    struct stripe *own = take_own_stripe(account);
    struct stripe *stripe = own != NULL ? own : borrow_stripe(account);
    account_count_in(stripe, component, sign, requested_bytes, reserved_bytes, mapped_bytes);
    if (own == NULL)
        give_back(stripe);
    return true;
}

void account_raise_peak(_Atomic int64_t *peak, int64_t bytes)
{
    int64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (bytes > seen && !atomic_compare_exchange_weak_explicit(
                               peak, &seen, bytes, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Sets the next check of all stripes, not only of the one that asked: a stripe that shrank while
 * another grew must not grow back unseen. */
void account_look_at_peak(enum component component)
{
    struct account *account = account_get();
    uint32_t used = atomic_load_explicit(&account->stripes_used, memory_order_acquire);
    int64_t bytes = 0, all_bytes = 0;
    for (uint32_t i = 0; i < used; i++) {
        struct stripe *stripe = &account->stripe[i];
        struct tally *tally = &stripe->tally[component];
        int64_t live_bytes = atomic_load_explicit(&tally->reserved_bytes, memory_order_relaxed);
        atomic_store_explicit(&tally->peak_look, live_bytes + PEAK_STEP_BYTES,
                              memory_order_relaxed);
        bytes += live_bytes;
        all_bytes += atomic_load_explicit(&stripe->all_reserved_bytes, memory_order_relaxed);
    }
    if (mem_get_level() == MEM_OFF)
        return;
    account_raise_peak(&account->peak_bytes[component], bytes);
    account_raise_peak(&account->peak_total_bytes, all_bytes);
}

/* False when the two counts never agreed. */
static bool read_stripe(const struct stripe *stripe, struct tally_sum read[COMPONENT_COUNT],
                        int64_t *all_reserved_bytes)
{
    for (int tries = 0; tries < READ_YIELDS + READ_WAITS; tries++) {
        int64_t sum_bytes = 0;
        *all_reserved_bytes =
            atomic_load_explicit(&stripe->all_reserved_bytes, memory_order_acquire);
        for (int i = 0; i < COMPONENT_COUNT; i++) {
            const struct tally *tally = &stripe->tally[i];
            read[i] = (struct tally_sum){
                atomic_load_explicit(&tally->requested_bytes, memory_order_relaxed),
                atomic_load_explicit(&tally->reserved_bytes, memory_order_relaxed),
                atomic_load_explicit(&tally->mapped_bytes, memory_order_relaxed),
                atomic_load_explicit(&tally->allocations, memory_order_relaxed),
                atomic_load_explicit(&tally->frees, memory_order_relaxed),
            };
            sum_bytes += read[i].reserved_bytes;
        }
        if (sum_bytes == *all_reserved_bytes)
            return true;
        if (tries < READ_YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

bool account_sum(struct tally_sum sum[COMPONENT_COUNT], int64_t *all_reserved_bytes)
{
    for (int i = 0; i < COMPONENT_COUNT; i++)
        sum[i] = (struct tally_sum){0};
    *all_reserved_bytes = 0;
    const struct account *account = account_get();
    if (account == NULL)
        return true;
    bool whole = true;
    uint32_t used = atomic_load_explicit(&account->stripes_used, memory_order_acquire);
    for (uint32_t s = 0; s < used; s++) {
        struct tally_sum read[COMPONENT_COUNT];
        int64_t all_bytes;
        whole &= read_stripe(&account->stripe[s], read, &all_bytes);
        for (int i = 0; i < COMPONENT_COUNT; i++) {
            sum[i].requested_bytes += read[i].requested_bytes;
            sum[i].reserved_bytes += read[i].reserved_bytes;
            sum[i].mapped_bytes += read[i].mapped_bytes;
            sum[i].allocations += read[i].allocations;
            sum[i].frees += read[i].frees;
        }
        *all_reserved_bytes += all_bytes;
    }
    return whole;
}
