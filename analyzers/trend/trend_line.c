#include "analyzers/trend/trend_line.h"

#include "analyzers/trend/student.h"

#include <math.h>
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

double trend_line_at(const struct trend_line *line, double x)
{
    return line->y_middle + line->slope * (x - line->x_middle);
}
