#include "analyzers/native/internal.h"

#include "floor/base/span.h"

#include <math.h>

#define JNI_HOLDS_METHOD_IDS_SINCE 26

bool internal_has_jni(int jdk_major)
{
    return jdk_major >= JNI_HOLDS_METHOD_IDS_SINCE;
}

bool internal_bytes(const struct sample *sample, int jdk_major, int64_t *bytes)
{
    struct nmt_amount internal;
    if (!sample_get_nmt(sample, NMT_INTERNAL, &internal))
        return false;
    *bytes = internal.committed_bytes;
    struct nmt_amount jni;
    if (internal_has_jni(jdk_major) && sample_get_nmt(sample, NMT_JNI, &jni))
        *bytes = saturated_add(*bytes, jni.committed_bytes);
    return true;
}

const char *internal_meaning(int jdk_major)
{
    return internal_has_jni(jdk_major) ? "Internal + JNI" : "Internal";
}

bool class_metaspace_bytes(const struct sample *sample, int64_t *bytes)
{
    struct nmt_amount amount;
    if (!sample_get_nmt(sample, NMT_CLASS, &amount))
        return false;
    *bytes = amount.committed_bytes;
    if (sample_get_nmt(sample, NMT_METASPACE, &amount))
        *bytes = saturated_add(*bytes, amount.committed_bytes);
    return true;
}

/* --- what jmethodIDs cost --------------------------------------------------------------------- */

#define SLOTS_MIN       8.0 /* a block holds at least so many ids */
#define LIST_FIRST      32.0
#define TABLE_JDK       26 /* ids became entries of a table */
#define BIG_HEADERS_JDK 25

static int64_t whole(double bytes)
{
    return bytes >= 9.2e18 ? INT64_MAX : bytes <= 0.0 ? 0 : (int64_t)(bytes + 0.5);
}

static double list_capacity(double ids)
{
    double capacity = LIST_FIRST;
    while (capacity < ids)
        capacity *= 2.0;
    return capacity;
}

struct jmethodid_cost jmethodid_cost(int jdk_major, struct jmethodid_load load)
{
    return jmethodid_cost_counted(jdk_major, load, 0.0);
}

struct jmethodid_cost jmethodid_cost_counted(int jdk_major, struct jmethodid_load load,
                                             double slots_per_class)
{
    struct jmethodid_cost cost = {0};
    if (load.classes <= 0 || load.methods_per_class < 0.0)
        return cost;
    double classes = (double)load.classes;
    double loaders = load.loaders < 1 ? 1.0 : (double)load.loaders;
    double methods = load.methods_per_class;
    double cache = 8.0 * (methods + 1.0) * classes;
    double header = jdk_major >= BIG_HEADERS_JDK ? 18.0 : 16.0;
    if (jdk_major >= TABLE_JDK) {
        double lists = (24.0 + 8.0 * list_capacity(methods * classes / loaders)) * loaders;
        cost.jni_bytes = whole(24.0 * methods * classes);
        cost.class_bytes = whole(cache + lists);
        cost.nmt_header_bytes = whole(header * ((methods + 1.0) * classes + 2.0 * loaders));
        return cost;
    }
    double slots = 8.0 * fmax(slots_per_class, fmax(methods, SLOTS_MIN)) * classes;
    double nodes = 24.0 * classes + 16.0 * loaders;
    cost.nmt_header_bytes = whole(header * 3.0 * classes);
    if (jdk_major == 8) {
        cost.class_bytes = whole(cache + slots + nodes);
        cost.kept_class_bytes = whole(slots + nodes);
        return cost;
    }
    cost.class_bytes = whole(cache + nodes);
    cost.kept_class_bytes = whole(nodes);
    cost.internal_bytes = cost.kept_internal_bytes = whole(slots);
    return cost;
}

void jmethodid_cost_add(struct jmethodid_cost *cost, const struct jmethodid_cost *further)
{
    cost->class_bytes = saturated_add(cost->class_bytes, further->class_bytes);
    cost->internal_bytes = saturated_add(cost->internal_bytes, further->internal_bytes);
    cost->jni_bytes = saturated_add(cost->jni_bytes, further->jni_bytes);
    cost->kept_class_bytes = saturated_add(cost->kept_class_bytes, further->kept_class_bytes);
    cost->kept_internal_bytes =
        saturated_add(cost->kept_internal_bytes, further->kept_internal_bytes);
    cost->nmt_header_bytes = saturated_add(cost->nmt_header_bytes, further->nmt_header_bytes);
}

int64_t jmethodid_loaded_bytes(const struct jmethodid_cost *cost)
{
    return saturated_add(saturated_add(cost->class_bytes, cost->internal_bytes), cost->jni_bytes);
}

int64_t jmethodid_kept_bytes(const struct jmethodid_cost *cost)
{
    return saturated_add(cost->kept_class_bytes, cost->kept_internal_bytes);
}
