/*
 * family: the known producers of generated classes; the table is families.def.
 *
 * A row says how the names look, who makes them, why they grow and what to change. Ids are the ids
 * of the contract and never change. First match wins. No state: any thread, any time.
 */
#pragma once

#include "floor/base/span.h"

enum {
    FAMILY_COUNT = 0
#define FAMILY(id, producer, role, evidence, must, pattern, cause, fix) +1
#include "analyzers/classes/families.def"
};

/* What growth of a family means. A SECONDARY family (LambdaForms, string concat) grows because
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
 * in one of the table's after a dot is a repackaged copy. NULL when it belongs to no family. */
const struct family *family_of_loader(struct span type);
/* The family whose classes have this source in the class-load log, or NULL. */
const struct family *family_of_source(struct span source);

/*
 * class_source: where a class came from, as the class-load log says it ("source: ...").
 *
 * Pure; any thread.
 */
/* The archive of shared classes, its upper layer "(top)" included, or the runtime image; on JDK 8
 * that is a folder of jars. */
bool class_source_is_archive(struct span source);
/* By the package; label: of a class or a method. */
bool class_name_is_of_jdk(struct span label);
/* "__JVM_DefineClass__", "__dynamic_proxy__", the host of a lambda: no path, no URL. */
bool class_source_is_code(struct span source);

/*
 * pattern: does a class name look like a row of families.def?
 *
 * The patterns are POSIX extended regular expressions, but matched here and not by regcomp(3):
 * sixty compiled expressions cost more memory than the rest of the watch, compiling them lazily
 * would be shared state, and regexec needs a terminated string. This matcher walks the pattern's
 * text itself, without allocation or state.
 *
 * Understood: literals, \x, ., [set] with ranges, (a|b), ^, $, and after one of these ? * + {m}
 * {m,} {m,n}. Not understood: [^set], [:classes:], back references; no row needs them, and a test
 * holds every row against regcomp.
 *
 * A stem (normalize.h) matches like the names it stands for: its '#' is any number of digits, its
 * '*' any number of letters and digits, wherever the pattern repeats a set of those.
 *
 * A hostile name cannot make it slow or deep: after PATTERN_STEPS_MAX steps the answer is no.
 * Calling context: any thread.
 */
#define PATTERN_STEPS_MAX 20000 /* 0.1 ms; the most expensive of 106 000 real names took 540 */

/* True when pattern matches somewhere in text (anywhere, unless it says ^ and $). */
bool pattern_match(const char *pattern, struct span text);
