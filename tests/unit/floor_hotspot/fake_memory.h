/*
 * fake_memory: a JVM's memory that a test makes up: it takes the place of guarded_load.c and
 * layout_here.c.
 *
 * Addresses from FAKE_BASE on can be read as far as FAKE_BYTES go; nothing else can. fake_layout
 * sets a layout of our own, of the shape of JDK 25 or that of 17.
 */
#pragma once

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"

#include <stdlib.h>
#include <string.h>

#define FAKE_BASE  ((uintptr_t)0x100000)
#define FAKE_BYTES ((uintptr_t)0x40000)

static uint8_t fake_bytes[FAKE_BYTES];

static void *fake_at(uintptr_t address, size_t size)
{
    return address >= FAKE_BASE && address - FAKE_BASE <= FAKE_BYTES - size
               ? fake_bytes + (address - FAKE_BASE)
               : NULL;
}

bool load_bytes(uintptr_t address, void *out, size_t size)
{
    const void *from = fake_at(address, size);
    memset(out, 0, size);
    if (from != NULL)
        memcpy(out, from, size);
    return from != NULL;
}

#define FAKE_LOAD(name, type)                                                                      \
    type name(uintptr_t address, type instead)                                                     \
    {                                                                                              \
        type value;                                                                                \
        return load_bytes(address, &value, sizeof value) ? value : instead;                        \
    }
FAKE_LOAD(load_u64, uint64_t)
FAKE_LOAD(load_u32, uint32_t)
FAKE_LOAD(load_u16, uint16_t)
FAKE_LOAD(load_u8, uint8_t)

uintptr_t libjvm_symbol(const char *name)
{
    (void)name;
    return 0;
}

static inline void put(uintptr_t address, uint64_t value, size_t size)
{
    void *to = fake_at(address, size);
    if (to == NULL)
        abort(); /* of the test's own making */
    memcpy(to, &value, size);
}

static inline void put_word(uintptr_t address, uint64_t value)
{
    put(address, value, 8);
}

static inline void put_int(uintptr_t address, uint32_t value)
{
    put(address, value, 4);
}

/* Static fields, one heap, and where a test may put what. */
enum {
    FAKE_STATICS = 0x100000,
    FAKE_HEAPS = 0x100100,
    FAKE_HEAP = 0x100200,
    FAKE_HEAP_LIST = 0x100300,
    FAKE_QUEUE = 0x100400,
    FAKE_THREAD = 0x100500,
    FAKE_METHODS = 0x101000, /* 64 bytes each, its ConstMethod and pool after it */
    FAKE_SEGMENTS = 0x108000,
    FAKE_TABLES = 0x110000, /* PcDescs, scopes, metadata */
    FAKE_CODE = 0x120000,   /* the code cache; interpreter at its end */
    FAKE_CODE_END = 0x128000,
    FAKE_INTERPRETER = 0x127000,
    FAKE_CALL_STUB = 0x126f00,
    FAKE_STACK = 0x130000,
    FAKE_STACK_END = 0x138000,
    FAKE_SEGMENT_SHIFT = 6,
};

static inline void fake_layout(int jdk_major)
{
    memset(fake_bytes, 0, sizeof fake_bytes);
    memset(&layout, 0xff, sizeof layout); /* -1: not there */
    layout.jdk_major = jdk_major;
    layout.code_cache_low = FAKE_STATICS;
    layout.code_cache_high = FAKE_STATICS + 8;
    layout.code_cache_heaps = FAKE_STATICS + 16;
    layout.interpreter_code = FAKE_STATICS + 24;
    layout.call_stub_return = FAKE_STATICS + 32;
    layout.cont_return_pc = 0;
    put_word(layout.code_cache_low, FAKE_CODE);
    put_word(layout.code_cache_high, FAKE_CODE_END);
    put_word(layout.code_cache_heaps, FAKE_HEAPS);
    put_word(layout.interpreter_code, FAKE_QUEUE);
    put_word(layout.call_stub_return, FAKE_CALL_STUB);
    layout.array_length = 0, layout.array_data = 8;
    put_int(FAKE_HEAPS, 1);
    put_word(FAKE_HEAPS + 8, FAKE_HEAP_LIST);
    put_word(FAKE_HEAP_LIST, FAKE_HEAP);
    layout.heap_memory = 0, layout.heap_segmap = 32, layout.heap_log2_segment = 64;
    layout.space_low = 0, layout.space_high = 8;
    put_word(FAKE_HEAP, FAKE_CODE);
    put_word(FAKE_HEAP + 8, FAKE_CODE_END);
    put_word(FAKE_HEAP + 32, FAKE_SEGMENTS);
    put_int(FAKE_HEAP + 64, FAKE_SEGMENT_SHIFT);
    memset(fake_at(FAKE_SEGMENTS, 0x1000), 0xff, 0x1000);
    layout.stubs_buffer = 0, layout.stubs_limit = 8;
    put_word(FAKE_QUEUE, FAKE_INTERPRETER);
    put_int(FAKE_QUEUE + 8, FAKE_CODE_END - FAKE_INTERPRETER);
    layout.block_used = 4, layout.block_size = 8;
    layout.blob_name = 0, layout.blob_size = 8, layout.blob_frame_size = 12;
    layout.blob_frame_complete = 16, layout.blob_frame_complete_bytes = 4;
    layout.nmethod_method = 24, layout.nmethod_scopes_pcs = 32;
    layout.nmethod_orig_pc = 60, layout.nmethod_compile_id = 88;
    if (jdk_major >= 25) {
        layout.blob_kind = 20, layout.kind_nmethod = 1, layout.blob_code_offset = 36;
        layout.blob_mutable_data = 72, layout.blob_relocation_size = 40;
        layout.nmethod_immutable = 48, layout.nmethod_scopes_data = 44;
        layout.nmethod_deopt_offset = 56;
    } else {
        layout.blob_code_begin = 72, layout.nmethod_scopes_data_begin = 48;
        layout.nmethod_dependencies = 44, layout.nmethod_metadata = 40;
        layout.nmethod_deopt_begin = 80;
    }
    layout.pc_desc_pc = 0, layout.pc_desc_scope = 4, layout.pc_desc_size = 16;
    layout.method_const = 0, layout.method_access_flags = 8;
    layout.const_constants = 0, layout.const_name_index = 8, layout.const_code_size = 10;
    layout.const_size = 16;
    layout.pool_holder = 0, layout.pool_length = 8;
    layout.thread_anchor = 0, layout.thread_stack_base = 24, layout.thread_stack_size = 32;
    layout.thread_state = 40, layout.thread_in_java = 8;
    layout.anchor_sp = 0, layout.anchor_pc = 8, layout.anchor_fp = 16;
    layout.wrapper_anchor = 32;
    layout.call_wrapper_slot = -6, layout.sender_sp_slot = -1, layout.last_sp_slot = -2;
    put_word(FAKE_THREAD + 24, FAKE_STACK_END);
    put_word(FAKE_THREAD + 32, FAKE_STACK_END - FAKE_STACK);
    put_int(FAKE_THREAD + 40, 8);
}

