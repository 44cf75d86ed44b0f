/*
 * saturated: sums of numbers that somebody else has written. A text may claim anything: a sum stays
 * at the end of the range instead of leaving it.
 *
 * Pure; any thread.
 */
#ifndef ANALYZERS_PARSE_SATURATED_H
#define ANALYZERS_PARSE_SATURATED_H

#include <stdint.h>

static inline int64_t saturated_add(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a > 0 ? INT64_MAX : INT64_MIN;
}

#endif
