/* aarch64: a counter that one thread writes and others read, and what is compared with one. account.h has
 * what each counts. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Written by one thread at a time: no exclusive or LSE instruction. Release (stlr), so that who sees
 * the second count sees what was counted before it. */
static inline __attribute__((always_inline)) void account_add(_Atomic int64_t *counter, int64_t by)
{
    int64_t value = atomic_load_explicit(counter, memory_order_relaxed) + by;
    atomic_store_explicit(counter, value, memory_order_release);
}

static inline __attribute__((always_inline)) void account_subtract(_Atomic int64_t *counter,
                                                                   int64_t by)
{
    account_add(counter, -by);
}

static inline __attribute__((always_inline)) bool account_is_above(int64_t value,
                                                                   _Atomic int64_t *limit)
{
    return value > atomic_load_explicit(limit, memory_order_relaxed);
}

static inline __attribute__((always_inline)) bool account_is_below(uint64_t value,
                                                                   _Atomic uint64_t *limit)
{
    return value < atomic_load_explicit(limit, memory_order_relaxed);
}

static inline __attribute__((always_inline)) bool account_is(uint64_t value,
                                                             _Atomic uint64_t *expected)
{
    return value == atomic_load_explicit(expected, memory_order_relaxed);
}
