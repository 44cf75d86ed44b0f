/*
 * family: the known producers of generated classes; the table is families.def.
 *
 * A row says how the names look, who makes them, why they grow and what to change. Ids are the ids
 * of the contract and never change. First match wins. Any thread after family_setup.
 */
#ifndef ANALYZERS_CLASSES_FAMILY_H
#define ANALYZERS_CLASSES_FAMILY_H

#include "analyzers/parse/span.h"

/* What a family's growth says. A SECONDARY family (LambdaForms, string concat) grows because
 * something else does: it is named only when no PRODUCER explains the loads. */
enum family_role { FAMILY_PRODUCER, FAMILY_SECONDARY };

struct family {
    const char *id;
    const char *producer;
    const char *pattern; /* POSIX extended regular expression on the class name */
    enum family_role role;
    const char *cause; /* grows because */
    const char *fix;
};

/* NULL when no row matches. name: as the JVM prints it, address tails included. */
const struct family *family_match(struct span name);
/* NULL when there is no such id. */
const struct family *family_by_id(const char *id);
/* Row by index, NULL past the end: for docs and tests. */
const struct family *family_at(size_t index);

#endif
