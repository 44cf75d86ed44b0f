#include "analyzers/classes/shape.h"

#include <math.h>
#include <stdlib.h>

/* HyperLogLog: a register keeps the longest run of zeros that was seen. */
#define SKETCH_BITS  9
#define SKETCH_BYTES (1 << SKETCH_BITS)

#define SHORTEST_UNLIKELY_NUMBER UINT64_C(100000) /* a time or a hash, not a compiler's count */
#define DENSE_FACTOR             4 /* numbers seen fill at least a quarter of their range */

void shape_init(struct shape *shape)
{
    *shape = (struct shape){0};
}

/* --- distinct names --------------------------------------------------------------------------- */

static void sketch_add(uint8_t *sketch, uint64_t hash)
{
    uint8_t *longest = &sketch[hash >> (64 - SKETCH_BITS)];
    int run = 1 + __builtin_clzll((hash << SKETCH_BITS) | 1);
    if (run > *longest)
        *longest = (uint8_t)run;
}

static double sketch_estimate(const uint8_t *sketch)
{
    double sum = 0;
    int zeros = 0;
    for (int i = 0; i < SKETCH_BYTES; i++) {
        sum += ldexp(1, -sketch[i]);
        zeros += sketch[i] == 0;
    }
    double m = SKETCH_BYTES, raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return raw <= 2.5 * m && zeros > 0 ? m * log(m / zeros) : raw;
}

/* The exact set keeps 32 bits of a name; the sketch is fed the same 32, mixed again, so that names
 * seen before it existed can be moved into it. */
static uint64_t spread(uint32_t name)
{
    uint64_t mixed = (name + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return mixed ^ (mixed >> 32);
}

static void count_name(struct shape *shape, uint32_t name)
{
    if (shape->sketch != NULL) {
        sketch_add(shape->sketch, spread(name));
        return;
    }
    for (int i = 0; i < shape->exact_count; i++) {
        if (shape->exact[i] == name)
            return;
    }
    if (shape->exact_count < SHAPE_EXACT_NAMES) {
        shape->exact[shape->exact_count++] = name;
        return;
    }
    shape->sketch = calloc(1, SKETCH_BYTES);
    if (shape->sketch == NULL)
        return; /* "at least sixteen" is still true */
    for (int i = 0; i < shape->exact_count; i++)
        sketch_add(shape->sketch, spread(shape->exact[i]));
    sketch_add(shape->sketch, spread(name));
}

int64_t shape_names(const struct shape *shape)
{
    if (!shape->folded)
        return shape->loads > 0;
    if (shape->sketch == NULL)
        return shape->exact_count;
    int64_t names = llround(sketch_estimate(shape->sketch));
    if (names <= SHAPE_EXACT_NAMES)
        return SHAPE_EXACT_NAMES + 1;
    return names < shape->loads ? names : shape->loads;
}

/* --- the most repeated name ------------------------------------------------------------------- */

/* Space-saving: a name that finds no place takes the smallest one's and its count as error. */
static void count_repeat(struct shape *shape, uint32_t name)
{
    struct shape_repeat *smallest = &shape->repeat[0];
    for (int i = 0; i < SHAPE_REPEATED_NAMES; i++) {
        struct shape_repeat *repeat = &shape->repeat[i];
        if (repeat->count > 0 && repeat->name == name) {
            repeat->count++;
            return;
        }
        if (repeat->count < smallest->count)
            smallest = repeat;
    }
    uint32_t error = smallest->count > UINT32_MAX ? UINT32_MAX : (uint32_t)smallest->count;
    *smallest = (struct shape_repeat){name, error, smallest->count + 1};
}

int64_t shape_max_same_name(const struct shape *shape)
{
    if (!shape->folded)
        return shape->loads;
    int64_t most = 0, names = shape_names(shape);
    for (int i = 0; i < SHAPE_REPEATED_NAMES; i++) {
        int64_t sure = shape->repeat[i].count - shape->repeat[i].error;
        if (sure > most)
            most = sure;
    }
    /* So many loads share so few names that one has at least the average. */
    if (shape->sketch == NULL && names > 0 && (shape->loads + names - 1) / names > most)
        most = (shape->loads + names - 1) / names;
    return most;
}

bool shape_names_are_exact(const struct shape *shape)
{
    return shape->sketch == NULL;
}

bool shape_max_same_name_is_exact(const struct shape *shape)
{
    return !shape->folded || (shape->sketch == NULL && shape->exact_count <= SHAPE_REPEATED_NAMES);
}

/* --- the verdict ------------------------------------------------------------------------------ */

void shape_add(struct shape *shape, const struct name_parts *parts, uint64_t name_hash,
               bool defined)
{
    bool first = shape->loads++ == 0;
    shape->defined |= defined;
    if (!parts->folded && first)
        return;
    if (parts->folded) {
        shape->folded = true;
        shape->hidden = parts->hidden;
        shape->anonymous = parts->anonymous;
        count_name(shape, (uint32_t)name_hash);
        count_repeat(shape, (uint32_t)name_hash);
    }
    if (parts->random_bytes > 0) {
        uint32_t bytes = parts->random_bytes;
        if (shape->random_min_bytes == 0 || bytes < shape->random_min_bytes)
            shape->random_min_bytes = bytes;
        if (bytes > shape->random_max_bytes)
            shape->random_max_bytes = bytes;
    }
    if (parts->counted) {
        if (!shape->counted) {
            shape->first_min = shape->first_max = parts->first_number;
            shape->last_min = shape->last_max = parts->last_number;
            shape->counted = true;
        }
        if (parts->first_number < shape->first_min)
            shape->first_min = parts->first_number;
        if (parts->first_number > shape->first_max)
            shape->first_max = parts->first_number;
        if (parts->last_number < shape->last_min)
            shape->last_min = parts->last_number;
        if (parts->last_number > shape->last_max)
            shape->last_max = parts->last_number;
    }
}

/* Numbers of names that many: counted through, or too long for anything but a time or a hash. */
static bool is_generated(uint64_t min, uint64_t max, int64_t names)
{
    uint64_t range = max - min;
    bool dense = range >= SHAPE_MEMBERS - 1 && range / DENSE_FACTOR < (uint64_t)names;
    return dense || (range > 0 && min >= SHORTEST_UNLIKELY_NUMBER);
}

/* As shape_names, without the estimate: min is at most SHAPE_EXACT_NAMES. */
static bool has_names(const struct shape *shape, int64_t min)
{
    if (!shape->folded)
        return min <= (shape->loads > 0);
    return shape->sketch != NULL || shape->exact_count >= min;
}

enum shape_kind shape_kind(const struct shape *shape)
{
    if (shape->loads < SHAPE_MEMBERS)
        return SHAPE_NONE;
    bool members = has_names(shape, SHAPE_MEMBERS);
    if (members && shape->hidden)
        return SHAPE_HIDDEN;
    if (members && shape->random_min_bytes > 0 &&
        shape->random_max_bytes - shape->random_min_bytes <= 2)
        return SHAPE_RANDOM;
    int64_t names = shape_names(shape);
    int64_t enough = shape->defined && !shape->anonymous ? SHAPE_MEMBERS : SHAPE_FILE_MEMBERS;
    if (names >= enough && shape->counted &&
        (is_generated(shape->first_min, shape->first_max, names) ||
         is_generated(shape->last_min, shape->last_max, names)))
        return SHAPE_COUNTER;
    return shape_max_same_name(shape) >= SHAPE_MEMBERS ? SHAPE_REPEATED : SHAPE_NONE;
}

void shape_free(struct shape *shape)
{
    free(shape->sketch);
    shape->sketch = NULL;
}
