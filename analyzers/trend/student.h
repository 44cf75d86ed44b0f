/*
 * student: how many standard errors an interval reaches when the standard error itself was
 * estimated from few values.
 *
 * Quantile of Student's t: starts from the normal quantile (Acklam's rational approximation,
 * relative error 1.2e-9) in Hill's expansion (Comm. ACM 13, 1970, algorithm 396), whose relative
 * error is below 1e-3 for the probabilities used here; 1 and 2 degrees are exact. Fractional
 * degrees of freedom, which effective sample sizes are, are allowed.
 *
 * Pure; any thread.
 */
#ifndef ANALYZERS_TREND_STUDENT_H
#define ANALYZERS_TREND_STUDENT_H

/* p of the normal distribution: normal_quantile(0.975) = 1.96. 0 < p < 1. */
double normal_quantile(double p);
/* t such that |T| > t with probability two_sided; degrees >= 1. student_quantile(0.05, 10) = 2.23.
 */
double student_quantile(double two_sided, double degrees);

#endif
