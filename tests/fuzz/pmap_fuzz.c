/* Any text is read to its end. */
#include "analyzers/parse/tool_tables.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pmap out;
    pmap_read(&out, span_of((const char *)data, size));
    return 0;
}
