/* Any text is read to its end. */
#include "analyzers/parse/hs_err.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_err out;
    hs_err_read(&out, span_of((const char *)data, size));
    return 0;
}
