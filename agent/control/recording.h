/*
 * recording: one recording in progress: the parts that hold samples, and how a chunk is written.
 *
 *   recording_create -> recording_turn (a few times a second) / recording_end_chunk ...
 *                    -> recording_destroy
 *
 * Drain thread only (or the holder of the lock of the commands while no drain thread runs).
 */
#pragma once

#include "agent/alloc/alloc_profile.h"
#include "agent/classdef/class_definitions.h"
#include "floor/wire/agent_options.h"
#include "agent/sampling/sampler.h"
#include "agent/jfr/jfr_writer.h"
#include "agent/live/live_objects.h"
#include "agent/methods/jmethod_ids.h"
#include "agent/methods/method_map.h"
#include "agent/sampling/threads.h"

#define RECORDING_DEPTH_MAX 4096

struct recording {
    struct sampler sampler;
    struct threads *threads;
    struct jmethod_ids *ids;
    struct lazy_ids *lazy;             /* NULL: another policy */
    struct class_definitions *classes; /* NULL: out of memory */
    struct live_objects *live;         /* NULL: not asked for */
    struct alloc_profile *allocs;      /* NULL: not asked for */
    struct seen_methods *seen;         /* NULL: the engine works with jmethodIDs */
    struct method_map *methods;
    struct method_names names;
    uint64_t names_before; /* in them when they were last made afresh */
    uint32_t texts;        /* bound of each of them */
    int64_t texts_refused; /* by those before them */
    struct jfr_writer *writer;
    int64_t thread_ids_missed, thread_ids_before; /* without a name; in the last chunk */
    int64_t end_ns;                               /* CLOCK_MONOTONIC: it stops then; 0: not so */
    bool (*stop_later)(void);                     /* profiler.h */
    JNIEnv *env;                                  /* while a chunk is written */
    struct jfr_frame frames[RECORDING_DEPTH_MAX]; /* of the stack that is written */
};

/* What a recording came to; plain data, kept after its end. */
struct recording_counts {
    const char *engine;      /* NULL: there was no recording yet */
    int64_t samples, stored; /* samples = stored + dropped */
    int64_t dropped_slots, dropped_buffers;
    int64_t without_trace; /* of stored */
    int64_t torn_contexts;
    int64_t unnamed_frames; /* Java frames without a jmethodID */
    int64_t walks[WALK_CODE_COUNT];
    struct method_map_counts methods;
    struct seen_methods_counts seen; /* of engine vm */
    int64_t traces, trace_capacity, traces_bound_bytes;
    int64_t traces_over_budget, traces_late; /* stacks that found no room (calltrace.h) */
    int64_t chunks, file_bytes;
    int64_t lost_chunks, lost_events; /* that could not be written (jfr_writer.h) */
    char error[256];                  /* why nothing is kept now; empty while all is well */
    char last_error[256];             /* the latest of them */
};

/* What a recording is given; all of it outlives the recording. */
struct recording_parts {
    jvmtiEnv *jvmti;
    const struct stack_engine *engine;
    bool native; /* native frames are wanted and can be had */
    struct threads *threads;
    struct jmethod_ids *ids;
    struct class_definitions *classes;
    const char *file;
    const char *jvm_version;
    bool (*stop_later)(void); /* profiler.h */
};
/* Timers do not run yet. NULL with a sentence; nothing is left then. */
struct recording *recording_create(const struct recording_parts *parts,
                                   const struct agent_options *options, char *error,
                                   size_t error_size);
/* Moves events from the buffers to the chunk, maps ahead what handlers will need. */
void recording_turn(struct recording *recording);
/* Policy lazy: method ids of the sampled classes. */
void recording_meet(struct recording *recording, JNIEnv *env);
/* A class was loaded or prepared, or unloaded (name: seen_methods.h). Any thread. */
void recording_class_loaded(struct recording *recording);
void recording_class_unloaded(struct recording *recording, const char *name);
/* Writes the chunk with everything up to now, and begins the next one unless last. False: it is
 * lost; beginning the next one is tried all the same. */
bool recording_end_chunk(struct recording *recording, JNIEnv *env, bool last);
/* New events cannot be kept: until a chunk can be begun again. */
bool recording_is_interrupted(const struct recording *recording);
/* Any thread: counters may be a moment apart while handlers count. */
void recording_counts(const struct recording *recording, struct recording_counts *counts);
void recording_destroy(struct recording *recording);
