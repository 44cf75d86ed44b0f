#include "analyzers/model/sample_nmt.h"

static void copy(struct sample *sample, enum sample_field to, const struct nmt_row *row,
                 enum nmt_row_field from)
{
    int64_t value;
    if (nmt_row_get(row, from, &value))
        sample_set(sample, to, value);
}

int sample_add_nmt(struct sample *sample, const struct nmt_summary *summary)
{
    int dropped = summary->rows_dropped;
    copy(sample, SAMPLE_NMT_RESERVED_BYTES, &summary->total, NMT_ROW_RESERVED_BYTES);
    copy(sample, SAMPLE_NMT_COMMITTED_BYTES, &summary->total, NMT_ROW_COMMITTED_BYTES);
    copy(sample, SAMPLE_NMT_MALLOC_BYTES, &summary->total, NMT_ROW_MALLOC_BYTES);
    copy(sample, SAMPLE_NMT_MALLOC_COUNT, &summary->total, NMT_ROW_MALLOC_COUNT);
    copy(sample, SAMPLE_NMT_MMAP_COMMITTED_BYTES, &summary->total, NMT_ROW_MMAP_COMMITTED_BYTES);
    for (int i = 0; i < summary->row_count; i++) {
        const struct nmt_row *row = &summary->rows[i];
        struct nmt_amount amount;
        if (!nmt_row_get(row, NMT_ROW_RESERVED_BYTES, &amount.reserved_bytes) ||
            !nmt_row_get(row, NMT_ROW_COMMITTED_BYTES, &amount.committed_bytes))
            continue;
        if (row->category != NMT_NOT_IN_TABLE) {
            sample_set_nmt(sample, row->category, amount);
        } else if (sample->extra_count < SAMPLE_EXTRA_CATEGORIES) {
            int at = sample->extra_count++;
            span_copy(row->name, sample->extra[at].name, sizeof sample->extra[at].name);
            sample->extra[at].amount = amount;
        } else {
            dropped++;
        }
    }
    return dropped;
}

void sample_add_metaspace(struct sample *sample, const struct metaspace *metaspace)
{
    static const struct {
        enum metaspace_field from;
        enum sample_field to;
    } FIELDS[] = {
        {METASPACE_USED_BOTH, SAMPLE_METASPACE_USED_BYTES},
        {METASPACE_COMMITTED_BOTH, SAMPLE_METASPACE_COMMITTED_BYTES},
        {METASPACE_USED_CLASS, SAMPLE_CLASS_SPACE_USED_BYTES},
        {METASPACE_MAX, SAMPLE_METASPACE_MAX_BYTES},
    };
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        int64_t value;
        if (metaspace_get(metaspace, FIELDS[i].from, &value))
            sample_set(sample, FIELDS[i].to, value);
    }
}
