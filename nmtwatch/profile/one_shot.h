/* one_shot: start, wait, stop, and the recording as the file that was asked for.
 *
 * While it runs the recording lies in the private folder in the target's /tmp. It ends early on
 * SIGINT or SIGTERM, and when the target ends: what was recorded up to then is kept. */
#pragma once

#include "nmtwatch/alert/push.h"
#include "nmtwatch/profile/agent_call.h"
#include "reports/profile/call_tree.h"
#include "nmtwatch/jvm/target.h"

#include <stdbool.h>
#include <stddef.h>

/* profile_output: a recording of the agent as the file that a suffix asks for.
 *
 *   .jfr  the recording itself        .txt  collapsed stacks
 *   .html a flame graph               .json the top table
 *   .pb.gz  for pprof                 .top  the top table as text */

/* By the name's suffix; false: by none of them. */
bool profile_output_format(const char *name, enum profile_format *format);
/* Whether that file can be written, before anything is recorded for it. False with a sentence. */
bool profile_output_possible(const char *output, char *error, size_t error_size);
/* recording: a descriptor of the file; by_state: stacks begin with what the thread was doing. False
 * with a sentence; the output file is removed then. */
bool profile_output_write(int recording, enum profile_format format, bool by_state,
                          const char *output, const char *title, char *error, size_t error_size);

struct one_shot {
    int64_t duration_ms;
    const char *output; /* NULL: it goes to a store alone */
    enum profile_format format;
    const char *library; /* NULL: the one that belongs to this program */
    const struct start_options *start;
    bool json, by_state;
    const struct push_options *push; /* NULL or with a NULL url: the recording goes to no store */
    /* Not NULL: what is made of the recording (a descriptor of it) in place of `output`. An exit
     * code. answer: that of `stop`; NULL: the target ended before. */
    int (*use)(const struct one_shot *shot, int recording, const char *title, const char *answer);
};

/* By state: the wall clock's samples alone, where the user said nothing else. */
void one_shot_by_state(struct start_options *options);
/* The exit code; what went wrong is one line on stderr. */
int one_shot_run(const struct one_shot *shot, const struct target *target);

/* story_shot: `profile PID classes` and `profile PID live`: the agent is started for one question,
 * and the answer is a table: which code makes classes, which objects stay.
 *
 * Without an output the table goes to standard output, with --json as one object. An output is, by
 * its suffix: .html a flame graph of the stacks, .txt collapsed, .json, .top the table, .jfr the
 * recording. */
enum story_kind { STORY_CLASSES, STORY_LIVE, STORY_KINDS };

/* False: no such word. */
bool story_shot_kind(const char *word, enum story_kind *kind);
/* The options that the question needs, where the user gave none. */
void story_shot_options(enum story_kind kind, struct start_options *options);
/* shot->output may be NULL. The exit code. */
int story_shot_run(enum story_kind kind, struct one_shot *shot, const struct target *target);

/* alloc_run: samples the allocations of one JVM or of several for a while, and says what they
 * were.
 *
 * Loads the agent, starts it with allocations alone, waits, stops it. Where a profiler runs already
 * it is left alone, and that is an error. It ends early on SIGINT or SIGTERM, and when the targets
 * end; with alloc_run_matching JVMs that start in the meantime are included, until the end. While it runs the
 * recordings lie in private folders in the targets' /tmp.
 */
#define ALLOC_INTERVAL_DEFAULT "512K"

struct alloc_run {
    int64_t duration_ms;
    const char *output; /* NULL: none; "%p" in it is the pid */
    const char *library;
    const struct start_options *start; /* alloc and cpu are given */
    bool json;
};

#define ALLOC_TARGETS_MAX 1024

/* The exit code: that of a start or an answer that failed. An error is one line on stderr. */
int alloc_run(const struct alloc_run *run, const struct target *target);
/* The same for all JVMs that are wanted. look is called five times a second, and takes each of them
 * once; the target is taken over. The exit code of the last one that failed; -1: there was none. */
struct alloc_group;
typedef void alloc_scan_fn(void *context, struct alloc_group *group);
int alloc_run_matching(const struct alloc_run *run, alloc_scan_fn *look, void *context);
/* again: it may be too young to answer. False: it is, and stays the caller's. */
bool alloc_take(struct alloc_group *group, const struct target *target, bool again);
/* The table of a profiler that runs already. */
int alloc_run_ask(const struct target *target, const char *library, bool json);
