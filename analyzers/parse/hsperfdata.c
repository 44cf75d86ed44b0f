#include "analyzers/parse/hsperfdata.h"

#define HEADER_BYTES       32
#define ENTRY_HEADER_BYTES 20

static const unsigned char magic[4] = {0xca, 0xfe, 0xc0, 0xc0};

static int32_t read_i32(const struct hsperfdata *view, size_t offset)
{
    uint32_t raw;
    memcpy(&raw, view->image + offset, sizeof raw);
    return (int32_t)(view->swapped ? __builtin_bswap32(raw) : raw);
}

static bool fits(const struct hsperfdata *view, size_t offset, size_t bytes)
{
    return offset <= view->len && bytes <= view->len - offset;
}

enum parse_result hsperfdata_open(struct hsperfdata *view, const void *image, size_t len)
{
    *view = (struct hsperfdata){.image = image, .len = len};
    size_t seen = len < sizeof magic ? len : sizeof magic;
    if (seen > 0 && memcmp(view->image, magic, seen) != 0)
        return PARSE_MALFORMED;
    if (len < HEADER_BYTES)
        return PARSE_INCOMPLETE;

    unsigned char byte_order = view->image[4], major = view->image[5], accessible = view->image[7];
    if (byte_order > 1 || major != 2)
        return PARSE_MALFORMED;
    bool host_is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    view->swapped = (byte_order == 1) != host_is_little;
    if (accessible == 0)
        return PARSE_INCOMPLETE;

    view->entry_offset = read_i32(view, 24);
    view->num_entries = read_i32(view, 28);
    if (view->entry_offset < HEADER_BYTES || (size_t)view->entry_offset > len ||
        view->num_entries < 0)
        return PARSE_MALFORMED;
    return PARSE_OK;
}

void hsperfdata_begin(const struct hsperfdata *view, struct hsperfdata_cursor *cursor)
{
    *cursor = (struct hsperfdata_cursor){(size_t)view->entry_offset, view->num_entries, PARSE_OK};
}

static size_t element_bytes(char type)
{
    switch (type) {
    case 'J':
    case 'D':
        return 8;
    case 'I':
    case 'F':
        return 4;
    case 'S':
    case 'C':
        return 2;
    default:
        return 1;
    }
}

/* Everything an entry points to lies inside of the entry, and the entry inside of the image. */
static bool read_entry(const struct hsperfdata *view, size_t start, struct hsperfdata_entry *entry,
                       size_t *entry_bytes)
{
    if (!fits(view, start, ENTRY_HEADER_BYTES))
        return false;
    int32_t length = read_i32(view, start);
    int32_t name_offset = read_i32(view, start + 4);
    int32_t vector_length = read_i32(view, start + 8);
    int32_t data_offset = read_i32(view, start + 16);
    if (length < ENTRY_HEADER_BYTES || !fits(view, start, (size_t)length) ||
        name_offset < ENTRY_HEADER_BYTES || name_offset >= length ||
        data_offset < ENTRY_HEADER_BYTES || data_offset > length || vector_length < 0)
        return false;

    const unsigned char *at = view->image + start;
    entry->type = (char)at[12];
    entry->units = at[14];
    entry->variability = at[15];
    size_t elements = vector_length ? (size_t)vector_length : 1;
    entry->offset = start + (size_t)data_offset;
    entry->data_bytes = elements * element_bytes(entry->type);
    if (entry->data_bytes > (size_t)(length - data_offset))
        return false;

    const char *name = (const char *)at + name_offset;
    const char *end = memchr(name, '\0', (size_t)(length - name_offset));
    if (end == NULL)
        return false;
    entry->name = span_of(name, (size_t)(end - name));
    *entry_bytes = (size_t)length;
    return true;
}

bool hsperfdata_next(const struct hsperfdata *view, struct hsperfdata_cursor *cursor,
                     struct hsperfdata_entry *entry)
{
    size_t entry_bytes;
    if (cursor->left <= 0 || cursor->result != PARSE_OK)
        return false;
    if (!read_entry(view, cursor->offset, entry, &entry_bytes)) {
        cursor->result = PARSE_MALFORMED;
        return false;
    }
    cursor->offset += entry_bytes;
    cursor->left--;
    return true;
}

bool hsperfdata_find(const struct hsperfdata *view, struct span name,
                     struct hsperfdata_entry *entry)
{
    struct hsperfdata_cursor cursor;
    hsperfdata_begin(view, &cursor);
    while (hsperfdata_next(view, &cursor, entry))
        if (span_equals(entry->name, name))
            return true;
    return false;
}

bool hsperfdata_number(const struct hsperfdata *view, const struct hsperfdata_entry *entry,
                       int64_t *value)
{
    uint64_t raw;
    if (entry->type != 'J' || entry->data_bytes != sizeof raw ||
        !fits(view, entry->offset, sizeof raw))
        return false;
    memcpy(&raw, view->image + entry->offset, sizeof raw);
    *value = (int64_t)(view->swapped ? __builtin_bswap64(raw) : raw);
    return true;
}

bool hsperfdata_string(const struct hsperfdata *view, const struct hsperfdata_entry *entry,
                       struct span *value)
{
    if (entry->type != 'B' || !fits(view, entry->offset, entry->data_bytes))
        return false;
    const char *text = (const char *)view->image + entry->offset;
    *value = span_of(text, strnlen(text, entry->data_bytes));
    return true;
}
