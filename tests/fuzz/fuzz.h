/* fuzz: what the fuzz targets share. A broken promise of a parser ends the program, as a crash. */
#pragma once

#include "floor/base/span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void promise(bool kept)
{
    if (!kept)
        __builtin_trap();
}

/* A span a parser hands out lies inside of its input, or is empty. */
static inline void promise_inside(struct span text, struct span part)
{
    promise(part.len == 0 || (part.ptr >= text.ptr && part.len <= text.len &&
                              (size_t)(part.ptr - text.ptr) <= text.len - part.len));
}
