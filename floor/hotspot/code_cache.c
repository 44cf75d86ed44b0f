/* Signal context. */
#include "floor/hotspot/code_cache.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"

#include <string.h>

#define HEAPS_MAX    8    /* HotSpot has at most four */
#define HOPS_MAX     4096 /* through the segment map, for one block */
#define SEGMENT_FREE 0xff

static uintptr_t field(uintptr_t structure, int32_t offset)
{
    return structure + (uintptr_t)(intptr_t)offset;
}

bool code_cache_contains(uintptr_t pc)
{
    return pc >= load_pointer(layout.code_cache_low) && pc < load_pointer(layout.code_cache_high);
}

static bool is_interpreter(uintptr_t pc)
{
    uintptr_t queue = load_pointer(layout.interpreter_code);
    uintptr_t buffer = load_pointer(field(queue, layout.stubs_buffer));
    return buffer != 0 && pc >= buffer &&
           pc - buffer < load_u32(field(queue, layout.stubs_limit), 0);
}

/* The block that holds an address; 0: none. */
static uintptr_t find_block(uintptr_t heap, uintptr_t pc)
{
    uintptr_t memory = field(heap, layout.heap_memory), map = field(heap, layout.heap_segmap);
    uintptr_t low = load_pointer(field(memory, layout.space_low));
    if (low == 0 || pc < low || pc >= load_pointer(field(memory, layout.space_high)))
        return 0;
    uint32_t shift = load_u32(field(heap, layout.heap_log2_segment), 0);
    uintptr_t bytes = load_pointer(field(map, layout.space_low));
    if (shift == 0 || shift >= 32 || bytes == 0)
        return 0;
    uintptr_t segment = (pc - low) >> shift;
    for (int hops = 0; hops < HOPS_MAX; hops++) {
        uint8_t back = load_u8(bytes + segment, SEGMENT_FREE);
        if (back == SEGMENT_FREE || back > segment)
            return 0;
        if (back == 0)
            return low + (segment << shift);
        segment -= back;
    }
    return 0;
}

static uintptr_t find_blob(uintptr_t pc)
{
    uintptr_t heaps = load_pointer(layout.code_cache_heaps);
    uintptr_t data = load_pointer(field(heaps, layout.array_data));
    uint32_t count = layout.array_length >= 0 ? load_u32(field(heaps, layout.array_length), 0) : 1;
    for (uint32_t i = 0; i < count && i < HEAPS_MAX; i++) {
        uintptr_t block = find_block(load_pointer(data + i * sizeof(void *)), pc);
        if (block != 0)
            return load_u8(field(block, layout.block_used), 0) != 0
                       ? field(block, layout.block_size)
                       : 0;
    }
    return 0;
}

/* A name in the blob; up to JDK 23 nothing else marks a method's code. */
static enum code_kind kind_of(uintptr_t blob)
{
    static const char COMPILED[8] = "nmethod", NATIVE[] = "native nmethod",
                      CONTINUATION[] = "StubRoutines (continuation";
    char name[sizeof CONTINUATION - 1];
    int kind = layout.blob_kind >= 0 ? load_u8(field(blob, layout.blob_kind), 0) : -1;
    if (kind >= 0 && kind == layout.kind_nmethod)
        return CODE_METHOD;
    if (kind >= 0 && kind == layout.kind_upcall && layout.upcall_frame_data >= 0)
        return CODE_UPCALL;
    if (!load_bytes(load_pointer(field(blob, layout.blob_name)), name, sizeof COMPILED))
        return CODE_OTHER;
    if (kind < 0 && (memcmp(name, COMPILED, sizeof COMPILED) == 0 ||
                     memcmp(name, NATIVE, sizeof COMPILED) == 0))
        return CODE_METHOD;
    return memcmp(name, CONTINUATION, sizeof COMPILED) == 0 &&
                   load_bytes(load_pointer(field(blob, layout.blob_name)), name, sizeof name) &&
                   memcmp(name, CONTINUATION, sizeof name) == 0
               ? CODE_CONTINUATION
               : CODE_OTHER;
}

bool code_cache_find(uintptr_t pc, struct code_blob *blob)
{
    if (is_interpreter(pc)) {
        *blob = (struct code_blob){.kind = CODE_INTERPRETER};
        return true;
    }
    uintptr_t at = code_cache_contains(pc) ? find_blob(pc) : 0;
    if (at == 0)
        return false;
    int32_t words = (int32_t)load_u32(field(at, layout.blob_frame_size), 0);
    uintptr_t complete = field(at, layout.blob_frame_complete);
    *blob = (struct code_blob){
        .kind = kind_of(at),
        .address = at,
        .bytes = load_u32(field(at, layout.blob_size), 0),
        .code = layout.blob_code_offset >= 0 ? at + load_u32(field(at, layout.blob_code_offset), 0)
                                             : load_pointer(field(at, layout.blob_code_begin)),
        .frame_bytes = words > 0 && words < INT32_MAX / 8 ? words * 8 : 0,
        .frame_complete = layout.blob_frame_complete_bytes == 2 ? (int16_t)load_u16(complete, 0)
                                                                : (int32_t)load_u32(complete, 0),
    };
    if (blob->kind == CODE_METHOD)
        blob->method = load_pointer(field(at, layout.nmethod_method));
    return true;
}
