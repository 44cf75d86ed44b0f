/* The memory that a stranger's malloc and JVM are read from: the input, again and again. */
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "nmtwatch/observe/rss.h"
#include "tests/fuzz/fuzz.h"

#include <elf.h>

#define LOADS_MAX 20000

static const uint8_t *memory;
static size_t memory_bytes;
static int loads_left;
static struct remote_library library;

bool load_bytes(uintptr_t address, void *out, size_t size)
{
    uint8_t *to = out;
    bool good = loads_left-- > 0 && address >= 4096;
    size_t at = address % memory_bytes;
    for (size_t i = 0; i < size; i++, at = at + 1 < memory_bytes ? at + 1 : 0)
        to[i] = good ? memory[at] : 0;
    return good;
}

LOAD_BY_BYTES(uint64_t, load_u64)
LOAD_BY_BYTES(uint32_t, load_u32)
LOAD_BY_BYTES(uint16_t, load_u16)
LOAD_BY_BYTES(uint8_t, load_u8)

/* In the place of remote.c and stacks.c. */
void remote_forget(void)
{
}

struct remote_library *remote_library_named(const char *begin)
{
    (void)begin;
    return &library;
}

struct remote_library *remote_jvm(void)
{
    return &library;
}

bool remote_present(uintptr_t low, size_t count, bool *present)
{
    for (size_t i = 0; i < count; i++)
        present[i] = (low + i) % 2 == 0;
    return loads_left-- > 0;
}

const struct elf_file *stacks_jvm_file(char *error, size_t error_size)
{
    (void)error, (void)error_size;
    return NULL;
}

void stacks_each_thread(void (*visit)(void *context, uintptr_t low, uintptr_t high), void *context)
{
    visit(context, load_pointer(8192), load_pointer(8200));
}

uintptr_t libjvm_symbol(const char *name)
{
    return 8192 + strlen(name) * WORD_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rss_range ranges[JVM_RANGES_MAX];
    struct malloc_arenas arenas;
    if (size < 64)
        return 0;
    memory = data;
    memory_bytes = size;
    loads_left = LOADS_MAX;
    library = (struct remote_library){
        .low = 1 << 20,
        .bias = (1 << 20) / size * size,
        .programs = 1,
        .program = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_filesz = size & ~(size_t)7}}};
    malloc_arenas_read(&arenas);
    promise(arenas.count >= 0 && arenas.trim_bytes >= 0 && arenas.top_bytes >= 0);
    layout_forget();
    memset(&layout, 0, sizeof layout);
    layout.collected_heap = 8192, layout.barrier_set = 8208;
    loads_left = LOADS_MAX;
    int count = jvm_ranges_read(ranges);
    promise(count >= 0 && count <= JVM_RANGES_MAX);
    for (int i = 0; i < count; i++)
        promise(ranges[i].low < ranges[i].high && (i == 0 || ranges[i - 1].low <= ranges[i].low));
    return 0;
}
