#include "reports/story/story.h"

#include "analyzers/classes/family.h"
#include "analyzers/judge/growth.h"
#include "analyzers/judge/level.h"
#include "analyzers/native/internal.h"
#include "reports/text/units.h"

#include <ctype.h>
#include <stdlib.h>

#define CHANGED_BYTES (64 << 10) /* a category that moved less is a flat line */
#define LARGE_BYTES   (4 << 20)  /* and one smaller than this is not worth a flat line */

/* What the load logs have shown of a family. */
struct family_flow {
    struct flow_count loads, unloads, names, repeating, observed_ms;
};

/* The public struct is the first member: story_event gets back to the rest by a cast. */
struct story_state {
    struct story story;
    size_t point_capacity;
    int64_t samples_per_point; /* doubled each time the points are halved */
    int64_t samples_in_last;
    struct family_flow flows[STORY_FAMILIES_MAX];
    int loader_censuses, first_loader_count;
    struct loader_row first_loaders[EVENT_ROWS_MAX];
};

struct story *story_create(const struct target_identity *identity, int64_t wall_start_ms,
                           const struct thresholds *thresholds)
{
    struct story_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->story.identity = *identity;
    state->story.wall_start_ms = wall_start_ms;
    state->story.thresholds = *thresholds;
    state->story.view.baseline_ms = -1;
    state->samples_per_point = 1;
    return &state->story;
}

void story_destroy(struct story *story)
{
    if (story == NULL)
        return;
    for (int i = 0; i < story->heap.class_count; i++)
        free(story->heap.classes[i].points);
    free(story->points);
    texts_free(&story->texts);
    free(story);
}

/* A damaged recording may hold any number: times are bounded, so that differences cannot overflow,
 * and sums stop at the largest number there is. */
static int64_t bounded_ms(int64_t ms)
{
    const int64_t most = INT64_C(1) << 60;
    return ms > most ? most : ms < -most ? -most : ms;
}

/* --- points --------------------------------------------------------------------------------- */

/* Moves `into` on to the later sample. */
static void merge_point(struct story_point *into, const struct story_point *later)
{
    into->ms = later->ms;
    sample_merge(&into->sample, &later->sample);
}

/* Merges neighbours in pairs; the first point stays alone, so that it is the first sample. */
static void halve_points(struct story_state *state)
{
    struct story_point *points = state->story.points;
    int kept = 1, count = state->story.point_count;
    for (int i = 1; i < count; i += 2) {
        points[kept] = points[i];
        state->samples_in_last = state->samples_per_point;
        if (i + 1 < count) {
            merge_point(&points[kept], &points[i + 1]);
            state->samples_in_last *= 2;
        }
        kept++;
    }
    state->story.point_count = kept;
    state->samples_per_point *= 2;
}

static void add_sample(struct story_state *state, const struct event *event)
{
    struct story *story = &state->story;
    struct story_point point = {.ms = bounded_ms(event->ms), .sample = event->sample};
    bool last_is_full = state->samples_in_last >= state->samples_per_point;
    if (story->point_count == STORY_POINTS_MAX && last_is_full) {
        halve_points(state);
        last_is_full = state->samples_in_last >= state->samples_per_point;
    }
    /* Without memory for more points the last one continues: coarser, not wrong. */
    if (story->point_count > 1 &&
        (!last_is_full || !array_room(&story->points, &state->point_capacity,
                                      (size_t)story->point_count + 1, sizeof *story->points))) {
        merge_point(&story->points[story->point_count - 1], &point);
        state->samples_in_last++;
    } else if (array_room(&story->points, &state->point_capacity, (size_t)story->point_count + 1,
                          sizeof *story->points)) {
        story->points[story->point_count++] = point;
        state->samples_in_last = 1;
    }
}

/* --- families ------------------------------------------------------------------------------- */

