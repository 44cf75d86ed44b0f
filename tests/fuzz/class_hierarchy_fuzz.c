/* Any text through class_hierarchy. */
#include "analyzers/parse/class_tables.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct class_hierarchy table;
    struct class_hierarchy_row row;
    size_t rows = 0;
    class_hierarchy_begin(&table, text);
    while (class_hierarchy_next(&table, &row)) {
        promise_inside(text, row.name);
        promise_inside(text, row.invokes);
        promise(row.name.len > 0 && row.depth >= 0);
        promise(table.lines.at <= size && ++rows <= size);
    }
    promise(table.lines.at <= size);
    promise_inside(text, table.lines.first_unknown);
    promise(!class_hierarchy_next(&table, &row)); /* the end stays the end */
    return 0;
}
