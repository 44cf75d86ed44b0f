/* Any text through classes. */
#include "analyzers/parse/class_tables.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct classes table;
    struct classes_row row;
    size_t rows = 0;
    classes_begin(&table, text);
    while (classes_next(&table, &row)) {
        promise_inside(text, row.name);
        promise_inside(text, row.state);
        promise_inside(text, row.flags);
        promise(row.name.len > 0 && row.size_words >= 0);
        promise(table.lines.at <= size && ++rows <= size);
    }
    promise(table.lines.at <= size);
    promise_inside(text, table.lines.first_unknown);
    promise(!classes_next(&table, &row)); /* the end stays the end */
    return 0;
}
