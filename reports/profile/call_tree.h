/* call_tree: stacks of samples merged by their callers: what flame graph, collapsed stacks and top
 * table are written from.
 *
 *   call_tree_create -> call_tree_add ... -> call_tree_finish -> ask -> call_tree_destroy
 *
 * Nodes are numbered from 0, the root, parents before children. Names are kept as they are given;
 * the writer escapes them. Bounded by CALL_TREE_NODES_MAX: a stack that does not fit is
 * refused and counted, never cut. One thread.
 */
#pragma once

#include "analyzers/model/stack_frame.h"
#include "reports/json/json_out.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CALL_TREE_NODES_MAX (2 << 20)
#define CALL_TREE_NONE      UINT32_MAX

/* What a profile is written as: PROFILE_TOP is JSON. */
enum profile_format {
    PROFILE_JFR,
    PROFILE_HTML,
    PROFILE_COLLAPSED,
    PROFILE_TOP,
    PROFILE_TOP_TEXT,
    PROFILE_PPROF
};

/* "java" "native" "class" "state" "thread" */
const char *call_frame_kind_name(enum call_frame_kind kind);
/* As people read it: "malloc [libc.so.6]"; the other one with the line where it is known. The caller frees it; NULL:
 * out of memory. */
char *stack_frame_label(const struct stack_frame *frame);
char *stack_frame_text(const struct stack_frame *frame);

#define CALL_THREAD_NAME_MAX 128 /* with NUL; longer ones are cut */
/* Makes the thread the outermost caller of a stack without Java frames: of a compiler, of a collector, of a
 * library. It takes the place of outermost frames that name nothing ("[unknown] [libc]") and of the mark of
 * a stack that was not walked because the thread is not Java's. thread: its name as Java or the kernel has
 * it, which cuts names to 15 bytes: those of HotSpot's own threads are made whole. NULL or "": not known,
 * and nothing changes. frames has room for one more; name is used by the frame. Returns the depth. */
int call_frames_of_thread(struct stack_frame *frames, int depth, const char *thread,
                          char name[CALL_THREAD_NAME_MAX]);

/* The line of a method that most samples were at, where one has the majority. */
struct call_line {
    int line; /* 0: not known */
    int64_t votes;
};

struct call_node {
    uint32_t name;                              /* call_tree_name */
    uint32_t parent, first_child, next_sibling; /* CALL_TREE_NONE */
    int64_t self, total; /* samples that end here; that pass through, these included */
    struct call_line line;
};

struct call_tree;

/* When samples were taken: so many in a slot of time, that end in a node. */
struct call_cell {
    int32_t slot;
    uint32_t node;
    int64_t samples;
};
struct call_times {
    int64_t start_ms; /* of slot 0 */
    int64_t slot_ms;
    int32_t slots; /* 0: times are not known */
    uint32_t count;
    struct call_cell *cells; /* by slot, then by node, each pair once */
};
#define CALL_TREE_CELLS_MAX (2 << 20)

struct call_tree *call_tree_create(void);
/* What is added from now on was taken at that time, in ms since the epoch. Slots become longer as cells become
 * too many. */
void call_tree_at(struct call_tree *tree, int64_t ms);
/* Innermost first. False: no room or no memory, the samples are counted as refused. */
bool call_tree_add(struct call_tree *tree, const struct stack_frame *frames, int depth,
                   int64_t samples);
/* The same; so many of these samples stay what they are when call_tree_calibrate scales the others. */
bool call_tree_add_part(struct call_tree *tree, const struct stack_frame *frames, int depth,
                        int64_t samples, int64_t fixed);
/* Once, before call_tree_finish. */
void call_tree_calibrate(struct call_tree *tree, double factor);
/* Sums up, and puts children into the order of their names. Threads whose names differ by numbers only
 * become one ("GC Thread#*") where there are more than CALL_THREADS_OF_A_NAME, and the smallest of more than
 * CALL_THREADS_MAX names become "[other threads]". Nothing may be added afterwards. */
#define CALL_THREADS_OF_A_NAME 4
#define CALL_THREADS_MAX       64
void call_tree_finish(struct call_tree *tree);

/* Of a finished tree, in at most so many slots and cells; node_of says as which node a node counts (NULL:
 * itself). A slot is 50 ms or longer. The caller frees cells. False when out of memory. */
bool call_tree_times(const struct call_tree *tree, const uint32_t *node_of, int32_t slots_max,
                     uint32_t cells_max, struct call_times *times);