/* The family's place; when all are taken, that of the smallest one if the newcomer is larger. */
static int family_place(struct story_state *state, const struct family_row *row)
{
    struct story *story = &state->story;
    for (int i = 0; i < story->family_count; i++)
        if (strcmp(story->families[i].row.family, row->family) == 0)
            return i;
    int place = story->family_count;
    if (place == STORY_FAMILIES_MAX) {
        int smallest = 0;
        for (int i = 1; i < place; i++)
            if (story->families[i].row.loads < story->families[smallest].row.loads)
                smallest = i;
        story->families_dropped++;
        if (story->families[smallest].row.loads >= row->loads)
            return -1;
        place = smallest;
    } else {
        story->family_count++;
    }
    memset(&story->families[place], 0, sizeof story->families[place]);
    memset(&state->flows[place], 0, sizeof state->flows[place]);
    snprintf(story->families[place].row.family, sizeof row->family, "%s", row->family);
    story->families[place].method = CENSUS_METHOD_COUNT;
    story->families[place].alive = -1;
    return place;
}

static void add_flow(struct story_family *family, struct family_flow *flow,
                     const struct names_event *names, int64_t ms, const struct family_row *row)
{
    int64_t same_name = row->max_same_name;
    if (family->method != CENSUS_LOAD_LOG)
        memset(flow, 0, sizeof *flow); /* a flow says more than the stock seen so far */
    else if (family->row.max_same_name > same_name)
        same_name = family->row.max_same_name;
    flow_count_add(&flow->loads, names->load_log, row->loads);
    flow_count_add(&flow->unloads, names->load_log, row->unloads);
    flow_count_add(&flow->names, names->load_log, row->names);
    flow_count_add(&flow->repeating, names->load_log, row->repeating);
    flow_count_add(&flow->observed_ms, names->load_log,
                   bounded_ms(ms) - bounded_ms(names->from_ms));
    family->method = CENSUS_LOAD_LOG;
    family->row = *row;
    family->row.loads = flow->loads.total;
    family->row.unloads = flow->unloads.total;
    family->row.names = flow->names.total;
    family->row.repeating = flow->repeating.total;
    family->row.max_same_name = same_name;
    family->observed_ms = flow->observed_ms.total;
}

static void add_stock(struct story_family *family, enum census_method method,
                      const struct family_row *row)
{
    bool largest = row->loads > family->alive;
    if (largest)
        family->alive = row->loads;
    if (family->method == CENSUS_LOAD_LOG || !largest)
        return;
    family->method = method;
    family->row = *row;
}

static void add_names(struct story_state *state, const struct event *event)
{
    const struct names_event *names = &event->names;
    for (int i = 0; i < names->row_count; i++) {
        const struct family_row *row = &names->rows[i];
        int place = family_place(state, row);
        if (place < 0)
            continue;
        struct story_family *family = &state->story.families[place];
        if (names->method == CENSUS_LOAD_LOG)
            add_flow(family, &state->flows[place], names, event->ms, row);
        else
            add_stock(family, names->method, row);
    }
}

/* --- objects -------------------------------------------------------------------------------- */

/* The place of a class; a new one takes that of the class with least growth when all are taken. */
static struct story_heap_class *heap_class(struct story_heap *heap,
                                           const struct histogram_class *row)
{
    struct story_heap_class *least = NULL;
    for (int i = 0; i < heap->class_count; i++) {
        struct story_heap_class *class = &heap->classes[i];
        if (strcmp(class->last.name, row->name) == 0 &&
            strcmp(class->last.family, row->family) == 0)
            return class;
        if (least == NULL || class->last.bytes_growth < least->last.bytes_growth)
            least = class;
    }
    if (heap->class_count < STORY_HEAP_CLASSES_MAX)
        least = &heap->classes[heap->class_count++];
    else if (least->last.bytes_growth >= row->bytes_growth)
        return NULL;
    struct story_heap_point *points = least->points; /* of the class that goes */
    memset(least, 0, sizeof *least);
    least->points = points;
    return least;
}

