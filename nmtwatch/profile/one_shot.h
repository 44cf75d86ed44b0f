/*
 * one_shot: start, wait, stop, and the recording as the file that was asked for.
 *
 * While it runs the recording lies in the private folder in the target's /tmp. It ends early on
 * SIGINT or SIGTERM, and when the target ends: what was recorded up to then is kept.
 */
#ifndef NMTWATCH_PROFILE_ONE_SHOT_H
#define NMTWATCH_PROFILE_ONE_SHOT_H

#include "nmtwatch/alert/push.h"
#include "nmtwatch/profile/agent_call.h"
#include "nmtwatch/profile/start_options.h"
#include "reports/profile/call_tree.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * profile_output: a recording of the agent as the file that a suffix asks for.
 *
 *   .jfr  the recording itself        .txt  collapsed stacks
 *   .html a flame graph               .json the top table
 *   .pb.gz  for pprof                 .top  the top table as text
 */

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

/*
 * story_shot: `profile PID classes` and `profile PID live`: the agent is started for one question,
 * and the answer is a table: which code makes classes, which objects stay.
 *
 * Without an output the table goes to standard output, with --json as one object. An output is, by
 * its suffix: .html a flame graph of the stacks, .txt collapsed, .json, .top the table, .jfr the
 * recording.
 */
enum story_kind { STORY_CLASSES, STORY_LIVE, STORY_KINDS };

/* False: no such word. */
bool story_shot_kind(const char *word, enum story_kind *kind);
/* The options that the question needs, where the user gave none. */
void story_shot_options(enum story_kind kind, struct start_options *options);
/* shot->output may be NULL. The exit code. */
int story_shot_run(enum story_kind kind, struct one_shot *shot, const struct target *target);

#endif
