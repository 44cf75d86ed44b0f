/*
 * weights: how many bytes a sample of an allocation stands for.
 *
 * HotSpot draws the gaps between samples from an exponential distribution with the interval as its
 * mean, so an object of s bytes is sampled with probability p(s) = 1 - exp(-s / interval), and s /
 * p(s) is an unbiased estimate of what it stands for. What a thread allocated in all (C) is known
 * exactly. The estimates of a thread are stretched so that they add up to it, without making a
 * sample smaller than the object itself:
 *
 *   b_i = s_i / (1 - exp(-s_i / interval))
 *   w_i = s_i + (b_i - s_i) * (C - S) / (B - S)        S = sum of s_i, B = sum of b_i
 *
 * So totals are exact and classes unbiased. The standard error of a class is that of its samples:
 * var = sum over them of (1 - p_i) * w_i^2.
 *
 * Pure.
 */
#ifndef AGENT_ALLOC_WEIGHTS_H
#define AGENT_ALLOC_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

/* b of one object. interval_bytes 0: every allocation is sampled, b = size. */
double weight_unscaled(int64_t size, int64_t interval_bytes);
/* The stretch (C - S) / (B - S); 1 where B == S. A thread whose C is below S: 0. */
double weight_stretch(double exact, double sizes, double unscaled);
double weight_of(int64_t size, double unscaled, double stretch);
/* What a sample adds to the variance of its class. */
double weight_variance(int64_t size, int64_t interval_bytes, double weight);

#endif
