/* layout: tables of a process that is none of HotSpot's making come to an end. */
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Each symbol is a word. The four tables begin at the same entry. */
enum { SYMBOLS = 0x100000, ENTRY = 0x101000, NAME = 0x102000 };

static const char *const SYMBOL[] = {
    "gHotSpotVMStructs",
    "gHotSpotVMTypes",
    "gHotSpotVMIntConstants",
    "gHotSpotVMLongConstants",
    "gHotSpotVMStructEntryArrayStride",
    "gHotSpotVMTypeEntryArrayStride",
    "gHotSpotVMIntConstantEntryArrayStride",
    "gHotSpotVMLongConstantEntryArrayStride",
};
#define TABLES 4
#define KNOWN  (sizeof SYMBOL / sizeof *SYMBOL)

#define MEMORY_BYTES 0x10000
static uint8_t memory[MEMORY_BYTES + 8];
static uint64_t loads;

/* The kernel shows the same pages again and again: memory without an end. */
bool load_bytes(uintptr_t address, void *out, size_t size)
{
    loads++;
    memcpy(out, memory + address % MEMORY_BYTES, size);
    return true;
}

LOAD_BY_BYTES(uint64_t, load_u64)
LOAD_BY_BYTES(uint32_t, load_u32)
LOAD_BY_BYTES(uint16_t, load_u16)
LOAD_BY_BYTES(uint8_t, load_u8)

uintptr_t libjvm_symbol(const char *name)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(name, SYMBOL[i]) == 0)
            return SYMBOLS + i * 8;
    return SYMBOLS + KNOWN * 8; /* offsets of an entry: all 0 */
}

static void put_at(uintptr_t address, uint64_t value)
{
    memcpy(memory + address % MEMORY_BYTES, &value, sizeof value);
}

static void begin(uint64_t stride)
{
    memset(memory, 0, sizeof memory);
    layout_forget();
    loads = 0;
    for (size_t i = 0; i < TABLES; i++)
        put_at(SYMBOLS + i * 8, ENTRY);
    for (size_t i = TABLES; i < KNOWN; i++)
        put_at(SYMBOLS + i * 8, stride);
    put_at(ENTRY, NAME);
}

static void endless(void **state)
{
    char error[200] = "";
    uintptr_t low, high;
    (void)state;
    begin(MEMORY_BYTES);
    struct layout out;
    assert_false(layout_fill(&out, error, sizeof error));
    assert_string_equal(error, "the tables of this JVM do not end");
    assert_true(loads < 1000000);
    assert_false(layout_code_cache(&low, &high));
}

static void short_one(void **state)
{
    char error[200] = "";
    (void)state;
    begin(8);
    struct layout out;
    assert_false(layout_fill(&out, error, sizeof error));
    assert_non_null(strstr(error, "do not name"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endless),
        cmocka_unit_test(short_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
