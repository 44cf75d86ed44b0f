/*
 * native_unwind: what the setup (native.c) and the signal handler (native_walk.c) share.
 *
 * libunwind is used through its remote interface, on our own stack: then each read of memory and
 * each search for unwind tables is a call to us. Its local interface searches by dl_iterate_phdr,
 * whose lock the interrupted thread's neighbour may hold while it waits for a lock of the
 * interrupted thread; and it reads where damaged unwind data sends it. Ours finds the tables by
 * _dl_find_object (glibc 2.35, no lock, signal-safe) and reads only what is known to be readable.
 *
 * Internal to agent/stack.
 */
#pragma once

#include "floor/hotspot/call_frame.h"
#include "agent/stack/native.h"

#ifdef NATIVE_UNWIND
#include <libunwind.h>

/* A libunwind newer than our header may know more accessors: it finds them zero. */
struct native_accessors {
    unw_accessors_t known;
    void *unknown[16];
};

struct native_unwind {
    unw_addr_space_t space;
    unw_addr_space_t (*create)(unw_accessors_t *accessors, int byte_order);
    int (*set_caching)(unw_addr_space_t space, unw_caching_policy_t policy);
    int (*init)(unw_cursor_t *cursor, unw_addr_space_t space, void *walk);
    int (*step)(unw_cursor_t *cursor);
    int (*get_register)(unw_cursor_t *cursor, int number, unw_word_t *value);
    int (*search_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
                        unw_proc_info_t *found, int need_unwind_info, void *walk);
};
extern struct native_unwind native_unwind;

/* Signal context. All frames by libunwind, out[0] included; at least one. */
int native_walk_by_libunwind(const void *ucontext, struct frame *out, int max);
/* The accessors, signal context. */
void native_fill_accessors(struct native_accessors *accessors);
#endif
