#include "analyzers/classes/stem_table.h"

#include "analyzers/model/event.h"

#include <stdlib.h>

bool stem_table_init(struct stem_table *table, size_t max_stems)
{
    *table = (struct stem_table){.max_stems = max_stems, .slot_count = 16};
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
        stem_destroy(table->slots[i]);
        table->slots[i] = NULL;
    }
    table->stem_count = 0;
}

void stem_table_free(struct stem_table *table)
{
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
static struct stem **slot_of(struct stem **slots, size_t slot_count, struct span stem,
                             uint64_t hash)
{
    size_t at = (size_t)hash & (slot_count - 1);
    while (slots[at] != NULL && (slots[at]->hash != hash || slots[at]->stem_len != stem.len ||
                                 memcmp(slots[at]->text, stem.ptr, stem.len) != 0))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static struct stem *look_up(const struct stem_table *table, struct arrival *arrival)
{
    struct span stem = span_of(arrival->stem, arrival->stem_len);
    arrival->stem_hash = stem_hash(stem);
    return *slot_of(table->slots, table->slot_count, stem, arrival->stem_hash);
}

/* A quarter of all random tails do not look random by themselves: one that stands where others of
 * the same length do is taken for one of them. */
struct stem *stem_table_find(const struct stem_table *table, struct span name,
                             struct arrival *arrival)
{
    arrival->name = name;
    arrival->stem_len = normalize(name, arrival->stem, &arrival->parts);
    struct stem *stem = look_up(table, arrival);
    if (stem != NULL || arrival->parts.tail_bytes < 6 || arrival->parts.hidden)
        return stem;

    struct arrival neighbour = *arrival;
    neighbour.stem_len = neighbour.parts.tail_at + 1;
    if (neighbour.stem_len >= STEM_MAX)
        return NULL;
    neighbour.stem[neighbour.parts.tail_at] = '*';
    stem = look_up(table, &neighbour);
    if (stem == NULL || stem->shape.random_min_bytes != arrival->parts.tail_bytes ||
        shape_kind(&stem->shape) != SHAPE_RANDOM)
        return NULL;
    neighbour.parts.folded = true;
    neighbour.parts.counted = false;
    neighbour.parts.random_bytes = neighbour.parts.tail_bytes;
    *arrival = neighbour;
    return stem;
}

static struct stem *stem_create(const struct arrival *arrival, struct span source)
{
    struct span name = arrival->name;
    size_t example_len = name.len < EVENT_NAME_MAX ? name.len : EVENT_NAME_MAX - 1;
    size_t source_len = source.len < EVENT_NAME_MAX ? source.len : EVENT_NAME_MAX - 1;
    struct stem *stem = malloc(sizeof *stem + arrival->stem_len + example_len + source_len + 3);
    if (stem == NULL)
        return NULL;
    stem->hash = arrival->stem_hash;
    stem->family = family_match(name);
    if (stem->family == NULL)
        stem->family = family_of_source(source);
    stem->unloads = 0;
    shape_init(&stem->shape);
    stem->stem_len = (uint16_t)arrival->stem_len;
    stem->example_at = (uint16_t)(arrival->stem_len + 1);
    stem->source_at = (uint16_t)(stem->example_at + example_len + 1);
    memcpy(stem->text, arrival->stem, arrival->stem_len + 1);
    span_copy(name, stem->text + stem->example_at, example_len + 1);
    span_copy(source, stem->text + stem->source_at, source_len + 1);
    return stem;
}

struct stem *stem_table_insert(struct stem_table *table, const struct arrival *arrival,
                               struct span source)
{
    if (table->stem_count >= table->max_stems)
        return NULL;
    struct stem *stem = stem_create(arrival, source);
    if (stem == NULL)
        return NULL;
    *slot_of(table->slots, table->slot_count, span_of(arrival->stem, arrival->stem_len),
             arrival->stem_hash) = stem;
    table->stem_count++;
    return stem;
}

bool stem_table_sweep(struct stem_table *table, int64_t loads,
                      void (*evict)(void *context, struct stem *stem), void *context)
{
    struct stem **slots = calloc(table->slot_count, sizeof slots[0]);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < table->slot_count; i++) {
        struct stem *stem = table->slots[i];
        if (stem == NULL)
            continue;
        if (stem->shape.loads <= loads) {
            evict(context, stem);
            table->stem_count--;
        } else {
            *slot_of(slots, table->slot_count, span_of(stem->text, stem->stem_len), stem->hash) =
                stem;
        }
    }
    free(table->slots);
    table->slots = slots;
    return true;
}
