/*
 * java_flags: sizes as a JVM's command line writes them ("-Xmx4g", "-XX:MaxMetaspaceSize=512m").
 *
 * The last of several equal flags counts, as for the JVM. Any thread.
 */
#ifndef ANALYZERS_PARSE_JAVA_FLAGS_H
#define ANALYZERS_PARSE_JAVA_FLAGS_H

#include "analyzers/parse/span.h"

/* Takes "5g", "512M", "1048576" off the front, in bytes; false and untouched when there is no
 * number or it does not fit. A blank before the unit, a "B" or "iB" behind it and a decimal part
 * ("1.907GiB", "6,0g") are taken, too. */
bool java_size_take(struct span *text, int64_t *bytes);
/* The size behind `flag` ("-Xmx", "-XX:MaxMetaspaceSize="), which begins the text or stands behind
 * a blank or a quote. */
bool java_flag_size(struct span text, struct span flag, int64_t *bytes);

#endif
