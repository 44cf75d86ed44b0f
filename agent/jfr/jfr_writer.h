/*
 * jfr_writer: chunks of a JDK Flight Recorder file that the JDK's own tools read (17 and 25).
 *
 * A chunk stands alone: header, events, metadata, constant pools, then what must come after the
 * pools to be true (losses, the memory account). It is written to FILE.chunk and appended to FILE
 * as a whole when it is complete: a JVM that is killed leaves a file of complete chunks.
 *
 *   jfr_create -> [ jfr_chunk_begin -> jfr_events ... -> jfr_pool_* -> jfr_chunk_end ] ... ->
 * jfr_destroy
 *
 * Several recordings may be put into one file by `cat`. FILE that exists is renamed to FILE.1 when
 * the first chunk is complete. A chunk that was begun and not ended when jfr_destroy comes is
 * forgotten.
 *
 * Disk full or any write error: one sentence (jfr_error), the chunk is lost and counted, the next
 * jfr_chunk_begin tries again; the host is unharmed.
 * Drain thread only, but for jfr_encode_sample: signal context.
 */
#pragma once

#include "agent/calltrace/calltrace.h"
#include "agent/context/context.h"
#include "agent/mem/mem.h"

struct jfr_writer;

/* 0: off. */
struct jfr_intervals {
    int64_t cpu_ns, wall_ns, alloc_bytes;
};

struct jfr_options {
    const char *file;     /* patterns are expanded already */
    int64_t max_bytes;    /* rotate to file.1 when larger; 0: never */
    const char *settings; /* the option string, for nmtagent.Settings */
    const char *jvm_version;
    struct jfr_intervals intervals;
};
struct jfr_writer *jfr_create(const struct jfr_options *options, char *error, size_t error_size);

enum sample_kind { SAMPLE_CPU, SAMPLE_WALL };
struct jfr_sample {
    enum sample_kind kind;
    int64_t ticks; /* CLOCK_MONOTONIC, ns */
    int32_t tid;
    uint32_t trace_id;
    enum thread_state state;
    bool have_context;
    const struct context_record *context;
    int tag_count; /* context_tag_count(), as it was when the chunk began */
};
#define JFR_SAMPLE_MAX 256
/* Signal context. Encodes a jdk.ExecutionSample (CPU) or nmtagent.WallClockSample into out, returns
 * the length (<= JFR_SAMPLE_MAX). */
size_t jfr_encode_sample(const struct jfr_sample *sample, uint8_t *out);

/* In a callback, not in a signal handler: allocates. The event's length; 0: it is longer than size,
 * or there is no memory. */
struct jfr_class_definition {
    int32_t tid;
    uint32_t trace_id;
    const char *class_name, *family;
    int64_t count, bytes; /* bytes < 0: not known */
};
size_t jfr_encode_class_definition(const struct jfr_class_definition *definition, uint8_t *out,
                                   size_t size);

/* Of the chunks that begin from now on, each of which tells them in nmtagent.Settings. False: the present chunk
 * has told another interval of what is not off, so it should end. */
bool jfr_set_intervals(struct jfr_writer *writer, const struct jfr_intervals *intervals);
bool jfr_chunk_begin(struct jfr_writer *writer);
/* Encoded events, whole. False when they could not be written, or were not events: what is whole is
 * written, the rest is counted as a loss. */
bool jfr_events(struct jfr_writer *writer, const uint8_t *bytes, size_t length);

/* Pools of the chunk, in any order, each entry once. Names are the JVM's own (modified UTF-8,
 * classes with slashes). Numbers need to be unique in a chunk only. */
void jfr_pool_thread(struct jfr_writer *writer, int tid, const char *name, int64_t java_id);
struct jfr_frame {
    uint32_t method_id;
    int32_t line;
    int32_t bci;
    enum frame_type type;
};
void jfr_pool_trace(struct jfr_writer *writer, uint32_t id, const struct jfr_frame *frames,
                    int depth, bool truncated);
/* class_id, name_id 0: shown as [unknown]; signature_id 0: no parameters. */
void jfr_pool_method(struct jfr_writer *writer, uint32_t id, uint32_t class_id, uint32_t name_id,
                     uint32_t signature_id, int32_t modifiers);
void jfr_pool_class(struct jfr_writer *writer, uint32_t id, const char *name, uint32_t package_id);
void jfr_pool_package(struct jfr_writer *writer, uint32_t id, const char *name);
void jfr_pool_symbol(struct jfr_writer *writer, uint32_t id, const char *text);
void jfr_pool_context_value(struct jfr_writer *writer, uint32_t id, const char *text);

/* Before the pools. ticks: CLOCK_MONOTONIC, ns. weight: what it stands for; size: of the object. */
void jfr_allocation_sample(struct jfr_writer *writer, int64_t ticks, int32_t tid, uint32_t trace_id,
                           uint32_t class_id, int64_t weight_bytes, int64_t size_bytes);

/* Events that come after the pools. Counts of losses are those since the start. */
void jfr_component_memory(struct jfr_writer *writer, const struct mem_snapshot *snapshot);
void jfr_loss(struct jfr_writer *writer, const char *reason, int64_t count);
void jfr_jmethod_ids(struct jfr_writer *writer, int64_t classes, int64_t methods,
                     int64_t loaded_bytes, int64_t kept_bytes);
/* Before the pools are written, for its stack. */
struct jfr_live_object {
    uint32_t trace_id;
    const char *class_name; /* as in Java: "byte[]" */
    int64_t objects, own_bytes, bytes;
    int64_t least_survived, most_survived, oldest_ms;
};
void jfr_live_object(struct jfr_writer *writer, const struct jfr_live_object *live);

/* bytes: of those of the loaded classes whose size is known. */
void jfr_class_family(struct jfr_writer *writer, const char *family, int64_t loaded,
                      int64_t unloaded, int64_t bytes, int64_t sized);

/* A step of the circuit breaker, at any time while a chunk is open. */
void jfr_breaker(struct jfr_writer *writer, const char *state, const char *reason,
                 int64_t own_bytes, int64_t jvm_bytes);

bool jfr_chunk_end(struct jfr_writer *writer);
const char *jfr_error(const struct jfr_writer *writer);      /* NULL while all is well */
const char *jfr_last_error(const struct jfr_writer *writer); /* also of a chunk before; or NULL */
struct jfr_counts {
    int64_t chunks, bytes; /* complete ones */
    int64_t events;        /* in them, all types */
    int64_t samples;       /* of these, by jfr_events */
    int64_t lost_chunks; /* begun, and not to be had: the disk was full, there was no descriptor */
    int64_t lost_events; /* by jfr_events and of allocations, in those or while there was none */
};
void jfr_counts(const struct jfr_writer *writer, struct jfr_counts *counts);
void jfr_destroy(struct jfr_writer *writer);
