/*
 * error_rates: how often the verdict is wrong, and how long it takes, on series whose truth is
 * known.
 *
 *   error_rates [--set S] [--shape ID] [--series N] [--failures FILE]   the tables, as Markdown
 *   error_rates --first-seeds [...]    one line for each of seeds 1 and 2 of every shape
 *   error_rates --set S --shape ID --seed N --csv [--until HOURS]       one series
 *   error_rates --list                                                  the shapes
 *
 * --series N: of each shape; otherwise so many that a shape that does not grow comes to
 * CONVERGED_DAYS, and GROWING_SERIES of one that grows. Progress goes to a terminal on
 * stderr. FILE may be - for stderr.
 */
#include "tests/verdict/tally.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONVERGED_DAYS 120
#define GROWING_SERIES 60
#define SPARSE_TIMES   10 /* so many times as many of series with a point each ten minutes */
#define SETS           3
#define FIRST_SEEDS    2

struct arguments {
    int set; /* 0: both */
    const char *shape;
    int series; /* 0: see above */
    unsigned seed;
    bool csv, list, first_seeds;
    double until_h;
    const char *failures;
};

static int seeds_of(const struct shape *shape, const struct arguments *arguments)
{
    if (arguments->first_seeds)
        return FIRST_SEEDS;
    if (arguments->series > 0)
        return arguments->series;
    if (truth_answer(shape->truth) != VERDICT_NOT_GROWING)
        return GROWING_SERIES * (shape->sparse ? SPARSE_TIMES : 1);
    return (int)ceil(CONVERGED_DAYS * (shape->sparse ? SPARSE_TIMES : 1) * 24 / shape->hours);
}

static bool is_asked_for(const struct shape *shape, const struct arguments *arguments)
{
    return (arguments->set == 0 || shape->set == arguments->set) &&
           (arguments->shape == NULL || strcmp(shape->id, arguments->shape) == 0);
}

static int print_csv(const struct arguments *arguments)
{
    const struct shape *shape =
        arguments->shape == NULL ? NULL : shape_find(arguments->set, arguments->shape);
    if (shape == NULL || arguments->seed == 0) {
        fprintf(stderr, "error_rates: --csv needs --set, --shape and --seed; see --list\n");
        return 64;
    }
    struct series series;
    struct point point;
    series_init(&series, shape, arguments->seed);
    printf("seconds,bytes%s\n", shape->bytes_per_class > 0 ? ",classes_loaded_total" : "");
    while (series_next(&series, &point) && series.t_h <= arguments->until_h) {
        printf("%" PRId64 ".%03" PRId64 ",", point.ms / 1000, point.ms % 1000);
        if (point.bytes != VERDICT_MISSING)
            printf("%" PRId64, point.bytes);
        if (shape->bytes_per_class > 0)
            printf(",%" PRId64, point.regressor);
        printf("\n");
    }
    return 0;
}

static int print_shapes(void)
{
    for (int i = 0; i < shape_count; i++)
        printf("%d %-20s %-8s %6.1f h  %s\n", shapes[i].set, shapes[i].id,
               truth_name(shapes[i].truth), shapes[i].hours, shapes[i].kind);
    return 0;
}

static void print_line(const struct trial *trial)
{
    const struct trial_method *verdict = &trial->method[METHOD_VERDICT];
    printf("%d %-18s %u %-8s %-12s %3d %3d ", trial->shape->set, trial->shape->id, trial->seed,
           truth_name(trial->shape->truth), verdict_state_name(trial->last.state),
           verdict->false_alarms, trial->converged_asks_wrong);
    if (!trial->grew)
        printf("     -\n");
    else if (isinf(verdict->found_after_h))
        printf(" never\n");
    else
        printf("%6.2f\n", verdict->found_after_h);
}

struct run {
    const struct arguments *arguments;
    FILE *failures; /* or NULL */
    int all, done;
    bool terminal;
};

