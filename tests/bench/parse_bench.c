/*
 * parse_bench FOLDER ROUNDS: throughput of the parsers on captured text (FOLDER is one of
 * tests/golden), and of the census on names that a generator could have made.
 *
 * Samples: nmt_summary, class_log in MB/s; nmt_summary_us microseconds a summary; census_log and
 * census_numbered in million names a second.
 */
#include "analyzers/classes/census.h"
#include "analyzers/parse/class_log.h"
#include "analyzers/parse/nmt_summary.h"
#include "tests/bench/bench.h"

#include <string.h>

#define PASS_BYTES     (16 << 20) /* a pass reads the captured text again and again up to so much */
#define NUMBERED       500000
#define LINE_BYTES_MAX 128

static struct span read_file(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    char *text = malloc(1 << 20);
    if (file == NULL || text == NULL)
        bench_fail(path);
    size_t len = fread(text, 1, 1 << 20, file);
    fclose(file);
    return span_of(text, len);
}

static double per_us(double amount, double began_us)
{
    return amount / (bench_cpu_us() - began_us); /* bytes a microsecond are MB/s */
}

static void nmt_summary(struct span text)
{
    struct nmt_summary summary;
    size_t consumed;
    int passes = PASS_BYTES / (int)text.len;
    double began_us = bench_cpu_us();
    for (int i = 0; i < passes; i++) {
        if (nmt_summary_parse(&summary, text, &consumed) != PARSE_OK)
            bench_fail("nmt_summary_B.txt does not parse");
    }
    bench_sample("nmt_summary_us", (bench_cpu_us() - began_us) / passes);
    bench_sample("nmt_summary", per_us((double)text.len * passes, began_us));
}

static void class_log(struct span text)
{
    int passes = PASS_BYTES / (int)text.len, loads = 0;
    double began_us = bench_cpu_us();
    for (int i = 0; i < passes; i++) {
        struct span rest = text;
        struct class_log_line line;
        while (class_log_next(&rest, &line))
            loads += line.kind == CLASS_LOG_LOAD;
    }
    bench_sample("class_log", per_us((double)text.len * passes, began_us));
    if (loads == 0)
        bench_fail("the class log names no class");
}

static void census(const char *sample_name, struct span text, int passes)
{
    struct census *names = census_create(0);
    if (names == NULL)
        bench_fail("out of memory");
    int64_t counted = 0;
    double began_us = bench_cpu_us();
    for (int i = 0; i < passes; i++) {
        struct span rest = text;
        counted += census_add_log(names, &rest);
    }
    bench_sample(sample_name, per_us((double)counted, began_us));
    census_destroy(names);
}

/* A log of classes whose names differ in a counter and in a random-looking tail, by turns. */
static struct span numbered_log(void)
{
    char *text = malloc((size_t)NUMBERED * LINE_BYTES_MAX);
    if (text == NULL)
        bench_fail("out of memory");
    size_t len = 0;
    for (unsigned i = 0; i < NUMBERED; i++) {
        char name[64];
        if (i % 2 == 0)
            snprintf(name, sizeof name, "Script%u", i);
        else
            snprintf(name, sizeof name, "com.acme.Order$$Enhancer$$%08x", i * 2654435761U);
        len +=
            (size_t)snprintf(text + len, LINE_BYTES_MAX,
                             "[1.234s][info][class,load] %s source: __JVM_DefineClass__\n", name);
    }
    return span_of(text, len);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        bench_fail("parse_bench FOLDER ROUNDS");
    struct span summary = read_file(argv[1], "nmt_summary_B.txt");
    struct span log = read_file(argv[1], "classlog_default.txt");
    struct span numbered = numbered_log();
    for (int round = 0; round < atoi(argv[2]); round++) {
        nmt_summary(summary);
        class_log(log);
        census("census_log", log, PASS_BYTES / (int)log.len);
        census("census_numbered", numbered, 1);
    }
    free((void *)(uintptr_t)summary.ptr);
    free((void *)(uintptr_t)log.ptr);
    free((void *)(uintptr_t)numbered.ptr);
    return 0;
}
