/*
 * scan_loop: the text of scan_lines_avx2.c, scan_lines_sse2.c and scan_lines_plain.c, each of which
 * says which block.h it wants and how its function is called (SCAN_LINES). See scan_lines.h.
 */
#include "analyzers/classlog/block.h"
#include "analyzers/classlog/scan_lines.h"

_Static_assert(CLASSLOG_PADDING >= PAIR_BYTES, "a pair of blocks may begin at the last byte");

/* --- the head --------------------------------------------------------------------------------- */

BLOCK_CALL bool has_head(const struct line_head *head, const char *line, size_t len)
{
    if (len < head->len)
        return false;
    for (size_t i = 0; i * 64 < head->len; i++) {
        uint64_t fits = (block_same(line + 64 * i, head->text + 64 * i) & head->literal[i]) |
                        (block_digits(line + 64 * i) & head->digit[i]);
        if (fits != (head->literal[i] | head->digit[i]))
            return false;
    }
    return true;
}

static const struct line_head no_head = {.form = LINE_PLAIN_LOAD};

/* NULL: none that is known. */
BLOCK_CALL const struct line_head *find_head(struct line_heads *heads, const char *line, size_t len)
{
    if (heads->count > 0 && __builtin_expect(has_head(&heads->head[heads->last], line, len), 1))
        return &heads->head[heads->last];
    for (int i = 0; i < heads->count; i++) {
        if (i != heads->last && has_head(&heads->head[i], line, len)) {
            heads->last = i;
            return &heads->head[i];
        }
    }
    return heads->plain && len > 0 && line[0] != '[' ? &no_head : NULL;
}

/* --- the time --------------------------------------------------------------------------------- */

/* False: not a time of day. */
BLOCK_CALL bool iso_time(struct classlog *log, const char *text, int64_t *ms)
{
    const char *zone = text + sizeof "2026-11-20T21:58:28.943" - 1;
    if (memcmp(text, log->minute, sizeof log->minute) != 0 ||
        memcmp(zone, log->zone, sizeof log->zone) != 0) {
        int64_t now = class_log_wall_ms(span_of(text, sizeof "2026-11-20T21:58:28.943+0000" - 1));
        if (now < 0)
            return false;
        memcpy(log->minute, text, sizeof log->minute);
        memcpy(log->zone, zone, sizeof log->zone);
        log->minute_ms =
            now - (int64_t)(line_digits(text + 17, 2) * 1000 + line_digits(text + 20, 3));
    }
    *ms = log->minute_ms + (int64_t)(line_digits(text + 17, 2) * 1000 + line_digits(text + 20, 3));
    return true;
}

/* "123.456s": true when the last one was the same. */
BLOCK_CALL bool is_same_time(struct classlog *log, const char *text, size_t whole)
{
    uint64_t now[2];
    memcpy(&now[0], text, 8);
    memcpy(&now[1], text + whole, 8);
    if (now[0] == log->clock_text[0] && now[1] == log->clock_text[1])
        return true;
    memcpy(log->clock_text, now, sizeof now);
    return false;
}

/* Moves the log's time to the line's. False when the line's time is not understood here. */
BLOCK_CALL bool take_time(struct classlog *log, const struct line_head *head, const char *line)
{
    int64_t ms = log->time.log_ms;
    if (__builtin_expect((int)log->clock == (int)head->clock, 1)) {
        const char *text = line + head->clock_at;
        if (head->unit == 's') {
            if (is_same_time(log, text, head->whole))
                return true;
            ms = (int64_t)(line_digits(text, head->whole) * 1000 +
                           line_digits(text + head->whole + 1, 3));
        } else if (head->unit == 'm') {
            ms = (int64_t)line_digits(text, head->whole);
        } else if (head->unit == 'n') {
            ms = (int64_t)(line_digits(text, head->whole) / 1000000);
        } else if (!iso_time(log, text, &ms)) {
            return false;
        }
    } else if (log->clock == LOG_CLOCK_LINES) {
        ms = log->totals.lines;
    } else if (log->clock == LOG_CLOCK_UNKNOWN) {
        return false;
    }
    time_line_set(&log->time, ms);
    return true;
}

/* --- the body: count only --------------------------------------------------------------------- */

