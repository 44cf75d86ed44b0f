#include "analyzers/trend/trend_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX    (TREND_LINE_POINTS_MAX * (TREND_LINE_POINTS_MAX - 1) / 2)
#define R_MAX        0.98
#define MAD_TO_SIGMA 1.4826
/* A slope by medians has 0.91 of the efficiency of least squares on normal noise (Sen 1968). */
#define MEDIAN_LOSS  1.05

/* clang-tidy does not see that the pivot stops both searches inside of the values. */
// NOLINTBEGIN(clang-analyzer-core.*)
double trend_select(double *values, int n, int k)
{
    int low = 0, high = n - 1;
    while (low < high) {
        double pivot = values[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                double other = values[i];
                values[i++] = values[j];
                values[j--] = other;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return values[k];
}

double trend_median(double *values, int n)
{
    double upper = trend_select(values, n, n / 2);
    if (n % 2 == 1)
        return upper;
    double lower = values[0];
    for (int i = 1; i < n / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return (lower + upper) / 2;
}
// NOLINTEND(clang-analyzer-core.*)

/* Theil's slope and Kendall's S in one walk over the pairs. */
static bool pairs(const double *x, const double *y, int n, double *slope, double *s)
{
    double slopes[PAIRS_MAX];
    int count = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            double rise = y[j] - y[i], run = x[j] - x[i];
            sum += (rise > 0) - (rise < 0);
            if (run > 0)
                slopes[count++] = rise / run;
        }
    }
    if (count == 0)
        return false;
    *slope = trend_median(slopes, count);
    *s = sum;
    return true;
}

struct memory {
    double weight[TREND_LINE_POINTS_MAX]; /* correlation of point i with point i - 1 */
};

static void set_memory(struct memory *memory, const double *x, int n, double r)
{
    double steps[TREND_LINE_POINTS_MAX];
    for (int i = 1; i < n; i++)
        steps[i - 1] = x[i] - x[i - 1];
    double usual = trend_median(steps, n - 1);
    memory->weight[0] = 0;
    for (int i = 1; i < n; i++) {
        double ratio = usual > 0 ? (x[i] - x[i - 1]) / usual : 1;
        memory->weight[i] = r <= 0 ? 0 : fabs(ratio - 1) < 0.2 ? r : pow(r, ratio);
    }
}

/* v'Rv */
static double quadratic(const struct memory *memory, const double *v, int n)
{
    double squares = 0, cross = 0, carried = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0)
            carried = memory->weight[i] * (carried + v[i - 1]);
        squares += v[i] * v[i];
        cross += v[i] * carried;
    }
    return squares + 2 * cross;
}

/* The formulas of the header, for a noise of correlation r; returns the noise's deviation. */
static double error_of(const double *x, const double *c, int n, double sxx, double r, double rss,
                       struct trend_error *error, double *blown_up)
{
    struct memory memory;
    double ones[TREND_LINE_POINTS_MAX];
    r = r > R_MAX ? R_MAX : r < 0 ? 0 : r;
    set_memory(&memory, x, n, r);
    for (int i = 0; i < n; i++)
        ones[i] = 1;
    double crc = quadratic(&memory, c, n);
    double trace = n - quadratic(&memory, ones, n) / n - sxx * crc;
    double scale = sqrt(rss / (trace > 0.01 ? trace : 0.01));
    error->se = MEDIAN_LOSS * scale * sqrt(crc);
    error->degrees = (n - 2) * (1 - r * r) / (1 + r * r);
    *blown_up = crc * sxx;
    return scale;
}