static void add_heap_point(struct story_heap_class *class, const struct story_heap_point *point)
{
    if (class->points == NULL)
        class->points = calloc(STORY_HEAP_POINTS_MAX, sizeof *class->points);
    if (class->points == NULL)
        return;
    if (class->point_count == STORY_HEAP_POINTS_MAX) {
        for (int i = 0; i < STORY_HEAP_POINTS_MAX; i += 2)
            class->points[i / 2] = class->points[i];
        class->point_count = STORY_HEAP_POINTS_MAX / 2;
    }
    class->points[class->point_count++] = *point;
}

static void add_histogram(struct story_heap *heap, const struct histogram_event *event, int64_t ms)
{
    if (heap->histograms++ == 0) {
        heap->first_ms = ms;
        heap->first_bytes = event->bytes;
        heap->first_instances = event->instances;
    }
    heap->last_ms = ms;
    heap->last_bytes = event->bytes;
    heap->last_instances = event->instances;
    for (int i = 0; i < event->row_count; i++) {
        const struct histogram_class *row = &event->rows[i];
        struct story_heap_class *class = heap_class(heap, row);
        const struct story_heap_point point = {ms, row->instances, row->bytes};
        if (class == NULL)
            continue;
        class->last = *row;
        add_heap_point(class, &point);
    }
}

static int by_heap_growth(const void *a, const void *b)
{
    const struct histogram_class *left = &((const struct story_heap_class *)a)->last,
                                 *right = &((const struct story_heap_class *)b)->last;
    if (left->bytes_growth != right->bytes_growth)
        return left->bytes_growth < right->bytes_growth ? 1 : -1;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? 1 : -1;
    return strcmp(left->name, right->name);
}

int story_heap_growing(const struct story *story)
{
    int count = 0;
    while (count < story->heap.class_count && story->heap.classes[count].last.bytes_growth > 0)
        count++;
    return count;
}

/* --- the rest of the events ----------------------------------------------------------------- */

static void keep_loaders(struct story_state *state, const struct loaders_event *loaders)
{
    int count = loaders->row_count < EVENT_ROWS_MAX ? loaders->row_count : EVENT_ROWS_MAX;
    struct story *story = &state->story;
    story->loader_count = count;
    if (count > 0)
        memcpy(story->loaders, loaders->rows, (size_t)count * sizeof story->loaders[0]);
    if (state->loader_censuses++ > 0)
        return;
    state->first_loader_count = count;
    memcpy(state->first_loaders, story->loaders, sizeof state->first_loaders);
}

static void add_cost(struct story *story, const struct cost_event *cost)
{
    int last = (int)(sizeof story->costs / sizeof story->costs[0]) - 1;
    int place = 0;
    while (place < story->cost_count && strcmp(story->costs[place].command, cost->command) != 0)
        place++;
    if (place > last)
        place = last;
    struct story_cost *sum = &story->costs[place];
    if (place == story->cost_count) {
        story->cost_count++;
        const char *command = place == last ? "other commands" : cost->command;
        span_copy(span_from_cstr(command), sum->command, sizeof sum->command);
    }
    if (cost->skipped[0] != '\0') {
        sum->skipped++;
        span_copy(span_from_cstr(cost->skipped), sum->last_skip_reason,
                  sizeof sum->last_skip_reason);
        return;
    }
    sum->runs++;
    if (cost->measured_us > 0)
        sum->measured_us = saturated_add(sum->measured_us, cost->measured_us);
    if (cost->measured_us > sum->worst_us)
        sum->worst_us = cost->measured_us;
}

static void add_note(struct story *story, const struct event *event)
{
    int places = (int)(sizeof story->notes / sizeof story->notes[0]);
    if (story->note_count >= places - (event->kind == EVENT_GONE ? 0 : 1)) {
        story->notes_dropped++;
        return;
    }
    story->notes[story->note_count].ms = bounded_ms(event->ms);
    snprintf(story->notes[story->note_count].text, sizeof story->notes[0].text, "%s", event->text);
    story->note_count++;
}