/* Offset of the first c, no '[' before it; 0: there is none in sight. */
BLOCK_CALL size_t name_before(const char *body, size_t len, char c)
{
    for (size_t at = 0; at < len && at < 4 * 64; at += 64) {
        uint64_t found = block_of(body + at, c), brackets = block_of(body + at, '[');
        if (found != 0) {
            size_t bit = (size_t)__builtin_ctzll(found);
            return at + bit < len && (brackets & block_first(bit)) == 0 ? at + bit : 0;
        }
        if (brackets != 0)
            return 0;
    }
    return 0;
}

BLOCK_CALL bool is_loaded(const char *body, size_t len, enum line_form form)
{
    size_t name = name_before(body, len, ' ');
    if (name == 0)
        return false;
    if (form == LINE_JDK8_LOAD)
        return len - name >= sizeof " from ]" - 1 && memcmp(body + name, " from ", 6) == 0 &&
               body[len - 1] == ']';
    return len - name >= sizeof " source: " - 1 && memcmp(body + name, " source: ", 9) == 0;
}

BLOCK_CALL bool is_unloaded(const char *body, size_t len, enum line_form form)
{
    if (form == LINE_JDK8_UNLOAD && (len == 0 || body[--len] != ']'))
        return false;
    if (len < sizeof "X 0x00007fa330086000" - 1 || memcmp(body + len - 19, " 0x", 3) != 0)
        return false;
    if ((block_hexes(body + len - 16) & 0xffff) != 0xffff)
        return false;
    /* Any blank ends the search, the one in front of the address at the latest. */
    return name_before(body, len, ' ') == len - 19;
}

/* --- the body: its row -------------------------------------------------------------------------
 */

/* A body and where in it digits and hexadecimal digits are. Branches cost more than blocks: nearly
 * all bodies fit into the first pair, and the second half of it is looked at in any case. */
struct body {
    const char *text;
    size_t len;
    enum line_form form;
    uint64_t hash;
    uint64_t digits[BODY_BYTES / 64], hexes[BODY_BYTES / 64];
};

BLOCK_CALL void look_at(struct body *body)
{
    /* cppcheck-suppress ctuuninitvar ; text and len are set by group_line */
    size_t first = body->len < PAIR_BYTES ? body->len : PAIR_BYTES;
    uint64_t sum = pair_hash(body->text, first, body->digits, body->hexes);
    body->hash = name_hash_mix(body->len * 8 + body->form, sum);
    if (body->len > PAIR_BYTES) {
        sum = pair_hash(body->text + PAIR_BYTES, body->len - PAIR_BYTES, body->digits + 2,
                        body->hexes + 2);
        body->hash = name_hash_mix(body->hash, sum);
    }
}

BLOCK_CALL bool is_body(const struct body_entry *entry, const struct body *body)
{
    if (entry->len != body->len || entry->form != body->form)
        return false;
    const char *text = body_text(entry);
    for (size_t i = 0; i * 64 < body->len; i += 2) {
        uint64_t wrong = 0;
        BLOCK_UNROLL
        for (size_t j = i; j < i + 2; j++) {
            const struct body_mask *mask = &entry->mask[j];
            uint64_t same = block_same(body->text + 64 * j, text + 64 * j);
            wrong |= (mask->literal & ~same) | (mask->digit & ~body->digits[j]) |
                     (mask->hex & ~body->hexes[j]);
        }
        if (wrong != 0)
            return false;
    }
    return true;
}

BLOCK_CALL const struct body_entry *find_body(const struct body_cache *cache,
                                              const struct body *body)
{
    for (size_t i = 0; i < BODY_PROBES; i++) {
        const struct body_slot *slot = &cache->slots[(body->hash + i) & cache->slot_mask];
        if (slot->entry == NULL)
            return NULL;
        if (slot->hash == body->hash && is_body(slot->entry, body))
            return slot->entry;
    }
    return NULL;
}

static inline bool is_load(enum line_form form)
{
    return form <= LINE_JDK8_LOAD;
}

BLOCK_CALL uint64_t hash_name(const char *name, size_t len)
{
    return len > PAIR_BYTES ? name_hash(name, len) : name_hash_mix(len, pair_name_hash(name, len));
}

