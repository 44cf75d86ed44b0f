/*
 * fake_methods: Method *s as HotSpot has them, in memory of the test's own, behind load.h.
 *
 * Each method is a page: Method, ConstMethod with its line table, ConstantPool, Klass and three
 * symbols at the same places in all. So one page that is filled anew is what address reuse is at
 * its worst: another method, and not a pointer has changed.
 */
#pragma once

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "agent/hotspot/safepoints.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define FAKE_PAGE      16384
#define FAKE_CONST     256 /* ConstMethod, from the page's begin */
#define FAKE_POOL      4096
#define FAKE_KLASS     4608
#define FAKE_SYMBOLS   4864 /* class name; then name and signature */
#define FAKE_NAME      13312
#define FAKE_SIGNATURE 14848
#define FAKE_CODE      40 /* bytes of bytecode */
#define FAKE_WORDS     400
#define FAKE_HAS_LINES 1

static char *fake_memory;
static size_t fake_bytes;
struct layout layout;

static inline bool fake_readable(uintptr_t address, size_t size)
{
    uintptr_t begin = (uintptr_t)fake_memory;
    return address >= begin && address - begin < fake_bytes &&
           size <= fake_bytes - (address - begin);
}

bool load_bytes(uintptr_t address, void *out, size_t size)
{
    if (!fake_readable(address, size)) {
        memset(out, 0, size);
        return false;
    }
    memcpy(out, (const void *)address, size);
    return true;
}

LOAD_BY_BYTES(uint64_t, load_u64)
LOAD_BY_BYTES(uint32_t, load_u32)
LOAD_BY_BYTES(uint16_t, load_u16)
LOAD_BY_BYTES(uint8_t, load_u8)

/* Negative: this JVM does not count them. */
static int64_t fake_safepoints;

bool safepoints_count(uint64_t *out)
{
    *out = (uint64_t)fake_safepoints;
    return fake_safepoints >= 0;
}

static inline void fake_begin(size_t methods)
{
    fake_bytes = methods * FAKE_PAGE;
    fake_memory =
        mmap(NULL, fake_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fake_safepoints = 0;
    layout = (struct layout){
        .method_const = 8,
        .method_access_flags = 40,
        .const_constants = 8,
        .const_words = 24,
        .const_flags = 28,
        .const_code_size = 32,
        .const_name_index = 34,
        .const_signature_index = 36,
        .const_size = 56,
        .const_has_lines = FAKE_HAS_LINES,
        .pool_holder = 24,
        .pool_length = 60,
        .pool_size = 72,
        .klass_name = 24,
        .symbol_length = 4,
        .symbol_body = 6,
        .jdk_major = 17,
    };
}

static inline void fake_end(void)
{
    munmap(fake_memory, fake_bytes);
}

static inline char *fake_page(size_t n)
{
    return fake_memory + n * FAKE_PAGE;
}

static inline uintptr_t fake_method(size_t n)
{
    return (uintptr_t)fake_page(n);
}

static inline void fake_u16(char *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
}

static inline void fake_u32(char *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static inline void fake_pointer(char *at, const void *value)
{
    memcpy(at, &value, sizeof value);
}

static inline void fake_symbol(char *at, const char *text)
{
    fake_u16(at + layout.symbol_length, (uint16_t)strlen(text));
    memcpy(at + layout.symbol_body, text, strlen(text));
}

/* lines: a table with its closing zero; NULL: none. */
static inline uintptr_t fake_fill(size_t n, const char *class_name, const char *name,
                                  const char *signature, uint32_t flags, const uint8_t *lines,
                                  size_t lines_bytes)
{
    char *page = fake_page(n), *at = page + FAKE_CONST, *pool = page + FAKE_POOL;
    fake_pointer(page + layout.method_const, at);
    fake_u32(page + layout.method_access_flags, flags);
    fake_pointer(at + layout.const_constants, pool);
    fake_u32(at + layout.const_words, FAKE_WORDS);
    fake_u16(at + layout.const_flags, lines != NULL ? FAKE_HAS_LINES | 0x30 : 0x30);
    fake_u16(at + layout.const_code_size, FAKE_CODE);
    fake_u16(at + layout.const_name_index, 3);
    fake_u16(at + layout.const_signature_index, 4);
    if (lines != NULL)
        memcpy(at + layout.const_size + FAKE_CODE, lines, lines_bytes);
    fake_pointer(pool + layout.pool_holder, page + FAKE_KLASS);
    fake_u32(pool + layout.pool_length, 5);
    fake_pointer(pool + layout.pool_size + 3 * 8, page + FAKE_NAME);
    fake_pointer(pool + layout.pool_size + 4 * 8, page + FAKE_SIGNATURE);
    fake_pointer(page + FAKE_KLASS + layout.klass_name, page + FAKE_SYMBOLS);
    fake_symbol(page + FAKE_SYMBOLS, class_name);
    fake_symbol(page + FAKE_NAME, name);
    fake_symbol(page + FAKE_SIGNATURE, signature);
    return fake_method(n);
}
