#include "analyzers/classlog/body_cache.h"

#include "analyzers/classes/stem_table.h"

#include <stdlib.h>

#define SLOTS       (1 << 15)
#define ENTRIES     (SLOTS / 2)
#define ARENA_BYTES (4 << 20)
#define TAILS       2048 /* a power of two */
#define TAIL_BYTES  232  /* front and back */
#define ADDRESS_LEN 16   /* digits, behind the 0x */

struct tail_entry {
    uint64_t hash;
    union body_target target;
    uint8_t form;   /* + 1; 0: an empty place */
    bool announced; /* whatever stands there is random: ...$ByteBuddy$ */
    uint8_t front_len;
    uint8_t back_len;
    char text[TAIL_BYTES];
};

/* --- life ------------------------------------------------------------------------------------- */

struct body_cache *body_cache_create(void)
{
    struct body_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    cache->slot_mask = SLOTS - 1;
    cache->slots = calloc(SLOTS, sizeof cache->slots[0]);
    cache->tails = calloc(TAILS, sizeof cache->tails[0]);
    cache->arena = malloc(ARENA_BYTES);
    if (cache->slots != NULL && cache->tails != NULL && cache->arena != NULL)
        return cache;
    body_cache_destroy(cache);
    return NULL;
}

void body_cache_destroy(struct body_cache *cache)
{
    if (cache == NULL)
        return;
    free(cache->slots);
    free(cache->tails);
    free(cache->arena);
    free(cache);
}

static void forget_bodies(struct body_cache *cache)
{
    memset(cache->slots, 0, SLOTS * sizeof cache->slots[0]);
    cache->entry_count = 0;
    cache->arena_used = 0;
}

void body_cache_forget(struct body_cache *cache)
{
    forget_bodies(cache);
    memset(cache->tails, 0, TAILS * sizeof cache->tails[0]);
}

/* --- bodies ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static void must_be(struct body_entry *entry, size_t at, size_t count, char what)
{
    for (size_t i = at; i < at + count; i++) {
        struct body_mask *mask = &entry->mask[i / 64];
        uint64_t bit = UINT64_C(1) << (i % 64);
        mask->literal &= ~bit;
        mask->digit &= ~bit;
        mask->hex &= ~bit;
        *(what == '9' ? &mask->digit : what == 'f' ? &mask->hex : &mask->literal) |= bit;
    }
}

/* at: behind "0x". False when it is not of the usual length: the rules may look at such digits. */
static bool let_vary(struct body_entry *entry, struct span text, size_t at, size_t end)
{
    if (end - at != ADDRESS_LEN)
        return false;
    for (size_t i = at; i < end; i++) {
        if (!is_hex(text.ptr[i]))
            return false;
    }
    must_be(entry, at - 2, 2, ' ');
    must_be(entry, at, ADDRESS_LEN, 'f');
    return true;
}

/* Offset of the digits of a hidden class's address at the end of a name; 0: there is none. */
static size_t address_in(struct span name)
{
    size_t at = name.len;
    while (at > 0 && is_hex(name.ptr[at - 1]))
        at--;
    bool is = at > 3 && at < name.len && name.ptr[at - 1] == 'x' && name.ptr[at - 2] == '0' &&
              (name.ptr[at - 3] == '/' || name.ptr[at - 3] == '+');
    return is ? at : 0;
}

static bool describe(struct body_entry *entry, struct span body, size_t hex_tail)
{
    for (size_t i = 0; i < body.len; i++)
        must_be(entry, i, 1, is_digit(body.ptr[i]) ? '9' : ' ');
    must_be(entry, entry->name_len - hex_tail, hex_tail, 'f');
    size_t address = address_in(span_of(body.ptr, entry->name_len));
    if (address > 0 && !let_vary(entry, body, address, entry->name_len))
        return false;
    bool jdk8 = entry->form == LINE_JDK8_UNLOAD;
    return (entry->form != LINE_UNLOAD && !jdk8) ||
           let_vary(entry, body, entry->name_len + sizeof " 0x" - 1, body.len - jdk8);
}

static void learn_body(struct body_cache *cache, struct span body, const struct body_entry *what,
                       size_t hex_tail, uint64_t hash)
{
    size_t blocks = body_blocks(body.len);
    size_t bytes = sizeof(struct body_entry) + blocks * (sizeof(struct body_mask) + 64);
    if (cache->entry_count >= ENTRIES || cache->arena_used + bytes > ARENA_BYTES)
        forget_bodies(cache);
    struct body_entry *entry = (struct body_entry *)(void *)(cache->arena + cache->arena_used);
    memset(entry, 0, bytes);
    *entry = *what;
    memcpy(&entry->mask[blocks], body.ptr, body.len);
    if (!describe(entry, body, hex_tail))
        return;
    size_t at = (size_t)hash & cache->slot_mask;
    for (int i = 1; i < BODY_PROBES && cache->slots[at].entry != NULL; i++)
        at = (at + 1) & cache->slot_mask;
    cache->entry_count += cache->slots[at].entry == NULL;
    cache->slots[at] = (struct body_slot){hash, entry};
    cache->arena_used += bytes;
}

