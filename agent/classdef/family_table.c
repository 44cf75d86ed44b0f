#include "agent/classdef/family_table.h"

#include "agent/mem/fold_hash.h"
#include "agent/mem/mem.h"
#include "analyzers/classes/normalize.h"

#include <ctype.h>
#include <string.h>

#define PLACES     (2 * FAMILIES_MAX) /* of the index: never more than half full */
#define FOLD_ABOVE (FAMILIES_MAX / 4 * 3)
#define FOLD_DOWN  (FAMILIES_MAX / 2)

struct family_table {
    uint32_t count;
    uint16_t place[PLACES]; /* row by hash, linear probing; 0: free, "[other]" is not looked up */
    struct family_row row[FAMILIES_MAX];
};
_Static_assert(FAMILIES_MAX <= UINT16_MAX, "a row's number in a place");

struct family_table *family_table_create(void)
{
    struct family_table *table = mem_map(COMPONENT_CLASS_DEFINITIONS, sizeof *table);
    if (table == NULL)
        return NULL;
    strcpy(table->row[0].name, "[other]");
    table->row[0].length = (uint16_t)strlen(table->row[0].name);
    table->count = 1;
    return table;
}

void family_table_destroy(struct family_table *table)
{
    if (table != NULL)
        mem_unmap(COMPONENT_CLASS_DEFINITIONS, table, sizeof *table);
}

/* The place of the family, or the free one where it would go. */
static uint16_t *place_of(struct family_table *table, const char *family, size_t length)
{
    uint32_t at = (uint32_t)fold_hash(family, length, 0) % PLACES;
    for (;; at = (at + 1) % PLACES) {
        const struct family_row *row = &table->row[table->place[at]];
        if (table->place[at] == 0 ||
            (row->length == length && memcmp(row->name, family, length) == 0))
            return &table->place[at];
    }
}

static struct family_row *row_of(struct family_table *table, const char *family, size_t length)
{
    uint16_t *place = place_of(table, family, length);
    if (*place != 0 || table->count == FAMILIES_MAX)
        return &table->row[*place];
    *place = (uint16_t)table->count++;
    struct family_row *row = &table->row[*place];
    *row = (struct family_row){.length = (uint16_t)length};
    memcpy(row->name, family, length);
    return row;
}

struct family_row *family_table_loaded(struct family_table *table, const char *family,
                                       size_t length, int64_t bytes)
{
    struct family_row *row = family != NULL ? row_of(table, family, length) : &table->row[0];
    row->loaded++;
    row->unreported++;
    row->changed = true;
    if (bytes >= 0) {
        row->bytes += bytes;
        row->sized++;
    }
    return row;
}

void family_table_unloaded(struct family_table *table, const char *family, size_t length)
{
    struct family_row *row = &table->row[family != NULL ? *place_of(table, family, length) : 0];
    row->unloaded++;
    row->changed = true;
}

uint32_t family_table_count(const struct family_table *table)
{
    return table->count;
}

struct family_row *family_table_at(struct family_table *table, uint32_t row)
{
    return &table->row[row];
}

void family_table_sum(const struct family_table *table, int64_t *loaded, int64_t *unloaded,
                      int64_t *bytes)
{
    *loaded = *unloaded = *bytes = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        *loaded += table->row[i].loaded;
        *unloaded += table->row[i].unloaded;
        *bytes += table->row[i].bytes;
    }
}

const struct family_row *family_table_grown(struct family_table *table, int64_t *loaded,
                                            int64_t *net)
{
    const struct family_row *most = NULL;
    *loaded = *net = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        struct family_row *row = &table->row[i];
        int64_t row_loaded = row->loaded - row->loaded_before;
        int64_t row_net = row->loaded - row->unloaded - row->net_before;
        row->loaded_before = row->loaded;
        row->net_before = row->loaded - row->unloaded;
        if (row_loaded == 0)
            continue;
        if (most == NULL || row_net > *net || (row_net == *net && row_loaded > *loaded)) {
            most = row;
            *loaded = row_loaded;
            *net = row_net;
        }
    }
    return most;
}

/* --- giving rows back ------------------------------------------------------------------------- */

