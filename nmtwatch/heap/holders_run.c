#include "nmtwatch/heap/holders_run.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"
#include "reports/text/units.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define QUIET_MS 2000

struct progress {
    int64_t began_ms, printed_ms;
    bool wanted, timing, printed;
};

static void print_progress(void *context, const char *what, uint64_t done, uint64_t whole)
{
    struct progress *progress = context;
    int64_t now = clock_ms(CLOCK_MONOTONIC);
    if (!progress->wanted || now - progress->began_ms < QUIET_MS ||
        now - progress->printed_ms < 200)
        return;
    progress->printed_ms = now;
    progress->printed = true;
    if (whole > 0)
        fprintf(stderr, "\r%s: %3d %%\x1b[K", what,
                (int)(done >= whole ? 100 : done * 100 / whole));
    else
        fprintf(stderr, "\r%s\x1b[K", what);
}

static void step_done(struct progress *progress, const char *what)
{
    if (progress->timing)
        print_error("%-12s %6lld ms\n", what,
                    (long long)(clock_ms(CLOCK_MONOTONIC) - progress->began_ms));
}

static bool gave_up(const struct dump_file *file)
{
    return file->give_up != NULL && *file->give_up;
}

/* What holds strongly, then what the fields hold that a dump does not show, then soft references;
 * the paths are copied, and the walk's memory is free again. */
static bool find_paths(struct holders_answer *answer, const volatile int *give_up)
{
    struct walk walk;
    bool *strong = NULL;
    bool ok = walk_create(&walk, &answer->heap, true);
    walk.give_up = give_up;
    if (ok) {
        walk_roots(&walk, false);
        ok = walk_run(&walk) && (strong = holders_reached(&walk)) != NULL;
    }
    if (ok) {
        walk_roots(&walk, true);
        ok = walk_run(&walk) && walk_run_soft(&walk);
    }
    ok = ok && ((give_up != NULL && *give_up) ||
                holders_create(&answer->holders, &answer->heap, answer->asked, &walk, strong));
    walk_destroy(&walk);
    free(strong);
    return ok;
}

static bool among_names(void *context, uint64_t least_id, uint64_t most_id)
{
    const struct holders_answer *answer = context;
    return holders_among(&answer->holders, least_id, most_id);
}

static void take_name(void *context, const struct heap_object *object)
{
    struct holders_answer *answer = context;
    holders_text(&answer->holders, object);
}

static bool among_sizes(void *context, uint64_t least_id, uint64_t most_id)
{
    const struct holders_answer *answer = context;
    return retained_among(&answer->retained, least_id, most_id);
}

static void take_size(void *context, const struct heap_object *object)
{
    struct holders_answer *answer = context;
    retained_weigh(&answer->retained, object);
}

/* What the loaders retain, and what is behind the cuts. */
static bool weigh(struct holders_answer *answer, struct dump_file *file)
{
    const struct dump_fetch sizes = {among_sizes, take_size, answer};
    uint32_t count = 0, *keepers = holders_keepers(&answer->holders, &count);
    bool ok = keepers != NULL && retained_create(&answer->retained, &answer->heap, keepers, count);
    free(keepers);
    answer->retained.walk.give_up = file->give_up;
    ok = ok && retained_first(&answer->retained);
    if (!ok || gave_up(file))
        return ok;
    return retained_rest(&answer->retained) && dump_fetch(file, &answer->heap, &sizes) &&
           retained_sum(&answer->retained) &&
           (gave_up(file) || holders_weigh(&answer->holders, &answer->retained));
}

/* False: out of memory, unless file->error says another reason. */
static bool ask(struct holders_answer *answer, struct dump_file *file, struct progress *progress)
{
    struct heap *heap = &answer->heap;
    const struct dump_fetch names = {among_names, take_name, answer};
    answer->asked = holders_asked(heap);
    if (answer->asked == NULL)
        return false;
    print_progress(progress, "paths", 0, 0);
    bool ok = find_paths(answer, file->give_up);
    step_done(progress, "paths");
    if (!ok || gave_up(file))
        return ok;
    ok = dump_fetch(file, heap, &names);
    step_done(progress, "names");
    if (!ok || gave_up(file))
        return ok;
    ok = holders_judge(&answer->holders, file->give_up);
    step_done(progress, "holders");
    if (!ok || gave_up(file))
        return ok;
    print_progress(progress, "retained sizes", 0, 0);
    ok = weigh(answer, file);
    step_done(progress, "retained");
    return ok;
}

