#include "analyzers/trend/curve_fit.h"

#include "analyzers/trend/trend_line.h"

#include <math.h>
#include <string.h>

#define POINTS_MIN 8
#define GRID       1.6   /* from one c to the next */
#define FINEST     1.005 /* how well the best one is known at the end */

/* Times and values about their means, and what all curves share. */
struct points {
    int n;
    double t_mean, y_mean;
    double tt, ty, yy;
    double t[TREND_LINE_POINTS_MAX]; /* about t_mean */
    double y[TREND_LINE_POINTS_MAX];
};

/* One curve more: u is a function of t. */
struct sums {
    const struct points *points;
    double u_mean;
    double uu, ut, uy;
};

static void set_points(struct points *points, const double *t, const double *y, int n)
{
    memset(points, 0, sizeof *points);
    points->n = n;
    for (int i = 0; i < n; i++) {
        points->t_mean += t[i] / n;
        points->y_mean += y[i] / n;
    }
    for (int i = 0; i < n; i++) {
        double dt = points->t[i] = t[i] - points->t_mean;
        double dy = points->y[i] = y[i] - points->y_mean;
        points->tt += dt * dt;
        points->ty += dt * dy;
        points->yy += dy * dy;
    }
}

static void add_up(struct sums *s, const struct points *points, const double *u)
{
    double sum = 0, uu = 0, ut = 0, uy = 0;
    for (int i = 0; i < points->n; i++) {
        sum += u[i];
        uu += u[i] * u[i];
        ut += u[i] * points->t[i];
        uy += u[i] * points->y[i];
    }
    s->points = points;
    s->u_mean = sum / points->n;
    s->uu = uu - sum * s->u_mean;
    s->ut = ut;
    s->uy = uy;
}

static void keep_better(struct curve_parameters *best, double rss, double a, double b, double c,
                        double d)
{
    rss = rss > 0 ? rss : 0;
    if (rss < best->rss)
        *best = (struct curve_parameters){.a = a, .b = b, .c = c, .d = d, .rss = rss};
}

/* y = a + b u */
static void fit_one(const struct sums *s, double c, struct curve_parameters *best)
{
    const struct points *p = s->points;
    double b = s->uu > 0 ? s->uy / s->uu : 0;
    keep_better(best, p->yy - b * s->uy, p->y_mean - b * s->u_mean, b, c, 0);
}

/* y = a + b u + d t */
static void fit_two(const struct sums *s, double c, struct curve_parameters *best)
{
    const struct points *p = s->points;
    double determinant = s->uu * p->tt - s->ut * s->ut;
    if (determinant <= 1e-9 * s->uu * p->tt)
        return; /* the two cannot be distinguished */
    double b = (s->uy * p->tt - p->ty * s->ut) / determinant;
    double d = (p->ty * s->uu - s->uy * s->ut) / determinant;
    keep_better(best, p->yy - b * s->uy - d * p->ty, p->y_mean - b * s->u_mean - d * p->t_mean, b,
                c, d);
}

static double value(const struct curve_parameters *fit, enum curve curve, double t)
{
    double y = fit->a + fit->d * t;
    if (curve == CURVE_LOGARITHM)
        y += fit->b * log1p(t / fit->c);
    else if (curve == CURVE_ROOT)
        y += fit->b * sqrt(fit->c + t);
    else if (curve == CURVE_QUADRATIC)
        y += fit->b * t * t;
    else if (curve == CURVE_ONSET)
        y += fit->b * fmax(0, t - fit->c);
    else if (curve == CURVE_END)
        y += fit->b * fmin(t, fit->c);
    else if (curve == CURVE_STEP)
        y += t > fit->c ? fit->b : 0;
    else if (curve != CURVE_LINE)
        y += fit->b * (1 - exp(-t / fit->c));
    return y;
}

/* n (1 - r) / (1 + r), r of the residuals of the curve that fits best. */
static double independent(const struct curve_fit *curve_fit, const double *t, const double *y,
                          int n)
{
    enum curve curve = CURVE_LINE;
    for (int i = 0; i < CURVES; i++)
        curve = curve_fit->fit[i].rss < curve_fit->fit[curve].rss ? (enum curve)i : curve;
    double squares = 0, lagged = 0, before = 0;
    for (int i = 0; i < n; i++) {
        double e = y[i] - value(&curve_fit->fit[curve], curve, t[i]);
        squares += e * e;
        lagged += e * before;
        before = e;
    }
    double r = squares > 0 ? (lagged / squares * n + 2) / n : 0;
    r = r < 0 ? 0 : r > 0.9 ? 0.9 : r;
    return n * (1 - r) / (1 + r);
}

