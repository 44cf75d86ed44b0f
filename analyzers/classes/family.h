/*
 * family: the known producers of generated classes; the table is families.def.
 *
 * A row says how the names look, who makes them, why they grow and what to change. Ids are the ids
 * of the contract and never change. First match wins. No state: any thread, any time.
 */
#ifndef ANALYZERS_CLASSES_FAMILY_H
#define ANALYZERS_CLASSES_FAMILY_H

#include "analyzers/parse/span.h"

enum {
    FAMILY_COUNT = 0
#define FAMILY(id, producer, role, evidence, must, pattern, cause, fix) +1
#include "analyzers/classes/families.def"
#undef FAMILY
};

/* What a family's growth says. A SECONDARY family (LambdaForms, string concat) grows because
 * something else does: it is named only when no PRODUCER explains the loads. A HOSTED one (lambdas)
 * is a producer, unless the host in front of its names is generated too. */
enum family_role { FAMILY_PRODUCER, FAMILY_HOSTED, FAMILY_SECONDARY };

/* What a name proves. Some patterns are so general (SC, Baz, adapter7) that ordinary classes match
 * as well: a stem of theirs is the family's only when its members have a shape (shape.h). */
enum family_evidence { FAMILY_BY_NAME, FAMILY_BY_MEMBERS };

struct family {
    const char *id;
    const char *producer;
    const char *pattern; /* POSIX extended regular expression on the class name */
    enum family_role role;
    const char *cause; /* grows because */
    const char *fix;
    enum family_evidence evidence;
    const char *must; /* "a|b": every match contains one of these; empty: any text */
};

/* NULL when no row matches. name: as the JVM prints it, address tails included, or its stem. */
const struct family *family_match(struct span name);
/* NULL when there is no such id. */
const struct family *family_by_id(const char *id);
/* Row by index, NULL past the end: for docs and tests. */
const struct family *family_at(size_t index);
size_t family_index(const struct family *family);
/* The family whose classes live in class loaders of this type (loader_types.def); a type that ends
 * in one of the table's after a dot is a repackaged copy. NULL when it is nobody's. */
const struct family *family_of_loader(struct span type);
/* The family whose classes have this source in the class-load log (class_sources.def), or NULL. */
const struct family *family_of_source(struct span source);

#endif
