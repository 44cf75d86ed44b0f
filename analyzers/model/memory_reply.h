/*
 * memory_reply: what a JVM answers about its memory (NMT summary, VM.metaspace) as values of a
 * sample, and the commands that ask for it.
 *
 * Used for replies of a live JVM and for saved ones. Any thread.
 */
#pragma once

#include "analyzers/model/event.h"
#include "analyzers/parse/metaspace.h"
#include "analyzers/parse/nmt_summary.h"

/* The cheap question: NMT summary and Metaspace in one connection, as far as this JDK knows them
 * (0: unknown JDK) and the watch wants them. "" when nothing is left to ask. */
const char *memory_reply_command(int jdk_major, bool nmt);

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
void memory_reply_read(struct span reply, bool asked_nmt, struct sample *sample,
                       struct memory_reading *reading);

/* Totals and categories. Unknown categories go to `extra`; returns how many found no room there. */
int sample_add_nmt(struct sample *sample, const struct nmt_summary *summary);
void sample_add_metaspace(struct sample *sample, const struct metaspace *metaspace);
