#include "reports/metrics/exposition.h"

static const struct metric_row {
    enum sample_field field;
    const char *name;
    enum exposition_type type;
    const char *unit;
    int divisor;
    const char *label, *value, *help;
} rows[] = {
#define METRIC(field, name, type, unit, divisor, label, value, help)                               \
    {SAMPLE_##field, name, EXPOSITION_##type, unit, divisor, label, value, help},
#include "reports/metrics/sample_metrics.def"
#undef METRIC
};
#define ROWS ((int)(sizeof rows / sizeof rows[0]))

/* What is more than a field. */
enum composed { CLASSES_NOW, METASPACE_LIMIT, NMT_COMMITTED, NMT_RESERVED, COMPOSED };
static const struct {
    const char *name, *unit, *help;
} composed[COMPOSED] = {
    [CLASSES_NOW] = {"jvm_classes_currently_loaded", "", "Classes loaded now."},
    [METASPACE_LIMIT] = {"jvm_memory_pool_max_bytes", "bytes", "Limit of a memory pool; -1: none."},
    [NMT_COMMITTED] = {"jvm_native_memory_committed_bytes", "bytes",
                       "Committed bytes of a category of Native Memory Tracking."},
    [NMT_RESERVED] = {"jvm_native_memory_reserved_bytes", "bytes",
                      "Reserved bytes of a category of Native Memory Tracking."},
};

int sample_metrics_next(int family)
{
    int next = family + 1;
    while (next < ROWS && strcmp(rows[next].name, rows[family].name) == 0)
        next++;
    return next < ROWS + COMPOSED ? next : -1;
}

void sample_metrics_family(struct exposition *out, int family)
{
    if (family < ROWS)
        exposition_family(out, rows[family].name, rows[family].type, rows[family].unit,
                          rows[family].help);
    else
        exposition_family(out, composed[family - ROWS].name, EXPOSITION_GAUGE,
                          composed[family - ROWS].unit, composed[family - ROWS].help);
}

struct writing {
    const struct sample_source *source;
    sample_series_fn *series;
    void *context;
};

/* Where a series goes, with its labels; NULL: nowhere. */
static struct exposition *begin(const struct writing *writing, const char *label, const char *value)
{
    struct exposition *out = writing->series(writing->context, value);
    if (out == NULL)
        return NULL;
    exposition_label(out, "target", writing->source->target);
    if (label[0] != '\0')
        exposition_label(out, label, value);
    return out;
}

static void put(const struct writing *writing, const char *label, const char *name, int64_t value)
{
    struct exposition *out = begin(writing, label, name);
    if (out != NULL)
        exposition_int(out, value);
}

static void write_row(const struct writing *writing, const struct metric_row *row,
                      const struct sample *sample)
{
    int64_t value;
    if (!sample_get(sample, row->field, &value))
        return;
    struct exposition *out = begin(writing, row->label, row->value);
    if (out == NULL)
        return;
    if (row->type == EXPOSITION_COUNTER)
        exposition_created(out, writing->source->start_unix_s);
    if (row->divisor == 1)
        exposition_int(out, value);
    else
        exposition_real(out, (double)value / row->divisor);
}

static void write_nmt(const struct writing *writing, const struct sample *sample, bool committed)
{
    struct nmt_amount amount;
    int64_t total;
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        if (sample_get_nmt(sample, (enum nmt_category)i, &amount))
            put(writing, "pool", nmt_category_name((enum nmt_category)i),
                committed ? amount.committed_bytes : amount.reserved_bytes);
    }
    for (int i = 0; i < sample->extra_count; i++)
        put(writing, "pool", sample->extra[i].name,
            committed ? sample->extra[i].amount.committed_bytes
                      : sample->extra[i].amount.reserved_bytes);
    if (sample_get(sample, committed ? SAMPLE_NMT_COMMITTED_BYTES : SAMPLE_NMT_RESERVED_BYTES,
                   &total))
        put(writing, "pool", "Total", total);
}

static void write_composed(const struct writing *writing, enum composed what,
                           const struct sample *sample)
{
    int64_t loaded, unloaded = 0, limit = -1;
    switch (what) {
    case CLASSES_NOW:
        if (!sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded))
            return;
        sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded);
        put(writing, "", "", loaded - unloaded);
        break;
    case METASPACE_LIMIT: /* client_java says -1 for a pool without a limit */
        if (!sample_has(sample, SAMPLE_METASPACE_COMMITTED_BYTES))
            return;
        sample_get(sample, SAMPLE_METASPACE_MAX_BYTES, &limit);
        put(writing, "pool", "Metaspace", limit);
        break;
    default:
        write_nmt(writing, sample, what == NMT_COMMITTED);
    }
}

void sample_metrics_write(int family, const struct sample *sample,
                          const struct sample_source *source, sample_series_fn *series,
                          void *context)
{
    const struct writing writing = {source, series, context};
    if (family >= ROWS) {
        write_composed(&writing, (enum composed)(family - ROWS), sample);
        return;
    }
    for (int row = family; row < ROWS && strcmp(rows[row].name, rows[family].name) == 0; row++)
        write_row(&writing, &rows[row], sample);
}
