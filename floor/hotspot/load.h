/*
 * load: reading the JVM's memory, which may be gone, damaged or never have been there.
 *
 * The walker and whatever reads HotSpot's structures read through these functions alone. In process
 * they are guarded_load.c and loads.c of the architecture: a plain load, and a handler of SIGSEGV
 * and SIGBUS (faults.h) that lets it fail. Another reader, over a copied stack of another process,
 * takes the place of those two at link time.
 *
 * Signal context.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORD_BYTES 8 /* of an address, as load_pointer reads it */

/* The value at the address; instead where that cannot be read. Of any alignment. */
uint64_t load_u64(uintptr_t address, uint64_t instead);
uint32_t load_u32(uintptr_t address, uint32_t instead);
uint16_t load_u16(uintptr_t address, uint16_t instead);
uint8_t load_u8(uintptr_t address, uint8_t instead);
/* False: not all of it can be read; out holds what could, then zeros. */
bool load_bytes(uintptr_t address, void *out, size_t size);

/* For another reader: one of the above by its load_bytes. */
#define LOAD_BY_BYTES(type, name)                                                                  \
    type name(uintptr_t address, type instead)                                                     \
    {                                                                                              \
        type value;                                                                                \
        return load_bytes(address, &value, sizeof value) ? value : instead;                        \
    }

static inline uintptr_t load_pointer(uintptr_t address)
{
    return (uintptr_t)load_u64(address, 0);
}
