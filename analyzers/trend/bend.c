#include "analyzers/trend/bend.h"

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

static void keep_better(struct bend_fit *best, double rss, double a, double b, double c, double d)
{
    rss = rss > 0 ? rss : 0;
    if (rss < best->rss)
        *best = (struct bend_fit){.a = a, .b = b, .c = c, .d = d, .rss = rss};
}

/* y = a + b u */
static void fit_one(const struct sums *s, double c, struct bend_fit *best)
{
    const struct points *p = s->points;
    double b = s->uu > 0 ? s->uy / s->uu : 0;
    keep_better(best, p->yy - b * s->uy, p->y_mean - b * s->u_mean, b, c, 0);
}

/* y = a + b u + d t */
static void fit_two(const struct sums *s, double c, struct bend_fit *best)
{
    const struct points *p = s->points;
    double determinant = s->uu * p->tt - s->ut * s->ut;
    if (determinant <= 1e-9 * s->uu * p->tt)
        return; /* nobody can tell the two apart */
    double b = (s->uy * p->tt - p->ty * s->ut) / determinant;
    double d = (p->ty * s->uu - s->uy * s->ut) / determinant;
    keep_better(best, p->yy - b * s->uy - d * p->ty, p->y_mean - b * s->u_mean - d * p->t_mean, b,
                c, d);
}

static double value(const struct bend_fit *fit, enum bend_curve curve, double t)
{
    double y = fit->a + fit->d * t;
    if (curve == BEND_CREEP)
        y += fit->b * log1p(t / fit->c);
    else if (curve == BEND_ROOT)
        y += fit->b * sqrt(fit->c + t);
    else if (curve == BEND_FASTER)
        y += fit->b * t * t;
    else if (curve == BEND_LATE)
        y += fit->b * fmax(0, t - fit->c);
    else if (curve == BEND_STOPPED)
        y += fit->b * fmin(t, fit->c);
    else if (curve == BEND_JUMP)
        y += t > fit->c ? fit->b : 0;
    else if (curve != BEND_LINE)
        y += fit->b * (1 - exp(-t / fit->c));
    return y;
}

/* n (1 - r) / (1 + r), r of the residuals of the curve that fits best. */
static double independent(const struct bend *bend, const double *t, const double *y, int n)
{
    enum bend_curve curve = BEND_LINE;
    for (int i = 0; i < BEND_CURVES; i++)
        curve = bend->fit[i].rss < bend->fit[curve].rss ? (enum bend_curve)i : curve;
    double squares = 0, lagged = 0, before = 0;
    for (int i = 0; i < n; i++) {
        double e = y[i] - value(&bend->fit[curve], curve, t[i]);
        squares += e * e;
        lagged += e * before;
        before = e;
    }
    double r = squares > 0 ? (lagged / squares * n + 2) / n : 0;
    r = r < 0 ? 0 : r > 0.9 ? 0.9 : r;
    return n * (1 - r) / (1 + r);
}

static void choose(struct bend *bend, double least)
{
    static const int parameters[BEND_CURVES] = {
        [BEND_LINE] = 3,  [BEND_PLATEAU] = 4, [BEND_BOTH] = 5,
        [BEND_CREEP] = 4, [BEND_ROOT] = 4,    [BEND_FASTER] = 4,
        [BEND_LATE] = 4,  [BEND_STOPPED] = 4, [BEND_JUMP] = 4};
    double n = bend->n > POINTS_MIN ? bend->n : POINTS_MIN;
    for (int i = 0; i < BEND_CURVES; i++) {
        int k = parameters[i];
        double mean = bend->fit[i].rss / n > least ? bend->fit[i].rss / n : least;
        bend->fit[i].aicc = n * log(mean) + 2 * k + 2.0 * k * (k + 1) / (n - k - 1);
        if (bend->fit[i].aicc < bend->fit[bend->best].aicc)
            bend->best = (enum bend_curve)i;
    }
    if (bend->fit[bend->best].aicc > bend->fit[BEND_LINE].aicc - BEND_CLEARLY)
        bend->best = BEND_LINE;
}

static void halves(const double *x, const double *y, int n, double quantum, struct bend *bend)
{
    struct trend_line first, second;
    int half = n / 2;
    if (!trend_line(x, y, half, quantum, &first) ||
        !trend_line(x + half, y + half, n - half, quantum, &second) || first.slope <= 0)
        return;
    double first_reach = trend_line_reach(&first, 0.05);
    double second_reach = trend_line_reach(&second, 0.05);
    bend->have_ratio = true;
    bend->ratio = second.slope / first.slope;
    double reach = hypot(second_reach, bend->ratio * first_reach) / first.slope;
    bend->ratio_low = bend->ratio - reach;
    bend->ratio_high = bend->ratio + reach;
}

/* Plateau, and plateau with a line. */
static void fit_exponential(const struct points *points, const double *t, double c, double span,
                            struct bend_fit *fit)
{
    double u[TREND_LINE_POINTS_MAX];
    struct sums sums;
    for (int i = 0; i < points->n; i++)
        u[i] = 1 - exp(-t[i] / c);
    add_up(&sums, points, u);
    fit_one(&sums, c, &fit[BEND_PLATEAU]);
    if (c <= span)
        fit_two(&sums, c, &fit[BEND_BOTH]);
}

static void fit_creep(const struct points *points, const double *t, double c, struct bend_fit *fit)
{
    double u[TREND_LINE_POINTS_MAX];
    struct sums sums;
    for (int i = 0; i < points->n; i++)
        u[i] = log1p(t[i] / c);
    add_up(&sums, points, u);
    fit_one(&sums, c, fit);
}

