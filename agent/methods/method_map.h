/*
 * method_map: what is known of the methods that were sampled: names, line tables, age.
 *
 * Filled by the drain thread when a stack is written: names and the line table are asked of JVMTI
 * under protection (the id is checked, the declaring class is held by a local reference while it is
 * asked). A name that cannot be had (the class was unloaded) is counted and shown as such, never
 * guessed.
 *
 * Frames of kind FRAME_SEEN are those of seen_methods: their names and line tables come from there,
 * a few times a second and before a chunk is written, and JVMTI is not asked. Their entries stay
 * as long as seen_methods may return their number, and as long as they are looked up.
 *
 * Cleanup by age, at each chunk: mark (nothing is referenced), reference (while stacks are
 * written), sweep (age + 1 for what was not; at METHOD_MAP_AGE_MAX it goes, with its line table).
 *
 * Drain thread only.
 */
#pragma once

#include "agent/dict/dictionary.h"
#include "agent/methods/seen_methods.h"
#include "floor/hotspot/frame.h"

#include <jvmti.h>

#define METHOD_MAP_AGE_MAX 3

struct method_map;

struct method_info {
    uint32_t id;         /* unique in the recording, > 0: the constant-pool id */
    uint32_t class_id;   /* in the class dictionary */
    uint32_t package_id; /* in the package dictionary, 0 none */
    uint32_t name_id;    /* in the label dictionary */
    uint32_t signature_id;
    int32_t modifiers;
    bool native_frame; /* a function of a library: class is the library, name the symbol */
    bool unknown;      /* the name could not be had */
};

struct method_names {
    struct dictionary *classes, *labels, *packages;
};

struct method_map *method_map_create(jvmtiEnv *jvmti, const struct method_names *names,
                                     bool cleanup);
/* At most so many bytes for methods that are not of seen_methods, with their line tables, as far as
 * an entry of METHOD_MAP_ENTRY_BYTES goes; further ones are shown as [over budget] and counted.
 * Without it there is no bound. */
#define METHOD_MAP_ENTRY_BYTES 160
void method_map_set_bound(struct method_map *map, size_t bytes);
/* Where frames of kind FRAME_SEEN are from; it is there as long as the map. */
void method_map_set_seen(struct method_map *map, struct seen_methods *seen);
/* Takes over the names that handlers have copied since the last call. */
void method_map_learn_seen(struct method_map *map);
/* Frames that will be asked for, so that native ones that are new are looked up together (a
 * library's symbol table takes milliseconds to read). All of them, then the end, then
 * method_map_get. */
void method_map_expect(struct method_map *map, const struct frame *frame);
void method_map_expect_end(struct method_map *map);
/* Never NULL: unknown methods share entries that say so. Valid until the next sweep. */
const struct method_info *method_map_get(struct method_map *map, JNIEnv *env,
                                         const struct frame *frame);
/* 0 when there is no line table or no line. */
int method_map_line(struct method_map *map, const struct frame *frame);
void method_map_mark(struct method_map *map);
/* Those that were asked for since the mark: what a chunk's pool needs. */
typedef void method_visit_fn(void *context, const struct method_info *method);
void method_map_each_referenced(const struct method_map *map, method_visit_fn *visit,
                                void *context);
void method_map_sweep(struct method_map *map);
/* Names of vanished classes stay in the dictionaries: when those have outgrown the map, the names
 * that are still needed are put into fresh dictionaries (the old ones may then be destroyed). False
 * when memory is out: the old ones stay in use. */
bool method_map_reintern(struct method_map *map, const struct method_names *fresh);

struct method_map_counts {
    int64_t methods, line_tables, unknown, swept;
    int64_t over_budget; /* frames whose method found no room, or its name */
    int64_t jvmti_bytes; /* JVMTI results held */
};
void method_map_counts(const struct method_map *map, struct method_map_counts *counts);
void method_map_destroy(struct method_map *map);
