/*
 * weights: a known truth is sampled as the JVM samples, and demanded back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/alloc/alloc_threads.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define INTERVAL 524288

static void the_formula(void **state)
{
    (void)state;
    /* An object far smaller than the interval stands for one interval, one far larger for
     * itself. */
    assert_true(fabs(weight_unscaled(16, INTERVAL) - (INTERVAL + 8)) < 0.01);
    assert_true(fabs(weight_unscaled(64 * INTERVAL, INTERVAL) - 64.0 * INTERVAL) < 0.01);
    assert_true(weight_unscaled(48, 0) == 48);
    assert_true(weight_variance(48, 0, 48) == 0);
    assert_true(isfinite(weight_unscaled(0, INTERVAL)));
    /* Nothing to calibrate; less than the objects themselves. */
    assert_true(weight_calibration(1000, 500, 500) == 1);
    assert_true(weight_calibration(400, 500, 900) == 0);
    assert_true(weight_of(500, 900, 0) == 500);
}

static void sums_are_the_samples_added_up(void **state)
{
    (void)state;
    static const int64_t sizes[] = {16, 4096, 300000, 4 << 20};
    struct weight_sums sums = {0}, two = {0};
    double bytes = 0, variance = 0;
    for (int i = 0; i < 4; i++) {
        double weight = weight_of(sizes[i], weight_unscaled(sizes[i], INTERVAL), 0.7);
        weight_sums_add(i % 2 ? &sums : &two, sizes[i], INTERVAL);
        bytes += weight;
        variance += weight_variance(sizes[i], INTERVAL, weight);
    }
    weight_sums_merge(&sums, &two);
    assert_int_equal(sums.samples, 4);
    assert_true(fabs(weight_sums_bytes(&sums, 0.7) / bytes - 1) < 1e-12);
    assert_true(fabs(weight_sums_variance(&sums, 0.7) / variance - 1) < 1e-12);
    /* With the k that fits, they add up to what is exact. */
    double k = weight_calibration(9e6, sums.sizes, sums.unscaled);
    assert_true(fabs(weight_sums_bytes(&sums, k) - 9e6) < 1e-3);
}

/* --- a thread that allocates, sampled --------------------------------------------------------- */

static uint64_t seed;

static double uniform(void) /* above 0, up to 1 */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(seed >> 11) + 1) / 9007199254740992.0;
}

static double gap(void)
{
    return -log(uniform()) * INTERVAL;
}

#define CLASSES 9
static const int64_t class_size[CLASSES] = {16,     24,     80,      1024,   16384,
                                            102400, 524288, 1 << 20, 4 << 20};

struct run {
    double exact, truth[CLASSES];
    struct weight_sums sums[CLASSES];
};

/* About 16 MB of each class, in random order. */
static void allocate(struct run *run)
{
    enum { OF_EACH = 16 << 20 };
    double left = gap();
    int64_t many[CLASSES], all = 0;
    *run = (struct run){0};
    for (int c = 0; c < CLASSES; c++)
        all += many[c] = OF_EACH / class_size[c];
    while (all > 0) {
        double at = uniform() * (double)all;
        int c = 0;
        while (c < CLASSES - 1 && at > (double)many[c])
            at -= (double)many[c++];
        if (many[c] == 0)
            continue;
        many[c]--;
        all--;
        run->exact += (double)class_size[c];
        run->truth[c] += (double)class_size[c];
        left -= (double)class_size[c];
        if (left <= 0) {
            weight_sums_add(&run->sums[c], class_size[c], INTERVAL);
            left = gap();
        }
    }
}

static void classes_are_unbiased_and_totals_exact(void **state)
{
    (void)state;
    enum { RUNS = 60 };
    double sum[CLASSES] = {0}, truth[CLASSES] = {0}, variance[CLASSES] = {0};
    int within[4] = {0}; /* standard errors */
    seed = 42;
    for (int r = 0; r < RUNS; r++) {
        struct run run;
        struct weight_sums all = {0};
        double total = 0;
        allocate(&run);
        for (int c = 0; c < CLASSES; c++)
            weight_sums_merge(&all, &run.sums[c]);
        double k = weight_calibration(run.exact, all.sizes, all.unscaled);
        for (int c = 0; c < CLASSES; c++) {
            double bytes = weight_sums_bytes(&run.sums[c], k);
            double se = sqrt(weight_sums_variance(&run.sums[c], k));
            total += bytes;
            sum[c] += bytes;
            truth[c] += run.truth[c];
            variance[c] += se * se;
            for (int i = 1; i < 4; i++) /* half a byte: of what is always sampled there is no SE */
                within[i] += fabs(bytes - run.truth[c]) <= i * se + 0.5 + 0.001 * run.truth[c];
        }
        assert_true(fabs(total - run.exact) < 1);
    }
    for (int c = 0; c < CLASSES; c++) {
        double error = fabs(sum[c] - truth[c]), se = sqrt(variance[c]);
        if (error > 3.5 * se + 0.0005 * truth[c])
            fail_msg("%lld bytes: %.4f of the truth, standard error %.4f", (long long)class_size[c],
                     sum[c] / truth[c], se / truth[c]);
    }
    /* The errors are as large as they are said to be: not larger, and not much smaller. */
    double shown = RUNS * CLASSES;
    assert_true(within[1] / shown > 0.62 && within[1] / shown < 0.85);
    assert_true(within[2] / shown > 0.93);
    assert_true(within[3] / shown > 0.985);
}

static void other_estimators_fail_the_same_test(void **state)
{
    (void)state;
    /* count x max(size, interval), as published elsewhere, is off for what is about an interval
     * large: an object of one interval is met in 63 % of cases only. */
    struct run run;
    double counted = 0, truth = 0;
    seed = 7;
    for (int r = 0; r < 30; r++) {
        allocate(&run);
        counted += (double)run.sums[6].samples * INTERVAL;
        truth += run.truth[6];
    }
    assert_true(counted / truth < 0.75);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formula),
        cmocka_unit_test(sums_are_the_samples_added_up),
        cmocka_unit_test(classes_are_unbiased_and_totals_exact),
        cmocka_unit_test(other_estimators_fail_the_same_test),
    };
    return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
