/* Any text through metaspace_parse. */
#include "analyzers/parse/metaspace.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct metaspace metaspace;
    size_t consumed = SIZE_MAX;
    int64_t value;
    enum parse_result result =
        metaspace_parse(&metaspace, span_of((const char *)data, size), &consumed);
    promise(consumed <= size);
    for (int field = 0; field < METASPACE_FIELD_COUNT; field++)
        promise(!metaspace_get(&metaspace, (enum metaspace_field)field, &value) || value >= 0);
    if (result == PARSE_OK)
        promise(metaspace_get(&metaspace, METASPACE_USED_BOTH, &value) &&
                metaspace_get(&metaspace, METASPACE_COMMITTED_BOTH, &value));
    return 0;
}
