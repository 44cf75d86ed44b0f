/*
 * jfr_internal: the writer from inside, for jfr_writer.c (chunks and events) and jfr_pools.c.
 *
 * A chunk:  header 68 | metadata | Settings | samples, with checkpoints between them when a pool
 *           is full | the last checkpoints | ComponentMemory, Loss, JMethodIds
 *
 * The header is that of jfr_metadata.h. Checkpoints form a chain: the header names the last, each the one before.
 */
#pragma once

#include "agent/jfr/chunk_file.h"
#include "floor/jfr/jfr_bytes.h"
#include "floor/jfr/jfr_metadata.h"
#include "agent/jfr/jfr_types.h"
#include "agent/jfr/jfr_writer.h"

enum jfr_pool_kind {
    POOL_THREAD,
    POOL_THREAD_STATE,
    POOL_FRAME_TYPE,
    POOL_SYMBOL,
    POOL_PACKAGE,
    POOL_CLASS,
    POOL_METHOD,
    POOL_STACK_TRACE,
    POOL_STRING,
    JFR_POOL_COUNT,
};

struct jfr_pool {
    struct jfr_bytes entries;
    size_t entry_at; /* where the present entry begins */
    uint32_t count;
};

struct jfr_writer {
    struct chunk_file *file;
    char *settings, *jvm_version;
    struct jfr_intervals intervals, told; /* of the next chunk; in Settings of the present one */
    uint64_t recording;                   /* unlike that of other recordings */
    int64_t chunk;                        /* 0, 1 ... */
    bool open;
    uint32_t salt;
    int64_t start_ticks;
    int64_t metadata_at;
    int64_t checkpoint_at; /* the last one; 0: none yet */
    struct jfr_pool pool[JFR_POOL_COUNT];
    int64_t lost_entries;    /* of pools, for want of memory; since the start */
    int64_t damaged_bytes;   /* handed over as events that were none; since the start */
    struct jfr_bytes event;  /* the one being encoded */
    int64_t events, samples; /* of the chunk */
    int64_t losable;         /* of them what counts as lost with it */
    struct jfr_counts counts;
};

/* States and frame types, and what stands for names that are missing. */
void jfr_pools_begin(struct jfr_writer *writer);
/* Writes what waits in the pools. */
bool jfr_pools_end(struct jfr_writer *writer);
void jfr_pools_free(struct jfr_writer *writer);
