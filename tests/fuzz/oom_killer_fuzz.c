/* Any text is read to its end. */
#include "analyzers/parse/oom_lines.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oom_killer out;
    oom_killer_read(&out, span_of((const char *)data, size));
    return 0;
}
