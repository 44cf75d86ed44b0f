#include "analyzers/classlog/name_count.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_SLOT_BITS 4
#define LAST_SLOT_BITS  13 /* NAME_COUNT_EXACT names fill half of them */
#define COUNT_MAX       ((UINT64_C(1) << 24) - 1)
#define LARGE_SKETCH    12
#define SMALL_SKETCH    9

_Static_assert(NAME_COUNT_EXACT == 1 << (LAST_SLOT_BITS - 1), "half of the slots");

/* --- exact ------------------------------------------------------------------------------------ */

/* The slot of a name, or the empty one where it belongs. Of 4096 names two share their 40 bits once
 * in 130 000 logs. */
static uint64_t *slot_of(uint64_t *slots, unsigned slot_bits, uint64_t hash)
{
    uint64_t kept = hash & ~COUNT_MAX;
    size_t mask = ((size_t)1 << slot_bits) - 1, at = (size_t)(hash >> (64 - slot_bits));
    while (slots[at] != 0 && (slots[at] & ~COUNT_MAX) != kept)
        at = (at + 1) & mask;
    return &slots[at];
}

static bool grow(struct name_count *count, struct name_budget *budget)
{
    unsigned bits = count->slots == NULL ? FIRST_SLOT_BITS : count->slot_bits + 1u;
    size_t had = count->slots == NULL ? 0 : sizeof(uint64_t) << count->slot_bits;
    size_t more = (sizeof(uint64_t) << bits) - had;
    if (bits > LAST_SLOT_BITS || more > budget->exact_bytes)
        return false;
    uint64_t *slots = calloc((size_t)1 << bits, sizeof slots[0]);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < had / sizeof slots[0]; i++) {
        if (count->slots[i] != 0)
            *slot_of(slots, bits, count->slots[i]) = count->slots[i];
    }
    free(count->slots);
    count->slots = slots;
    count->slot_bits = (uint16_t)bits;
    budget->exact_bytes -= more;
    return true;
}

/* --- estimated -------------------------------------------------------------------------------- */

static bool take_sketch(struct name_count *count, struct name_budget *budget)
{
    unsigned bits = budget->sketch_bytes >= (1 << LARGE_SKETCH) ? LARGE_SKETCH : SMALL_SKETCH;
    size_t bytes = (size_t)1 << bits;
    count->sketch = bytes <= budget->sketch_bytes ? calloc(1, bytes) : NULL;
    if (count->sketch == NULL)
        return false;
    budget->sketch_bytes -= bytes;
    count->sketch_bits = (uint16_t)bits;
    if (count->slots == NULL)
        return true;
    size_t slots = (size_t)1 << count->slot_bits;
    for (size_t i = 0; i < slots; i++) {
        if (count->slots[i] != 0)
            name_count_sketch(count, count->slots[i] & ~COUNT_MAX);
    }
    budget->exact_bytes += slots * sizeof count->slots[0];
    free(count->slots);
    count->slots = NULL;
    return true;
}

static double sigma(double x)
{
    if (x == 1)
        return INFINITY;
    double y = 1, z = x, before;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

static double tau(double x)
{
    if (x == 0 || x == 1)
        return 0;
    double y = 1, z = 1 - x, before;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

static double estimate(const uint8_t *sketch, unsigned bits)
{
    unsigned most = 64 - bits + 1;
    int64_t with_run[66] = {0};
    double m = (double)((size_t)1 << bits);
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        with_run[sketch[i] <= most ? sketch[i] : most]++;
    double z = m * tau(1 - (double)with_run[most] / m);
    for (unsigned run = most - 1; run >= 1; run--)
        z = 0.5 * (z + (double)with_run[run]);
    z += m * sigma((double)with_run[0] / m);
    return m * m / (2 * M_LN2) / z;
}

/* --- both ------------------------------------------------------------------------------------- */

void name_count_add(struct name_count *count, uint64_t hash, struct name_budget *budget)
{
    if (count->sketch != NULL) {
        name_count_sketch(count, hash);
        return;
    }
    if ((hash & ~COUNT_MAX) == 0)
        hash |= COUNT_MAX + 1; /* 0 is an empty slot */
    uint64_t *slot = NULL;
    if (count->slots != NULL) {
        slot = slot_of(count->slots, count->slot_bits, hash);
        if (*slot != 0) {
            uint32_t times =
                (uint32_t)(*slot & COUNT_MAX) + (uint32_t)((*slot & COUNT_MAX) < COUNT_MAX);
            *slot = (*slot & ~COUNT_MAX) | times;
            if (times > count->most)
                count->most = times;
            return;
        }
    }
    /* A new one. */
    if (count->slots == NULL || count->names >= UINT32_C(1) << (count->slot_bits - 1)) {
        if (!grow(count, budget)) {
            if (take_sketch(count, budget))
                name_count_sketch(count, hash);
            return;
        }
        slot = slot_of(count->slots, count->slot_bits, hash);
    }
    *slot = (hash & ~COUNT_MAX) | 1;
    count->names++;
    if (count->most == 0)
        count->most = 1;
}

int64_t name_count_names(const struct name_count *count)
{
    if (count->sketch == NULL)
        return count->names;
    int64_t names = llround(estimate(count->sketch, count->sketch_bits));
    return names > count->names ? names : count->names;
}

int64_t name_count_most(const struct name_count *count, bool *exact)
{
    *exact = count->sketch == NULL && count->most < COUNT_MAX;
    return count->most;
}

void name_count_free(struct name_count *count, struct name_budget *budget)
{
    if (count->slots != NULL)
        budget->exact_bytes += sizeof(uint64_t) << count->slot_bits;
    if (count->sketch != NULL)
        budget->sketch_bytes += (size_t)1 << count->sketch_bits;
    free(count->slots);
    free(count->sketch);
    *count = (struct name_count){0};
}
