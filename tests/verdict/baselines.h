/*
 * baselines: what others do to tell growth, for comparison. Each answers growing or not, from the
 * same points, with the same floor (1 MB or 0.5 % over the points it uses), through the same
 * alarm.
 *
 *   LSQ_HOUR  least squares over the last hour, growing when that comes to more than the floor: a
 *             Prometheus rule on deriv(x[1h])
 *   LSQ_ALL   least squares over all there is, growing when that comes to more than the floor
 *   MK        Mann-Kendall over all there is in at most 96 evenly spaced means: growing when the
 * trend is upward with p < 0.05 (two-sided); ties corrected, nothing else, and no floor JMC the
 * rule of JDK Mission Control: least squares on the low points (those after a collection: here the
 * minimum of each of at most 96 spans), once 90 % of the classes loaded in all have been loaded;
 * growing when that comes to more than the floor
 *
 * Values are kept as one mean and one minimum a minute.
 *
 *   baselines_create -> baselines_feed ... -> baselines_ask ... -> baselines_destroy
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum baseline { BASELINE_LSQ_HOUR, BASELINE_LSQ_ALL, BASELINE_MK, BASELINE_JMC, BASELINE_COUNT };

struct baselines;

struct baselines *baselines_create(void); /* NULL: no memory */
/* False: no memory. bytes and regressor may be VERDICT_MISSING. */
bool baselines_feed(struct baselines *baselines, int64_t ms, int64_t bytes, int64_t regressor);
void baselines_ask(const struct baselines *baselines, bool growing[BASELINE_COUNT]);
void baselines_destroy(struct baselines *baselines);
