/* Any text through nmt_detail. */
#include "analyzers/parse/nmt_detail.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct nmt_detail detail;
    nmt_detail_begin(&detail, text);
    while (nmt_detail_next(&detail)) {
        promise(detail.lines.at <= size);
        if (detail.item == NMT_DETAIL_REGION) {
            promise(detail.region.low <= detail.region.high);
            promise_inside(text, detail.region.category_name);
            continue;
        }
        promise(detail.site.frame_count <= NMT_SITE_FRAMES_MAX);
        promise_inside(text, detail.site.category_name);
        for (int i = 0; i < detail.site.frame_count; i++) {
            promise_inside(text, detail.site.frames[i].symbol);
            promise_inside(text, detail.site.frames[i].library);
        }
    }
    promise(detail.lines.at <= size);
    return 0;
}
