#include "tests/verdict/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct tally_kind *kind_of(struct tally *tally, const struct shape *shape)
{
    for (int i = 0; i < tally->kinds; i++) {
        struct tally_kind *kind = &tally->kind[i];
        if (strcmp(kind->kind, shape->kind) == 0)
            return kind;
    }
    if (tally->kinds == TALLY_KINDS_MAX)
        return NULL;
    tally->kind[tally->kinds] = (struct tally_kind){.kind = shape->kind};
    return &tally->kind[tally->kinds++];
}

static bool more(double **list, int room)
{
    double *longer = realloc(*list, (size_t)room * sizeof *longer);
    if (longer != NULL)
        *list = longer;
    return longer != NULL;
}

static bool make_room(struct tally_kind *kind)
{
    if (kind->series < kind->room)
        return true;
    int room = kind->room == 0 ? 256 : kind->room * 2;
    for (int i = 0; i < METHOD_COUNT; i++) {
        if (!more(&kind->found_after_h[i], room))
            return false;
    }
    if (!more(&kind->half_width, room))
        return false;
    kind->room = room;
    return true;
}

/* Bytes a class to a tenth, the explained share to 0.1, and the interval of what is left. */
static void add_classes(struct tally_kind *kind, const struct trial *trial)
{
    const struct shape *shape = trial->shape;
    const struct verdict *last = &trial->last;
    if (shape->truth != TRUTH_CHURN)
        return;
    kind->with_classes++;
    if (!last->have_regressor)
        return;
    double left = shape_leak_bytes_per_h(shape);
    kind->per_class_right += fabs(last->bytes_per_class / shape->bytes_per_class - 1) <= 0.1;
    kind->share_right += fabs(last->explained_share - shape_explained_share(shape)) <= 0.1;
    kind->left_right +=
        last->slope_left_bytes_per_h.low <= left && left <= last->slope_left_bytes_per_h.high;
}

bool tally_add(struct tally *tally, const struct trial *trial)
{
    struct tally_kind *kind = kind_of(tally, trial->shape);
    if (kind == NULL || !make_room(kind))
        return false;
    for (int i = 0; i < METHOD_COUNT; i++) {
        kind->false_alarms[i] += trial->method[i].false_alarms;
        kind->early[i] += trial->method[i].early;
        if (trial->grew)
            kind->found_after_h[i][kind->grew] = trial->method[i].found_after_h;
    }
    kind->grew += trial->grew;
    kind->series++;
    kind->converged_days += trial->converged_days;
    kind->asks += trial->converged_asks;
    kind->asks_wrong += trial->converged_asks_wrong;
    kind->end[trial_end(trial)]++;
    kind->called_right += truth_is_called(trial->shape->truth, trial->last.state);
    kind->intervals += trial->intervals;
    kind->intervals_right += trial->intervals_right;
    if (!isnan(trial->half_width))
        kind->half_width[kind->half_widths++] = trial->half_width;
    add_classes(kind, trial);
    tally->states[trial->shape->truth][trial->last.state]++;
    return true;
}

void tally_free(struct tally *tally)
{
    for (int i = 0; i < tally->kinds; i++) {
        for (int j = 0; j < METHOD_COUNT; j++)
            free(tally->kind[i].found_after_h[j]);
        free(tally->kind[i].half_width);
    }
}