void story_event(struct story *story, const struct event *event)
{
    struct story_state *state = (struct story_state *)story;
    switch (event->kind) {
    case EVENT_SAMPLE:
        add_sample(state, event);
        break;
    case EVENT_LOADERS:
        keep_loaders(state, &event->loaders);
        break;
    case EVENT_NAMES:
        add_names(state, event);
        break;
    case EVENT_HISTOGRAM:
        add_histogram(&story->heap, &event->histogram, bounded_ms(event->ms));
        break;
    case EVENT_METHODS:
        methods_keep(&story->methods, &event->methods);
        break;
    case EVENT_COST:
        add_cost(story, &event->cost);
        break;
    case EVENT_NOTE:
    case EVENT_BASELINE:
    case EVENT_GONE:
        add_note(story, event);
        break;
    case EVENT_CALLERS: /* in the alert */
    case EVENT_KIND_COUNT:
        break;
    }
}

void story_alert(struct story *story, const struct alert *alert)
{
    if (story->alert_count == STORY_ALERTS_MAX) {
        story->alerts_dropped++;
        return;
    }
    struct alert *kept = &story->alerts[story->alert_count++];
    *kept = *alert;
    finding_copy(&kept->finding, &story->texts, &alert->finding);
    kept->ms = bounded_ms(alert->ms);
    kept->started_ms = bounded_ms(alert->started_ms);
}

static int64_t family_size(const struct story_family *family)
{
    return family->row.loads > family->alive ? family->row.loads : family->alive;
}

static int by_loads(const void *a, const void *b)
{
    const struct story_family *left = a, *right = b;
    int64_t left_size = family_size(left), right_size = family_size(right);
    if (left_size != right_size)
        return left_size < right_size ? 1 : -1;
    return strcmp(left->row.family, right->row.family);
}

void story_finish(struct story *story, const struct judge_view *view)
{
    struct story_state *state = (struct story_state *)story;
    story->view = *view;
    story->view.baseline_ms = bounded_ms(view->baseline_ms);
    qsort(story->families, (size_t)story->family_count, sizeof story->families[0], by_loads);
    qsort(story->heap.classes, (size_t)story->heap.class_count, sizeof story->heap.classes[0],
          by_heap_growth);
    for (int i = 0; i < story->loader_count; i++) {
        story->loaders_at_first[i] = -1;
        for (int j = 0; j < state->first_loader_count && state->loader_censuses > 1; j++)
            if (strcmp(story->loaders[i].type, state->first_loaders[j].type) == 0)
                story->loaders_at_first[i] = state->first_loaders[j].loaders;
    }
}

/* --- asking --------------------------------------------------------------------------------- */

int64_t story_span_ms(const struct story *story)
{
    if (story->point_count < 2)
        return 0;
    int64_t span_ms = story->points[story->point_count - 1].ms - story->points[0].ms;
    return span_ms > 0 ? span_ms : 0;
}

bool story_first_last(const struct story *story, enum sample_field field, int64_t *first,
                      int64_t *last)
{
    bool seen = false;
    for (int i = 0; i < story->point_count; i++) {
        if (!sample_get(&story->points[i].sample, field, last))
            continue;
        if (!seen)
            *first = *last;
        seen = true;
    }
    return seen;
}

int story_raised(const struct story *story)
{
    int raised = 0;
    for (int i = 0; i < story->alert_count; i++)
        raised += story->alerts[i].state == ALERT_RAISED;
    return raised;
}

/* Objects of two classes may grow at a time. */
static bool of_one_class(const struct finding *a, const struct finding *b)
{
    const struct evidence *left = finding_evidence(a, "class"),
                          *right = finding_evidence(b, "class");
    return left == NULL || right == NULL || strcmp(left->text, right->text) == 0;
}

int64_t story_cleared_ms(const struct story *story, int alert)
{
    const struct finding *raised = &story->alerts[alert].finding;
    for (int i = alert + 1; i < story->alert_count; i++) {
        const struct alert *later = &story->alerts[i];
        if (later->state == ALERT_CLEARED && later->finding.kind == raised->kind &&
            strcmp(later->finding.family, raised->family) == 0 &&
            of_one_class(&later->finding, raised))
            return later->ms;
    }
    return -1;
}

