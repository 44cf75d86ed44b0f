#include "analyzers/classes/stem_table.h"

#include "analyzers/model/event.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool stem_table_init(struct stem_table *table, size_t max_stems, size_t entry_bytes)
{
    *table =
        (struct stem_table){.max_stems = max_stems, .entry_bytes = entry_bytes, .slot_count = 16};
    while (table->slot_count < 2 * max_stems)
        table->slot_count *= 2;
    table->slots = calloc(table->slot_count, sizeof table->slots[0]);
    return table->slots != NULL;
}

void stem_destroy(struct stem *stem)
{
    if (stem == NULL)
        return;
    shape_free(&stem->shape);
    free(stem);
}

void stem_table_clear(struct stem_table *table)
{
    for (size_t i = 0; i < table->slot_count; i++) {
        struct stem *stem = table->slots[i];
        while (stem != NULL) {
            struct stem *next = stem->next;
            stem_destroy(stem);
            stem = next;
        }
        table->slots[i] = NULL;
    }
    table->stem_count = 0;
    table->evict_loads = table->next_sweep = 0;
    memset(table->recent, 0, sizeof table->recent);
}

void stem_table_free(struct stem_table *table)
{
    if (table->slots != NULL)
        stem_table_clear(table);
    free(table->slots);
    table->slots = NULL;
}

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ (hash >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    hash = (hash ^ (hash >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ (hash >> 32);
}

uint64_t stem_hash(struct span span)
{
    const char *text = span.ptr;
    size_t len = span.len;
    uint64_t hash = len * UINT64_C(0x9E3779B97F4A7C15);
    for (; len >= 8; text += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    uint64_t word = 0;
    memcpy(&word, text, len);
    return mix((hash ^ word) * UINT64_C(0x9E3779B97F4A7C15));
}

/* The slot that holds the stem, or the empty one where it belongs. */
static struct stem **slot_of(struct stem **slots, size_t slot_count, struct span text,
                             uint64_t hash)
{
    size_t at = (size_t)hash & (slot_count - 1);
    while (slots[at] != NULL && (slots[at]->hash != hash || slots[at]->text_len != text.len ||
                                 memcmp(slots[at]->text, text.ptr, text.len) != 0))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static bool has_tails_of(const struct stem *stem, uint32_t bytes)
{
    for (; stem != NULL; stem = stem->next) {
        if (stem->shape.random_min_bytes == bytes && shape_kind(&stem->shape) == SHAPE_RANDOM)
            return true;
    }
    return false;
}

/* Names of one generator begin alike. */
static struct stem **recent_of(struct stem_table *table, struct span name)
{
    uint64_t words[2] = {0};
    if (name.len >= sizeof words)
        memcpy(words, name.ptr, sizeof words);
    else
        memcpy(words, name.ptr, name.len < 4 ? name.len : 4);
    uint64_t hash = (words[0] ^ words[1] >> 7) * UINT64_C(0x9E3779B97F4A7C15);
    return table->recent[hash >> 58];
}

_Static_assert(STEMS_RECENT == 1 << 6, "the top six bits of a hash");

/* A quarter of all random tails do not look random by themselves: one that stands where others of
 * the same length do is taken for one of them. */
static struct stem *find_neighbour(const struct stem_table *table, struct arrival *arrival)
{
    struct name_parts *parts = &arrival->parts;
    if (parts->tail_bytes < 6 || parts->hidden || parts->tail_at + 1 >= STEM_MAX)
        return NULL;
    char tail = arrival->stem[parts->tail_at];
    arrival->stem[parts->tail_at] = '*';
    struct span text = span_of(arrival->stem, parts->tail_at + 1);
    uint64_t hash = stem_hash(text);
    struct stem *stem = *slot_of(table->slots, table->slot_count, text, hash);
    if (!has_tails_of(stem, parts->tail_bytes)) {
        arrival->stem[parts->tail_at] = tail;
        return NULL;
    }
    arrival->stem_len = text.len;
    arrival->stem_hash = hash;
    arrival->pattern.varies = NAME_FIXED;
    parts->folded = true;
    parts->counted = false;
    parts->random_bytes = parts->tail_bytes;
    return stem;
}

/* The stem met lately whose pattern the name fits; it comes first then. */
static struct stem *find_recent(struct stem **recent, struct span name, struct name_parts *parts)
{
    for (int i = 0; i < 2 && recent[i] != NULL; i++) {
        struct stem *stem = recent[i];
        const char *back = stem->example + stem->example_len - stem->pattern.back;
        if (!name_pattern_fits(&stem->pattern, stem->example, back, name, parts))
            continue;
        recent[i] = recent[0];
        recent[0] = stem;
        return stem;
    }
    return NULL;
}

struct stem *stem_table_find(struct stem_table *table, struct span name, struct arrival *arrival)
{
    struct stem **recent = recent_of(table, name);
    struct stem *stem = find_recent(recent, name, &arrival->parts);
    arrival->name = name;
    arrival->known = stem;
    if (stem != NULL)
        return stem;
    arrival->stem_len = normalize_pattern(name, arrival->stem, &arrival->parts, &arrival->pattern);
    arrival->stem_hash = stem_hash(span_of(arrival->stem, arrival->stem_len));
    stem = *slot_of(table->slots, table->slot_count, span_of(arrival->stem, arrival->stem_len),
                    arrival->stem_hash);
    if (stem == NULL)
        stem = find_neighbour(table, arrival);
    if (stem != NULL && stem->pattern.varies != NAME_FIXED && recent[0] != stem) {
        recent[1] = recent[0];
        recent[0] = stem;
    }
    return stem;
}

/* Behind the entry: the stem, the example and the source, each with its NUL. */
static struct stem *stem_create(size_t entry_bytes, const struct arrival *arrival, struct span text,
                                struct span source)
{
    struct span name = arrival->name;
    size_t example_len = name.len < EVENT_NAME_MAX ? name.len : EVENT_NAME_MAX - 1;
    size_t source_len = source.len < EVENT_NAME_MAX ? source.len : EVENT_NAME_MAX - 1;
    struct stem *stem = calloc(1, entry_bytes + text.len + example_len + source_len + 3);
    if (stem == NULL)
        return NULL;
    char *text_at = (char *)stem + entry_bytes, *example_at = text_at + text.len + 1;
    char *source_at = example_at + example_len + 1;
    memcpy(text_at, text.ptr, text.len);
    span_copy(name, example_at, example_len + 1);
    span_copy(source, source_at, source_len + 1);
    stem->family = family_match(name);
    if (stem->family == NULL)
        stem->family = family_of_source(source);
    shape_init(&stem->shape);
    stem->text = text_at;
    stem->example = example_at;
    stem->source = source_at;
    stem->text_len = (uint16_t)text.len;
    stem->example_len = (uint16_t)example_len;
    stem->source_len = (uint16_t)source_len;
    if (arrival->known == NULL && name.len == example_len)
        stem->pattern = arrival->pattern;
    return stem;
}

struct stem *stem_table_insert(struct stem_table *table, const struct arrival *arrival,
                               struct span source)
{
    const struct stem *known = arrival->known;
    struct span text = known != NULL ? span_of(known->text, known->text_len)
                                     : span_of(arrival->stem, arrival->stem_len);
    uint64_t hash = known != NULL ? known->hash : arrival->stem_hash;
    if (table->stem_count >= table->max_stems)
        return NULL;
    struct stem *stem = stem_create(table->entry_bytes, arrival, text, source);
    if (stem == NULL)
        return NULL;
    stem->hash = hash;
    struct stem **link = slot_of(table->slots, table->slot_count, text, hash);
    while (*link != NULL)
        link = &(*link)->next;
    *link = stem;
    table->stem_count++;
    return stem;
}

void stem_add(struct stem *stem, const struct arrival *arrival, struct span source)
{
    shape_add(&stem->shape, &arrival->parts, arrival->parts.folded ? stem_hash(arrival->name) : 0,
              class_source_is_code(source));
}

bool stem_is_generated(const struct stem *stem)
{
    return (stem->family != NULL && stem->family->evidence == FAMILY_BY_NAME) ||
           shape_kind(&stem->shape) != SHAPE_NONE;
}

/* One name repeated is called by that name: nothing has shown that its digits vary. */
void stem_family_name(const struct stem *stem, char *family, char *name)
{
    bool repeated = stem->family == NULL && shape_kind(&stem->shape) == SHAPE_REPEATED;
    span_copy(span_from_cstr(repeated ? stem->example : stem->text), name, EVENT_NAME_MAX);
    if (stem->family != NULL)
        snprintf(family, EVENT_FAMILY_MAX, "%s", stem->family->id);
    else
        snprintf(family, EVENT_FAMILY_MAX, "unknown:%.*s", EVENT_NAME_MAX, name);
}

/* Takes out the entries that were loaded at most so often; false when out of memory. */
static bool sweep(struct stem_table *table, int64_t loads,
                  void (*evict)(void *context, struct stem *stem), void *context)
{
    struct stem **slots = calloc(table->slot_count, sizeof slots[0]);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < table->slot_count; i++) {
        for (struct stem **link = &table->slots[i]; *link != NULL;) {
            struct stem *stem = *link;
            if (stem->shape.loads > loads) {
                link = &stem->next;
                continue;
            }
            *link = stem->next;
            stem->next = NULL;
            evict(context, stem);
            table->stem_count--;
        }
        struct stem *stem = table->slots[i];
        if (stem != NULL)
            *slot_of(slots, table->slot_count, span_of(stem->text, stem->text_len), stem->hash) =
                stem;
    }
    free(table->slots);
    table->slots = slots;
    memset(table->recent, 0, sizeof table->recent);
    return true;
}

bool stem_table_make_room(struct stem_table *table, int64_t loads,
                          void (*evict)(void *context, struct stem *stem), void *context)
{
    if (table->stem_count < table->max_stems || loads < table->next_sweep)
        return false;
    if (table->evict_loads == 0)
        table->evict_loads = 1;
    if (!sweep(table, table->evict_loads, evict, context))
        return false;
    if (table->stem_count > table->max_stems / 4 * 3) {
        if (table->evict_loads < SHAPE_MEMBERS - 1)
            table->evict_loads++;
        else
            table->next_sweep = saturated_add(loads, (int64_t)(table->max_stems / 4));
    }
    return true;
}

struct stem *stem_table_next(const struct stem_table *table, const struct stem *stem)
{
    size_t at = 0;
    if (stem != NULL) {
        if (stem->next != NULL)
            return stem->next;
        struct span text = span_of(stem->text, stem->text_len);
        at =
            (size_t)(slot_of(table->slots, table->slot_count, text, stem->hash) - table->slots) + 1;
    }
    while (at < table->slot_count && table->slots[at] == NULL)
        at++;
    return at < table->slot_count ? table->slots[at] : NULL;
}

/* --- shape ------------------------------------------------------------------------------------ */

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
        most = MAX(most, sure);
    }
    /* The loads share the names in such a way that one has at least the average. */
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
        shape->random_max_bytes = MAX(shape->random_max_bytes, bytes);
    }
    if (parts->counted) {
        if (!shape->counted) {
            shape->first_min = shape->first_max = parts->first_number;
            shape->last_min = shape->last_max = parts->last_number;
            shape->counted = true;
        }
        shape->first_min = MIN(shape->first_min, parts->first_number);
        shape->first_max = MAX(shape->first_max, parts->first_number);
        shape->last_min = MIN(shape->last_min, parts->last_number);
        shape->last_max = MAX(shape->last_max, parts->last_number);
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
