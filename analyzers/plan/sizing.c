#include "analyzers/plan/sizing.h"

#include "floor/base/span.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define KB              1024.0
#define MB              (1024.0 * KB)
#define METASPACE_STEP  (INT64_C(16) << 20)
#define METASPACE_LEAST (INT64_C(64) << 20)
#define CODE_STEP       (INT64_C(16) << 20)
#define CODE_LEAST      (INT64_C(64) << 20)
#define CODE_DEFAULT    (INT64_C(240) << 20) /* of the JVM itself */

/* Measured, JDK 17 and 25: what is touched of a stack is 73 to 110 KB when a thread has just begun
 * and 107 to 127 KB at 200 frames. */
#define STACK_TOUCHED  (128.0 * KB)
/* javac for 40 s: 24 MB (17) and 36 MB (25) at 2 400 classes; 7.4 MB at none. Code is compiled for
 * few of many classes: the JVM's own bound ends it. */
#define CODE_FIXED     (8.0 * MB)
#define CODE_PER_CLASS (7.0 * KB)
/* Of generated classes few run often enough: 20 000 of 15 methods had 7.6 MB in all (25, serial). */
#define CODE_CLASSES   2400.0
/* Resident when idle 35 MB (libjvm, class archive), compilers at work 22 MB more. */
#define JVM_ITSELF     (64.0 * MB)

/* What a collector holds beside the heap, at its start with the heap committed, two processors:
 * category GC of NMT at heaps of 256 MB, 1 GB and 2 GB; 17.0.15 and 25.0.3. Remembered sets of G1 and
 * mark stacks come to that under load. Shenandoah: not measured, taken as G1. */
static const struct {
    int first_jdk;
    enum plan_gc gc;
    double fixed_mb, heap_percent;
} gc_costs[] = {
    {8, PLAN_GC_SERIAL, 0, 0.33},
    {8, PLAN_GC_PARALLEL, 9.5, 3.7},
    {8, PLAN_GC_G1, 36, 4.0},
    {8, PLAN_GC_Z, 64, 0},
    {8, PLAN_GC_SHENANDOAH, 36, 4.0},
    {25, PLAN_GC_SERIAL, 0, 0.33},
    {25, PLAN_GC_PARALLEL, 6, 1.9},
    {25, PLAN_GC_G1, 36, 2.0},
    {25, PLAN_GC_Z, 1, 0},
    {25, PLAN_GC_SHENANDOAH, 36, 2.0},
};

static int64_t round_up(int64_t bytes, int64_t step)
{
    return bytes > INT64_MAX - step ? INT64_MAX : (bytes + step - 1) / step * step;
}

__attribute__((format(printf, 5, 6))) static void part(struct sizing *sizing, const char *key,
                                                       const char *title, int64_t bytes,
                                                       const char *basis, ...)
{
    struct sizing_part *out = &sizing->parts[sizing->part_count++];
    va_list arguments;
    out->key = key;
    out->title = title;
    out->bytes = bytes;
    va_start(arguments, basis);
    vsnprintf(out->basis, sizeof out->basis, basis, arguments);
    va_end(arguments);
    sizing->total_bytes = saturated_add(sizing->total_bytes, bytes);
}

static void gc_part(struct sizing *sizing, const struct plan_input *input, double heap)
{
    double fixed_mb = 0.0, percent = 0.0;
    for (unsigned i = 0; i < sizeof gc_costs / sizeof gc_costs[0]; i++) {
        if (gc_costs[i].gc == input->gc && gc_costs[i].first_jdk <= input->jdk_major) {
            fixed_mb = gc_costs[i].fixed_mb;
            percent = gc_costs[i].heap_percent;
        }
    }
    part(sizing, "gc", "garbage collector", plan_whole(fixed_mb * MB + heap * percent / 100.0),
         "%s: %.0f MB and %.1f %% of the heap", plan_gc_name(input->gc), fixed_mb, percent);
}

