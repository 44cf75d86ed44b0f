/* Any bytes as a heap dump, read in windows of several sizes, and all questions about it. */
#include "analyzers/heap/holders.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/heap/hprof_build.h"

static void ask(const struct heap *heap)
{
    struct walk walk;
    struct retained retained;
    struct holders holders;
    bool *asked = holders_asked(heap);
    promise(asked != NULL && walk_create(&walk, heap, true));
    walk_roots(&walk);
    promise(walk_run(&walk));
    size_t bytes = (heap_nodes(heap) / 64 + 2) * sizeof *walk.marked;
    uint64_t *strong = malloc(bytes);
    promise(strong != NULL);
    memcpy(strong, walk.marked, bytes);
    walk_hidden_roots(&walk);
    promise(walk_run(&walk) && walk_run_soft(&walk));
    promise(retained_create(&retained, heap, asked));
    promise(retained_first(&retained) && retained_rest(&retained));
    promise(holders_create(&holders, heap, &walk, strong, &retained));
    promise(holders_judge(&holders));
    for (int i = 0; i < holders.path_count; i++)
        promise(holders.paths[i].step_count <= HOLDERS_STEPS_MAX + 1);
    holders_destroy(&holders);
    retained_destroy(&retained);
    walk_destroy(&walk);
    free(strong);
    free(asked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heap heap;
    if (hprof_read(&heap, data, size, size % 7 == 0 ? 40 : 4096))
        ask(&heap);
    else
        promise(heap.error[0] != '\0');
    heap_destroy(&heap);
    return 0;
}
