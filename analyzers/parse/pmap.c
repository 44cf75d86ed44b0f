#include "analyzers/parse/pmap.h"

#include "analyzers/parse/saturated.h"

#define KB          INT64_C(1024)
#define ARENA_BYTES (INT64_C(64) << 20)

struct pmap_row {
    uint64_t address;
    int64_t size_bytes, rss_bytes;
    bool has_rss, writable, anonymous;
};

static bool take_word(struct span *text, struct span *word)
{
    *text = span_trim(*text);
    size_t length = 0;
    while (length < text->len && text->ptr[length] != ' ' && text->ptr[length] != '\t')
        length++;
    *word = span_of(text->ptr, length);
    *text = span_of(text->ptr + length, text->len - length);
    return length > 0;
}

static bool is_mode(struct span word)
{
    if (word.len != 5)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        if (strchr("rwxspR-", word.ptr[i]) == NULL)
            return false;
    }
    return word.ptr[0] == 'r' || word.ptr[0] == '-';
}

static bool take_kb(struct span word, int64_t *bytes)
{
    int64_t kb;
    if (!span_take_unsigned(&word, &kb) || kb > INT64_MAX / KB)
        return false;
    *bytes = kb * KB;
    return word.len == 0 || span_equals(word, SPAN_LITERAL("K"));
}

static bool row_parse(struct span line, struct pmap_row *row)
{
    struct span rest = span_trim(line), word;
    memset(row, 0, sizeof *row);
    if (!take_word(&rest, &word) || (word.len != 16 && word.len != 8) ||
        !span_take_hex(&word, &row->address) || word.len != 0)
        return false;
    int64_t sizes[3];
    int count = 0;
    while (take_word(&rest, &word) && count < 3 && take_kb(word, &sizes[count]))
        count++;
    if (count == 0 || !is_mode(word))
        return false;
    row->has_rss = count > 1;
    row->size_bytes = sizes[0];
    row->rss_bytes = count > 1 ? sizes[1] : 0;
    if (row->size_bytes < row->rss_bytes) /* some print 0 for what may not be looked at */
        row->size_bytes = row->rss_bytes;
    row->writable = word.ptr[1] == 'w';
    rest = span_trim(rest);
    row->anonymous = rest.len == 0 || span_find(rest, SPAN_LITERAL("anon")) >= 0;
    return true;
}

bool pmap_is_row(struct span line)
{
    struct pmap_row row;
    return row_parse(line, &row);
}

bool pmap_is_head(struct span line)
{
    struct span rest = span_trim(line), word;
    return take_word(&rest, &word) && span_equals(word, SPAN_LITERAL("Address")) &&
           take_word(&rest, &word) && span_equals(word, SPAN_LITERAL("Kbytes"));
}

static void take_total(struct pmap *map, struct span line)
{
    struct span rest = line, word;
    if (!take_word(&rest, &word) || !span_equals(word, SPAN_LITERAL("total")))
        return;
    int64_t size, rss;
    take_word(&rest, &word);
    if (span_equals(word, SPAN_LITERAL("kB")))
        take_word(&rest, &word);
    if (!take_kb(word, &size))
        return;
    map->total_size_bytes = size;
    if (take_word(&rest, &word) && take_kb(word, &rss))
        map->total_rss_bytes = rss;
}

void pmap_read(struct pmap *map, struct span text)
{
    *map = (struct pmap){.pid = -1, .total_size_bytes = -1, .total_rss_bytes = -1};
    struct span line;
    bool terminated;
    while (span_next_line(&text, &line, &terminated)) {
        struct pmap_row row;
        int64_t pid;
        struct span rest = span_trim(line);
        if (!row_parse(line, &row)) {
            if (map->mappings == 0 && span_take_unsigned(&rest, &pid) &&
                span_take(&rest, SPAN_LITERAL(":")) && rest.len > 0)
                map->pid = pid;
            take_total(map, span_trim(line));
            continue;
        }
        map->mappings++;
        map->has_rss = map->has_rss || row.has_rss;
        map->size_bytes = saturated_add(map->size_bytes, row.size_bytes);
        map->rss_bytes = saturated_add(map->rss_bytes, row.rss_bytes);
        int64_t held = row.has_rss ? row.rss_bytes : row.size_bytes;
        if (row.anonymous)
            map->anonymous_bytes = saturated_add(map->anonymous_bytes, held);
        if (row.anonymous && row.writable && row.address != 0 &&
            row.address % (uint64_t)ARENA_BYTES == 0 && row.size_bytes <= ARENA_BYTES) {
            map->arenas++;
            map->arena_bytes = saturated_add(map->arena_bytes, held);
        }
    }
}
