/* Any image through hsperfdata; what was found in it is read again from its first half. */
#include "analyzers/parse/hsperfdata.h"
#include "tests/fuzz/fuzz.h"

static void read_value(const struct hsperfdata *view, const struct hsperfdata_entry *entry)
{
    struct span image = span_of((const char *)view->image, view->len), text;
    int64_t number;
    if (hsperfdata_string(view, entry, &text))
        promise_inside(image, text);
    hsperfdata_number(view, entry, &number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span image = span_of((const char *)data, size);
    struct hsperfdata view, half;
    struct hsperfdata_entry entry;
    if (hsperfdata_open(&view, data, size) != PARSE_OK)
        return 0;
    bool half_opens = hsperfdata_open(&half, data, size / 2) == PARSE_OK;

    struct hsperfdata_cursor cursor;
    size_t entries = 0;
    hsperfdata_begin(&view, &cursor);
    while (hsperfdata_next(&view, &cursor, &entry)) {
        promise_inside(image, entry.name);
        promise(++entries <= size / 20);
        read_value(&view, &entry);
        if (half_opens)
            read_value(&half, &entry);
    }
    if (hsperfdata_find(&view, SPAN_LITERAL("java.cls.loadedClasses"), &entry))
        read_value(&view, &entry);
    return 0;
}
