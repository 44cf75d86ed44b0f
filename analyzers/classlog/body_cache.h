/*
 * body_cache: what stands behind the head of a line, seen before: which row is it counted in?
 *
 *   Script1 source: file:/groovy/shell      Host$$Lambda/0x00007f1368000c08 source: Host
 *   Gone29 0x00007fa330086000
 *
 * Names are normalised, matched with families and looked up once; after that a body with the same
 * bytes, but for digits and addresses, belongs to the same row: none of these rules looks at the
 * value of a digit, only at where digits are. The exceptions, names that end in something random,
 * have a cache of their own: in front of the random piece they are the same.
 *
 *   Controller$ByteBuddy$cepYyNGf source: __ByteBuddy__
 *   <------ front ------->        <------- back ------>
 *
 * A cache and nothing but: without it, or with another size, the results are the same. Rows that go
 * (class_rows.h) must be forgotten at once.
 *
 *   body_cache_create -> find, learn ... forget ... -> body_cache_destroy
 *
 * Calling context: one thread.
 */
#ifndef ANALYZERS_CLASSLOG_BODY_CACHE_H
#define ANALYZERS_CLASSLOG_BODY_CACHE_H

#include "analyzers/classlog/class_rows.h"
#include "analyzers/classlog/line_head.h"

#define BODY_BYTES  256 /* longer ones are not kept */
#define BODY_PROBES 4

/* Where a line is counted: a load in a row, an unload in one of a stem's. */
union body_target {
    struct class_row *row;
    struct class_stem *stem;
};

/* What may stand in 64 bytes of a body: one bit of exactly one of these per byte; none behind its
 * end. */
struct body_mask {
    uint64_t literal;
    uint64_t digit;
    uint64_t hex; /* of an address */
};

struct body_entry {
    uint16_t len;
    uint16_t name_len;
    uint8_t form;
    bool folded; /* of the stem */
    union body_target target;
    struct body_mask mask[]; /* per 64 bytes, an even number of them; then the text */
};

struct body_slot {
    uint64_t hash; /* scan_loop.h makes it */
    struct body_entry *entry;
};

struct body_cache {
    struct body_slot *slots;
    size_t slot_mask;
    size_t entry_count;
    char *arena;
    size_t arena_used;
    struct tail_entry *tails;
};

struct body_cache *body_cache_create(void);
void body_cache_destroy(struct body_cache *cache);
void body_cache_forget(struct body_cache *cache);

static inline size_t body_blocks(size_t len)
{
    return (len + 127) / 128 * 2;
}
static inline const char *body_text(const struct body_entry *entry)
{
    return (const char *)&entry->mask[body_blocks(entry->len)];
}

/* body: understood by class_log.h. hash: of it. */
void body_cache_learn(struct body_cache *cache, struct span body, size_t name_len,
                      enum line_form form, uint64_t hash, union body_target target, bool folded);

/* For a name that ends in something random. False when this one does not, or when nothing with the
 * same front and back was learnt. */
bool body_cache_tail(const struct body_cache *cache, struct span body, size_t name_len,
                     enum line_form form, union body_target *target);

#endif
