/*
 * loaded_methods: how many classes, methods and jmethodIDs exist in a JVM now, by family of class names, read
 * from outside by agent/classdef/class_graph.h.
 *
 * 2 to 7 us of CPU a class, mostly the kernel's: 110 ms for 50 000 classes of one loader, 350 ms where each
 * has its own. A reading of another process's memory may block for ever where that process arranges it (a
 * page of a file system of its own): who has something else to do reads in a child (observe_child.h).
 *
 * Blocking; one process at a time, one thread.
 */
#ifndef NMTWATCH_OBSERVE_LOADED_METHODS_H
#define NMTWATCH_OBSERVE_LOADED_METHODS_H

#include "agent/classdef/class_graph.h"
#include "analyzers/model/event.h"
#include "nmtwatch/jvm/target.h"
#include "reports/profile/call_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False with one sentence. loaded_methods_free in either case. */
bool loaded_methods_read(const struct target *target, struct loaded_methods *out, char *error,
                         size_t error_size);
/* Without families. */
struct methods_event loaded_methods_sums(const struct loaded_methods *methods);
/* PROFILE_TOP: one object, one line (docs/json/observe.md); PROFILE_TOP_TEXT: a table. False: another format,
 * or out failed. */
bool loaded_methods_write(const struct loaded_methods *methods, const struct target *target,
                          enum profile_format format, FILE *out);
/* The object of PROFILE_TOP as what a watch keeps. False: it is none. */
bool loaded_methods_event(const char *json, struct kept_methods *out);
/* The table of PROFILE_TOP_TEXT. ids: jmethodIDs; -1: not counted. by_agent: so it is said. */
bool methods_table_write(const struct methods_event *methods, const struct target *target,
                         int64_t ids, bool by_agent, FILE *out);
/* In one line. */
void loaded_methods_sentence(const struct loaded_methods *methods, char *out, size_t size);
void loaded_methods_free(struct loaded_methods *methods);

#endif
