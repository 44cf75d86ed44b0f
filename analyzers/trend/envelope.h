/*
 * envelope: how a series climbed, told from its lower envelope.
 *
 * The envelope of a point is the least of all that came after it, itself included: a height counts
 * as gained when the series did not fall below it again. It never decreases, whatever rises and
 * falls over it, so the ways to climb can be told apart:
 *
 * rises: (sum of increments)^2 / sum of squared increments. 1 for one jump, k for k equal ones, as
 * many as there are points for a line.
 *
 * pauses: the longest time without a sixteenth of the climb, once it has begun and before the last
 * one; and the time since. What has stood still twice as long as ever before has stopped.
 *
 * roughness: what neighbours usually differ by, beyond their median difference, as a deviation of
 * independent noise. Jumps do not count: they are few.
 *
 * fall: the largest fall from a height to what came after it: what the series does anyhow.
 *
 * Pure.
 */
#ifndef ANALYZERS_TREND_ENVELOPE_H
#define ANALYZERS_TREND_ENVELOPE_H

struct envelope {
    double climb; /* of the envelope, from the first point to the last */
    double rises; /* see above; at least 0 */
    double longest_pause;
    double pause_now;
    double fall;
    double roughness;
    double largest_rise;   /* between two neighbours but one */
    double largest_rise_x; /* where */
};

void envelope_measure(const double *x, const double *y, int n, struct envelope *envelope);

#endif