int64_t call_tree_samples(const struct call_tree *tree); /* in the tree */
int64_t call_tree_refused(const struct call_tree *tree);
uint32_t call_tree_node_count(const struct call_tree *tree);
const struct call_node *call_tree_node(const struct call_tree *tree, uint32_t node);
/* Names are numbered 0.. too: the same text of another kind has another number. */
uint32_t call_tree_name_count(const struct call_tree *tree);
struct stack_frame call_tree_name(const struct call_tree *tree, uint32_t name);
/* Walks a finished tree: the node behind this one, children before siblings; CALL_TREE_NONE at the
 * end. *depth goes up and down with it; the root's is what it was at first. */
uint32_t call_tree_next(const struct call_tree *tree, uint32_t node, int *depth);
/* A finished tree as the lines that other flame graph tools read, outermost first:
 * "a.Main.main;a.Main.run;malloc [libc.so.6] 12". A ; in a name becomes a colon, what could move a
 * cursor is escaped; samples without a stack are the line "[no stack]". False when out failed, or
 * memory. */
bool collapsed_write(const struct call_tree *tree, FILE *out);
/* A finished tree as pprof reads it: profile.proto, gzipped. Names are escaped as for a terminal.
 * False when out failed, or memory. */
struct pprof_about {
    const char *type, *unit;       /* of a sample: "cpu" "nanoseconds", "alloc_space" "bytes" */
    int64_t each;                  /* what a sample of the tree stands for in that unit; 0: one */
    int64_t start_ns, duration_ns; /* start: since the epoch */
};
bool pprof_write(const struct call_tree *tree, const struct pprof_about *about, FILE *out);
void call_tree_destroy(struct call_tree *tree);

/* Methods by the samples in which they ran themselves (self) or were on the stack (total), of those
 * that go through a node. A method that calls itself is counted once a sample. The tree is finished and
 * outlives the table. */
struct top_row {
    uint32_t name; /* call_tree_name */
    int64_t self, total;
    struct call_line line;
};

struct toptable;

/* Below a node (0: of the whole tree), most self first, then most total, then by name. NULL when out of
 * memory. */
struct toptable *toptable_create(const struct call_tree *tree, uint32_t node);
uint32_t toptable_row_count(const struct toptable *table);
const struct top_row *toptable_row(const struct toptable *table, uint32_t row);
/* The first rows, and how many there are besides. False when out failed. */
bool toptable_print(const struct toptable *table, uint32_t rows, FILE *out);
/* A member of the object that is open: methods: [{name, kind, line, self, total}]. */
void toptable_json(const struct toptable *table, struct json_out *out);
void toptable_destroy(struct toptable *table);

/*
 * flamegraph: a call tree as one self-contained page: an SVG of callers and callees by share of samples,
 * callers above, callees below.
 *
 * Without scripts it is a static picture with a tooltip for each frame; frames narrower than
 * FLAMEGRAPH_MIN_SHARE of the samples are left out there, and counted. The script that is inside
 * (flamegraph.js) draws from the data of the page: zoom (click, Enter), a search that says how much of the
 * samples matched, a heat map of the samples over time where the tree has times: a span that is picked
 * there has its own flame graph. Nothing is loaded from anywhere. Names are hostile and escaped. The
 * page is bounded: some 100 000 frames, 12 MB, however large the profile; it says what is left out. One
 * thread. */

/* A pixel of a screen 2000 wide. */
#define FLAMEGRAPH_MIN_SHARE (1.0 / 2000)

struct profile_difference;
struct flamegraph_page {
    const char *title;
    const char *unit;         /* what a sample is: "CPU samples, one each 10 ms" */
    bool bytes;               /* samples are bytes, of classes */
    const char *const *notes; /* sentences below the picture: losses, damage */
    int note_count;
    /* NULL; else the profile to compare with, finished: frames are red where they take more than there, blue
     * where they take less. With the difference of both trees (profile_difference.h). */
    const struct call_tree *before;
    const struct profile_difference *difference;
};

/* A finished tree. False when out failed, or memory. */
bool flamegraph_write(const struct call_tree *tree, const struct flamegraph_page *page, FILE *out);

/* A finished tree, and what is said of it where it is written. */
struct profile {
    const struct call_tree *tree;
    struct flamegraph_page page;
    struct pprof_about about;
};
/* As a flame graph, collapsed stacks or for pprof. False when out failed, or memory; the other formats are not of the
 * tree alone. */
bool profile_write(const struct profile *profile, enum profile_format format, FILE *out);
