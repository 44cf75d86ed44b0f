#include "agent/hotspot/safepoints.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"

#include <string.h>

#define COUNTER_NAME "sun.rt.safepoints"
#define TYPE_LONG    'J'
#define ENTRIES_MAX  65536
#define ENTRY_MIN    16
/* A JVM that cannot be read there is one that ends. */
#define NOT_THERE    UINT64_MAX

static uintptr_t counter;

static uint32_t number(uintptr_t structure, int32_t offset)
{
    return load_u32(structure + (uintptr_t)offset, 0);
}

static bool is_known(void)
{
    return layout.perf_start != 0 && layout.perf_prologue != 0 && layout.perf_used >= 0 &&
           layout.perf_first >= 0 && layout.perf_entries >= 0 && layout.perf_entry_bytes >= 0 &&
           layout.perf_entry_name >= 0 && layout.perf_entry_type >= 0 &&
           layout.perf_entry_data >= 0;
}

static bool is_counter(uintptr_t entry, const char *wanted)
{
    char name[sizeof COUNTER_NAME + 16];
    size_t bytes = strlen(wanted) + 1;
    return load_u8(entry + (uintptr_t)layout.perf_entry_type, 0) == TYPE_LONG &&
           bytes <= sizeof name &&
           load_bytes(entry + number(entry, layout.perf_entry_name), name, bytes) &&
           memcmp(name, wanted, bytes) == 0;
}

static uintptr_t find(const char *name)
{
    uintptr_t start = load_pointer(layout.perf_start);
    uintptr_t prologue = load_pointer(layout.perf_prologue);
    if (start == 0 || prologue == 0)
        return 0;
    uintptr_t end = start + number(prologue, layout.perf_used);
    uintptr_t entry = start + number(prologue, layout.perf_first);
    uint32_t entries = number(prologue, layout.perf_entries);
    for (uint32_t i = 0; i < entries && i < ENTRIES_MAX && entry < end; i++) {
        uint32_t bytes = number(entry, layout.perf_entry_bytes);
        if (is_counter(entry, name))
            return entry + number(entry, layout.perf_entry_data);
        if (bytes < ENTRY_MIN)
            return 0;
        entry += bytes;
    }
    return 0;
}

uintptr_t jvm_counter_find(const char *name)
{
    uintptr_t found = is_known() ? find(name) : 0;
    return found % sizeof(uint64_t) == 0 ? found : 0;
}

bool safepoints_find(void)
{
    uint64_t unused;
    counter = jvm_counter_find(COUNTER_NAME);
    return safepoints_count(&unused);
}

bool safepoints_count(uint64_t *out)
{
    *out = counter != 0 ? load_u64(counter, NOT_THERE) : NOT_THERE;
    return *out != NOT_THERE;
}
