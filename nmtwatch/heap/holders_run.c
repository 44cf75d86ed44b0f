#include "nmtwatch/heap/holders_run.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/tell.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUIET_MS 2000

struct telling {
    int64_t began_ms, told_ms;
    bool wanted, timing, told;
};

static void tell(void *context, const char *what, uint64_t done, uint64_t whole)
{
    struct telling *telling = context;
    int64_t now = clock_ms(CLOCK_MONOTONIC);
    if (!telling->wanted || now - telling->began_ms < QUIET_MS || now - telling->told_ms < 200)
        return;
    telling->told_ms = now;
    telling->told = true;
    if (whole > 0)
        fprintf(stderr, "\r%s: %3d %%\x1b[K", what,
                (int)(done >= whole ? 100 : done * 100 / whole));
    else
        fprintf(stderr, "\r%s\x1b[K", what);
}

static void step_done(struct telling *telling, const char *what)
{
    if (telling->timing)
        tell_error("%-12s %6lld ms\n", what,
                   (long long)(clock_ms(CLOCK_MONOTONIC) - telling->began_ms));
}

static void *first_of_retained(void *context)
{
    return retained_first(context) ? context : NULL;
}

/* What holds strongly, then what the fields hold that a dump does not show, then soft references.
 */
static bool walk_all(struct holders_answer *answer)
{
    struct walk *walk = &answer->walk;
    size_t bytes = (heap_nodes(&answer->heap) / 64 + 2) * sizeof *walk->marked;
    walk_roots(walk);
    if (!walk_run(walk))
        return false;
    answer->strong = malloc(bytes);
    if (answer->strong == NULL)
        return false;
    memcpy(answer->strong, walk->marked, bytes);
    walk_hidden_roots(walk);
    return walk_run(walk) && walk_run_soft(walk);
}

static bool ask(struct holders_answer *answer, const struct holders_run_options *options,
                struct telling *telling)
{
    struct heap *heap = &answer->heap;
    pthread_t beside;
    void *done = NULL;
    answer->asked = holders_asked(heap);
    if (answer->asked == NULL || !walk_create(&answer->walk, heap, true) ||
        !retained_create(&answer->retained, heap, answer->asked))
        return false;
    answer->walk.give_up = answer->retained.walk.give_up = options->give_up;
    tell(telling, "paths", 0, 0);
    bool threaded = pthread_create(&beside, NULL, first_of_retained, &answer->retained) == 0;
    bool ok = walk_all(answer);
    if (threaded)
        pthread_join(beside, &done);
    else
        done = first_of_retained(&answer->retained);
    step_done(telling, "paths");
    if (!ok || done == NULL)
        return false;
    if (options->give_up != NULL && *options->give_up)
        return true;
    tell(telling, "retained sizes", 0, 0);
    ok = retained_rest(&answer->retained);
    step_done(telling, "retained");
    return ok;
}

bool holders_run(struct holders_answer *answer, int fd, const struct holders_run_options *options,
                 char *error, size_t error_size)
{
    struct dump_file file;
    struct telling telling = {.began_ms = clock_ms(CLOCK_MONOTONIC),
                              .wanted = options->progress,
                              .timing = options->timing};
    memset(answer, 0, sizeof *answer);
    if (!dump_open(&file, fd)) {
        snprintf(error, error_size, "%s", file.error);
        dump_close(&file);
        return false;
    }
    file.give_up = options->give_up;
    file.progress = tell;
    file.context = &telling;
    bool ok = dump_load(&file, &answer->heap);
    step_done(&telling, "load");
    if (!ok)
        snprintf(error, error_size, "%s", file.error);
    if (ok && telling.timing) {
        const struct heap *heap = &answer->heap;
        tell_error("%u objects, rows of %llu MB, %u that hold, %u regions of 8 MB\n",
                   heap->ids.count, (unsigned long long)(heap->ids.row_bytes >> 20),
                   heap->parent_rank[heap_nodes(heap) / 512 + 1], heap->ids.region_count);
    }
    bool gone = options->give_up != NULL && *options->give_up;
    if (ok && !gone) {
        ok = ask(answer, options, &telling) &&
             holders_create(&answer->holders, &answer->heap, &answer->walk, answer->strong,
                            &answer->retained);
        gone = options->give_up != NULL && *options->give_up;
        if (ok && !gone &&
            !dump_fetch(&file, &answer->heap, &answer->holders.wanted, answer->holders.least_wanted,
                        answer->holders.most_wanted, holders_text, &answer->holders)) {
            snprintf(error, error_size, "%s", file.error);
            ok = false;
        } else if (!ok || (!gone && !holders_judge(&answer->holders))) {
            snprintf(error, error_size, "out of memory");
            ok = false;
        }
        step_done(&telling, "names");
    }
    if (telling.told)
        fputs("\r\x1b[K", stderr);
    if (ok && gone) {
        snprintf(error, error_size, "interrupted");
        answer->interrupted = true;
        ok = false;
    }
    answer->bytes = file.bytes;
    answer->bytes_on_disk = file.bytes_on_disk;
    answer->took_ms = clock_ms(CLOCK_MONOTONIC) - telling.began_ms;
    dump_close(&file);
    return ok;
}

void holders_answer_free(struct holders_answer *answer)
{
    holders_destroy(&answer->holders);
    retained_destroy(&answer->retained);
    walk_destroy(&answer->walk);
    free(answer->strong);
    free(answer->asked);
    heap_destroy(&answer->heap);
    memset(answer, 0, sizeof *answer);
}
