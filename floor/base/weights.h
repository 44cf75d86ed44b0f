/*
 * weights: how many bytes a sample of an allocation stands for.
 *
 * HotSpot draws the gaps between samples from an exponential distribution with the interval as its
 * mean, so an object of s bytes is sampled with probability p(s) = 1 - exp(-s / interval), and
 * b = s / p(s) is an unbiased estimate of what it stands for. What a thread allocated in all (C) is
 * known exactly. The estimates of a thread are calibrated so that they add up to it, without making
 * a sample smaller than the object itself:
 *
 *   w_i = s_i + (b_i - s_i) * k      k = (C - S) / (B - S)      S = sum of s_i, B = sum of b_i
 *
 * So totals are exact and classes unbiased, given some ten samples to calibrate together: of one
 * sample that happened to be taken and one that did not, only the first would be made to fit. The
 * variance of a class is that of its samples, the sum of (1 - p_i) * w_i^2. It does not know that
 * the sum is fixed: of a class that is most of what a thread allocates it says too much.
 *
 * Pure.
 */
#pragma once

#include <stdint.h>

/* b of one object. interval_bytes 0: every allocation is sampled, b = size. */
double weight_unscaled(int64_t size, int64_t interval_bytes);
/* k; 1 where nothing can be calibrated (B == S). A thread whose C is below S: 0. */
double weight_calibration(double exact, double sizes, double unscaled);
double weight_of(int64_t size, double unscaled, double calibration);
/* What a sample adds to the variance of its class. */
double weight_variance(int64_t size, int64_t interval_bytes, double weight);

/* Samples whose k is not known yet, added up so that it can be put in later. */
struct weight_sums {
    int64_t samples;
    double sizes;       /* S */
    double unscaled;    /* B */
    double variance[3]; /* of the coefficients of 1, k and k^2 */
};
void weight_sums_add(struct weight_sums *sums, int64_t size, int64_t interval_bytes);
void weight_sums_merge(struct weight_sums *into, const struct weight_sums *sums);
double weight_sums_bytes(const struct weight_sums *sums, double calibration);
double weight_sums_variance(const struct weight_sums *sums, double calibration);