/* Steps of one series, as of Internal: of several that were passed the last one says the most. */
static bool same_series(const struct finding *a, const struct finding *b)
{
    return level_step_of(a->kind) > 0 && level_step_of(b->kind) > 0 &&
           strcmp(a->family, b->family) == 0;
}

/* A series lasts while any of its steps does. */
static bool lasts(const struct story *story, int alert)
{
    for (int i = 0; i < story->alert_count; i++) {
        bool one_of_it =
            i == alert || same_series(&story->alerts[i].finding, &story->alerts[alert].finding);
        if (one_of_it && story->alerts[i].state == ALERT_RAISED && story_cleared_ms(story, i) < 0)
            return true;
    }
    return false;
}

/* Graver first, of one series the later step, then what still lasts, then a finding that names a
 * family, then the earlier one. */
static bool weighs_more(const struct story *story, int a, int b)
{
    const struct finding *left = &story->alerts[a].finding, *right = &story->alerts[b].finding;
    if (left->severity != right->severity)
        return left->severity > right->severity;
    if (same_series(left, right) && left->kind != right->kind)
        return level_step_of(left->kind) > level_step_of(right->kind);
    bool left_lasts = lasts(story, a), right_lasts = lasts(story, b);
    if (left_lasts != right_lasts)
        return left_lasts;
    return left->family[0] != '\0' && right->family[0] == '\0';
}

int story_gravest(const struct story *story)
{
    int best = -1;
    for (int i = 0; i < story->alert_count; i++)
        if (story->alerts[i].state == ALERT_RAISED && (best < 0 || weighs_more(story, i, best)))
            best = i;
    return best;
}

bool story_family_rate(const struct story_family *family, double *per_s)
{
    if (family->method != CENSUS_LOAD_LOG || family->observed_ms < 1000)
        return false;
    *per_s = (double)family->row.loads * 1000 / (double)family->observed_ms;
    return true;
}

struct category_change {
    enum nmt_category category;
    int64_t smallest, largest, last;
};

/* From the lowest point to the end: what comes and goes, as the compilers' arenas do, is no change. */
static double change(const struct category_change *of)
{
    return (double)of->last - (double)of->smallest;
}

static int by_change(const void *a, const void *b)
{
    const struct category_change *left = a, *right = b;
    bool left_moved = change(left) >= CHANGED_BYTES, right_moved = change(right) >= CHANGED_BYTES;
    if (left_moved != right_moved)
        return left_moved ? -1 : 1;
    double left_key = left_moved ? change(left) : (double)left->largest;
    double right_key = right_moved ? change(right) : (double)right->largest;
    if (left_key < right_key || left_key > right_key)
        return left_key < right_key ? 1 : -1;
    return (int)left->category - (int)right->category;
}

int story_top_categories(const struct story *story, enum nmt_category *out, int max)
{
    struct category_change changes[NMT_CATEGORY_COUNT];
    int count = 0;
    for (int c = 0; c < NMT_CATEGORY_COUNT; c++) {
        struct category_change seen = {(enum nmt_category)c, INT64_MAX, INT64_MIN, 0};
        for (int i = 0; i < story->point_count; i++) {
            struct nmt_amount amount;
            if (!sample_get_nmt(&story->points[i].sample, seen.category, &amount))
                continue;
            seen.last = amount.committed_bytes;
            if (amount.committed_bytes < seen.smallest)
                seen.smallest = amount.committed_bytes;
            if (amount.committed_bytes > seen.largest)
                seen.largest = amount.committed_bytes;
        }
        if (c != NMT_JAVA_HEAP && seen.largest > 0 &&
            (change(&seen) >= CHANGED_BYTES || seen.largest >= LARGE_BYTES))
            changes[count++] = seen;
    }
    qsort(changes, (size_t)count, sizeof changes[0], by_change);
    if (count > max)
        count = max;
    for (int i = 0; i < count; i++)
        out[i] = changes[i].category;
    return count;
}

