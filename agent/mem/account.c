#include "agent/mem/account.h"

struct account account;

void account_raise_peak(_Atomic int64_t *peak, int64_t bytes)
{
    int64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (bytes > seen && !atomic_compare_exchange_weak_explicit(
                               peak, &seen, bytes, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* What the counter has now. */
static int64_t add(_Atomic int64_t *counter, int64_t by)
{
    return atomic_fetch_add_explicit(counter, by, memory_order_relaxed) + by;
}

void account_count_more(enum component component, int64_t requested_bytes, int64_t reserved_bytes,
                        int64_t mapped_bytes)
{
    struct tally *tally = &account.tally[component];
    add(&tally->requested_bytes, requested_bytes);
    add(&tally->allocations, 1);
    if (mapped_bytes != 0)
        add(&tally->mapped_bytes, mapped_bytes);
    int64_t live_bytes = add(&tally->reserved_bytes, reserved_bytes);
    int64_t all_bytes = add(&account.reserved_bytes, reserved_bytes);
    if (mem_get_level() == MEM_OFF)
        return;
    account_raise_peak(&tally->peak_bytes, live_bytes);
    account_raise_peak(&account.peak_bytes, all_bytes);
}

void account_count_less(enum component component, int64_t requested_bytes, int64_t reserved_bytes,
                        int64_t mapped_bytes)
{
    struct tally *tally = &account.tally[component];
    add(&tally->requested_bytes, -requested_bytes);
    add(&tally->frees, 1);
    if (mapped_bytes != 0)
        add(&tally->mapped_bytes, -mapped_bytes);
    add(&tally->reserved_bytes, -reserved_bytes);
    add(&account.reserved_bytes, -reserved_bytes);
}
