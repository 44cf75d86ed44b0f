/*
 * internal: what "NMT Internal" has to mean on each JDK, so that the documented thresholds do.
 *
 * jmethodIDs, the profilers' own bill, moved between categories: on JDK 8 all of it is in Class and
 * Internal holds direct buffers; on 9 to 25 the id slots are in Internal (42 %) and the rest in
 * Class; from 26 on Internal does not move at all and JNI + Class do. "Internal" for alerts is the
 * sum of the categories that hold what Internal held:
 *
 *   JDK 8       Internal            (direct buffers live there; Class is judged by its own alert)
 *   JDK 9..25   Internal
 *   JDK 26..    Internal + JNI
 *
 * Class is not added: it also holds the classes themselves, which class-metaspace-growth judges.
 * Source: docs/internals/measurements.md. Any thread.
 */
#ifndef ANALYZERS_NATIVE_INTERNAL_H
#define ANALYZERS_NATIVE_INTERNAL_H

#include "analyzers/model/sample.h"

/* Committed bytes; false when the sample has no NMT summary or lacks Internal. */
bool internal_bytes(const struct sample *sample, int jdk_major, int64_t *bytes);
/* JNI is part of Internal then. */
bool internal_has_jni(int jdk_major);
/* The same as words for the operator: "Internal", "Internal + JNI". */
const char *internal_meaning(int jdk_major);
/* Class + Metaspace committed (8, 11: Class holds both). */
bool class_metaspace_bytes(const struct sample *sample, int64_t *bytes);

#endif
