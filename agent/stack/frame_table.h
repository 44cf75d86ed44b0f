/*
 * frame_table: where the unwind tables of a loaded object are, and the description of a place in
 * it.
 *
 *   .eh_frame_hdr   [ head | sorted rows: code, description ]
 *                                               |
 *   .eh_frame       ... common ... description <+ ...
 *
 * Only as linkers write it for this machine; what is encoded otherwise is not found. What is read
 * is noted in native_unwind.touched. By _dl_find_object, which takes no lock.
 *
 * Signal context.
 */
#ifndef AGENT_STACK_FRAME_TABLE_H
#define AGENT_STACK_FRAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_ROW_BYTES 8

/* DW_EH_PE_pcrel | DW_EH_PE_sdata4: from the place it stands at, four bytes. */
#define FRAME_ENCODING_PCREL_SDATA4 0x1b

struct frame_table {
    uintptr_t object_low, object_high; /* as it is mapped */
    uintptr_t header;                  /* .eh_frame_hdr: offsets are from here */
    uintptr_t rows;
    uint64_t row_count;
};

bool frame_table_find(uintptr_t pc, struct frame_table *table);
/* The address of the description of the last function that begins at pc or before it. */
bool frame_table_description(const struct frame_table *table, uintptr_t pc, uintptr_t *address);

#endif
