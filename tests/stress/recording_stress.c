/*
 * recording_stress SECONDS: four threads write events of all sizes while the drain flushes, with
 * their thread ids, as a handler does: inside of a table of stacks that rotates.
 *
 * Checked: every event that was committed arrives once and whole, in the order of its thread within
 * a buffer; the thread of each event is among those reported for its chunk; what was dropped is
 * counted, and offered == stored + dropped.
 */
#include "agent/buffer/recording_buffers.h"
#include "agent/buffer/thread_id_tables.h"
#include "agent/calltrace/calltrace.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS     4
#define EVENT_HEAD  16
#define EVENT_BYTES 400

static struct calltrace_storage *storage;
static struct recording_buffers *buffers;
static struct thread_id_tables *thread_ids;
static _Atomic bool over;
static int64_t wrong, arrived;
static bool has_events[THREADS], is_reported[THREADS]; /* of the chunk */
static uint8_t *seen;                                  /* [THREADS][SEEN_MAX] */
#define SEEN_MAX ((size_t)1 << 24)

struct worker {
    pthread_t thread;
    uint32_t number;
    int tid;
    uint32_t committed;
    int64_t dropped, dropped_slots;
};
static struct worker workers[THREADS];

struct event {
    uint32_t length, worker, number, check; /* then length bytes of number */
};

static void write_event(uint8_t *out, const struct event *event)
{
    memcpy(out, event, sizeof *event);
    memset(out + sizeof *event, (int)(event->number & 0xff), event->length);
}

static void take_sample(struct worker *worker)
{
    static const struct frame frame = {.value = 8};
    int index, slot = calltrace_enter(storage, worker->tid);
    if (slot < 0) {
        worker->dropped_slots++;
        return;
    }
    uint8_t *out = recording_buffer_claim(buffers, worker->tid, &index);
    if (out == NULL) {
        worker->dropped++;
    } else {
        calltrace_put(storage, slot, &frame, 1, false);
        struct event event = {.length = worker->committed * 7919 % EVENT_BYTES,
                              .worker = worker->number,
                              .number = worker->committed++};
        event.check = event.length ^ event.worker ^ ~event.number;
        write_event(out, &event);
        thread_id_tables_add(thread_ids, index, worker->tid);
        recording_buffer_commit(buffers, index, sizeof event + event.length);
    }
    calltrace_leave(storage, slot);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int64_t before = 0;
         !atomic_load_explicit(&over, memory_order_relaxed) && worker->committed < SEEN_MAX;
         before = worker->dropped) {
        take_sample(worker);
        if (worker->dropped != before)
            sched_yield(); /* for the drain */
    }
    return NULL;
}

static void complain(const char *what)
{
    if (wrong++ < 10)
        fprintf(stderr, "recording_stress: %s\n", what);
}

static bool arrive(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    for (size_t at = 0; at < length;) {
        struct event event;
        if (length - at < sizeof event) {
            complain("half an event");
            break;
        }
        memcpy(&event, bytes + at, sizeof event);
        if (event.worker >= THREADS || event.number >= SEEN_MAX ||
            event.check != (event.length ^ event.worker ^ ~event.number) ||
            event.length > length - at - sizeof event) {
            complain("a damaged event");
            break;
        }
        at += sizeof event;
        for (size_t i = 0; i < event.length; i++)
            if (bytes[at + i] != (event.number & 0xff))
                complain("a damaged byte");
        at += event.length;
        uint8_t *mark = &seen[event.worker * SEEN_MAX + event.number];
        if (*mark != 0)
            complain("an event arrived twice");
        *mark = 1;
        has_events[event.worker] = true;
        arrived++;
    }
    return true;
}

static void report(void *context, int tid)
{
    (void)context;
    int i = tid - workers[0].tid;
    if (i < 0 || i >= THREADS || is_reported[i])
        complain("a thread that is not, or twice");
    else
        is_reported[i] = true;
}

static void ignore(void *context, const struct calltrace *trace)
{
    (void)context;
    (void)trace;
}

static void end_chunk(void)
{
    const int *tids;
    int64_t missed;
    calltrace_rotate(storage);
    recording_buffers_flush(buffers, arrive, NULL);
    size_t count = thread_id_tables_collect(thread_ids, &tids, &missed);
    for (size_t i = 0; i < count; i++)
        report(NULL, tids[i]);
    calltrace_collect(storage, ignore, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (has_events[i] && !is_reported[i])
            complain("an event without its thread");
        has_events[i] = is_reported[i] = false;
    }
    if (missed != 0)
        complain("a thread id found no room");
}

int main(int argc, char **argv)
{
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
    struct recording_buffer_counts counts;
    int64_t chunks = 0, committed = 0, dropped = 0;
    storage = calltrace_create(0);
    buffers = recording_buffers_create();
    thread_ids = thread_id_tables_create();
    seen = calloc(THREADS, SEEN_MAX);
    if (storage == NULL || buffers == NULL || thread_ids == NULL || seen == NULL)
        return 1;
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].tid = 5000 + (int)i;
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    for (; time(NULL) < end; chunks++) {
        if (chunks % 3 == 0)
            recording_buffers_flush(buffers, arrive, NULL);
        end_chunk();
    }
    atomic_store_explicit(&over, true, memory_order_relaxed);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        committed += workers[i].committed;
        dropped += workers[i].dropped;
    }
    end_chunk();
    recording_buffer_counts(buffers, &counts);
    if (arrived != committed || counts.stored != committed ||
        counts.dropped_busy + counts.dropped_full != dropped ||
        counts.offered != committed + dropped || counts.lost_on_write != 0)
        complain("the counts do not add up");
    printf("recording_stress: %ld events, %ld busy, %ld full, %ld chunks, %ld wrong\n",
           (long)arrived, (long)counts.dropped_busy, (long)counts.dropped_full, (long)chunks,
           (long)wrong);
    recording_buffers_destroy(buffers);
    thread_id_tables_destroy(thread_ids);
    calltrace_destroy(storage);
    free(seen);
    return wrong != 0 || arrived == 0;
}
