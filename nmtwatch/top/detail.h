/*
 * detail: one JVM of `top`, as a page: memory by category with what has changed since the start, series,
 * findings with their fix, families of classes with their rates, class loaders, what watching it costs.
 *
 * Reads the member, changes nothing. One thread.
 */
#ifndef NMTWATCH_TOP_DETAIL_H
#define NMTWATCH_TOP_DETAIL_H

#include "nmtwatch/serve/member.h"
#include "reports/page/terminal.h"

/* Writes it as text for a terminal of so many columns. False when out of memory. */
bool detail_write(const struct member *member, const struct terminal *terminal, bool utf8);

#endif
