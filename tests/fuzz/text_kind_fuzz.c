/* Any text cut into parts: they lie behind each other, and the cutting ends. */
#include "analyzers/parse/text_kind.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct text_parts parts;
    struct text_part part;
    const char *at = text.ptr;
    text_parts_begin(&parts, text);
    while (text_parts_next(&parts, &part)) {
        promise(part.text.len > 0 && part.text.ptr >= at);
        promise_inside(text, part.text);
        promise_inside(text, part.reply);
        at = part.text.ptr + part.text.len;
        promise(part.kind != TEXT_UNRECOGNISED && part.kind < TEXT_KIND_COUNT);
        promise(text_jdk_major(part.kind, part.text) >= 0);
        promise(text_jdk_form(part.kind, part.text) >= 0);
    }
    promise(parts.unclaimed_lines >= 0);
    return 0;
}
