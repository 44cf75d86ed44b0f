/* export: what `nmtwatch export` does, for reports that bring the JFR file along. Setup context. */
#ifndef NMTWATCH_COMMANDS_EXPORT_H
#define NMTWATCH_COMMANDS_EXPORT_H

#include "nmtwatch/record/recording.h"

#include <stdbool.h>
#include <stddef.h>

enum export_format { EXPORT_JFR, EXPORT_OPENMETRICS, EXPORT_CSV, EXPORT_FORMATS };

/* What is left of a replay, into an open file. False with one sentence; true with one when the recording is
 * damaged: what stands before the damage was written; else error is "". */
bool export_replay(struct replay *replay, enum export_format format, int fd, char *error,
                   size_t size);

#endif