bool trend_line(const double *x, const double *y, int n, double quantum, struct trend_line *line)
{
    double s;
    memset(line, 0, sizeof *line);
    if (n < 4 || n > TREND_LINE_POINTS_MAX || !pairs(x, y, n, &line->slope, &s))
        return false;
    line->n = n;
    double x_mean = 0, sxx = 0, level[TREND_LINE_POINTS_MAX], e[TREND_LINE_POINTS_MAX];
    for (int i = 0; i < n; i++)
        x_mean += x[i] / n;
    for (int i = 0; i < n; i++) {
        sxx += (x[i] - x_mean) * (x[i] - x_mean);
        level[i] = y[i] - line->slope * (x[i] - x_mean);
        e[i] = level[i];
    }
    line->x_middle = x_mean;
    line->y_middle = trend_median(level, n);
    for (int i = 0; i < n; i++) {
        e[i] -= line->y_middle;
        level[i] = fabs(e[i]);
    }
    double cut = 4 * MAD_TO_SIGMA * trend_median(level, n), e_mean = 0, slope_left = 0;
    for (int i = 0; i < n; i++) {
        if (cut > 0 && fabs(e[i]) > cut)
            e[i] = copysign(cut, e[i]);
        e_mean += e[i] / n;
    }
    for (int i = 0; i < n; i++)
        slope_left += e[i] * (x[i] - x_mean) / sxx;
    double rss = 0, lagged = 0;
    for (int i = 0; i < n; i++)
        e[i] -= e_mean + slope_left * (x[i] - x_mean);
    for (int i = 0; i < n; i++) {
        rss += e[i] * e[i];
        lagged += i > 0 ? e[i] * e[i - 1] : 0;
    }
    double raw = rss > 0 ? lagged / rss : 0;
    line->r = n > 5 ? (n * raw + 2) / (n - 4) : raw;
    line->r = line->r > R_MAX ? R_MAX : line->r < 0 ? 0 : line->r;

    double c[TREND_LINE_POINTS_MAX];
    for (int i = 0; i < n; i++)
        c[i] = (x[i] - x_mean) / sxx;
    double unknown = sqrt((1 - line->r * line->r) / n), blown_up;
    double steps = quantum / (x[n - 1] - x[0]) / 2;
    line->scale = error_of(x, c, n, sxx, line->r + 0.5 * unknown, rss, &line->usual, &blown_up);
    error_of(x, c, n, sxx, line->r + unknown, rss, &line->doubtful, &(double){0});
    line->usual.se += steps;
    line->doubtful.se += steps;
    line->kendall_z = s / sqrt((double)n * (n - 1) * (2.0 * n + 5) / 18 * blown_up);
    return true;
}

double trend_line_reach(const struct trend_line *line, double two_sided)
{
    return line->usual.se * student_quantile(two_sided, line->usual.degrees);
}

double trend_line_certain(const struct trend_line *line, double p)
{
    return line->slope - line->doubtful.se * student_quantile(2 * p, line->doubtful.degrees);
}

/* --- quantiles of Student's t ----------------------------------------------------------------- */

double normal_quantile(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    const double tail = 0.02425;
    if (p < tail || p > 1 - tail) {
        double q = sqrt(-2 * log(p < tail ? p : 1 - p));
        double value = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
                       ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
        return p < tail ? value : -value;
    }
    double q = p - 0.5, r = q * q;
    return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
           (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

double student_quantile(double two_sided, double degrees)
{
    double n = degrees < 1 ? 1 : degrees, p = two_sided;
    if (n < 1.0001)
        return 1 / tan(p * M_PI / 2);
    double a = 1 / (n - 0.5), b = 48 / (a * a);
    double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
    double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI / 2) * n;
    double y = pow(d * p, 2 / n);
    if (y > 0.05 + a) {
        double x = normal_quantile(p / 2);
        y = x * x;
        if (n < 5)
            c += 0.3 * (n - 4.5) * (x + 0.6);
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
        y = a * y * y;
        y = y > 0.002 ? expm1(y) : 0.5 * y * y + y;
    } else {
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y -
             1) *
                (n + 1) / (n + 2) +
            1 / y;
    }
    return sqrt(n * y);
}

/* --- Theil-Sen for independent noise ---------------------------------------------------------- */

