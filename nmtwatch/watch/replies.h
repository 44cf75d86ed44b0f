/*
 * replies: the commands a watch asks, and their replies as values of a sample.
 *
 * Shared by the watcher and by `check`. Pure but for nothing: no I/O here. Any thread.
 */
#ifndef NMTWATCH_WATCH_REPLIES_H
#define NMTWATCH_WATCH_REPLIES_H

#include "analyzers/model/sample.h"
#include "analyzers/parse/span.h"

/* The cheap question: NMT summary and Metaspace in one connection, as far as this JDK knows them
 * (0: unknown JDK) and the watch wants them. "" when nothing is left to ask. */
const char *replies_memory_command(int jdk_major, bool nmt);

enum memory_reply {
    MEMORY_OK,
    MEMORY_NMT_OFF,   /* the rest of the reply was still read */
    MEMORY_MALFORMED, /* not what was asked for; *problem says what stood there */
};
struct memory_reading {
    enum memory_reply result;
    bool have_nmt, have_metaspace;
    int64_t arenas;    /* live Metaspace arenas: an upper bound of class loaders; -1 unknown */
    int64_t classes;   /* loaded now, as NMT counts them; -1 unknown */
    int dropped;       /* categories that found no room */
    int unknown_lines; /* lines of the summary that were not understood */
    bool total_holds;  /* sum of categories == total, within the JVM's rounding */
    char problem[160];
};
/* asked_nmt: the command contained VM.native_memory. */
void replies_read_memory(struct span reply, bool asked_nmt, struct sample *sample,
                         struct memory_reading *reading);

#endif
