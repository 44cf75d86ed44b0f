/*
 * measured: what a measurement of a JVM, or its recording, gives a plan: how large it is, what its classes
 * cost, how fast they come.
 *
 * The cost of one class is best measured by growth between two measurements, of the categories that
 * classes are in: Class, Metaspace, Module, Symbol and NMT's own headers. Where too few came in between
 * it is the mean over all classes that are there, without those of the class archive (whose memory is
 * mapped and shared), which holds for more of the same kind only.
 *
 * Bytes; -1: not known. Pure; plain data; any thread.
 */
#pragma once

#include "analyzers/model/event.h"
#include "analyzers/native/internal.h"
#include "analyzers/plan/plan_input.h"

#define PLAN_GROWTH_CLASSES_MIN 200 /* between two measurements */

enum plan_basis {
    PLAN_BASIS_FORMULA, /* nothing was measured */
    PLAN_BASIS_GROWTH,  /* difference of two measurements */
    PLAN_BASIS_MEAN,    /* over all classes that are there */
};
const char *plan_basis_name(enum plan_basis basis); /* "formula" "growth" "mean" */

struct plan_sample {
    struct sample sample;
    int64_t shared_classes; /* of the class archive; -1: not known */
    int64_t arenas;         /* of Metaspace; -1: not known */
};

struct plan_measured {
    bool have;
    double span_s; /* between the two measurements; 0: one measurement */
    int64_t classes, loaded, unloaded, loaders, threads;
    double loads_per_s, unloads_per_s; /* below 0: not known */
    double methods_per_class;          /* counted; below 0: not known */
    struct jmethodid_load counted; /* of all that are there; no classes: they were not counted */
    double counted_slots;          /* of a class in the mean */

    int64_t rss_bytes, nmt_bytes;
    int64_t heap_bytes;      /* reserved: what -Xmx allows */
    int64_t class_bytes;     /* all categories that classes are in */
    int64_t metaspace_bytes; /* of that what MaxMetaspaceSize bounds */
    int64_t code_bytes, gc_bytes, thread_bytes;
    int64_t rest_bytes; /* of NMT's total: neither heap nor any of the above */
    int64_t metaspace_max_bytes, limit_bytes;

    enum plan_basis basis;
    int64_t basis_classes;
    double bytes_per_class, metaspace_per_class;
    double loaders_per_class; /* of those that came; below 0: not known */

    /* A recording: whether it grows, by its verdict. Not judged: it is not known, the sentence says
     * why. */
    bool judged, growing;
    double growth_bytes_per_s;
    char growth_sentence[320]; /* empty: there is no recording */

    char level[128]; /* native memory that is far too large (level.h); empty: none */
    bool level_excludes;

    int64_t component_bytes[PLAN_COMPONENT_COUNT]; /* of an agent of ours that is there */
};

/* Loaded less unloaded; -1: not known. */
int64_t plan_classes_alive(const struct sample *sample);
void plan_measured_none(struct plan_measured *measured);
/* first may be NULL: one measurement. */
void plan_measure(struct plan_measured *measured, const struct plan_sample *first,
                  const struct plan_sample *last, double span_s);
/* Loads and unloads a second, of another pair of samples than that by which a class was measured. */
void plan_measure_rates(struct plan_measured *measured, const struct plan_sample *first,
                        const struct plan_sample *last, double span_s);
/* Levels above what a JVM has at its start, of one measurement. */
void plan_measure_level(struct plan_measured *measured, int jdk_major, const struct sample *now);
/* Fills input that was not given with what was measured. */
void plan_measured_input(const struct plan_measured *measured, struct plan_input *input);
