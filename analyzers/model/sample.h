/*
 * sample: what was known of one JVM at one moment. Bytes, counts and milliseconds, never KB.
 *
 * Every value has a presence bit: a value that was not asked for, or could not be had, is missing,
 * and missing is not zero. Integers only, so that a sample written to a recording and read back is
 * the same sample, and a replay judges exactly what the live run judged.
 *
 * Ownership: plain data, copy freely. Calling context: any thread.
 */
#ifndef ANALYZERS_MODEL_SAMPLE_H
#define ANALYZERS_MODEL_SAMPLE_H

#include "analyzers/parse/nmt_row.h"

#include <stdbool.h>
#include <stdint.h>

enum sample_field {
#define SAMPLE_FIELD(id, key, unit, source) SAMPLE_##id,
#include "analyzers/model/sample_fields.def"
#undef SAMPLE_FIELD
    SAMPLE_FIELD_COUNT,
};

struct nmt_amount {
    int64_t reserved_bytes;
    int64_t committed_bytes;
};

#define SAMPLE_EXTRA_CATEGORIES 8 /* categories of JDKs newer than our table, kept by name */

struct sample {
    uint64_t present;     /* bit per sample_field */
    uint64_t nmt_present; /* bit per nmt_category */
    int64_t value[SAMPLE_FIELD_COUNT];
    struct nmt_amount nmt[NMT_CATEGORY_COUNT];
    int extra_count;
    struct {
        char name[32];
        struct nmt_amount amount;
    } extra[SAMPLE_EXTRA_CATEGORIES];
};

_Static_assert(SAMPLE_FIELD_COUNT <= 64 && NMT_CATEGORY_COUNT <= 64, "presence bits");

void sample_clear(struct sample *sample);
void sample_set(struct sample *sample, enum sample_field field, int64_t value);
bool sample_has(const struct sample *sample, enum sample_field field);
/* False, and *value untouched, when missing. */
bool sample_get(const struct sample *sample, enum sample_field field, int64_t *value);

void sample_set_nmt(struct sample *sample, enum nmt_category category, struct nmt_amount amount);
bool sample_get_nmt(const struct sample *sample, enum nmt_category category,
                    struct nmt_amount *amount);
/* True when the sample carries an NMT summary at all. */
bool sample_has_nmt(const struct sample *sample);

/* What was known after `later` came: its values replace those of `into`, what it does not have stays.
 * An NMT summary is one moment: it is taken over whole, categories that are not in the table
 * included, and never mixed with an earlier one. */
void sample_merge(struct sample *into, const struct sample *later);

const char *sample_field_key(enum sample_field field);
const char *sample_field_unit(enum sample_field field);
const char *sample_field_source(enum sample_field field);
/* SAMPLE_FIELD_COUNT when unknown. */
enum sample_field sample_field_from_key(const char *key);

#endif
