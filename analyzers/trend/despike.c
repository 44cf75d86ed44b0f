#include "analyzers/trend/despike.h"

#include "analyzers/trend/trend_line.h"

#include <math.h>
#include <string.h>

#define DEVIATIONS 6
#define MIDDLE     (DESPIKE_WIDTH / 2)

/* Of the first n samples of the window the one at i, or their median. */
static double tamed(const struct despike *despike, int n, int i)
{
    double values[DESPIKE_WIDTH], away[DESPIKE_WIDTH];
    for (int j = 0; j < n; j++)
        values[j] = despike->window[j].value;
    double median = trend_median(values, n);
    for (int j = 0; j < n; j++)
        away[j] = fabs(despike->window[j].value - median);
    double own = fabs(despike->window[i].value - median);
    double usual = 1.4826 * trend_median(away, n);
    return own > DESPIKE_BYTES && own > DEVIATIONS * usual ? median : despike->window[i].value;
}

bool despike_push(struct despike *despike, const struct despike_point *in,
                  struct despike_point *out)
{
    if (despike->count == DESPIKE_WIDTH) {
        memmove(despike->window, despike->window + 1,
                (DESPIKE_WIDTH - 1) * sizeof despike->window[0]);
        despike->count--;
    }
    despike->window[despike->count++] = *in;
    int which = despike->count - 1 - MIDDLE;
    if (which < 0)
        return false;
    *out = despike->window[which];
    out->value = tamed(despike, despike->count, which);
    return true;
}
