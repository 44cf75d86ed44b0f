#include "analyzers/plan/class_cost.h"

#include "analyzers/parse/saturated.h"

#define GENERATED_CLASS_SPACE 522.0
#define GENERATED_MALLOC      40.0
#define CHUNK_FIRST           4096.0 /* of a loader, in Metaspace ... */
#define CLASS_CHUNK_FIRST     1024.0 /* ... and in class space */
#define CHUNK_DOUBLED_UP_TO   65536.0
#define LOADER_METASPACE      144.0 /* the loader's arena itself */
#define DEFAULT_JDK           17

struct row {
    int first_jdk;
    double fixed, generated_method, generated_symbol, generated_nmt;
    double method, class_space, class_malloc, symbol, nmt;
    double loader_class, loader_other, loader_nmt;
};

static const struct row rows[] = {
#define CLASS_COST(jdk, ...) {jdk, __VA_ARGS__},
#include "analyzers/plan/class_costs.def"
#undef CLASS_COST
};

static const struct row *row_of(int jdk_major)
{
    const struct row *row = &rows[0];
    int jdk = jdk_major > 0 ? jdk_major : DEFAULT_JDK;
    for (unsigned i = 1; i < sizeof rows / sizeof rows[0]; i++) {
        if (jdk >= rows[i].first_jdk)
            row = &rows[i];
    }
    return row;
}

static int64_t whole(double bytes)
{
    return bytes >= 9.2e18 ? INT64_MAX : bytes <= 0.0 ? 0 : (int64_t)(bytes + 0.5);
}

/* What the chunks of one loader come to: doubled while it is small, then half a chunk is unused. */
static double chunks(double bytes, double first)
{
    double chunk = first;
    if (bytes > CHUNK_DOUBLED_UP_TO)
        return bytes;
    while (chunk < bytes)
        chunk *= 2.0;
    return chunk;
}

struct class_cost class_cost(int jdk_major, struct class_load load)
{
    struct class_cost cost = {0};
    if (load.classes <= 0 || load.methods_per_class < 0.0)
        return cost;
    const struct row *row = row_of(jdk_major);
    double classes = (double)load.classes;
    double loaders = load.loaders < 1 ? 1.0 : (double)load.loaders;
    double each = classes / loaders;
    double method = load.generated ? row->generated_method : row->method;
    double metaspace = row->fixed + method * load.methods_per_class;
    double class_space = load.generated ? GENERATED_CLASS_SPACE : row->class_space;
    double heads = load.generated ? GENERATED_MALLOC : row->class_malloc;
    cost.metaspace_bytes =
        whole(loaders * (chunks(each * metaspace, CHUNK_FIRST) + LOADER_METASPACE));
    cost.class_space_bytes = whole(loaders * chunks(each * class_space, CLASS_CHUNK_FIRST));
    cost.malloc_bytes = whole(classes * heads + loaders * (row->loader_class + row->loader_other));
    cost.symbol_bytes = whole(classes * (load.generated ? row->generated_symbol : row->symbol));
    cost.nmt_bytes = whole(classes * (load.generated ? row->generated_nmt : row->nmt) +
                           loaders * row->loader_nmt);
    return cost;
}

int64_t class_cost_metaspace(const struct class_cost *cost)
{
    return saturated_add(cost->metaspace_bytes, cost->class_space_bytes);
}

int64_t class_cost_total(const struct class_cost *cost)
{
    return saturated_add(saturated_add(class_cost_metaspace(cost), cost->malloc_bytes),
                         saturated_add(cost->symbol_bytes, cost->nmt_bytes));
}
