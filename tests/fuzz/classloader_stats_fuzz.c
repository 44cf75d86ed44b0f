/* Any text through classloader_stats. */
#include "analyzers/parse/class_tables.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct classloader_stats table;
    struct loader_stats_row row;
    size_t rows = 0;
    classloader_stats_begin(&table, text);
    while (classloader_stats_next(&table, &row)) {
        promise_inside(text, row.type);
        promise(row.classes >= 0 && row.chunk_bytes >= 0 && row.block_bytes >= 0);
        promise(table.lines.at <= size && ++rows <= size);
    }
    promise(table.lines.at <= size);
    promise_inside(text, table.lines.first_unknown);
    promise(table.total.present == (table.lines.result == PARSE_OK));
    promise(!classloader_stats_next(&table, &row)); /* the end stays the end */
    return 0;
}
