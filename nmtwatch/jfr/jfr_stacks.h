/*
 * jfr_stacks: texts, stacks and threads of a chunk, each decoded once.
 *
 * Texts are NUL-terminated UTF-8 (whatever bytes a name holds: the writer escapes it). What
 * is missing or damaged is NULL. Everything is valid until the next chunk is loaded. One thread.
 */
#ifndef NMTWATCH_JFR_JFR_STACKS_H
#define NMTWATCH_JFR_JFR_STACKS_H

#include "nmtwatch/jfr/jfr_chunk.h"

enum jfr_frame_kind { JFR_FRAME_JAVA, JFR_FRAME_NATIVE };

struct jfr_stack_frame {
    /* "java.util.HashMap.get"; of a library: "malloc [libc.so.6]" */
    const char *label;
    int32_t line; /* <= 0: not known */
    enum jfr_frame_kind kind;
};

struct jfr_trace {
    bool truncated;
    int depth;
    struct jfr_stack_frame *frames; /* innermost first */
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
/* "java.util.HashMap.get:557", without the line where it is not known. The caller frees it; NULL:
 * out of memory. */
char *jfr_frame_text(const struct jfr_stack_frame *frame);

#endif
