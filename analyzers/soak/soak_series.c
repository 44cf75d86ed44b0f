#include "analyzers/soak/soak_series.h"

#include "analyzers/native/internal.h"

#include <ctype.h>

#define VALUE_MAX (INT64_C(1) << 50)

static const struct {
    const char *key;
    const char *title;
    enum soak_unit unit;
    enum soak_role role;
} rows[] = {
#define SOAK_SERIES(id, key, title, unit, role) {key, title, SOAK_UNIT_##unit, SOAK_ROLE_##role},
#include "analyzers/soak/soak_series.def"
#undef SOAK_SERIES
};

static enum nmt_category category_of(enum soak_series series)
{
    return (enum nmt_category)(series - SOAK_FIRST_CATEGORY);
}

void soak_series_key(enum soak_series series, char *out)
{
    const char *name =
        series < SOAK_FIRST_CATEGORY ? rows[series].key : nmt_category_name(category_of(series));
    /* Two sums are called as the categories they begin with. */
    bool taken = series == SOAK_FIRST_CATEGORY + NMT_INTERNAL ||
                 series == SOAK_FIRST_CATEGORY + NMT_METASPACE;
    size_t length = taken ? 4 : 0;
    memcpy(out, "nmt-", 4);
    for (; *name != '\0' && length + 1 < SOAK_KEY_MAX; name++, length++)
        out[length] = *name == ' ' ? '-' : (char)tolower((unsigned char)*name);
    out[length] = '\0';
}

enum soak_series soak_series_from_key(struct span key)
{
    char known[SOAK_KEY_MAX];
    for (int series = 0; series < SOAK_SERIES_COUNT; series++) {
        soak_series_key((enum soak_series)series, known);
        if (strlen(known) == key.len && memcmp(known, key.ptr, key.len) == 0)
            return (enum soak_series)series;
    }
    return SOAK_SERIES_COUNT;
}

const char *soak_series_title(enum soak_series series, int jdk_major)
{
    if (series == SOAK_INTERNAL)
        return internal_meaning(jdk_major);
    return series < SOAK_FIRST_CATEGORY ? rows[series].title
                                        : nmt_category_name(category_of(series));
}

enum soak_unit soak_series_unit(enum soak_series series)
{
    return series < SOAK_FIRST_CATEGORY ? rows[series].unit : SOAK_UNIT_BYTES;
}

enum soak_role soak_series_role(enum soak_series series)
{
    if (series < SOAK_FIRST_CATEGORY)
        return rows[series].role;
    switch (category_of(series)) {
    case NMT_JAVA_HEAP: /* the heap's own business, and bounded by -Xmx */
    case NMT_GC:        /* follows the heap */
    case NMT_GC_CARD_SET:
    case NMT_CODE: /* bounded by ReservedCodeCacheSize, and fills for long */
    case NMT_COMPILER:
    case NMT_ARENA_CHUNK:
    case NMT_NMT: /* what the tracking itself takes: follows the others */
    case NMT_SHARED_CLASS_SPACE:
    case NMT_INTERNAL: /* these three are in the sums above */
    case NMT_CLASS:
    case NMT_METASPACE:
        return SOAK_ROLE_SHOWN;
    default:
        return SOAK_ROLE_WATCHED;
    }
}

static bool plausible(int64_t value)
{
    return value >= 0 && value <= VALUE_MAX;
}

/* NMT's total without the committed heap, which the GC moves as it likes. */
static bool without_heap(const struct sample *sample, int64_t *value)
{
    struct nmt_amount heap;
    if (!sample_get(sample, SAMPLE_NMT_COMMITTED_BYTES, value) ||
        !sample_get_nmt(sample, NMT_JAVA_HEAP, &heap) || !plausible(*value) ||
        !plausible(heap.committed_bytes) || heap.committed_bytes > *value)
        return false;
    *value -= heap.committed_bytes;
    return true;
}

static bool live_classes(const struct sample *sample, int64_t *value)
{
    int64_t unloaded;
    if (!sample_get(sample, SAMPLE_CLASSES_LOADED, value) ||
        !sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded) || !plausible(*value) ||
        !plausible(unloaded))
        return false;
    *value -= unloaded;
    return true;
}

bool soak_series_value(enum soak_series series, const struct sample *sample, int jdk_major,
                       int64_t *value)
{
    bool known = false;
    struct nmt_amount amount;
    switch (series) {
    case SOAK_INTERNAL:
        known = internal_bytes(sample, jdk_major, value);
        break;
    case SOAK_METASPACE:
        known = class_metaspace_bytes(sample, value);
        break;
    case SOAK_TOTAL:
        known = without_heap(sample, value);
        break;
    case SOAK_RSS:
        known = sample_get(sample, SAMPLE_RSS_BYTES, value);
        break;
    case SOAK_CLASSES:
        known = live_classes(sample, value);
        break;
    case SOAK_LOADED:
        known = sample_get(sample, SAMPLE_CLASSES_LOADED, value);
        break;
    case SOAK_THREADS:
        known = sample_get(sample, SAMPLE_THREADS, value);
        break;
    default:
        known = series < SOAK_SERIES_COUNT && sample_get_nmt(sample, category_of(series), &amount);
        if (known)
            *value = amount.committed_bytes;
        break;
    }
    return known && plausible(*value);
}
