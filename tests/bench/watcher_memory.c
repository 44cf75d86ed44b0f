/*
 * watcher_memory PID FILE: heap bytes of what a watch holds for each JVM, as malloc counts them.
 * FILE is written as a recording.
 *
 * Samples, bytes: watcher (all it holds after its first look), of that struct_watcher, judge,
 * attach, perfdata, census (empty); recorder; census_names (after a list of 20 000 ordinary
 * classes), census_worst (its table full of stems with many long names).
 */
#include "nmtwatch/record/recording.h"
#include "nmtwatch/watch/watcher_internal.h"
#include "tests/bench/bench.h"

#include <malloc.h>

#define NAMES 20000
#define STEMS 4096 /* what a watch's census has room for */
#define EACH  40

static double heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)(info.uordblks + info.hblkhd);
}

static void no_event(void *context, struct watcher *watcher, const struct event *event,
                     const struct alerts *alerts)
{
    (void)context, (void)watcher, (void)event, (void)alerts;
}

static void load(struct census *census, const char *prefix, unsigned stem, unsigned member)
{
    char name[EVENT_NAME_MAX];
    /* Letters only: nothing there to fold, each is a stem of its own. */
    int len = snprintf(name, sizeof name, "%s%c%c%c%c", prefix, 'a' + stem % 26,
                       'a' + stem / 26 % 26, 'a' + stem / 676 % 26, 'a' + stem / 17576 % 26);
    if (member > 0)
        snprintf(name + len, sizeof name - (size_t)len, "$$Enhancer$$%08x", member * 2654435761U);
    census_load(census, span_from_cstr(name), SPAN_LITERAL("__JVM_DefineClass__"));
}

static void censuses(void)
{
    double before = heap_bytes();
    struct census *census = census_create(0);
    bench_sample("census", heap_bytes() - before);
    for (unsigned i = 0; i < NAMES; i++)
        load(census, "com.acme.orders.Name", i, 0);
    bench_sample("census_names", heap_bytes() - before);

    census_reset(census);
    for (unsigned i = 0; i < STEMS; i++) {
        for (unsigned member = 1; member <= EACH; member++)
            load(census,
                 "com.acme.a.package.with.a.rather.long.name.and.many.parts.that.go.on.and.on."
                 "until.the.name.fills.a.row.of.the.census.ToTheVeryEnd",
                 i, member);
    }
    bench_sample("census_worst", heap_bytes() - before);
    census_destroy(census);
}

static void pieces(const struct target *target, const struct thresholds *thresholds)
{
    double before = heap_bytes();
    struct attach *attach = attach_create(target, NULL);
    bench_sample("attach", heap_bytes() - before);

    before = heap_bytes();
    struct perfdata *perfdata = perfdata_open(target);
    if (perfdata != NULL)
        bench_sample("perfdata", heap_bytes() - before);

    before = heap_bytes();
    struct judge *judge = judge_create(&target->identity, thresholds, -1);
    bench_sample("judge", heap_bytes() - before);

    attach_destroy(attach);
    if (perfdata != NULL)
        perfdata_close(perfdata);
    judge_destroy(judge);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        bench_fail("watcher_memory PID FILE");
    struct target target = bench_target(argv[1]);
    struct watch_options options;
    watch_options_default(&options);
    const struct watch_sink sink = {no_event, NULL};
    bench_sample("struct_watcher", sizeof(struct watcher));
    pieces(&target, &options.thresholds);
    censuses();

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
    watcher_step(watcher, 0);
    bench_sample("watcher", heap_bytes() - before);
    watcher_destroy(watcher);
    return 0;
}