#define Z_95 1.959964

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sum of t(t-1)(2t+5) over groups of equal y. values is sorted in place. */
static double tie_term(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    double sum = 0;
    for (int i = 0; i < n;) {
        int j = i + 1;
        while (j < n && values[j] == values[i])
            j++;
        double t = j - i;
        sum += t * (t - 1) * (2 * t + 5);
        i = j;
    }
    return sum;
}

bool theil_sen(const double *x, const double *y, int n, struct theil_sen *out)
{
    if (n < 4 || n > THEIL_SEN_POINTS_MAX)
        return false;
    size_t pairs_max = (size_t)n * (size_t)(n - 1) / 2;
    double *slopes = malloc((pairs_max + (size_t)n) * sizeof *slopes);
    if (slopes == NULL)
        return false;
    double *ties = slopes + pairs_max;
    int pairs = 0;
    for (int i = 0; i < n; i++) {
        ties[i] = y[i];
        for (int j = i + 1; j < n; j++) {
            if (x[j] != x[i])
                slopes[pairs++] = (y[j] - y[i]) / (x[j] - x[i]);
        }
    }
    bool good = pairs > 0;
    if (good) {
        qsort(slopes, (size_t)pairs, sizeof *slopes, ascending);
        double variance = ((double)n * (n - 1) * (2.0 * n + 5) - tie_term(ties, n)) / 18.0;
        double reach = Z_95 * sqrt(variance > 0 ? variance : 0);
        int low = (int)floor((pairs - reach) / 2), high = (int)ceil((pairs + reach) / 2);
        if (low < 0)
            low = 0;
        if (high > pairs - 1)
            high = pairs - 1;
        out->slope = (slopes[(pairs - 1) / 2] + slopes[pairs / 2]) / 2;
        out->low = slopes[low];
        out->high = slopes[high];
    }
    free(slopes);
    return good;
}

/* --- drift ------------------------------------------------------------------------------------ */

#define INTERVAL 0.05
#define BEND_P   0.05 /* how surely a start-up is excluded */
#define BEND_SURE                                                                                  \
    (2.0 / 3) /* the second half to the first: below that it ends, whatever the noise */

bool drift_measure(const double *x, const double *y, int n, double quantum, double p,
                   struct drift *drift)
{
    if (n < DRIFT_POINTS_MIN)
        return false;
    double span = x[n - 1] - x[0], slope = (y[n - 1] - y[0]) / span, squares = 0, top = y[0];
    *drift = (struct drift){.span = span, .slope = slope};
    for (int i = 1; i < n; i++) {
        double dx = x[i] - x[i - 1], away = y[i] - y[i - 1] - slope * dx;
        squares += away * away / dx;
        top = fmax(top, y[i]);
        drift->fall = fmax(drift->fall, top - y[i]);
    }
    /* A step is a difference of two rounded values. */
    double rounding = quantum * quantum / 6 * (n - 1) / span;
    drift->deviation = sqrt(fmax(squares / (n - 2), rounding));
    double error = drift->deviation / sqrt(span);
    double reach = student_quantile(INTERVAL, n - 2) * error;
    drift->low = slope - reach;
    drift->high = slope + reach;
    drift->certain = slope - student_quantile(2 * p, n - 2) * error;
    return true;
}

/* Of a start-up the slope in the middle of the second half is exp(-distance / constant) of that in
 * the middle of the first. */
bool drift_may_end(const struct drift *drift, const double *x, const double *y, int n,
                   double start_up)
{
    int last = n - 1, middle = last / 2;
    double first_x = x[middle] - x[0], second_x = x[last] - x[middle];
    double first = (y[middle] - y[0]) / first_x, second = (y[last] - y[middle]) / second_x;
    double share = exp(-drift->span / 2 / fmin(start_up, 3 * drift->span));
    double error = drift->deviation * sqrt(1 / second_x + share * share / first_x);
    double reach = student_quantile(2 * BEND_P, n - 2) * error;
    return second < BEND_SURE * first || second - share * first <= reach;
}
