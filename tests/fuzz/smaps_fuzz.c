/* Any text through smaps. */
#include "analyzers/parse/proc_text.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct smaps smaps;
    struct smaps_mapping mapping;
    smaps_begin(&smaps, text);
    while (smaps_next(&smaps, &mapping)) {
        promise(smaps.lines.at <= size);
        promise(mapping.rss_bytes >= 0);
        promise_inside(text, mapping.map.path);
    }
    promise(smaps.lines.at <= size);
    return 0;
}
