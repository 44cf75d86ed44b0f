/*
 * trend_line: the slope of some points, and how far it can be trusted when their noise has a
 * memory.
 *
 * Slope: median of the slopes of all pairs (Theil 1950; Sen, J. Am. Stat. Assoc. 63, 1968, 1379):
 * a third of outliers does not move it.
 *
 * Interval: an ordinary standard error, and Sen's interval as well, take the noise for independent.
 * The memory of a JVM is not: on such noise they are several times too narrow, and a random walk is
 * called a trend. So the noise is taken for autoregressive of first order, with the correlation r
 * of neighbouring residuals mended for its bias in short detrended series (Marriott and Pope,
 * Biometrika 41, 1954: E[r] = r - (2 + 4r)/n), and with R_ij = r^|i-j| (in units of the usual
 * distance, so gaps count as what they are) the standard error is exact:
 *
 *     c_i = (x_i - mean x) / Sxx      se^2 = s^2 c'Rc      s^2 = RSS / tr(MR)
 *     tr(MR) = n - 1'R1 / n - Sxx c'Rc
 *     degrees of freedom = (n - 2) (1 - r^2) / (1 + r^2)     (Bayley and Hammersley 1946)
 *
 * The interval is slope +- t se with Student's t. r itself is known to sqrt((1 - r^2) / n) only:
 * half of that is added for the interval that is reported (its coverage is then 95 % for r up to
 * 0.9), and all of it where an alarm hangs on it (trend_line_certain). Residuals beyond four
 * median deviations are cut, so that a spike widens it, but does not blind it.
 *
 * Mann-Kendall: S = sum sign(y_j - y_i) over pairs, with the variance n(n-1)(2n+5)/18 blown up by
 * the same c'Rc Sxx (the idea of Hamed and Rao, J. Hydrol. 204, 1998, with one lag instead of all).
 * Ties make the variance smaller; leaving them out errs towards "no trend".
 *
 * Pure, no allocation; about 10 us at 40 points.
 */
#pragma once

#include <stdbool.h>

#define TREND_LINE_POINTS_MAX 64

struct trend_line {
    int n;
    double slope; /* y per x */
    double x_middle;
    double y_middle; /* of the line at x_middle */
    double scale;    /* standard deviation of the noise */
    double r;        /* correlation of neighbouring residuals, mended */
    struct trend_error {
        double se; /* of the slope */
        double degrees;
    } usual, doubtful;
    double kendall_z; /* Mann-Kendall's, corrected */
};

/* x ascends. quantum: the steps in which y is counted; what the slope cannot know because of them
 * is added to the standard error. False with fewer than four points or no two different x. */
bool trend_line(const double *x, const double *y, int n, double quantum, struct trend_line *line);
/* Half the width of the interval that misses the truth with probability two_sided. */
double trend_line_reach(const struct trend_line *line, double two_sided);
/* A slope that the true one is above, except with probability p, doubts about the memory included. */
double trend_line_certain(const struct trend_line *line, double p);

/* The k-th smallest (0 the least); the values change places. */
double trend_select(double *values, int n, int k);
double trend_median(double *values, int n);

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
/* p of the normal distribution: normal_quantile(0.975) = 1.96. 0 < p < 1. */
double normal_quantile(double p);
/* t such that |T| > t with probability two_sided; degrees >= 1. student_quantile(0.05, 10) = 2.23. */
double student_quantile(double two_sided, double degrees);

/*
 * theil_sen: the slope of a series, which a few outliers cannot move, with its interval.
 *
 * Slope: median of the slopes of all pairs (Theil 1950; Sen, J. Am. Stat. Assoc. 63, 1968, 1379).
 * Interval (Sen 1968, eq. 2.6): with N pairs and
 *     V = [n(n-1)(2n+5) - sum over ties t(t-1)(2t+5)] / 18
 * the pairs ranked (N - z sqrt V)/2 and (N + z sqrt V)/2 bound it; z = 1.96 for 95 %. It assumes
 * independent noise: on autocorrelated series it is too narrow, so a caller must also demand a
 * minimum span and growth.
 *
 * Cost O(n^2 log n) at n <= THEIL_SEN_POINTS_MAX; memory is on the caller's heap through the
 * workspace. Pure; any thread.
 */
#define THEIL_SEN_POINTS_MAX 96

struct theil_sen {
    double slope; /* y per x */
    double low;   /* 95 % interval */
    double high;
};

/* False with fewer than four points, more than the maximum, no two different x, or no memory. */
bool theil_sen(const double *x, const double *y, int n, struct theil_sen *out);

/*
 * drift: is a rise more than a random walk would do? For series of few values that are expensive (a class
 * histogram stops the JVM), of whose noise nothing is known.
 *
 * The problem: trend_line.h learns from the points how much their noise remembers, which takes two
 * dozen. Of eight points nothing of that can be learnt, so the worst is assumed: they are a random
 * walk, whose steps all add up. If it has a drift b, its steps are independent, of mean b dx and
 * variance s^2 dx, whatever the spacing, and
 *
 *     b = (y_n - y_1) / X      s^2 = sum((dy_i - b dx_i)^2 / dx_i) / (n - 2)      X = x_n - x_1
 *     b / (s / sqrt X) has Student's distribution with n - 2 degrees of freedom
 *
 * which is exact for normal steps at any n. Noise around a level has steps that take each other
 * back: for it, and for steps with heavy tails, the test errs less often than it says. The rates on
 * made series, walks among them, are those of set 3 in docs/internals/error-rates.md.
 *
 * Statistics cannot exclude the first cycle of a slow sawtooth and the first morning of a daily swing.
 *
 * Pure, no allocation; any thread.
 */
#define DRIFT_POINTS_MIN 4

struct drift {
    double span;  /* of x */
    double slope; /* y per x */
    double low;   /* 95 % interval */
    double high;
    double certain; /* the slope is above this, except with probability p */
    double fall;    /* the largest, from a height to what came after it */
    double deviation;
};

/* x ascends strictly. quantum: the steps in which y is counted. p: one-sided. False with less than
 * DRIFT_POINTS_MIN points. */
bool drift_measure(const double *x, const double *y, int n, double quantum, double p,
                   struct drift *drift);
/* Flattens so much that it may be the beginning of a start-up of this time constant, or reaches its end.
 * One that is much longer than the series looks like a line: three times the span is what can be
 * predicted. */
bool drift_may_end(const struct drift *drift, const double *x, const double *y, int n,
                   double start_up);
