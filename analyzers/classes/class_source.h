/*
 * class_source: where a class came from, as the class-load log says it ("source: ...").
 *
 * Pure; any thread.
 */
#ifndef ANALYZERS_CLASSES_CLASS_SOURCE_H
#define ANALYZERS_CLASSES_CLASS_SOURCE_H

#include "analyzers/parse/span.h"

#include <stdbool.h>

/* The archive of shared classes, its upper layer "(top)" included, or the runtime image; on JDK 8
 * that is a folder of jars. */
bool class_source_is_archive(struct span source);
/* "__JVM_DefineClass__", "__dynamic_proxy__", the host of a lambda: no path, no URL. */
bool class_source_is_code(struct span source);

#endif