static void choose(struct curve_fit *curve_fit, double least)
{
    static const int parameters[CURVES] = {
        [CURVE_LINE] = 3,      [CURVE_PLATEAU] = 4, [CURVE_PLATEAU_AND_LINE] = 5,
        [CURVE_LOGARITHM] = 4, [CURVE_ROOT] = 4,    [CURVE_QUADRATIC] = 4,
        [CURVE_ONSET] = 4,     [CURVE_END] = 4,     [CURVE_STEP] = 4};
    double n = curve_fit->n > POINTS_MIN ? curve_fit->n : POINTS_MIN;
    for (int i = 0; i < CURVES; i++) {
        int k = parameters[i];
        double mean = curve_fit->fit[i].rss / n > least ? curve_fit->fit[i].rss / n : least;
        curve_fit->fit[i].aicc = n * log(mean) + 2 * k + 2.0 * k * (k + 1) / (n - k - 1);
        if (curve_fit->fit[i].aicc < curve_fit->fit[curve_fit->best].aicc)
            curve_fit->best = (enum curve)i;
    }
    if (curve_fit->fit[curve_fit->best].aicc > curve_fit->fit[CURVE_LINE].aicc - CURVE_FIT_CLEARLY)
        curve_fit->best = CURVE_LINE;
}

static void halves(const double *x, const double *y, int n, double quantum,
                   struct curve_fit *curve_fit)
{
    struct trend_line first, second;
    int half = n / 2;
    if (!trend_line(x, y, half, quantum, &first) ||
        !trend_line(x + half, y + half, n - half, quantum, &second) || first.slope <= 0)
        return;
    double first_reach = trend_line_reach(&first, 0.05);
    double second_reach = trend_line_reach(&second, 0.05);
    curve_fit->have_ratio = true;
    curve_fit->ratio = second.slope / first.slope;
    double reach = hypot(second_reach, curve_fit->ratio * first_reach) / first.slope;
    curve_fit->ratio_low = curve_fit->ratio - reach;
    curve_fit->ratio_high = curve_fit->ratio + reach;
}

/* Plateau, and plateau with a line. */
static void fit_exponential(const struct points *points, const double *t, double c, double span,
                            struct curve_parameters *fit)
{
    double u[TREND_LINE_POINTS_MAX];
    struct sums sums;
    for (int i = 0; i < points->n; i++)
        u[i] = 1 - exp(-t[i] / c);
    add_up(&sums, points, u);
    fit_one(&sums, c, &fit[CURVE_PLATEAU]);
    if (c <= span)
        fit_two(&sums, c, &fit[CURVE_PLATEAU_AND_LINE]);
}

static void fit_creep(const struct points *points, const double *t, double c,
                      struct curve_parameters *fit)
{
    double u[TREND_LINE_POINTS_MAX];
    struct sums sums;
    for (int i = 0; i < points->n; i++)
        u[i] = log1p(t[i] / c);
    add_up(&sums, points, u);
    fit_one(&sums, c, fit);
}

