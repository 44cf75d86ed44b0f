/* Any bytes as a heap dump, read in windows of several sizes, and all questions about it. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/heap/hprof_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heap heap;
    struct hprof_asked all;
    size_t window = size % 7 == 0 ? 40 : 4096;
    if (hprof_read(&heap, data, size, window)) {
        hprof_ask(&heap, data, size, window, &all);
        for (int i = 0; i < all.holders.path_count; i++)
            promise(all.holders.paths[i].step_count <= HOLDERS_STEPS_MAX + 1);
        hprof_forget(&all);
    } else {
        promise(heap.error[0] != '\0');
    }
    heap_destroy(&heap);
    return 0;
}
