/*
 * census: class names in, families with counts out.
 *
 * The problem: half of all generators number their classes (Script123), a quarter end in something
 * random (Foo$ByteBuddy$QfmHDdaB, Host$$Lambda/0x00007f...), and the rest define the *same* name
 * again and again in new loaders. So a census counts definitions per stem (the name with what
 * varies folded away), repeats of an identical name, and hands each stem to families.def, or to the
 * shape rules when no row matches: then the family is "unknown:<stem>", and only if the stem's
 * members really form a family (dense counter, random tails, many repeats); a class that merely has
 * digits in its name (Base64) is left alone and shows up in the totals only.
 *
 * Classes from the CDS archive or the runtime image (class_source.h) are counted in the totals and
 * never in a family.
 *
 *   census_create -> census_load/unload/... -> census_rows -> census_destroy
 *
 * Memory is bounded by max_stems (about 500 bytes each, twice that for stems with more than 16
 * names). When the table is full, the stems seen least make room (once, later twice, ... up to
 * seven times): what a known family had there stays in its row, ordinary classes stay in the
 * totals, and a stem that comes back starts again at one. Only what then still finds no room is
 * counted as folded. Names are copied; one longer than EVENT_NAME_MAX is cut in a row. Calling
 * context: one thread per census.
 */
#pragma once

#include "analyzers/model/event.h"
#include "floor/base/span.h"

struct census;

/* NULL when out of memory. max_stems 0: the default, 4096. */
struct census *census_create(size_t max_stems);

/* A class was defined (flow) or is alive (stock). source: text after "source: ", or empty. */
void census_load(struct census *census, struct span name, struct span source);
/* A class was unloaded. */
void census_unload(struct census *census, struct span name);
/* JDK 17's VM.class_hierarchy: "(invokes: java/util/ArrayList::readObject ...)" beside an accessor. */
void census_invokes(struct census *census, struct span name, struct span target);
/* VM.classloader_stats: so many loaders of a type, holding so many classes; types that belong to a
 * generator (loader_types.def) become rows of its family, unless names have made one already.
 * Loaders know no names: names and max_same_name of such a row are 0. */
void census_loader_type(struct census *census, struct span type, int64_t loaders, int64_t classes);

struct census_totals {
    int64_t loads;
    int64_t unloads;
    int64_t archived; /* of the loads: from CDS or the runtime image */
    int64_t stems;
    int64_t folded; /* loads whose stem found no room */
};
void census_totals(const struct census *census, struct census_totals *totals);

/* The families, most loads first; returns how many rows were written (at most EVENT_ROWS_MAX).
 * names and max_same_name are as exact as shape.h says. */
int census_rows(const struct census *census, struct family_row *rows, int max);

void census_reset(struct census *census);
void census_destroy(struct census *census);

/*
 * census_text: text that names classes -> census. Lists are stocks of live classes; log lines are a
 * flow. Array classes are passed over: nobody generates them. Any thread that owns the census.
 */
/* text: the reply of the command named by method (classes, class_hierarchy, class_histogram). */
enum parse_result census_add_list(struct census *census, enum census_method method,
                                  struct span text);
/* A row for each type of loader that belongs to a generator. */
void census_add_loaders(struct census *census, const struct loader_row *rows, int count);
/* Complete lines of a class-load log; *text is left with the incomplete tail. Returns how many
 * lines named a class. */
int64_t census_add_log(struct census *census, struct span *text);