bool curve_fit_measure(const double *x, const double *y, int n, double quantum,
                       struct curve_fit *curve_fit)
{
    memset(curve_fit, 0, sizeof *curve_fit);
    if (n < POINTS_MIN || n > TREND_LINE_POINTS_MAX)
        return false;
    double t[TREND_LINE_POINTS_MAX], u[TREND_LINE_POINTS_MAX], span = x[n - 1] - x[0];
    struct points points;
    struct sums sums;
    curve_fit->span = span;
    for (int i = 0; i < n; i++)
        t[i] = x[i] - x[0];
    set_points(&points, t, y, n);
    for (int i = 0; i < CURVES; i++)
        curve_fit->fit[i] = (struct curve_parameters){.c = span, .rss = INFINITY};
    add_up(&sums, &points, t);
    fit_one(&sums, span, &curve_fit->fit[CURVE_LINE]);
    curve_fit->fit[CURVE_LINE].d = curve_fit->fit[CURVE_LINE].b;
    curve_fit->fit[CURVE_LINE].b = 0;
    for (double c = span / 60; c <= span * 4; c *= GRID)
        fit_exponential(&points, t, c, span, curve_fit->fit);
    for (double c = span / 1000; c <= span; c *= GRID * GRID * GRID)
        fit_creep(&points, t, c, &curve_fit->fit[CURVE_LOGARITHM]);
    for (double step = sqrt(GRID); step > FINEST; step = sqrt(step)) {
        double plateau_c = curve_fit->fit[CURVE_PLATEAU].c,
               both_c = curve_fit->fit[CURVE_PLATEAU_AND_LINE].c;
        double creep_c = curve_fit->fit[CURVE_LOGARITHM].c;
        fit_exponential(&points, t, plateau_c * step, span, curve_fit->fit);
        fit_exponential(&points, t, plateau_c / step, span, curve_fit->fit);
        fit_exponential(&points, t, both_c * step, span, curve_fit->fit);
        fit_exponential(&points, t, both_c / step, span, curve_fit->fit);
        fit_creep(&points, t, creep_c * step * step, &curve_fit->fit[CURVE_LOGARITHM]);
        fit_creep(&points, t, creep_c / step / step, &curve_fit->fit[CURVE_LOGARITHM]);
    }
    for (double c = span * 0.1; c < span * 0.95; c += span * 0.05) {
        for (int i = 0; i < n; i++)
            u[i] = fmax(0, t[i] - c);
        add_up(&sums, &points, u);
        fit_one(&sums, c, &curve_fit->fit[CURVE_ONSET]);
        for (int i = 0; i < n; i++)
            u[i] = fmin(t[i], c);
        add_up(&sums, &points, u);
        fit_one(&sums, c, &curve_fit->fit[CURVE_END]);
    }
    for (int j = 2; j < n - 2; j++) {
        for (int i = 0; i < n; i++)
            u[i] = i > j ? 1 : 0;
        add_up(&sums, &points, u);
        fit_one(&sums, t[j], &curve_fit->fit[CURVE_STEP]);
    }
    for (double c = span / 160; c < span; c *= 2) {
        for (int i = 0; i < n; i++)
            u[i] = sqrt(c + t[i]);
        add_up(&sums, &points, u);
        fit_one(&sums, c, &curve_fit->fit[CURVE_ROOT]);
    }
    for (int i = 0; i < n; i++)
        u[i] = t[i] * t[i];
    add_up(&sums, &points, u);
    fit_two(&sums, span, &curve_fit->fit[CURVE_QUADRATIC]);
    if (curve_fit->fit[CURVE_QUADRATIC].b <= 0)
        curve_fit->fit[CURVE_QUADRATIC].rss = INFINITY;
    curve_fit->n = independent(curve_fit, t, y, n);
    /* What is counted in steps cannot be fitted better than to their rounding. */
    choose(curve_fit, quantum * quantum / 12 + 1e-300);
    halves(x, y, n, quantum, curve_fit);
    return true;
}

double curve_fit_slope(const struct curve_fit *curve_fit, enum curve curve, double t)
{
    const struct curve_parameters *fit = &curve_fit->fit[curve];
    if (curve == CURVE_LOGARITHM)
        return fit->b / (fit->c + t);
    if (curve == CURVE_ROOT)
        return fit->b / (2 * sqrt(fit->c + t));
    if (curve == CURVE_QUADRATIC)
        return fit->d + 2 * fit->b * t;
    if (curve == CURVE_STEP)
        return 0;
    if (curve == CURVE_ONSET || curve == CURVE_END)
        return (t > fit->c) == (curve == CURVE_ONSET) ? fit->b : 0;
    return fit->d + (curve == CURVE_LINE ? 0 : fit->b / fit->c * exp(-t / fit->c));
}

double curve_fit_sag(const struct curve_fit *curve_fit, double t)
{
    const struct curve_parameters *fit = &curve_fit->fit[curve_fit->best];
    double begin = value(fit, curve_fit->best, 0),
           end = value(fit, curve_fit->best, curve_fit->span);
    return value(fit, curve_fit->best, t) - begin - (end - begin) * t / curve_fit->span;
}

double curve_fit_left(const struct curve_fit *curve_fit, double t)
{
    const struct curve_parameters *fit = &curve_fit->fit[CURVE_PLATEAU];
    return fit->b * exp(-t / fit->c);
}

bool curve_fit_may_be_plateau(const struct curve_fit *curve_fit, const double *x, const double *y,
                              int n, double c)
{
    double t[TREND_LINE_POINTS_MAX], u[TREND_LINE_POINTS_MAX];
    struct curve_parameters fit = {.rss = INFINITY};
    struct points points;
    struct sums sums;
    for (int i = 0; i < n; i++) {
        t[i] = x[i] - x[0];
        u[i] = 1 - exp(-t[i] / c);
    }
    set_points(&points, t, y, n);
    add_up(&sums, &points, u);
    fit_one(&sums, c, &fit);
    double best = INFINITY;
    for (int i = 0; i < CURVES; i++)
        best = curve_fit->fit[i].rss < best ? curve_fit->fit[i].rss : best;
    return fit.b > 0 && fit.rss <= best * (1 + 6 / curve_fit->n);
}
