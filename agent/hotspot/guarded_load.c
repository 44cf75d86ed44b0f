/* Signal context. Reaches the loads of the architecture (loads.c). */
#include "agent/hotspot/faults.h"
#include "floor/hotspot/load.h"

/* Of loads.c: returns its second argument. */
extern char load_failed[];

uintptr_t guarded_load_resume(uintptr_t pc)
{
    bool ours = pc == (uintptr_t)load_u64 || pc == (uintptr_t)load_u32 ||
                pc == (uintptr_t)load_u16 || pc == (uintptr_t)load_u8;
    return ours ? (uintptr_t)load_failed : 0;
}

/* Two different answers for "cannot be read": what is there cannot be both. */
static bool load_word(uintptr_t address, uint64_t *word)
{
    *word = load_u64(address, 0);
    return *word != 0 || load_u64(address, 1) == 0;
}

bool load_bytes(uintptr_t address, void *out, size_t size)
{
    uint8_t *to = out;
    bool whole = true;
    size_t at = 0;
    for (uint64_t word; size - at >= sizeof word && whole;) {
        whole = load_word(address + at, &word);
        if (whole) {
            __builtin_memcpy(to + at, &word, sizeof word);
            at += sizeof word;
        }
    }
    /* The end, or the last bytes before what cannot be read. */
    for (whole = true; at < size && whole; at += whole) {
        to[at] = load_u8(address + at, 0);
        whole = to[at] != 0 || load_u8(address + at, 1) == 0;
    }
    for (size_t rest = at; rest < size; rest++)
        to[rest] = 0;
    return at == size;
}