static void runtime_parts(struct sizing *sizing, const struct sizing_needs *needs)
{
    const struct plan_measured *measured = needs->measured;
    const struct plan_input *input = needs->input;
    double threads = plan_input_get(input, PLAN_THREADS);
    double compiled = (double)needs->classes;
    if (input->generated)
        compiled = fmin(compiled, CODE_CLASSES);
    double code = fmin(CODE_FIXED + CODE_PER_CLASS * compiled, (double)CODE_DEFAULT);
    double touched = fmin(STACK_TOUCHED, plan_input_get(input, PLAN_STACK));
    double heap = sizing->heap_known ? plan_input_get(input, PLAN_HEAP) : 0.0;
    if (measured->code_bytes >= 0)
        part(sizing, "code", "compiled code", measured->code_bytes, "measured");
    else
        part(sizing, "code", "compiled code", plan_whole(code),
             "8 MB and 7 KB a class, at most 240 MB%s",
             input->generated ? ", of 2 400 classes: generated ones are seldom compiled" : "");
    if (measured->thread_bytes >= 0 && measured->threads > 0) {
        double each = (double)measured->thread_bytes / (double)measured->threads;
        part(sizing, "threads", "thread stacks", plan_whole(each * threads),
             "measured: %.0f KB each", each / KB);
    } else {
        part(sizing, "threads", "thread stacks", plan_whole(touched * threads),
             "%.0f KB of each is touched", touched / KB);
    }
    if (measured->gc_bytes >= 0)
        part(sizing, "gc", "garbage collector", measured->gc_bytes, "measured");
    else
        gc_part(sizing, input, heap);
    if (measured->rest_bytes >= 0)
        part(sizing, "jvm", "the JVM itself, direct buffers", measured->rest_bytes, "measured");
    else
        part(sizing, "jvm", "the JVM itself", plan_whole(JVM_ITSELF),
             "libraries, class archive, compilers");
    if (plan_input_get(input, PLAN_DIRECT) > 0.0)
        part(sizing, "direct", "direct buffers", plan_whole(plan_input_get(input, PLAN_DIRECT)),
             "as given");
}

static void say_flags(struct sizing *sizing, const struct plan_input *input)
{
    int64_t mb = INT64_C(1) << 20;
    char *out = sizing->flags;
    size_t size = sizeof sizing->flags, at = 0;
    if (sizing->heap_known)
        at += (size_t)snprintf(out + at, size - at, "-Xmx%" PRId64 "m ",
                               round_up(plan_whole(plan_input_get(input, PLAN_HEAP)), mb) / mb);
    at += (size_t)snprintf(out + at, size - at,
                           "-XX:MaxMetaspaceSize=%" PRId64 "m -XX:ReservedCodeCacheSize=%" PRId64
                           "m -Xss%.0fk",
                           sizing->max_metaspace_bytes / mb, sizing->code_cache_bytes / mb,
                           plan_input_get(input, PLAN_STACK) / KB);
    if (plan_input_get(input, PLAN_DIRECT) > 0.0)
        at += (size_t)snprintf(out + at, size - at, " -XX:MaxDirectMemorySize=%" PRId64 "m",
                               round_up(plan_whole(plan_input_get(input, PLAN_DIRECT)), mb) / mb);
    snprintf(out + at, size - at, " -XX:NativeMemoryTracking=summary");
}