/* The Method * of that number, with 100 bytes of bytecodes that begin at +32. */
static inline uintptr_t fake_method(int number, bool native)
{
    uintptr_t method = FAKE_METHODS + (uintptr_t)number * 64, at = method + 16, pool = method + 48;
    put_word(method, at);
    put(method + 8, native ? 0x0100 : 0, 2);
    put_word(at, pool);
    put(at + 8, 3, 2);
    put(at + 10, 100, 2);
    put_word(pool, FAKE_METHODS);
    put_int(pool + 8, 10);
    return method;
}

/* A block of code at FAKE_CODE + offset, a multiple of the segment; its CodeBlob. Code begins 128
 * bytes after that, its frame is complete 8 bytes later. */
static inline uintptr_t fake_code(uintptr_t offset, uintptr_t bytes, uintptr_t method,
                                  int frame_words, const char *name)
{
    uintptr_t blob = FAKE_CODE + offset + 8, text = FAKE_CODE + offset + 100;
    uintptr_t first = offset >> FAKE_SEGMENT_SHIFT, count = bytes >> FAKE_SEGMENT_SHIFT;
    put(FAKE_CODE + offset + 4, 1, 1);
    for (uintptr_t i = 0; i < count; i++)
        put(FAKE_SEGMENTS + first + i, i < 0xfe ? i : 0xfe, 1);
    memcpy(fake_at(text, 28), name, strnlen(name, 27));
    put_word(blob, text);
    put_int(blob + 8, (uint32_t)bytes - 8);
    put_int(blob + 12, (uint32_t)frame_words);
    put_int(blob + 16, 8);
    put_int(blob + 88, (uint32_t)first + 1);
    put_word(blob + 24, method);
    if (layout.blob_kind >= 0) {
        put(blob + 20, method != 0, 1);
        put_int(blob + 36, 128);
    } else {
        put_word(blob + 72, blob + 128);
    }
    return blob;
}

/* A direct call that returns to that address; of callee 0: of what comes next in the caller. */
static inline void fake_call_instruction(uintptr_t return_to, uintptr_t callee)
{
    if (machine.instruction_bytes == 1) {
        put(return_to - 5, 0xe8, 1);
        put_int(return_to - 4, callee != 0 ? (uint32_t)(callee - return_to) : 0);
    } else {
        int64_t bytes = callee != 0 ? (int64_t)(callee - (return_to - 4)) : 4;
        put_int(return_to - 4, 0x94000000 | ((uint32_t)(bytes >> 2) & 0x3ffffff));
    }
}

/* Says that a call of Java in that code returns to its beginning + offset. In ascending order. */
static inline void fake_call(uintptr_t blob, uint32_t offset)
{
    uintptr_t table = FAKE_TABLES + (blob - FAKE_CODE), scopes = table + 0x200;
    uint32_t count = 1;
    while (load_u32(table + count * 16, 0) != 0 && load_u32(table + count * 16, 0) != INT32_MAX)
        count++;
    put_int(table, UINT32_MAX);
    put_int(table + count * 16, offset);
    put_int(table + count * 16 + 4, 8);
    put_int(table + (count + 1) * 16, INT32_MAX);
    uint32_t end = (count + 2) * 16;
    if (layout.nmethod_immutable >= 0) {
        put_word(blob + 48, table);
        put_int(blob + 32, 0);
        put_int(blob + 44, end);
    } else {
        put_int(blob + 32, (uint32_t)(table - blob));
        put_int(blob + 44, (uint32_t)(table - blob) + end);
        put_word(blob + 48, scopes);
    }
}

static inline uint64_t fake_random(void)
{
    static uint64_t random_state = 7;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Up to 200 words anywhere, one in two of them on the stack. */
static inline void fake_damage(void)
{
    for (uint64_t hits = fake_random() % 200; hits > 0; hits--) {
        uintptr_t at = FAKE_BASE + fake_random() % (FAKE_BYTES - 8);
        uint64_t kinds[] = {fake_random(), FAKE_STACK + fake_random() % 0x8000,
                            FAKE_CODE + fake_random() % 0x8000, FAKE_INTERPRETER + 5};
        put(hits % 2 == 0 ? at & ~(uintptr_t)7 : (FAKE_STACK + at % 0x1000) & ~(uintptr_t)7,
            kinds[fake_random() % 4], 8);
    }
}
