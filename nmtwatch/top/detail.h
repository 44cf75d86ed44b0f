/*
 * detail: one JVM of `top`, as a page: memory by category with what has changed since the start, series,
 * findings with their fix, families of classes with their rates, class loaders, what watching it costs.
 *
 * Reads the member, keeps of it what a rate needs. One thread.
 */
#ifndef NMTWATCH_TOP_DETAIL_H
#define NMTWATCH_TOP_DETAIL_H

#include "nmtwatch/serve/member.h"
#include "reports/page/terminal.h"

#include <stdio.h>

#define DETAIL_RATE_MS 10000

/* Counts of families at two earlier moments: a rate is over ten to twenty seconds. Zero at first. */
struct detail_rates {
    struct detail_counts {
        int64_t ms; /* of the loop; 0: none */
        int64_t loads[FAMILY_COUNT + 1], unloads[FAMILY_COUNT + 1];
    } before, newest;
};

/* Writes it as text for a terminal of so many columns. False when out of memory. */
bool detail_write(const struct member *member, struct detail_rates *rates,
                  const struct terminal *terminal, bool utf8);

#endif