bool holders_run(struct holders_answer *answer, int fd, const struct holders_run_options *options,
                 char *error, size_t error_size)
{
    struct dump_file file;
    struct progress progress = {.began_ms = clock_ms(CLOCK_MONOTONIC),
                                .wanted = options->progress,
                                .timing = options->timing};
    memset(answer, 0, sizeof *answer);
    if (!dump_open(&file, fd)) {
        snprintf(error, error_size, "%s", file.error);
        dump_close(&file);
        return false;
    }
    file.give_up = signals_asked_at();
    file.progress = print_progress;
    file.context = &progress;
    bool ok = dump_load(&file, &answer->heap);
    step_done(&progress, "load");
    if (!ok)
        snprintf(error, error_size, "%s", file.error);
    if (ok && progress.timing) {
        const struct heap *heap = &answer->heap;
        print_error("%u objects, rows of %llu MB, %u inner, %u regions of 8 MB\n", heap->ids.count,
                    (unsigned long long)(heap->ids.row_bytes >> 20), heap->inner_count,
                    heap->ids.region_count);
    }
    if (ok && !gave_up(&file)) {
        ok = ask(answer, &file, &progress);
        if (!ok)
            snprintf(error, error_size, "%s", file.error[0] != '\0' ? file.error : "out of memory");
    }
    if (progress.printed)
        fputs("\r\x1b[K", stderr);
    if (ok && gave_up(&file)) {
        snprintf(error, error_size, "interrupted");
        ok = false;
    }
    answer->bytes = file.bytes;
    answer->bytes_on_disk = file.bytes_on_disk;
    answer->took_ms = clock_ms(CLOCK_MONOTONIC) - progress.began_ms;
    dump_close(&file);
    return ok;
}

static enum holders_taken take(struct heap_dump *dump, struct holders_answer *answer,
                               const struct target *target,
                               const struct holders_take_options *options, struct failure *failure,
                               char *sentence, size_t size)
{
    char cost[200], room[300];
    snprintf(cost, sizeof cost,
             "a heap dump of about %s is needed: a full GC, and a pause of about %s",
             units_bytes(dump->predicted_bytes).text, units_duration(dump->predicted_ms).text);
    snprintf(sentence, size, "%s", cost);
    if (!options->allow_pause)
        return HOLDERS_NOT_ALLOWED;
    if (!heap_dump_fits(dump, target, room, sizeof room)) {
        snprintf(sentence, size, "no room for the dump: %s", room);
        return HOLDERS_NO_ROOM;
    }
    snprintf(sentence, size, "interrupted");
    if (signals_asked() > 0)
        return HOLDERS_UNREAD;
    print_error("nmtwatch %s: %s\n", options->verb, cost);
    if (heap_dump_take(dump, target, options->gzip, failure) != FAILURE_NONE) {
        snprintf(sentence, size, "%s", failure->sentence);
        return HOLDERS_REFUSED;
    }
    print_error("nmtwatch %s: %s of dump, a pause of at most %s\n", options->verb,
                units_bytes(dump->bytes).text, units_microseconds(dump->pause_us).text);
    if (!holders_run(answer, dump->fd, &options->run, sentence, size))
        return HOLDERS_UNREAD;
    if (dump->loader_stats != NULL)
        holders_metaspace(&answer->holders, span_of(dump->loader_stats, dump->loader_stats_length));
    return HOLDERS_TAKEN;
}

enum holders_taken holders_take(struct holders_answer *answer, const struct target *target,
                                const struct holders_take_options *options, struct failure *failure,
                                char *sentence, size_t size)
{
    struct heap_dump dump;
    enum holders_taken taken = HOLDERS_REFUSED;
    memset(answer, 0, sizeof *answer);
    if (heap_dump_predict(&dump, target, failure) == FAILURE_NONE)
        taken = take(&dump, answer, target, options, failure, sentence, size);
    else
        snprintf(sentence, size, "%s", failure->sentence);
    bool keep =
        options->keep && (taken == HOLDERS_TAKEN || taken == HOLDERS_UNREAD) && dump.bytes > 0;
    if (keep)
        print_error("nmtwatch %s: the dump is kept: %s/%s\n", options->verb, dump.exchange.theirs,
                    HEAP_DUMP_FILE);
    heap_dump_end(&dump, keep);
    return taken;
}

struct holders_report holders_answer_report(const struct holders_answer *answer, const char *name)
{
    return (struct holders_report){
        .name = name,
        .heap = &answer->heap,
        .holders = &answer->holders,
        .dump_bytes = (int64_t)answer->bytes,
        .took_ms = answer->took_ms,
    };
}

void holders_answer_free(struct holders_answer *answer)
{
    holders_destroy(&answer->holders);
    retained_destroy(&answer->retained);
    free(answer->asked);
    heap_destroy(&answer->heap);
    memset(answer, 0, sizeof *answer);
}
