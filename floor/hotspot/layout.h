/*
 * layout: where HotSpot keeps what the walker reads, in the process that load.h reads.
 *
 * Everything comes from the tables libjvm exports for its serviceability agent
 * (gHotSpotVMStructs, gHotSpotVMTypes, gHotSpotVMIntConstants, gHotSpotVMLongConstants); no offset
 * is written down here. layout.def names the fields, with their older names. A field that is needed
 * and not there makes layout_read fail with a sentence that names it.
 *
 *   offset    of a field in its type, bytes; -1: this JVM has none (only where it is optional)
 *   address   of a static field
 *   size      of a type, bytes
 *   width     of a number in its type, bytes, where that differs between JDKs
 *   value     of a constant
 *
 * Filled once at setup and constant from then on: any context.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layout {
#define LAYOUT_OFFSET(id, need, names)  int32_t id;
#define LAYOUT_ADDRESS(id, need, names) uintptr_t id;
#define LAYOUT_SIZE(id, need, names)    int32_t id;
#define LAYOUT_WIDTH(id, need, names)   int32_t id;
#define LAYOUT_VALUE(id, need, names)   int64_t id;
#include "floor/hotspot/layout.def"
#undef LAYOUT_OFFSET
#undef LAYOUT_ADDRESS
#undef LAYOUT_SIZE
#undef LAYOUT_WIDTH
#undef LAYOUT_VALUE
    int jdk_major;       /* as the tables say */
    intptr_t env_offset; /* JNIEnv * - JavaThread * */
};

extern struct layout layout;

/* Fills all but env_offset, from the process that load.h reads. False with one sentence. Setup
 * context. */
bool layout_fill(struct layout *out, char *error, size_t error_size);
/* Forgets where the tables are: for a reader of another process. Setup context. */
void layout_forget(void);
/* Where generated code lies; needs nothing else of the tables, so that it is known, too, where
 * layout_read fails. Setup context. */
bool layout_code_cache(uintptr_t *low, uintptr_t *high);

/* Where a symbol that libjvm exports lies in the process that load.h reads; 0: it exports no such.
 * layout_here.c looks in this process, nmtwatch/observe in another. Setup context. */
uintptr_t libjvm_symbol(const char *name);
