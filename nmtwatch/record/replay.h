/*
 * replay: a recording through a judge, as it was judged live: the one loop for all who read one.
 *
 *   replay_open -> replay_next ... (event, alerts, judge) -> replay_close
 *
 * Setup context, one thread.
 */
#ifndef NMTWATCH_RECORD_REPLAY_H
#define NMTWATCH_RECORD_REPLAY_H

#include "nmtwatch/record/reader.h"

struct replay {
    struct recording *recording;
    const struct recording_header *header;
    struct judge *judge;  /* at the thresholds of the recording */
    int64_t until_ms;     /* events after it are not fed; INT64_MAX: all */
    struct event event;   /* the one of the last replay_next; its rows are valid until the next */
    struct alerts alerts; /* that it raised and cleared; texts likewise */
};

/* False with one sentence in error. */
bool replay_open(struct replay *replay, const char *path, char *error, size_t error_size);
/* Another judge, before the first replay_next. False when out of memory. */
bool replay_judge_with(struct replay *replay, const struct thresholds *thresholds,
                       int64_t warmup_s);
/* False at the end, or at damage (recording_damage). */
bool replay_next(struct replay *replay);
void replay_close(struct replay *replay);

#endif
