#include "analyzers/model/event.h"

#define OWN_CLASSES_MIN 200

const char *census_method_name(enum census_method method)
{
    static const char *const NAMES[CENSUS_METHOD_COUNT] = {
        [CENSUS_LOAD_LOG] = "tap",
        [CENSUS_CLASSES] = "classes",
        [CENSUS_CLASS_HIERARCHY] = "class_hierarchy",
        [CENSUS_CLASS_HISTOGRAM] = "class_histogram",
        [CENSUS_LOADER_TYPES] = "loader_types",
    };
    return (unsigned)method < CENSUS_METHOD_COUNT ? NAMES[method] : "?";
}

void flow_count_add(struct flow_count *count, int load_log, int64_t now)
{
    if (count->load_log != load_log)
        count->now = 0;
    count->load_log = load_log;
    if (now <= count->now)
        return;
    count->total = saturated_add(count->total, now - count->now);
    count->now = now;
}

const char *methods_source_name(int64_t source)
{
    static const char *const NAMES[METHODS_SOURCE_COUNT] = {
        [METHODS_MEAN] = "mean", [METHODS_AGENT] = "agent", [METHODS_COUNTED] = "counted"};
    return source >= 0 && source < METHODS_SOURCE_COUNT ? NAMES[source] : "?";
}

double methods_per_class(const struct methods_event *methods)
{
    if (methods->own_classes >= OWN_CLASSES_MIN)
        return (double)methods->own_methods / (double)methods->own_classes;
    return methods->classes > 0 ? (double)methods->methods / (double)methods->classes : 0.0;
}

void methods_keep(struct kept_methods *kept, const struct methods_event *event)
{
    kept->event = *event;
    kept->event.row_count = event->row_count < EVENT_ROWS_MAX ? event->row_count : EVENT_ROWS_MAX;
    if (kept->event.row_count > 0)
        memcpy(kept->rows, event->rows, (size_t)kept->event.row_count * sizeof *kept->rows);
    kept->event.rows = kept->rows;
}

/* --- sample ----------------------------------------------------------------------------------- */

static const char *const KEYS[SAMPLE_FIELD_COUNT] = {
#define SAMPLE_FIELD(id, key, unit, source) [SAMPLE_##id] = key,
#include "analyzers/model/sample_fields.def"
};

void sample_clear(struct sample *sample)
{
    memset(sample, 0, sizeof *sample);
}

void sample_set(struct sample *sample, enum sample_field field, int64_t value)
{
    sample->value[field] = value;
    sample->present |= UINT64_C(1) << field;
}

bool sample_has(const struct sample *sample, enum sample_field field)
{
    return (sample->present >> field) & 1;
}

bool sample_get(const struct sample *sample, enum sample_field field, int64_t *value)
{
    if (!sample_has(sample, field))
        return false;
    *value = sample->value[field];
    return true;
}

void sample_set_nmt(struct sample *sample, enum nmt_category category, struct nmt_amount amount)
{
    sample->nmt[category] = amount;
    sample->nmt_present |= UINT64_C(1) << category;
}

bool sample_get_nmt(const struct sample *sample, enum nmt_category category,
                    struct nmt_amount *amount)
{
    if (((sample->nmt_present >> category) & 1) == 0)
        return false;
    *amount = sample->nmt[category];
    return true;
}

int64_t sample_value(const struct sample *sample, enum sample_field field)
{
    return sample_has(sample, field) ? sample->value[field] : -1;
}

int64_t sample_committed(const struct sample *sample, enum nmt_category category)
{
    struct nmt_amount amount = {-1, -1};
    sample_get_nmt(sample, category, &amount);
    return amount.committed_bytes;
}

bool sample_has_nmt(const struct sample *sample)
{
    return sample->nmt_present != 0 || sample->extra_count > 0;
}

void sample_merge(struct sample *into, const struct sample *later)
{
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        if (sample_has(later, (enum sample_field)i))
            sample_set(into, (enum sample_field)i, later->value[i]);
    }
    if (!sample_has_nmt(later))
        return;
    into->nmt_present = later->nmt_present;
    memcpy(into->nmt, later->nmt, sizeof into->nmt);
    into->extra_count = later->extra_count;
    memcpy(into->extra, later->extra, sizeof into->extra);
}

const char *sample_field_key(enum sample_field field)
{
    return KEYS[field];
}
