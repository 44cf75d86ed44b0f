#include "nmtwatch/serve/snapshot.h"

#include <stdlib.h>

/* --- sparkline -------------------------------------------------------------------------------- */

bool sparkline_due(const struct sparkline *spark, int64_t ms)
{
    return ms >= spark->next_ms;
}

static void halve(struct sparkline *spark)
{
    int kept = 0;
    for (int i = 0; i < spark->count; i += 2, kept++)
        for (int series = 0; series < SPARK_COUNT; series++)
            spark->value[series][kept] = spark->value[series][i];
    spark->count = kept;
    spark->step_ms *= 2;
}

void sparkline_add(struct sparkline *spark, int64_t ms, const float value[SPARK_COUNT])
{
    if (spark->step_ms == 0)
        spark->step_ms = SPARK_FIRST_MS;
    if (spark->count == SPARK_POINTS)
        halve(spark);
    for (int series = 0; series < SPARK_COUNT; series++)
        spark->value[series][spark->count] = value[series];
    spark->count++;
    spark->next_ms = ms + spark->step_ms;
}

struct snapshot *snapshot_create(int targets)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot == NULL)
        return NULL;
    atomic_init(&snapshot->references, 1);
    snapshot->targets = calloc((size_t)targets + 1, sizeof *snapshot->targets);
    if (snapshot->targets != NULL)
        return snapshot;
    snapshot_release(snapshot);
    return NULL;
}

bool snapshot_make_room(struct snapshot *snapshot, int findings, int families, int observations)
{
    snapshot->findings = calloc((size_t)findings + 1, sizeof *snapshot->findings);
    snapshot->families = calloc((size_t)families + 1, sizeof *snapshot->families);
    snapshot->observations = calloc((size_t)observations + 1, sizeof *snapshot->observations);
    return snapshot->findings != NULL && snapshot->families != NULL &&
           snapshot->observations != NULL;
}

void snapshot_release(struct snapshot *snapshot)
{
    /* Release: what this thread read happens before the free; acquire: the one that frees sees that
     * all others have finished reading. */
    if (snapshot == NULL ||
        atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel) != 1)
        return;
    free(snapshot->targets);
    free(snapshot->findings);
    texts_free(&snapshot->texts);
    free(snapshot->families);
    free(snapshot->observations);
    free(snapshot);
}

void board_init(struct board *board)
{
    pthread_mutex_init(&board->lock, NULL);
    board->newest = NULL;
}

void board_publish(struct board *board, struct snapshot *snapshot)
{
    pthread_mutex_lock(&board->lock);
    struct snapshot *before = board->newest;
    board->newest = snapshot;
    pthread_mutex_unlock(&board->lock);
    snapshot_release(before);
}

struct snapshot *board_take(struct board *board)
{
    pthread_mutex_lock(&board->lock);
    struct snapshot *snapshot = board->newest;
    if (snapshot != NULL) /* the lock keeps the board's own reference alive meanwhile */
        atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
    pthread_mutex_unlock(&board->lock);
    return snapshot;
}

void board_destroy(struct board *board)
{
    snapshot_release(board->newest);
    pthread_mutex_destroy(&board->lock);
}
