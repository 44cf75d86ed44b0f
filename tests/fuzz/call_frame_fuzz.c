/* Unwind tables of a library that a stranger's process maps: where the header stands, then the image. */
#include "floor/hotspot/call_frame.h"
#include "floor/hotspot/frame_rule.h"
#include "tests/fuzz/fuzz.h"

#include <dlfcn.h>

#define PLACES 16

static struct dl_find_object image;

static int find_object(void *pc, struct dl_find_object *found)
{
    (void)pc;
    *found = image;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t header;
    if (size <= sizeof header)
        return 0;
    memcpy(&header, data, sizeof header);
    data += sizeof header;
    size -= sizeof header;
    image = (struct dl_find_object){
        .dlfo_map_start = (void *)data,
        .dlfo_map_end = (void *)(data + size),
        .dlfo_eh_frame = (void *)(data + header % size),
    };
    frame_tables.find_object = find_object;
    frame_rules_forget();
    for (size_t i = 0; i < PLACES; i++) {
        uintptr_t pc = (uintptr_t)data + size * i / PLACES;
        struct frame_table table;
        struct call_frame frame;
        if (frame_table_find(pc, &table))
            promise(table.rows + table.row_count * FRAME_ROW_BYTES <= (uintptr_t)data + size);
        call_frame_describe(pc, &frame);
        struct frame_rule rule = frame_rule_of(pc);
        frame_rule_return(rule, frame_rule_cfa(rule, pc, pc));
    }
    return 0;
}
