/* x86-64: a counter that one thread writes and others read, and what is compared with one. account.h has
 * what each counts. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Written by one thread at a time: no locked instruction. Release, so that who sees the second
 * count sees what was counted before it; a plain store here. */
static inline __attribute__((always_inline)) void account_add(_Atomic int64_t *counter, int64_t by)
{
#ifndef __SANITIZE_THREAD__
    /* One instruction; compilers make three of what stands below. Volatile keeps the order. */
    __asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(by) : "cc");
#else
    int64_t value = atomic_load_explicit(counter, memory_order_relaxed) + by;
    atomic_store_explicit(counter, value, memory_order_release);
#endif
}

static inline __attribute__((always_inline)) void account_subtract(_Atomic int64_t *counter,
                                                                   int64_t by)
{
#ifndef __SANITIZE_THREAD__
    __asm__ volatile("subq %1, %0" : "+m"(*counter) : "er"(by) : "cc");
#else
    account_add(counter, -by);
#endif
}

/* Comparisons with memory: compilers load what is atomic first. */
static inline __attribute__((always_inline)) bool account_is_above(int64_t value,
                                                                   _Atomic int64_t *limit)
{
#ifndef __SANITIZE_THREAD__
    bool above;
    __asm__ volatile("cmpq %2, %1" : "=@ccg"(above) : "r"(value), "m"(*limit));
    return above;
#else
    return value > atomic_load_explicit(limit, memory_order_relaxed);
#endif
}

static inline __attribute__((always_inline)) bool account_is_below(uint64_t value,
                                                                   _Atomic uint64_t *limit)
{
#ifndef __SANITIZE_THREAD__
    bool below;
    __asm__ volatile("cmpq %2, %1" : "=@ccb"(below) : "r"(value), "m"(*limit));
    return below;
#else
    return value < atomic_load_explicit(limit, memory_order_relaxed);
#endif
}

static inline __attribute__((always_inline)) bool account_is(uint64_t value,
                                                             _Atomic uint64_t *expected)
{
#ifndef __SANITIZE_THREAD__
    bool equal;
    __asm__ volatile("cmpq %2, %1" : "=@cce"(equal) : "r"(value), "m"(*expected));
    return equal;
#else
    return value == atomic_load_explicit(expected, memory_order_relaxed);
#endif
}