/* --- names that end in something random --------------------------------------------------------
 */

static const bool in_piece[256] = {
    ['0' ... '9'] = true, ['a' ... 'z'] = true, ['A' ... 'Z'] = true, [128 ... 255] = true};

/* The last piece of a name, if '$' or '_' stands in front of it. */
static struct span last_piece(struct span name)
{
    size_t at = name.len;
    while (at > 0 && in_piece[(unsigned char)name.ptr[at - 1]])
        at--;
    bool marked = at > 0 && (name.ptr[at - 1] == '$' || name.ptr[at - 1] == '_');
    return span_of(name.ptr + at, marked ? name.len - at : 0);
}

/* Javassist's numbers have a rule of their own. */
static bool is_jvst(struct span piece)
{
    return span_starts_with(piece, SPAN_LITERAL("jvst"));
}

struct tail_key {
    struct span front, tail, back;
    uint64_t hash;
};

static bool key_of(struct span body, size_t name_len, enum line_form form, struct tail_key *key)
{
    struct span name = span_of(body.ptr, name_len);
    key->tail = last_piece(name);
    if (key->tail.len == 0 || is_jvst(key->tail))
        return false;
    key->front = span_of(name.ptr, name.len - key->tail.len);
    key->back = span_of(body.ptr + name_len, body.len - name_len);
    if (form == LINE_UNLOAD || form == LINE_JDK8_UNLOAD)
        key->back.len = 0; /* the address: understood already, and never the same */
    if (key->front.len + key->back.len > TAIL_BYTES)
        return false;
    key->hash = stem_hash(key->front) + 3 * stem_hash(key->back) + (uint64_t)form;
    return true;
}

bool body_cache_tail(const struct body_cache *cache, struct span body, size_t name_len,
                     enum line_form form, union body_target *target)
{
    struct tail_key key;
    if (!key_of(body, name_len, form, &key))
        return false;
    const struct tail_entry *entry = &cache->tails[key.hash & (TAILS - 1)];
    if (entry->hash != key.hash || entry->form != form + 1 || entry->front_len != key.front.len ||
        entry->back_len != key.back.len || memcmp(entry->text, key.front.ptr, key.front.len) != 0 ||
        memcmp(entry->text + key.front.len, key.back.ptr, key.back.len) != 0)
        return false;
    *target = entry->target;
    return entry->announced || name_looks_random(key.tail);
}

/* Is any piece random behind this? normalize knows: it folds one that does not look so. */
static bool announces(struct span front)
{
    char name[TAIL_BYTES + 3], stem[STEM_MAX];
    struct name_parts parts;
    memcpy(name, front.ptr, front.len);
    memcpy(name + front.len, "zz", 2);
    size_t len = normalize(span_of(name, front.len + 2), stem, &parts);
    return len > 0 && stem[len - 1] == '*' && parts.random_bytes == 2;
}

static bool is_all_hex(struct span piece)
{
    for (size_t i = 0; i < piece.len; i++) {
        if (!is_hex(piece.ptr[i]))
            return false;
    }
    return true;
}

/* Does normalize fold just the last piece of the name as something random? */
static bool is_folded_tail(struct span name, struct span tail)
{
    char stem[STEM_MAX];
    struct name_parts parts;
    size_t len = normalize(name, stem, &parts);
    return len > 0 && len < STEM_MAX - 1 && stem[len - 1] == '*' && !parts.hidden &&
           parts.random_bytes == tail.len;
}

void body_cache_learn(struct body_cache *cache, struct span body, size_t name_len,
                      enum line_form form, uint64_t hash, union body_target target, bool folded)
{
    const struct body_entry what = {.len = (uint16_t)body.len,
                                    .name_len = (uint16_t)name_len,
                                    .form = (uint8_t)form,
                                    .folded = folded,
                                    .target = target};
    struct tail_key key;
    if (body.len > BODY_BYTES)
        return;
    if (!key_of(body, name_len, form, &key) ||
        !is_folded_tail(span_of(body.ptr, name_len), key.tail)) {
        learn_body(cache, body, &what, 0, hash);
        return;
    }
    bool announced = announces(key.front);
    if (announced && is_all_hex(key.tail)) {
        learn_body(cache, body, &what, key.tail.len, hash);
        return;
    }
    if (!announced && !name_looks_random(key.tail))
        return; /* random for a reason that the next one may not have */
    struct tail_entry *entry = &cache->tails[key.hash & (TAILS - 1)];
    *entry = (struct tail_entry){.hash = key.hash,
                                 .target = target,
                                 .form = (uint8_t)(form + 1),
                                 .announced = announced,
                                 .front_len = (uint8_t)key.front.len,
                                 .back_len = (uint8_t)key.back.len};
    memcpy(entry->text, key.front.ptr, key.front.len);
    memcpy(entry->text + key.front.len, key.back.ptr, key.back.len);
}
