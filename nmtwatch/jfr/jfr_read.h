/* jfr_read: the agent's recordings, event by event; also repairs one with a truncated end.
 *
 *   jfr_reader_open -> jfr_reader_next ... -> jfr_reader_damage -> jfr_reader_close
 *
 * Layouts are taken from the file's own metadata, so execution samples of a JVM's own recording are
 * read as well. Files are hostile: one chunk (1 GB at most) is held in memory at a time, and the
 * work for it is bounded by its length (jfr_chunk.h). A damaged file is read up to the damage:
 * jfr_reader_next then ends as at the end, and jfr_reader_damage names the chunk and its byte in
 * the file. One thread. */
#pragma once

#include "analyzers/model/stack_frame.h"
#include "nmtwatch/jfr/jfr_chunk.h"

/* jfr_stacks: texts, stacks and threads of a chunk, each decoded once.
 *
 * Texts are NUL-terminated UTF-8 (whatever bytes a name holds: the writer escapes it). What
 * is missing or damaged is NULL. Everything is valid until the next chunk is loaded. One thread. */
struct jfr_trace {
    bool truncated;
    int depth;
    struct stack_frame *frames; /* innermost first */
};

struct jfr_thread {
    const char *name;
    int64_t os_id;
};

/* Of a string, or of a constant that is one or holds one (symbols, states). */
const char *jfr_text(struct jfr_chunk *chunk, const struct jfr_value *value);
const char *jfr_string_text(struct jfr_chunk *chunk, const struct jfr_string *string);
/* As Java writes it: "byte[]", "java.lang.String". */
const char *jfr_class_name(struct jfr_chunk *chunk, const struct jfr_value *value);
const struct jfr_trace *jfr_trace(struct jfr_chunk *chunk, const struct jfr_value *value);
const struct jfr_thread *jfr_thread(struct jfr_chunk *chunk, const struct jfr_value *value);

enum jfr_event_kind {
    JFR_EVENT_CPU_SAMPLE,
    JFR_EVENT_WALL_SAMPLE,
    JFR_EVENT_ALLOCATION,
    JFR_EVENT_COMPONENT_MEMORY,
    JFR_EVENT_LOSS,
    JFR_EVENT_JMETHOD_IDS,
    JFR_EVENT_SETTINGS,
    JFR_EVENT_CLASS_DEFINITION,
    JFR_EVENT_CLASS_FAMILY,
    JFR_EVENT_LIVE_OBJECT,
    JFR_EVENT_KINDS,
};

#define JFR_TAGS_MAX 16

struct jfr_event {
    enum jfr_event_kind kind;
    int64_t time_ns; /* since the epoch */
    union {
        struct {
            const struct jfr_trace *trace;   /* NULL: there is none */
            const struct jfr_thread *thread; /* NULL: not known */
            const char *state;               /* "STATE_RUNNABLE"; NULL: not known */
            bool in_native;                  /* in native code, and not known to wait */
            uint64_t span_id, root_span_id;  /* 0: none */
            int tag_count;
            struct {
                struct span name;
                const char *value; /* NULL: not set */
            } tag[JFR_TAGS_MAX];
        } sample;
        struct {
            const struct jfr_trace *trace;   /* NULL: there is none */
            const struct jfr_thread *thread; /* NULL: not known */
            const char *class_name;          /* "byte[]", "java.lang.String"; NULL: not known */
            int64_t weight_bytes;            /* what it stands for */
        } allocation;
        struct {
            const char *name;         /* "total": the sum of the others */
            int64_t documented_bytes; /* -1: no fixed figure */
            int64_t requested_bytes, reserved_bytes, resident_bytes, peak_bytes;
            int64_t allocations, frees;
        } memory;
        struct {
            const char *reason;
            int64_t count; /* since the recording began */
        } loss;
        struct {
            int64_t classes, methods, loaded_bytes, kept_bytes;
        } ids;
        struct {
            const char *options, *jvm_version, *agent_version;
        } settings;
        struct {
            const struct jfr_trace *trace; /* NULL: there is none */
            const char *class_name, *family;
            int64_t count; /* classes of the family since its last stack */
            int64_t bytes; /* of the class's metadata; -1: not known */
        } definition;
        struct {
            const char *family;
            int64_t loaded, unloaded; /* since the recording began */
            int64_t bytes, sized;     /* of those of the loaded whose size is known; -1: of none */
        } family;
        struct {
            const struct jfr_trace *trace; /* NULL: there is none */
            const char *class_name;
            int64_t objects, own_bytes; /* sampled ones */
            int64_t bytes;              /* what they stand for */
            int64_t least_survived, most_survived, oldest_ms;
        } live;
    };
};

struct jfr_reader;

/* fd stays the caller's and is read by position. name: for sentences. NULL with one sentence when
 * it is no recording at all. */
struct jfr_reader *jfr_reader_open(int fd, const char *name, char *error, size_t error_size);
/* The next event of a kind above. Valid until the next call. False at the end, or at damage. */
bool jfr_reader_next(struct jfr_reader *reader, struct jfr_event *event);
/* One sentence; NULL when everything read so far was whole. */
const char *jfr_reader_damage(const struct jfr_reader *reader);

struct jfr_reader_counts {
    int64_t chunks;
    int64_t other_events;     /* of types that are not looked at */
    int64_t start_ns, end_ns; /* since the epoch; of the chunks read so far */
};
void jfr_reader_counts(const struct jfr_reader *reader, struct jfr_reader_counts *counts);
void jfr_reader_close(struct jfr_reader *reader);

/* Cuts what stands behind the last complete chunk: the JDK's jfr reads no file with a truncated end.
 * *cut_bytes: how much that was, 0 for a whole file. False with one sentence: not one complete
 * chunk, or it cannot be written; the file is untouched then. */
bool jfr_repair(const char *path, int64_t *cut_bytes, char *error, size_t error_size);

/* Whether ticks are nanoseconds since the epoch, as in our own recordings and in no other: the JDK's tools read the
 * ticks of all chunks of a file by the first one's clock (jfr print of JDK 25). False with one sentence. */
bool jfr_has_our_clock(int fd, const char *name, char *error, size_t error_size);
/* Writes the complete chunks of a recording (read by position) to another file. *rest_bytes: what stands behind them,
 * 0 for a whole recording; the times are those of the first and last. False with one sentence: not one complete
 * chunk, or it cannot be written. */
struct jfr_copied {
    int64_t rest_bytes;
    int64_t start_ns, end_ns; /* since the epoch */
};
bool jfr_copy_chunks(int fd, const char *name, int into, struct jfr_copied *copied, char *error,
                     size_t error_size);
