/*
 * class_log: one line of a class-load log -> load, unload or neither.
 *
 *   [0.108s][info][class,load  ] Script1 source: file:/groovy/script      JDK 9+, any decorations
 *   [1.397s][info][class,unload] unloading class Gone29 0x00007fa330086000
 *   Script1 source: __JVM_DefineClass__                                    JDK 9+, decorations none
 *   [Loaded Script1 from file:/app.jar]   [Unloading class Gone29 0x...]   JDK 8
 *
 * Such a log is mixed with what else the JVM logs and, on standard output, with the program's own
 * lines: whatever is not certainly a load or an unload is CLASS_LOG_OTHER. Without decorations a
 * load is known by " source: " after a single word. Text in front of the decorations, which a
 * program printed without a line end or a container's log put there, is passed over; so is a line
 * that was cut off and continued by the next one. No class has a '[' in its name.
 *
 * No state, no allocation; spans point into the line. Any thread. A few hundred nanoseconds a line,
 * most of them for what precedes the name: analyzers/classlog/classlog.c recognises a head it has
 * seen.
 */
#pragma once

#include "floor/base/span.h"

enum class_log_kind { CLASS_LOG_OTHER, CLASS_LOG_LOAD, CLASS_LOG_UNLOAD };

/* How it was recognised. */
enum class_log_form {
    CLASS_LOG_PLAIN,  /* by its text alone */
    CLASS_LOG_TAGGED, /* by the decoration [class,load] or [class,unload] */
    CLASS_LOG_JDK8,
};

struct class_log_line {
    enum class_log_kind kind;
    enum class_log_form form;
    bool claims;        /* OTHER, yet it says that it is a load or an unload: cut off, or new */
    struct span name;   /* as printed, address tail of a hidden class included */
    struct span source; /* load only: jar, "shared objects file", host class, ...; may be empty */
    int64_t uptime_ms;  /* -1 when the line is not decorated with the uptime */
    int64_t wall_ms;    /* since the Unix epoch; -1 when not decorated with a time of day */
    struct span clock;  /* the decoration that uptime_ms, else wall_ms, was read from */
};

/* line: without its line end. */
struct class_log_line class_log_parse(struct span line);

/* Reads what follows a head: the name to the end of the line, "Script1 source: file:/app.jar".
 * line: kind (load or unload) and form as the head says; name and source are set. */
bool class_log_body(struct span body, struct class_log_line *line);

/* Takes the next complete line off *rest and parses it. False when no complete line is left: then
 * *rest is the incomplete tail (maybe empty), to be kept until more text has come. */
bool class_log_next(struct span *rest, struct class_log_line *line);

/* "2026-11-20T21:58:28.943+0000" -> milliseconds since the Unix epoch, -1 for anything else. */
int64_t class_log_wall_ms(struct span text);
