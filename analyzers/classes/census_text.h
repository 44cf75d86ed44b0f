/*
 * census_text: text that names classes -> census. Lists are stocks of live classes; log lines are a
 * flow. Array classes are passed over: nobody generates them. Any thread that owns the census.
 */
#ifndef ANALYZERS_CLASSES_CENSUS_TEXT_H
#define ANALYZERS_CLASSES_CENSUS_TEXT_H

#include "analyzers/classes/census.h"

/* text: the reply of the command named by method (classes, class_hierarchy, class_histogram). */
enum parse_result census_add_list(struct census *census, enum census_method method,
                                  struct span text);
/* A row for each type of loader that belongs to a generator. */
void census_add_loaders(struct census *census, const struct loader_row *rows, int count);
/* Complete lines of a class-load log; *text is left with the incomplete tail. Returns how many
 * lines named a class. */
int64_t census_add_log(struct census *census, struct span *text);

#endif
