/* The memory of a process that says it is a JVM: the input, again and again. Whatever it holds, its tables, classes and
 * stacks are read to an end. A reading is bounded as nmtwatch/observe/remote.c bounds it: later loads fail. */
#include "floor/hotspot/class_graph.h"
#include "floor/hotspot/code_cache.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/walk.h"
#include "floor/hotspot/method_reading.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#define LOADS_MAX  20000
#define FRAMES_MAX 64
#define SYMBOLS    64 /* words of the input that libjvm's symbols are */

static const uint8_t *memory;
static size_t memory_bytes;
static int loads_left;

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

uintptr_t libjvm_symbol(const char *name)
{
    uintptr_t sum = 0;
    while (*name != '\0')
        sum = sum * 31 + (uint8_t)*name++;
    return 4096 * memory_bytes + sum % SYMBOLS * WORD_BYTES;
}

/* Offsets that are near each other, so that an input of some hundred bytes is a class. */
static void set_layout(int jdk_major)
{
    int32_t at = 0;
    memset(&layout, 0xff, sizeof layout);
#define LAYOUT_OFFSET(id, need, names)  layout.id = (at += 8) % 256;
#define LAYOUT_ADDRESS(id, need, names) layout.id = 8192 + (uintptr_t)((at += 8) % 512);
#define LAYOUT_SIZE(id, need, names)    layout.id = 16 + (at += 8) % 64;
#define LAYOUT_WIDTH(id, need, names)   layout.id = 4;
#define LAYOUT_VALUE(id, need, names)   layout.id = (at += 8) % 32;
#include "floor/hotspot/layout.def"
#undef LAYOUT_OFFSET
#undef LAYOUT_ADDRESS
#undef LAYOUT_SIZE
#undef LAYOUT_WIDTH
#undef LAYOUT_VALUE
    layout.jdk_major = jdk_major;
    layout.call_wrapper_slot = machine.call_wrapper_slot;
    layout.sender_sp_slot = machine.sender_sp_slot;
    layout.last_sp_slot = machine.last_sp_slot;
    if (jdk_major < 25)
        layout.blob_code_offset = layout.nmethod_immutable = layout.blob_kind = -1;
}

static void read_method(uintptr_t method)
{
    struct method_reading reading;
    struct method_text generic;
    char text[METHOD_TEXT_MAX + 1];
    uint8_t lines[METHOD_LINES_MAX];
    uint64_t hash;
    uint32_t class_hash;
    if (!method_reading_begin(method, &reading))
        return;
    method_reading_generic(&reading, &generic);
    method_reading_idnum(&reading);
    method_reading_hash(&reading, &hash, &class_hash);
    promise(reading.name.length <= METHOD_TEXT_MAX);
    if (method_reading_text(&reading.name, false, text))
        promise(strlen(text) <= METHOD_TEXT_MAX);
    method_reading_text(&reading.class_name, true, text);
    struct line_steps steps = {.at = lines, .lowest = method_lines_lowest()};
    steps.end = lines + method_reading_lines(&reading, lines, sizeof lines);
    while (line_step(&steps))
        promise(steps.line >= 0 && steps.line <= UINT16_MAX);
}

static void walk_stack(uintptr_t from, bool in_java)
{
    struct walked_frame frames[FRAMES_MAX];
    enum walk_code code;
    const struct walk_start start = {.thread = load_pointer(from),
                                     .pc = load_pointer(from + 8),
                                     .sp = load_pointer(from + 16),
                                     .fp = load_pointer(from + 24),
                                     .sender_sp = load_pointer(from + 32),
                                     .in_java = in_java,
                                     .stack_high = load_pointer(from + 40)};
    int count = walk_java(&start, frames, FRAMES_MAX, &code);
    promise(count >= 0 && count <= FRAMES_MAX);
    count = walk_java_from_call(&start, frames, FRAMES_MAX, &code);
    promise(count >= 0 && count <= FRAMES_MAX);
    count = walk_java_from_anchor(start.thread, frames, FRAMES_MAX, &code);
    promise(count >= 0 && count <= FRAMES_MAX);
    for (int i = 0; i < count; i++)
        read_method(frames[i].method);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct loaded_families families;
    char error[200] = "";
    struct loaded_methods methods;
    struct layout out;
    uintptr_t low, high;
    if (size < 16)
        return 0;
    memory = data;
    memory_bytes = size;
    loads_left = LOADS_MAX;
    layout_forget();
    if (!layout_fill(&out, error, sizeof error))
        promise(error[0] != '\0');
    layout_code_cache(&low, &high);
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        set_layout(jdk);
        loads_left = LOADS_MAX;
        memset(&families, 0, sizeof families);
        if (class_graph_walk(&methods, &families, error, sizeof error))
            promise(methods.family_count <= LOADED_FAMILIES_MAX && methods.classes >= 0);
        read_method(8192);
        walk_stack(8192, true);
        walk_stack(8192 + 64, false);
    }
    return 0;
}