BLOCK_CALL void count_row(struct classlog *log, enum line_form form, union body_target target,
                          struct span name, bool folded)
{
    struct log_place at = {log->totals.lines, log->time.ms};
    if (!is_load(form)) {
        log->totals.unloads++;
        log->time.now->unloads++;
        class_stem_count(target.stem, at, log->time.marks);
        return;
    }
    log->totals.loads++;
    log->time.now->loads++;
    class_row_count(target.row, at, log->time.marks);
    if (!folded)
        return;
    uint64_t hash = hash_name(name.ptr, name.len);
    struct name_count *names = &target.row->names;
    if (names->sketch != NULL)
        name_count_sketch(names, hash);
    else
        name_count_add(names, hash, &log->rows.budget);
}

/* Length of the name, at whose end something random may stand; 0: it cannot be told here. */
BLOCK_CALL size_t name_of(const char *body, size_t len, enum line_form form)
{
    if (is_load(form))
        return is_loaded(body, len, form) ? name_before(body, len, ' ') : 0;
    return is_unloaded(body, len, form) ? len - 19 - (form == LINE_JDK8_UNLOAD) : 0;
}

/* --- a line ------------------------------------------------------------------------------------
 */

BLOCK_CALL void count_line(struct classlog *log, struct span line, const struct line_head *head)
{
    const char *body = line.ptr + head->len;
    size_t len = line.len - head->len;
    if (is_load(head->form) && is_loaded(body, len, head->form))
        log->totals.loads++;
    else if (!is_load(head->form) && is_unloaded(body, len, head->form))
        log->totals.unloads++;
    else
        classlog_line(log, line, head, 0);
}

BLOCK_CALL void group_line(struct classlog *log, struct span line, const struct line_head *head)
{
    struct body body; /* all of it is set by look_at: no need to clear it */
    body.text = line.ptr + head->len;
    body.len = line.len - head->len;
    body.form = head->form;
    if (body.len > BODY_BYTES) {
        classlog_line(log, line, head, 0);
        return;
    }
    look_at(&body);
    const struct body_entry *entry = find_body(log->cache, &body);
    if (__builtin_expect(entry != NULL, 1)) {
        if (take_time(log, head, line.ptr)) {
            count_row(log, body.form, entry->target, span_of(body.text, entry->name_len),
                      entry->folded);
            return;
        }
    } else {
        union body_target target;
        size_t name = name_of(body.text, body.len, body.form);
        if (name > 0 &&
            body_cache_tail(log->cache, span_of(body.text, body.len), name, body.form, &target) &&
            take_time(log, head, line.ptr)) {
            count_row(log, body.form, target, span_of(body.text, name), true);
            return;
        }
    }
    classlog_line(log, line, head, body.hash);
}

BLOCK_CALL void scan_line(struct classlog *log, const char *text, size_t len)
{
    struct span line = span_of(text, len);
    log->totals.lines++;
    const struct line_head *head = find_head(&log->heads, text, len);
    if (head == NULL)
        classlog_line(log, line, NULL, 0);
    else if (log->count_only)
        count_line(log, line, head);
    else
        group_line(log, line, head);
}

/* --- lines -------------------------------------------------------------------------------------
 */

#define LINES_AT_ONCE 512

/* Where lines end, for up to LINES_AT_ONCE of them; *at moves on by whole blocks. In a loop of its
 * own, so that what a line is cannot mislead the processor about how long it is. */
BLOCK_CALL size_t find_ends(const char *text, size_t len, size_t *at, uint32_t ends[])
{
    size_t count = 0;
    for (; *at < len && count + 64 <= LINES_AT_ONCE; *at += 64) {
        uint64_t bits = block_of(text + *at, '\n');
        if (len - *at < 64)
            bits &= block_first(len - *at);
        while (bits != 0) {
            ends[count++] = (uint32_t)(*at + (size_t)__builtin_ctzll(bits));
            bits &= bits - 1;
        }
    }
    return count;
}

BLOCK_TARGET size_t SCAN_LINES(struct classlog *log, const char *text, size_t len)
{
    uint32_t ends[LINES_AT_ONCE];
    size_t begin = 0, at = 0;
    while (at < len) {
        size_t count = find_ends(text, len, &at, ends);
        for (size_t i = 0; i < count; i++) {
            size_t end = ends[i];
            size_t bare = end > begin && text[end - 1] == '\r' ? end - 1 : end;
            scan_line(log, text + begin, bare - begin);
            begin = end + 1;
        }
    }
    return begin;
}