static void give_to_other(struct family_table *table, const struct family_row *row)
{
    struct family_row *other = &table->row[0];
    other->loaded += row->loaded;
    other->unloaded += row->unloaded;
    other->bytes += row->bytes;
    other->sized += row->sized;
    other->loaded_before += row->loaded_before;
    other->net_before += row->net_before;
    other->unreported += row->unreported;
    other->changed = true;
}

/* Families of at most so many classes that have been quiet. */
static uint32_t fold_small(struct family_table *table, int64_t largest)
{
    uint32_t kept = 1, count = table->count;
    for (uint32_t i = 1; i < count; i++) {
        struct family_row *row = &table->row[i];
        if (!row->changed && row->loaded <= largest && table->count - (i - kept) > FOLD_DOWN)
            give_to_other(table, row);
        else if (kept++ < i)
            table->row[kept - 1] = *row;
    }
    table->count = kept;
    memset(table->place, 0, sizeof table->place);
    for (uint32_t i = 1; i < kept; i++)
        *place_of(table, table->row[i].name, table->row[i].length) = (uint16_t)i;
    return count - kept;
}

uint32_t family_table_fold(struct family_table *table)
{
    uint32_t folded = 0;
    if (table->count > FOLD_ABOVE) {
        for (int64_t largest = 1; table->count > FOLD_DOWN && largest < 1000; largest *= 8)
            folded += fold_small(table, largest);
    }
    for (uint32_t i = 0; i < table->count; i++)
        table->row[i].changed = false;
    return folded;
}

/* Where a hidden class's own number begins: "+0x", ".0x" or "/0x", and JDK 8's "/123". 0: nowhere.
 * In Java no name of a package or class begins with a digit. */
static size_t tail_of(const char *name, size_t length)
{
    size_t at = length;
    while (at > 0 && isalnum((unsigned char)name[at - 1]))
        at--;
    bool tail = at > 1 && at < length && isdigit((unsigned char)name[at]) &&
                (name[at - 1] == '+' || name[at - 1] == '.' || name[at - 1] == '/');
    return tail ? at - 1 : 0;
}

size_t class_name_readable(const char *name, char out[CLASS_NAME_MAX])
{
    size_t length = strlen(name);
    if (length > 2 && name[0] == 'L' && name[length - 1] == ';') {
        name++;
        length -= 2;
    }
    size_t tail = tail_of(name, length);
    if (length > CLASS_NAME_MAX - 1)
        length = CLASS_NAME_MAX - 1;
    for (size_t i = 0; i < length; i++)
        out[i] = name[i] == '/' ? '.' : name[i];
    if (tail > 0 && tail < length)
        out[tail] = '/';
    out[length] = '\0';
    return length;
}

bool class_name_is_hidden(const char *readable)
{
    return strchr(readable, '/') != NULL; /* the only slash that is left in one */
}

static size_t keep(const char *text, size_t length, char out[CLASS_FAMILY_MAX])
{
    if (length > CLASS_FAMILY_MAX - 1) {
        length = CLASS_FAMILY_MAX - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) /* inside a character */
            length--;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return length;
}

/* Numbers that javac gives ("Outer$1", "Outer$1Local") are nobody's counter, unless there is more
 * in the name: another number, "$$" as generators write it, the address of a hidden class. */
static bool is_numbered_by_javac(const char *readable, size_t length, struct name_parts parts)
{
    char stem[STEM_MAX];
    if (parts.hidden || memmem(readable, length, "$$", 2) != NULL)
        return false;
    while (parts.folded) {
        const char *tail = memrchr(readable, '$', length);
        if (!parts.anonymous || tail == NULL)
            return false;
        length = (size_t)(tail - readable);
        normalize(span_of(readable, length), stem, &parts);
    }
    return true;
}

size_t class_family(const char *readable, size_t length, char out[CLASS_FAMILY_MAX])
{
    char stem[STEM_MAX];
    struct name_parts parts;
    size_t stem_length = normalize(span_of(readable, length), stem, &parts);
    if (parts.folded && !is_numbered_by_javac(readable, length, parts))
        return keep(stem, stem_length, out);
    const char *dot = memrchr(readable, '.', length);
    if (dot == NULL)
        return keep(readable, length, out);
    length = (size_t)(dot - readable) + 1;
    length = keep(readable, length < CLASS_FAMILY_MAX - 2 ? length : CLASS_FAMILY_MAX - 2, out);
    out[length++] = '*';
    out[length] = '\0';
    return length;
}