#define MEASURED_POINTS 4
#define GREW_BYTES      (4 << 20)
#define GREW_THREADS    10
#define VERDICT_MIN_MS  5000 /* less cannot be judged, whatever the thresholds say */

/* How long the judge has looked after warm-up. */
static int64_t judged_ms(const struct story *story)
{
    if (!story->view.warm || story->view.baseline_ms < 0 || story->point_count == 0)
        return 0;
    return story->points[story->point_count - 1].ms - story->view.baseline_ms;
}

static int64_t needed_ms(const struct story *story)
{
    int64_t needed;
    if (__builtin_mul_overflow(story->thresholds.value[TH_CLASS_LOAD_SPAN_S], 1000, &needed))
        return INT64_MAX;
    return needed > VERDICT_MIN_MS ? needed : VERDICT_MIN_MS;
}

static bool saw_field(const struct story *story, enum sample_field field)
{
    for (int i = 0; i < story->point_count; i++)
        if (sample_has(&story->points[i].sample, field))
            return true;
    return false;
}

enum story_status story_status(const struct story *story)
{
    int worst = story_gravest(story);
    if (worst >= 0 && story->alerts[worst].finding.severity != SEVERITY_INFO)
        return story->alerts[worst].finding.severity == SEVERITY_CRITICAL ? STORY_CRITICAL
                                                                          : STORY_WARNING;
    if (judged_ms(story) < needed_ms(story) || !saw_field(story, SAMPLE_CLASSES_LOADED))
        return STORY_UNKNOWN;
    return STORY_OK;
}

const char *story_status_name(enum story_status status)
{
    static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    return names[status];
}

static void put_sentence(FILE *out, const char *text)
{
    size_t length = strlen(text);
    if (length == 0)
        return;
    bool ended = strchr(".!?", text[length - 1]) != NULL;
    fprintf(out, "%c%s%s", toupper((unsigned char)text[0]), text + 1, ended ? "" : ".");
}

static void describe_alert(const struct story *story, FILE *out)
{
    int worst = story_gravest(story);
    const struct alert *alert = &story->alerts[worst];
    put_sentence(out, alert->finding.title);
    int64_t cleared_ms = story_cleared_ms(story, worst);
    int64_t lasted_ms = cleared_ms >= 0 ? cleared_ms - alert->started_ms
                        : story->point_count > 0
                            ? story->points[story->point_count - 1].ms - alert->started_ms
                            : 0;
    if (cleared_ms >= 0)
        fprintf(out, " It stopped after %s.", units_duration(lasted_ms).text);
    else if (lasted_ms > 0)
        fprintf(out, " It went on for %s, to the end of the recording.",
                units_duration(lasted_ms).text);
}

/* The pace of a rule's series after warm-up. False: it was not measured, or does not grow. */
static bool pace_of(const struct story *story, enum growth_rule rule, bool *measured,
                    struct growth *growth)
{
    struct growth_points points = {0};
    int64_t value;
    for (int i = 0; i < story->point_count; i++) {
        if (story->points[i].ms >= story->view.baseline_ms &&
            growth_value(rule, &story->points[i].sample, story->identity.jdk_major, &value))
            growth_points_add(&points, story->points[i].ms, value);
    }
    *measured = points.count >= MEASURED_POINTS;
    *growth = (struct growth){.rule = rule};
    return *measured && growth_points_ask(&points, growth) && growth_points_go_on(&points) &&
           growth->grown >= (growth_is_count(rule) ? GREW_THREADS : GREW_BYTES);
}

