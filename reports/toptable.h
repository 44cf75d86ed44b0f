/*
 * toptable: methods by the samples in which they ran themselves (self) or were on the stack
 * (total). A method that calls itself is counted once a sample. As text for people, as JSON for
 * programs.
 *
 *   toptable_create -> toptable_print, toptable_json -> toptable_destroy
 *
 * The tree is finished and outlives the table. One thread.
 */
#ifndef REPORTS_TOPTABLE_H
#define REPORTS_TOPTABLE_H

#include "reports/call_tree.h"
#include "reports/json_out.h"

#include <stdio.h>

struct top_row {
    uint32_t name; /* call_tree_name */
    int64_t self, total;
};

struct toptable;

/* Most self first, then most total, then by name. NULL when out of memory. */
struct toptable *toptable_create(const struct call_tree *tree);
uint32_t toptable_row_count(const struct toptable *table);
const struct top_row *toptable_row(const struct toptable *table, uint32_t row);
/* The first rows, and how many there are besides. False when out failed. */
bool toptable_print(const struct toptable *table, uint32_t rows, FILE *out);
/* Members of the object that is open: samples, refused_samples, methods: [{name, kind, self,
 * total}].
 */
void toptable_json(const struct toptable *table, struct json_out *out);
void toptable_destroy(struct toptable *table);

#endif
