/* Signal context. Reaches _dl_find_object. */
#include "agent/stack/frame_table.h"

#include "agent/stack/native_unwind.h"

#ifdef NATIVE_UNWIND

/* The head of .eh_frame_hdr as linkers write it: encodings that make a sorted table of pairs. */
struct frame_header {
    uint8_t version, frame_encoding, count_encoding, table_encoding;
    int32_t frame_offset;
    uint32_t count;
};
#define ENCODING_UDATA4         0x03
#define ENCODING_DATAREL_SDATA4 0x3b

/* Offsets from the head. */
struct row {
    int32_t code, description;
};
_Static_assert(sizeof(struct row) == FRAME_ROW_BYTES, "of the file");

/* What finds no room is not given back for now. */
static void note_touched(uintptr_t map_start)
{
    for (int i = 0; i < NATIVE_OBJECTS_MAX; i++) {
        uintptr_t there = atomic_load_explicit(&native_unwind.touched[i], memory_order_relaxed);
        if (there == map_start || (there == 0 && atomic_compare_exchange_strong_explicit(
                                                     &native_unwind.touched[i], &there, map_start,
                                                     memory_order_relaxed, memory_order_relaxed)))
            return;
    }
}

bool frame_table_find(uintptr_t pc, struct frame_table *table)
{
    struct dl_find_object object;
    struct frame_header header;
    if (native_unwind.find_object((void *)pc, &object) != 0 || object.dlfo_eh_frame == NULL)
        return false;
    __builtin_memcpy(&header, object.dlfo_eh_frame, sizeof header);
    if (header.version != 1 || header.frame_encoding != FRAME_ENCODING_PCREL_SDATA4 ||
        header.count_encoding != ENCODING_UDATA4 ||
        header.table_encoding != ENCODING_DATAREL_SDATA4)
        return false;
    note_touched((uintptr_t)object.dlfo_map_start);
    *table = (struct frame_table){
        .object_low = (uintptr_t)object.dlfo_map_start,
        .object_high = (uintptr_t)object.dlfo_map_end,
        .header = (uintptr_t)object.dlfo_eh_frame,
        .rows = (uintptr_t)object.dlfo_eh_frame + sizeof header,
        .row_count = header.count,
    };
    return table->rows + table->row_count * FRAME_ROW_BYTES <= table->object_high;
}

bool frame_table_description(const struct frame_table *table, uintptr_t pc, uintptr_t *address)
{
    uint64_t low = 0, high = table->row_count; /* the first that begins beyond pc */
    const struct row *rows = (const struct row *)table->rows;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (table->header + (uintptr_t)(intptr_t)rows[middle].code <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        *address = table->header + (uintptr_t)(intptr_t)rows[low - 1].description;
    return low > 0;
}

#endif