bool bend_fit(const double *x, const double *y, int n, double quantum, struct bend *bend)
{
    memset(bend, 0, sizeof *bend);
    if (n < POINTS_MIN || n > TREND_LINE_POINTS_MAX)
        return false;
    double t[TREND_LINE_POINTS_MAX], u[TREND_LINE_POINTS_MAX], span = x[n - 1] - x[0];
    struct points points;
    struct sums sums;
    bend->span = span;
    for (int i = 0; i < n; i++)
        t[i] = x[i] - x[0];
    set_points(&points, t, y, n);
    for (int i = 0; i < BEND_CURVES; i++)
        bend->fit[i] = (struct bend_fit){.c = span, .rss = INFINITY};
    add_up(&sums, &points, t);
    fit_one(&sums, span, &bend->fit[BEND_LINE]);
    bend->fit[BEND_LINE].d = bend->fit[BEND_LINE].b;
    bend->fit[BEND_LINE].b = 0;
    for (double c = span / 60; c <= span * 4; c *= GRID)
        fit_exponential(&points, t, c, span, bend->fit);
    for (double c = span / 1000; c <= span; c *= GRID * GRID * GRID)
        fit_creep(&points, t, c, &bend->fit[BEND_CREEP]);
    for (double step = sqrt(GRID); step > FINEST; step = sqrt(step)) {
        double plateau_c = bend->fit[BEND_PLATEAU].c, both_c = bend->fit[BEND_BOTH].c;
        double creep_c = bend->fit[BEND_CREEP].c;
        fit_exponential(&points, t, plateau_c * step, span, bend->fit);
        fit_exponential(&points, t, plateau_c / step, span, bend->fit);
        fit_exponential(&points, t, both_c * step, span, bend->fit);
        fit_exponential(&points, t, both_c / step, span, bend->fit);
        fit_creep(&points, t, creep_c * step * step, &bend->fit[BEND_CREEP]);
        fit_creep(&points, t, creep_c / step / step, &bend->fit[BEND_CREEP]);
    }
    for (double c = span * 0.1; c < span * 0.95; c += span * 0.05) {
        for (int i = 0; i < n; i++)
            u[i] = fmax(0, t[i] - c);
        add_up(&sums, &points, u);
        fit_one(&sums, c, &bend->fit[BEND_LATE]);
        for (int i = 0; i < n; i++)
            u[i] = fmin(t[i], c);
        add_up(&sums, &points, u);
        fit_one(&sums, c, &bend->fit[BEND_STOPPED]);
    }
    for (int j = 2; j < n - 2; j++) {
        for (int i = 0; i < n; i++)
            u[i] = i > j ? 1 : 0;
        add_up(&sums, &points, u);
        fit_one(&sums, t[j], &bend->fit[BEND_JUMP]);
    }
    for (double c = span / 160; c < span; c *= 2) {
        for (int i = 0; i < n; i++)
            u[i] = sqrt(c + t[i]);
        add_up(&sums, &points, u);
        fit_one(&sums, c, &bend->fit[BEND_ROOT]);
    }
    for (int i = 0; i < n; i++)
        u[i] = t[i] * t[i];
    add_up(&sums, &points, u);
    fit_two(&sums, span, &bend->fit[BEND_FASTER]);
    if (bend->fit[BEND_FASTER].b <= 0)
        bend->fit[BEND_FASTER].rss = INFINITY;
    bend->n = independent(bend, t, y, n);
    /* What is counted in steps cannot be fitted better than to their rounding. */
    choose(bend, quantum * quantum / 12 + 1e-300);
    halves(x, y, n, quantum, bend);
    return true;
}

double bend_slope(const struct bend *bend, enum bend_curve curve, double t)
{
    const struct bend_fit *fit = &bend->fit[curve];
    if (curve == BEND_CREEP)
        return fit->b / (fit->c + t);
    if (curve == BEND_ROOT)
        return fit->b / (2 * sqrt(fit->c + t));
    if (curve == BEND_FASTER)
        return fit->d + 2 * fit->b * t;
    if (curve == BEND_JUMP)
        return 0;
    if (curve == BEND_LATE || curve == BEND_STOPPED)
        return (t > fit->c) == (curve == BEND_LATE) ? fit->b : 0;
    return fit->d + (curve == BEND_LINE ? 0 : fit->b / fit->c * exp(-t / fit->c));
}

double bend_sag(const struct bend *bend, double t)
{
    const struct bend_fit *fit = &bend->fit[bend->best];
    double begin = value(fit, bend->best, 0), end = value(fit, bend->best, bend->span);
    return value(fit, bend->best, t) - begin - (end - begin) * t / bend->span;
}

double bend_left(const struct bend *bend, double t)
{
    const struct bend_fit *fit = &bend->fit[BEND_PLATEAU];
    return fit->b * exp(-t / fit->c);
}

bool bend_may_be_plateau(const struct bend *bend, const double *x, const double *y, int n, double c)
{
    double t[TREND_LINE_POINTS_MAX], u[TREND_LINE_POINTS_MAX];
    struct bend_fit fit = {.rss = INFINITY};
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
    for (int i = 0; i < BEND_CURVES; i++)
        best = bend->fit[i].rss < best ? bend->fit[i].rss : best;
    return fit.b > 0 && fit.rss <= best * (1 + 6 / bend->n);
}
