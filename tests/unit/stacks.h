/*
 * stacks: made stacks of 40 frames, for tests and benches of their storage.
 *
 *   an application   outer frames that hardly branch, inner ones that do: a thread's way to its
 *                    handler, and what the handler calls. Some 5 methods a path, 40 000 call sites.
 *   random           each frame is any of 1000 call sites: stacks share their first frame or two.
 */
#pragma once

#include "floor/hotspot/frame.h"
#include "floor/base/fold_hash.h"

#include <stdlib.h>
#include <string.h>

#define STACK_FRAMES 40

static inline uint64_t stack_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return fold_word(*state);
}

static inline struct frame stack_site(uint64_t number)
{
    return (struct frame){
        .value = 1000 + number / 8, .bci = (int32_t)(number % 8 * 5), .kind = 1, .type = 2};
}

static inline void stack_random_make(uint64_t *state, struct frame *frames)
{
    for (int i = 0; i < STACK_FRAMES; i++)
        frames[i] = stack_site(stack_random(state) % 1000);
}

/* Ways on from a frame so far from the outermost one. */
static inline uint64_t stack_ways(int at, uint64_t path)
{
    if (at == 0)
        return 16; /* kinds of threads */
    if (at < 24)
        return path % 16 == 0 ? 2 : 1;
    return 1 + path % 4;
}

static inline void stack_application_make(uint64_t *state, struct frame *frames)
{
    uint64_t path = 1;
    for (int at = 0; at < STACK_FRAMES; at++) {
        path = fold_word(path + stack_random(state) % stack_ways(at, path));
        frames[STACK_FRAMES - 1 - at] = stack_site(path % 40000);
    }
}

/* So many different ones, in the order in which they come; the caller frees them. */
static inline struct frame *stacks_make(void (*make)(uint64_t *, struct frame *), size_t count)
{
    size_t mask = 1;
    while (mask < 2 * count)
        mask *= 2;
    struct frame *stacks = malloc(count * STACK_FRAMES * sizeof *stacks);
    uint64_t *hashes = calloc(mask--, sizeof *hashes);
    uint64_t state = 1;
    for (size_t made = 0; stacks != NULL && hashes != NULL && made < count;) {
        struct frame *stack = stacks + made * STACK_FRAMES;
        make(&state, stack);
        uint64_t hash = fold_hash(stack, STACK_FRAMES * sizeof *stack, 0);
        size_t at = hash & mask;
        while (hashes[at] != 0 && hashes[at] != hash)
            at = (at + 1) & mask;
        made += hashes[at] == 0;
        hashes[at] = hash;
    }
    free(hashes);
    return stacks;
}
