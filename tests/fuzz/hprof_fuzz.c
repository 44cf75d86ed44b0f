/* Any bytes as a heap dump, read in windows of several sizes, and all questions about it. */
#include "analyzers/heap/holders.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/heap/hprof_build.h"

struct asked {
    struct retained retained;
    struct holders holders;
};

static void take_object(void *context, const struct heap_object *object)
{
    struct asked *asked = context;
    retained_among(&asked->retained, object->id, object->id);
    holders_among(&asked->holders, object->id, object->id);
    retained_weigh(&asked->retained, object);
    holders_text(&asked->holders, object);
}

static void ask(struct heap *heap, const uint8_t *data, size_t size, size_t window)
{
    struct walk walk;
    struct asked all;
    bool *asked = holders_asked(heap);
    promise(asked != NULL && walk_create(&walk, heap, true));
    walk_roots(&walk);
    promise(walk_run(&walk));
    bool *strong = holders_reached(&walk);
    promise(strong != NULL);
    walk_hidden_roots(&walk);
    promise(walk_run(&walk) && walk_run_soft(&walk));
    promise(holders_create(&all.holders, heap, asked, &walk, strong));
    walk_destroy(&walk);
    promise(retained_create(&all.retained, heap, asked));
    promise(retained_first(&all.retained) && retained_rest(&all.retained));
    hprof_fetch(heap, data, size, window, take_object, &all);
    promise(retained_sum(&all.retained));
    promise(holders_judge(&all.holders, &all.retained));
    for (int i = 0; i < all.holders.path_count; i++)
        promise(all.holders.paths[i].step_count <= HOLDERS_STEPS_MAX + 1);
    holders_destroy(&all.holders);
    retained_destroy(&all.retained);
    free(strong);
    free(asked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heap heap;
    size_t window = size % 7 == 0 ? 40 : 4096;
    if (hprof_read(&heap, data, size, window))
        ask(&heap, data, size, window);
    else
        promise(heap.error[0] != '\0');
    heap_destroy(&heap);
    return 0;
}