void sizing_make(struct sizing *sizing, const struct sizing_needs *needs)
{
    const struct plan_input *input = needs->input;
    memset(sizing, 0, sizeof *sizing);
    sizing->heap_known = plan_input_known(input, PLAN_HEAP);
    int64_t heap = sizing->heap_known ? plan_whole(plan_input_get(input, PLAN_HEAP)) : 0;
    if (sizing->heap_known)
        part(sizing, "heap", "Java heap", heap, "-Xmx");
    part(sizing, "classes", "classes", needs->classes_bytes, "%s",
         needs->measured->basis != PLAN_BASIS_FORMULA ? "measured, and what comes to it"
                                                      : "Metaspace, Class, symbols, NMT");
    runtime_parts(sizing, needs);
    part(sizing, "jmethod_ids", "jmethodIDs", needs->jmethod_ids_bytes, "of a profiler");
    part(sizing, "profiler", "profiler", needs->profiler_bytes, "its own memory");

    int64_t beside = sizing->total_bytes - heap;
    sizing->reserve_bytes = beside / 100 * SIZING_RESERVE_PERCENT;
    sizing->proposal_bytes =
        round_up(saturated_add(sizing->total_bytes, sizing->reserve_bytes), SIZING_STEP_BYTES);
    sizing->limit_bytes =
        plan_input_known(input, PLAN_LIMIT) ? plan_whole(plan_input_get(input, PLAN_LIMIT)) : -1;
    sizing->fits = sizing->limit_bytes < 0 || sizing->total_bytes <= sizing->limit_bytes;

    /* A quarter more than is needed: an application that is at its bound throws OutOfMemoryError */
    sizing->max_metaspace_bytes =
        round_up(saturated_add(needs->metaspace_bytes, needs->metaspace_bytes / 4), METASPACE_STEP);
    sizing->max_metaspace_bytes = MAX(sizing->max_metaspace_bytes, METASPACE_LEAST);
    sizing->code_cache_bytes = CODE_DEFAULT;
    for (int i = 0; i < sizing->part_count; i++) {
        if (strcmp(sizing->parts[i].key, "code") == 0) {
            int64_t code = sizing->parts[i].bytes;
            sizing->code_cache_bytes = round_up(saturated_add(code, code / 2), CODE_STEP);
        }
    }
    sizing->code_cache_bytes = MAX(sizing->code_cache_bytes, CODE_LEAST);
    if (sizing->code_cache_bytes > CODE_DEFAULT && needs->measured->code_bytes < CODE_DEFAULT)
        sizing->code_cache_bytes = CODE_DEFAULT;
    sizing->stacks_reserved_bytes =
        plan_whole(plan_input_get(input, PLAN_STACK) * plan_input_get(input, PLAN_THREADS));
    say_flags(sizing, input);
}

/* --- what loaded classes take ----------------------------------------------------------------- */

#define GENERATED_CLASS_SPACE 522.0
#define GENERATED_MALLOC      40.0
#define CHUNK_FIRST           4096.0 /* of a loader, in Metaspace ... */
#define CLASS_CHUNK_FIRST     1024.0 /* ... and in class space */
#define CHUNK_DOUBLED_UP_TO   65536.0
#define LOADER_METASPACE      144.0 /* the loader's arena itself */
#define DEFAULT_JDK           17

/* Bytes. Metaspace of a class is `fixed` and `method` for each of its methods; a loader has malloc in
 * category Class, in Module and others, and NMT's headers for it.
 *
 * 17.0.15 and 25.0.3 were measured in full. 11 to 16 and 18 to 24 are taken as their neighbours, which
 * agree in the total of a class in a loader of its own (9.6 to 10.0 KB from 11 to 26); on JDK 8 that
 * total is 7.1 KB: there are no modules, and a loader is cheaper. */
struct row {
    int first_jdk;
    double fixed;
    struct {
        double method, symbol, nmt;
    } generated;
    struct {
        double method, class_space, malloc, symbol, nmt;
    } application;
    struct {
        double class, other, nmt;
    } loader;
};

static const struct row rows[] = {
    {8, 293, {161, 66, 69}, {586, 740, 90, 1469, 662}, {1410, 100, 150}},
    {11, 293, {161, 66, 69}, {586, 740, 90, 1469, 662}, {2629, 1326, 291}},
    {25, 324, {169, 54, 60}, {599, 745, 46, 1303, 344}, {2773, 1362, 345}},
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
    double method = load.generated ? row->generated.method : row->application.method;
    double metaspace = row->fixed + method * load.methods_per_class;
    double class_space = load.generated ? GENERATED_CLASS_SPACE : row->application.class_space;
    double heads = load.generated ? GENERATED_MALLOC : row->application.malloc;
    cost.metaspace_bytes =
        plan_whole(loaders * (chunks(each * metaspace, CHUNK_FIRST) + LOADER_METASPACE));
    cost.class_space_bytes = plan_whole(loaders * chunks(each * class_space, CLASS_CHUNK_FIRST));
    cost.malloc_bytes =
        plan_whole(classes * heads + loaders * (row->loader.class + row->loader.other));
    cost.symbol_bytes =
        plan_whole(classes * (load.generated ? row->generated.symbol : row->application.symbol));
    cost.nmt_bytes =
        plan_whole(classes * (load.generated ? row->generated.nmt : row->application.nmt) +
                   loaders * row->loader.nmt);
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
