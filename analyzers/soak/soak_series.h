/*
 * soak_series: which numbers of a JVM a soak judges, and how they are called.
 *
 * Series are numbered: first the rows of soak_series.def, then one for each NMT category (committed
 * bytes). A category's key is its name in lower case with dashes: "java-heap", "thread-stack".
 * "internal" and "metaspace" are the sums of soak_series.def, as the alerts mean them; the
 * categories of those names are "nmt-internal" and "nmt-metaspace". Any thread.
 */
#ifndef ANALYZERS_SOAK_SOAK_SERIES_H
#define ANALYZERS_SOAK_SOAK_SERIES_H

#include "analyzers/model/event.h"

enum soak_series {
#define SOAK_SERIES(id, key, title, unit, role) SOAK_##id,
#include "analyzers/soak/soak_series.def"
#undef SOAK_SERIES
    SOAK_FIRST_CATEGORY,
    SOAK_SERIES_COUNT = SOAK_FIRST_CATEGORY + NMT_CATEGORY_COUNT,
};

enum soak_unit { SOAK_UNIT_BYTES, SOAK_UNIT_COUNT };
enum soak_role { SOAK_ROLE_CORE, SOAK_ROLE_WATCHED, SOAK_ROLE_SHOWN };

#define SOAK_KEY_MAX 40

/* out: SOAK_KEY_MAX bytes. */
void soak_series_key(enum soak_series series, char *out);
/* SOAK_SERIES_COUNT when no series is called so. */
enum soak_series soak_series_from_key(struct span key);
/* jdk_major tells what Internal means. */
const char *soak_series_title(enum soak_series series, int jdk_major);
enum soak_unit soak_series_unit(enum soak_series series);
enum soak_role soak_series_role(enum soak_series series);
/* False when the sample does not hold it. Between 0 and 2^50: what lies outside is not true. */
bool soak_series_value(enum soak_series series, const struct sample *sample, int jdk_major,
                       int64_t *value);

#endif
