/* Any text through nmt_summary_parse, as a reply and behind another reply. */
#include "analyzers/parse/jcmd_reply.h"
#include "analyzers/parse/nmt_summary.h"
#include "tests/fuzz/fuzz.h"

static void check_row(struct span text, const struct nmt_row *row)
{
    promise_inside(text, row->name);
    promise(row->name.len > 0);
    for (int field = 0; field < NMT_ROW_FIELD_COUNT; field++) {
        int64_t value = 0;
        if (nmt_row_get(row, (enum nmt_row_field)field, &value))
            promise(value >= 0);
        else
            promise(row->value[field] == 0 && row->delta[field] == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct jcmd_reply reply = jcmd_reply_classify(text);
    promise_inside(text, reply.message);
    promise_inside(text, reply.rest);

    struct nmt_summary summary;
    size_t consumed = SIZE_MAX;
    enum parse_result result = nmt_summary_parse(&summary, text, &consumed);
    promise(consumed <= size);
    promise(summary.row_count >= 0 && summary.row_count <= NMT_SUMMARY_ROWS_MAX);
    promise_inside(text, summary.first_unknown);
    for (int i = 0; i < summary.row_count; i++)
        check_row(text, &summary.rows[i]);
    struct nmt_total_check check = nmt_summary_check_total(&summary);
    if (result == PARSE_OK)
        promise(nmt_row_has(&summary.total, NMT_ROW_COMMITTED_BYTES));
    else if (result == PARSE_MALFORMED && summary.row_count == 0 && summary.total.present == 0)
        promise(!check.holds);
    return 0;
}
