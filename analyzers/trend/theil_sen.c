#include "analyzers/trend/theil_sen.h"

#include <math.h>
#include <stdlib.h>

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
