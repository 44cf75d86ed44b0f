/* Any text through class_histogram. */
#include "analyzers/parse/class_tables.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct class_histogram table;
    struct class_histogram_row row;
    size_t rows = 0;
    class_histogram_begin(&table, text);
    while (class_histogram_next(&table, &row)) {
        promise_inside(text, row.name);
        promise_inside(text, row.module);
        promise(row.name.len > 0 && row.instances >= 0 && row.bytes >= 0);
        promise(table.lines.at <= size && ++rows <= size);
    }
    promise(table.lines.at <= size);
    promise_inside(text, table.lines.first_unknown);
    promise(table.total.present == (table.lines.result == PARSE_OK));
    promise(!class_histogram_next(&table, &row)); /* the end stays the end */
    return 0;
}
