/*
 * name_count: how many different names were there, and how often did the most frequent one come?
 *
 * Exact up to NAME_COUNT_EXACT names, if the budget that many counters share allows it; an estimate
 * beyond (HyperLogLog, 4096 registers, standard error 1.6 %; when the budget is gone, 512 registers
 * and 4.6 %). Estimated after O. Ertl, "New cardinality estimation algorithms for HyperLogLog
 * sketches", 2017, which needs no table of corrections.
 *
 *   name_count_add ... -> name_count_names, name_count_most -> name_count_free
 *
 * A zeroed struct is an empty counter. When memory is out it keeps counting what it can: names is
 * then too low, never too high. Calling context: one thread a counter and its budget.
 */
#ifndef ANALYZERS_CLASSLOG_NAME_COUNT_H
#define ANALYZERS_CLASSLOG_NAME_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_COUNT_EXACT 4096

/* Bytes that counters may still take. */
struct name_budget {
    size_t exact_bytes;
    size_t sketch_bytes;
};

struct name_count {
    uint64_t *slots; /* exact: 40 bits of the name's hash over 24 bits of count; 0: empty */
    uint8_t *sketch;
    uint32_t names; /* exact */
    uint32_t most;  /* exact, saturated at 2^24; when a sketch took over, as it was then */
    uint16_t slot_bits;
    uint16_t sketch_bits;
};

/* hash: 64 well mixed bits of the name. */
void name_count_add(struct name_count *count, uint64_t hash, struct name_budget *budget);
int64_t name_count_names(const struct name_count *count);
/* How often the most frequent name came, at least; exact is set when it is not more. */
int64_t name_count_most(const struct name_count *count, bool *exact);
void name_count_free(struct name_count *count, struct name_budget *budget);

/* Registers of the sketch, for the loop that feeds most names to one counter. */
static inline void name_count_sketch(struct name_count *count, uint64_t hash)
{
    uint8_t *longest = &count->sketch[hash >> (64 - count->sketch_bits)];
    int run = 1 + __builtin_clzll((hash << count->sketch_bits) |
                                  (UINT64_C(1) << (count->sketch_bits - 1)));
    if (run > *longest)
        *longest = (uint8_t)run;
}

#endif
