/*
 * call_frame: what a description (DWARF call frame information, .eh_frame) says of a place in code,
 * and where the descriptions of a loaded object are.
 *
 *   .eh_frame_hdr   [ head | sorted rows: code, description ]
 *                                               |
 *   .eh_frame       ... common ... description <+ ...
 *
 * Tables are read only as linkers write them for this machine; what is encoded otherwise is not
 * found. They are found by _dl_find_object (glibc 2.35), which takes no lock.
 *
 * A description is a program for a small machine; it is run up to the place. Of the registers only
 * those that lead to the caller are followed: the CFA, the frame pointer (bp) and the return address. Everything is
 * checked against the end of its record: damage gives false, not a fault.
 *
 * Signal context.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if __has_include(<libunwind-common.h>)
#define NATIVE_UNWIND 1
#endif

#define FRAME_ROW_BYTES 8

/* DW_EH_PE_pcrel | DW_EH_PE_sdata4: from the place it stands at, four bytes. */
#define FRAME_ENCODING_PCREL_SDATA4 0x1b

/* Objects whose tables were read since unwind_tables_release was called. */
#define FRAME_TABLES_TOUCHED_MAX 16

struct dl_find_object;
extern struct frame_tables {
    int (*find_object)(void *pc, struct dl_find_object *found);
    _Atomic uintptr_t touched[FRAME_TABLES_TOUCHED_MAX]; /* where each one's map starts; 0: free */
} frame_tables;

struct frame_table {
    uintptr_t object_low, object_high; /* as it is mapped */
    uintptr_t header;                  /* .eh_frame_hdr: offsets are from here */
    uintptr_t rows;
    uint64_t row_count;
};

/* The tables of the object that pc is in; notes it in frame_tables.touched. */
bool frame_table_find(uintptr_t pc, struct frame_table *table);

enum call_frame_where { CALL_FRAME_SAME, CALL_FRAME_SAVED, CALL_FRAME_UNDEFINED, CALL_FRAME_OTHER };

struct call_frame_place {
    enum call_frame_where where;
    int64_t offset; /* from the CFA */
};

struct call_frame {
    uint64_t base; /* register the CFA is counted from, as DWARF counts them */
    int64_t offset;
    struct call_frame_place bp, return_address;
};
#define CALL_FRAME_BASE_OTHER UINT64_MAX
/* False: there is none, or one we do not understand. A signal's frame is such. */
bool call_frame_describe(uintptr_t pc, struct call_frame *frame);
