/*
 * story_shot: `profile PID classes` and `profile PID live`: the agent is started for one question,
 * and the answer is a table: which code makes classes, which objects stay.
 *
 * Without an output the table goes to standard output, with --json as one object. An output is, by
 * its suffix: .html a flame graph of the stacks, .txt collapsed, .json, .top the table, .jfr the
 * recording.
 */
#ifndef NMTWATCH_PROFILE_STORY_SHOT_H
#define NMTWATCH_PROFILE_STORY_SHOT_H

#include "nmtwatch/profile/one_shot.h"

enum story_kind { STORY_CLASSES, STORY_LIVE, STORY_KINDS };

/* False: no such word. */
bool story_shot_kind(const char *word, enum story_kind *kind);
/* The options that the question needs, where the user gave none. */
void story_shot_options(enum story_kind kind, struct start_options *options);
/* shot->output may be NULL. The exit code. */
int story_shot_run(enum story_kind kind, struct one_shot *shot, const struct target *target);

#endif
