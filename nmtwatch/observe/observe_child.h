/*
 * observe_child: one observation of a JVM (observe.h, loaded_methods.h) in a process of its own: what
 * observes has state for one JVM, takes seconds, and reads what a stranger's process holds. The process that
 * started it continues meanwhile, and a crash of the child is one sentence here.
 *
 *   observe_child_start -> poll(observe_child_fd, POLLIN) -> observe_child_ended -> observe_child_text ...
 *                       -> observe_child_close
 *
 * Forked without exec: of the caller's descriptors the child keeps none but its answer's. The
 * JVM's worker (privileged.h) forks it where there is one. The child ends by itself when the caller goes, with an
 * alarm half a minute after its time, and early, with what there is, on SIGINT, SIGTERM and observe_child_stop. One
 * that does not come back by then is left behind, without a result.
 * One thread. */
#pragma once

#include "nmtwatch/observe/observe.h"
#include "analyzers/model/event.h"
#include "analyzers/triage/facts.h"
#include "floor/hotspot/class_graph.h"
#include "nmtwatch/jvm/target.h"
#include "reports/profile/call_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OBSERVE_FORMATS_MAX  3
#define OBSERVE_SENTENCE_MAX 600
#define OBSERVE_TEXT_MAX     (64 << 20) /* bytes of one text */

/* What is wanted: goes from process to process as it is, so without pointers. */
struct observe_request {
    struct observe_options options; /* stop_fd is the child's affair */
    int format_count;
    enum profile_format format[OBSERVE_FORMATS_MAX]; /* not PROFILE_JFR */
};

struct observe_result {
    int code; /* 0; else the exit code of `nmtwatch observe` */
    /* what was seen, in one line; else why nothing was. Raw: names of a stranger are in it */
    char sentence[OBSERVE_SENTENCE_MAX];
    int64_t count;                       /* of the report */
    int64_t elapsed_ms, cpu_us;          /* cpu: of the child */
    uint64_t bytes[OBSERVE_FORMATS_MAX]; /* of each text */
};

struct observe_child;

/* NULL with one sentence: there is no process for it. */
struct observe_child *observe_child_start(const struct target *target,
                                          const struct observe_request *request, char *error,
                                          size_t error_size);
/* Readable when it has ended. */
int observe_child_fd(const struct observe_child *child);
/* Whether it has; fills result then. Never waits. */
bool observe_child_ended(struct observe_child *child, struct observe_result *result);
/* Waits until it has; a request to end (signals.h) ends it early, a second one at once. */
void observe_child_wait(struct observe_child *child, struct observe_result *result);
/* Its time is over: the result comes in a moment. */
void observe_child_stop(struct observe_child *child);
/* The text of request.format[index], ended by NUL; the caller frees it. NULL: there is none, or no memory. */
char *observe_child_text(const struct observe_child *child, int index, size_t *bytes);
/* Ends it when it has not, and frees it. NULL is ignored. */
void observe_child_close(struct observe_child *child);

/* The exit code of an observation that was not possible. */
int observe_failure_code(const struct target *target);

/* --- the other side: of the root helper as well ----------------------------------------------- */

/* Whether a request may be served: the bytes are one, and what is asked for exists; for a process that is not trusted,
 * too: nothing is written, and its time is at most 10 minutes. */
bool observe_request_valid(const void *bytes, size_t size, bool trusted);
/* A child that answers on fd (SOCK_SEQPACKET), which stays the caller's. -1 with errno. */
pid_t observe_child_fork(const struct target *target, const struct observe_request *request,
                         int fd);

/* observe_answer: what a short observation found, read from its table as JSON (docs/json/observe.md), for
 * those who make one by themselves: a watch on suspicion, a triage.
 *
 * Pure; any thread. */
/* Of `classes`: the families with the place that asked for them, most classes first. How many; 0 for a text that
 * is none. */
int observe_callers(const char *text, size_t length, struct caller_row *rows, int max);
/* Of `rss`: the code that touched most of what grew outside of NMT. have is false when nothing did. And
 * what glibc's malloc keeps free and resident. */
void observe_outside(const char *text, size_t length, struct facts_toucher *toucher);
/* Of `methods`: the jmethodIDs there are. False: they were not counted. */
bool observe_ids(const char *text, size_t length, struct facts_ids *ids);

/* loaded_methods: how many classes, methods and jmethodIDs exist in a JVM now, by family of class names, read
 * from outside by floor/hotspot/class_graph.h.
 *
 * 2 to 7 us of CPU a class, mostly the kernel's: 110 ms for 50 000 classes of one loader, 350 ms where each
 * has its own. A reading of another process's memory may block for ever where that process arranges it (a
 * page of a file system of its own): who has something else to do reads in a child (observe_child.h).
 *
 * Blocking; one process at a time, one thread. */
/* False with one sentence. loaded_methods_free in either case. */
bool loaded_methods_read(const struct target *target, struct loaded_methods *out, char *error,
                         size_t error_size);
/* Without families. */
struct methods_event loaded_methods_sums(const struct loaded_methods *methods);
/* PROFILE_TOP: one object, one line (docs/json/observe.md); PROFILE_TOP_TEXT: a table. False: another format,
 * or out failed. */
bool loaded_methods_write(const struct loaded_methods *methods, const struct target *target,
                          enum profile_format format, FILE *out);
/* The object of PROFILE_TOP as what a watch keeps. False: it is none. */
bool loaded_methods_event(const char *json, struct kept_methods *out);
/* The table of PROFILE_TOP_TEXT. ids: jmethodIDs; -1: not counted. by_agent: so it is said. */
bool methods_table_write(const struct methods_event *methods, const struct target *target,
                         int64_t ids, bool by_agent, FILE *out);
/* In one line. */
void loaded_methods_sentence(const struct loaded_methods *methods, char *out, size_t size);
void loaded_methods_free(struct loaded_methods *methods);
