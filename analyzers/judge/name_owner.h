/*
 * name_owner: the note by which a watch tells its judge that a JVM asked for a name that is another
 * user's, or a container's. The judge makes a finding of it, live and from a recording. Pure.
 */
#ifndef ANALYZERS_JUDGE_NAME_OWNER_H
#define ANALYZERS_JUDGE_NAME_OWNER_H

#include <stddef.h>

struct name_owner {
    const char *name;     /* that it asked for */
    const char *owner;    /* "user bank", "user bank in a container" */
    const char *newcomer; /* likewise */
    const char *label;    /* that it got */
};

/* The text of an EVENT_NOTE. */
void name_owner_note(char *out, size_t size, const struct name_owner *owner);

#endif