/* "No growth" is said of what was measured and does not grow; what grew without being certain is named. */
static void describe_silence(const struct story *story, FILE *out)
{
    char quiet[400] = "";
    for (int i = 0; i < GROWTH_RULES; i++) {
        enum growth_rule rule = (enum growth_rule)i;
        struct growth growth;
        bool measured;
        if (!pace_of(story, rule, &measured, &growth)) {
            if (measured)
                text_add(quiet, sizeof quiet, "%s%s", quiet[0] != '\0' ? ", " : "",
                         growth_row(rule)->words);
            continue;
        }
        fprintf(out, "%c%s grew by %s in %s, and it is not certain that this goes on. ",
                toupper((unsigned char)growth_row(rule)->words[0]), growth_row(rule)->words + 1,
                growth_is_count(rule) ? units_count(growth.grown).text
                                      : units_bytes(growth.grown).text,
                units_duration(growth.span_ms).text);
    }
    if (quiet[0] != '\0')
        fprintf(out, "No growth was found in %s after warm-up of %s",
                units_duration(judged_ms(story)).text, quiet);
    else
        fprintf(out, "No alert was raised in %s after warm-up",
                units_duration(judged_ms(story)).text);
    const char *separator = ": ";
    if (story->view.have_rates) {
        fprintf(out, "%sclass loads were at %s at the end", separator,
                units_rate(story->view.load_per_s).text);
        separator = ", ";
    }
    if (story->view.have_internal)
        fprintf(out, "%s%s changed by %s", separator, internal_meaning(story->identity.jdk_major),
                units_growth(story->view.internal_growth_bytes).text);
    fputc('.', out);
    if (!story->view.have_internal)
        fputs(" Native memory was not seen: the recording has no NMT summary.", out);
    else if (judged_ms(story) / 1000 < story->thresholds.value[TH_INTERNAL_SLOPE_SPAN_S])
        fputs(" Slow growth needs a longer watch.", out);
}

static void describe_doubt(const struct story *story, FILE *out)
{
    if (story->point_count == 0)
        fputs("Cannot tell: the recording holds no sample.", out);
    else if (!saw_field(story, SAMPLE_CLASSES_LOADED))
        fputs("Cannot tell: the class counters of this JVM could not be read.", out);
    else if (!story->view.warm)
        fprintf(out, "Cannot tell: warm-up had not ended when the recording stopped after %s.",
                units_duration(story_span_ms(story)).text);
    else
        fprintf(out, "Cannot tell: %s after warm-up is too short, a verdict needs %s.",
                units_duration(judged_ms(story)).text, units_duration(needed_ms(story)).text);
}

/* Writes through a stream of the buffer's size: what does not fit is cut. */
static void into_buffer(char *out, size_t size, const struct story *story,
                        void (*describe)(const struct story *, FILE *))
{
    if (size == 0)
        return;
    out[0] = '\0';
    FILE *text = fmemopen(out, size, "w");
    if (text == NULL)
        return;
    describe(story, text);
    fclose(text);
    out[size - 1] = '\0';
}

static void describe_headline(const struct story *story, FILE *out)
{
    if (story_gravest(story) >= 0)
        describe_alert(story, out);
    else if (story_status(story) == STORY_OK)
        describe_silence(story, out);
    else
        describe_doubt(story, out);
}

static void describe_advice(const struct story *story, FILE *out)
{
    int worst = story_gravest(story);
    if (worst < 0)
        return;
    const struct finding *finding = &story->alerts[worst].finding;
    const struct family *family = family_by_id(finding->family);
    put_sentence(out, family != NULL ? family->fix : finding->advice);
    int others = story_raised(story) - 1;
    if (others > 0)
        fprintf(out, " %d other alert%s raised.", others, others == 1 ? " was" : "s were");
}

void story_headline(const struct story *story, char *out, size_t size)
{
    into_buffer(out, size, story, describe_headline);
}

void story_advice(const struct story *story, char *out, size_t size)
{
    into_buffer(out, size, story, describe_advice);
}

void story_verdict(const struct story *story, char *out, size_t size)
{
    story_headline(story, out, size);
    char advice[1024];
    story_advice(story, advice, sizeof advice);
    size_t length = strlen(out);
    if (advice[0] != '\0' && length + 1 < size)
        snprintf(out + length, size - length, " %s", advice);
}