static void progress(struct run *run, const struct shape *shape)
{
    if (run->terminal)
        fprintf(stderr, "\r%d of %d  %-20s ", ++run->done, run->all, shape->id);
}

static bool run_shape(struct run *run, const struct shape *shape, struct tally *tally)
{
    const struct arguments *arguments = run->arguments;
    unsigned first = arguments->seed > 0 ? arguments->seed : 1;
    int seeds = seeds_of(shape, arguments);
    for (unsigned seed = first; seed < first + (unsigned)seeds; seed++) {
        struct trial trial;
        progress(run, shape);
        if (!trial_run(&trial, shape, seed, run->failures) || !tally_add(tally, &trial)) {
            fprintf(stderr, "error_rates: out of memory\n");
            return false;
        }
        if (arguments->first_seeds)
            print_line(&trial);
    }
    return true;
}

static bool run_set(struct run *run, int set)
{
    struct tally tally = {0};
    bool good = true;
    for (int i = 0; i < shape_count && good; i++) {
        if (shapes[i].set == set && is_asked_for(&shapes[i], run->arguments))
            good = run_shape(run, &shapes[i], &tally);
    }
    if (run->terminal)
        fprintf(stderr, "\r%40s\r", "");
    if (good && tally.kinds > 0 && !run->arguments->first_seeds) {
        printf("## Set %d\n\n", set);
        tally_print(&tally, stdout);
    }
    tally_free(&tally);
    return good;
}

static int run_sets(const struct arguments *arguments)
{
    struct run run = {.arguments = arguments, .terminal = isatty(STDERR_FILENO)};
    for (int i = 0; i < shape_count; i++)
        run.all += is_asked_for(&shapes[i], arguments) ? seeds_of(&shapes[i], arguments) : 0;
    if (run.all == 0) {
        fprintf(stderr, "error_rates: no such shape; see --list\n");
        return 64;
    }
    const char *failures = arguments->failures;
    if (failures != NULL && strcmp(failures, "-") == 0)
        failures = "/dev/stderr";
    if (failures != NULL && (run.failures = fopen(failures, "w")) == NULL) {
        fprintf(stderr, "error_rates: cannot write %s: %m\n", failures);
        return 1;
    }
    if (arguments->first_seeds)
        printf("# set shape seed truth, verdict at the end, false alarms, single verdicts wrong, "
               "alarm "
               "after h\n");
    bool good = true;
    for (int set = 1; set <= SETS && good; set++)
        good = run_set(&run, set);
    if (run.failures != NULL && fclose(run.failures) != 0)
        good = false;
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    enum { SET = 1, SHAPE_ID, SERIES, SEED, CSV, UNTIL, LIST, FIRST, FAILURES };
    static const struct option options[] = {
        {"set", 1, NULL, SET},           {"shape", 1, NULL, SHAPE_ID},
        {"series", 1, NULL, SERIES},     {"seed", 1, NULL, SEED},
        {"csv", 0, NULL, CSV},           {"until", 1, NULL, UNTIL},
        {"list", 0, NULL, LIST},         {"first-seeds", 0, NULL, FIRST},
        {"failures", 1, NULL, FAILURES}, {0},
    };
    struct arguments arguments = {.until_h = INFINITY};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case SET:
            arguments.set = atoi(optarg);
            break;
        case SHAPE_ID:
            arguments.shape = optarg;
            break;
        case SERIES:
            arguments.series = atoi(optarg);
            break;
        case SEED:
            arguments.seed = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case CSV:
            arguments.csv = true;
            break;
        case UNTIL:
            arguments.until_h = strtod(optarg, NULL);
            break;
        case LIST:
            arguments.list = true;
            break;
        case FIRST:
            arguments.first_seeds = true;
            break;
        case FAILURES:
            arguments.failures = optarg;
            break;
        default:
            return 64;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "error_rates: unexpected argument: %s\n", argv[optind]);
        return 64;
    }
    if (arguments.list)
        return print_shapes();
    return arguments.csv ? print_csv(&arguments) : run_sets(&arguments);
}
