/* export_events: a recording in the format of another program. Setup context, one thread. */
#pragma once

#include "nmtwatch/record/recording.h"

enum export_format { EXPORT_JFR, EXPORT_OPENMETRICS, EXPORT_CSV, EXPORT_FORMATS };
struct export_how {
    bool profile_follows; /* JFR */
    bool histograms;      /* CSV: of classes instead of samples */
    const char *target;   /* OpenMetrics: the label, or NULL: the main class */
};

/* Writes what follows of the replay. False with errno and a sentence; true with a sentence where the recording is
 * damaged. */
bool export_events(struct replay *replay, enum export_format format, int fd,
                   const struct export_how *how, char *error, size_t size);
