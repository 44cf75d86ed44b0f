/*
 * watcher_memory PID FILE: heap bytes of what a watch holds for each JVM, as malloc counts them.
 * FILE is written as a recording.
 *
 * Samples, bytes: watcher (all it holds at its creation), of that struct_watcher, judge, attach,
 * perfdata, census (empty); recorder; nmt_summary (on the stack while a reply is read);
 * census_full (a census whose table of stems is full).
 */
#include "analyzers/parse/nmt_summary.h"
#include "nmtwatch/record/writer.h"
#include "nmtwatch/watch/watcher_internal.h"
#include "tests/bench/bench.h"

#include <malloc.h>

#define NAMES 20000

static double heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)(info.uordblks + info.hblkhd);
}

static void no_event(void *context, struct watcher *watcher, const struct event *event)
{
    (void)context, (void)watcher, (void)event;
}

static void no_alert(void *context, struct watcher *watcher, const struct alert *alert)
{
    (void)context, (void)watcher, (void)alert;
}

static void pieces(const struct target *target, const struct thresholds *thresholds)
{
    double before = heap_bytes();
    struct attach *attach = attach_create(target, NULL);
    bench_sample("attach", heap_bytes() - before);

    before = heap_bytes();
    struct perfdata *perfdata = perfdata_open(target->perfdata, target->uid);
    if (perfdata != NULL)
        bench_sample("perfdata", heap_bytes() - before);

    before = heap_bytes();
    struct judge *judge = judge_create(&target->identity, thresholds, -1, NULL, NULL);
    bench_sample("judge", heap_bytes() - before);

    before = heap_bytes();
    struct census *census = census_create(0);
    bench_sample("census", heap_bytes() - before);
    for (unsigned i = 0; i < NAMES; i++) {
        /* Letters only: each name is a stem of its own. */
        char name[32];
        snprintf(name, sizeof name, "com.acme.N%c%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26,
                 'a' + i / 676 % 26, 'a' + i / 17576 % 26);
        census_load(census, span_from_cstr(name), SPAN_LITERAL("__JVM_DefineClass__"));
    }
    struct census_totals totals;
    census_totals(census, &totals);
    bench_sample("census_full", heap_bytes() - before);
    bench_sample("census_full_stems", (double)totals.stems);

    attach_destroy(attach);
    if (perfdata != NULL)
        perfdata_close(perfdata);
    judge_destroy(judge);
    census_destroy(census);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        bench_fail("watcher_memory PID FILE");
    struct target target = bench_target(argv[1]);
    struct watch_options options;
    watch_options_default(&options);
    const struct watch_sink sink = {no_event, no_alert, NULL};
    bench_sample("nmt_summary", sizeof(struct nmt_summary));
    bench_sample("struct_watcher", sizeof(struct watcher));
    pieces(&target, &options.thresholds);

    struct recording_header header = {.target = target.identity, .thresholds = options.thresholds};
    char error[512];
    double before = heap_bytes();
    struct recorder *recorder = recorder_create(argv[2], true, &header, error, sizeof error);
    if (recorder == NULL)
        bench_fail(error);
    bench_sample("recorder", heap_bytes() - before);
    recorder_destroy(recorder);

    before = heap_bytes();
    struct watcher *watcher = watcher_create(&target, &options, &sink, 0);
    if (watcher == NULL)
        bench_fail("no watcher for this process");
    bench_sample("watcher", heap_bytes() - before);
    watcher_destroy(watcher);
    return 0;
}
