/*
 * top: the JVMs of this host on one screen, refreshed each second. A screen of the fleet that `serve`
 * keeps (serve/fleet.h: scan, members, watching): it adds keys and a screen, and asks no JVM anything of
 * its own.
 *
 *   top_usable -> top_run
 *
 * One per process (signals, terminal).
 */
#ifndef NMTWATCH_TOP_TOP_H
#define NMTWATCH_TOP_TOP_H

#include "nmtwatch/top/rows.h"

struct top_options {
    struct watch_options watch;
    unsigned columns; /* a bit for each enum top_column */
    struct top_order order;
    int64_t pid;    /* opened at the start; 0: none */
    int64_t for_ms; /* 0: until q */
    bool colour;
};

/* The exit code: 0, or EXIT_IO with a line on stderr when the terminal fails or there is no memory. */
int top_run(const struct top_options *options);

#endif
