/*
 * code_cache: which piece of generated code an address lies in.
 *
 * The code cache is a few heaps of segments. A heap's segment map has a byte a segment: 0 at the
 * first segment of a block, else how many segments back it may be (or the next such byte); 0xff:
 * free.
 *
 *   segment map   0  1  2  3  0  1 ff ff        block: header | CodeBlob | ... code ... |
 *
 * Signal context; every load is guarded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum code_kind {
    CODE_INTERPRETER,  /* nothing else of the struct is set */
    CODE_METHOD,       /* a compiled method or the wrapper of a native one */
    CODE_CONTINUATION, /* stubs that bring back frames of a virtual thread */
    CODE_UPCALL,       /* native code calls Java by java.lang.foreign */
    CODE_OTHER,        /* other stubs, adapters */
};

struct code_blob {
    enum code_kind kind;
    uintptr_t address;   /* CodeBlob * */
    uint32_t bytes;      /* header, code and data */
    uintptr_t code;      /* its first instruction */
    int32_t frame_bytes; /* from sp to the caller's sp, the return address included; 0: unknown */
    int32_t frame_complete; /* from code: before it there is no frame yet; < 0: never */
    uintptr_t method;       /* Method * */
};

bool code_cache_contains(uintptr_t pc);
bool code_cache_find(uintptr_t pc, struct code_blob *blob);
