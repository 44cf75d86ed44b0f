#include "analyzers/model/memory_reply.h"

#include "analyzers/parse/jcmd_reply.h"

#include <stdio.h>

#define METASPACE_FIRST_JDK  10
#define BYTE_SCALE_FIRST_JDK 11

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

const char *memory_reply_command(int jdk_major, bool nmt)
{
    /* An unknown JDK (no hsperfdata, attach not yet asked) is taken for a recent one. */
    bool metaspace = jdk_major == 0 || jdk_major >= METASPACE_FIRST_JDK;
    bool bytes = jdk_major == 0 || jdk_major >= BYTE_SCALE_FIRST_JDK;
    if (nmt && metaspace)
        return bytes ? "VM.native_memory summary scale=B\nVM.metaspace basic scale=1"
                     : "VM.native_memory summary scale=KB\nVM.metaspace basic";
    if (nmt)
        return "VM.native_memory summary scale=KB";
    return metaspace ? "VM.metaspace basic scale=1" : "";
}

/* "num_arena_births: 688." minus "num_arena_deaths: 60."; -1 where a JDK does not print them. */
static int64_t live_arenas(struct span text)
{
    int64_t births, deaths;
    if (!number_behind(text, SPAN_LITERAL("num_arena_births: "), &births) ||
        !number_behind(text, SPAN_LITERAL("num_arena_deaths: "), &deaths))
        return -1;
    return births > deaths ? births - deaths : 0;
}

static void malformed(struct memory_reading *reading, struct span text)
{
    struct span line;
    char shown[96] = "an empty reply";
    while (span_take_line(&text, &line)) {
        if (span_trim(line).len > 0) {
            span_copy(span_trim(line), shown, sizeof shown);
            break;
        }
    }
    reading->result = MEMORY_MALFORMED;
    snprintf(reading->problem, sizeof reading->problem, "unexpected reply: %s", shown);
}

static void read_nmt(struct span *text, struct sample *sample, struct memory_reading *reading)
{
    struct jcmd_reply reply = jcmd_reply_classify(*text);
    if (reply.kind == JCMD_NMT_OFF || reply.kind == JCMD_NMT_SHUT_DOWN) {
        reading->result = MEMORY_NMT_OFF;
        *text = reply.rest;
        return;
    }
    struct nmt_summary summary; /* 26 KB */
    size_t consumed;
    if (reply.kind != JCMD_OK || nmt_summary_parse(&summary, reply.rest, &consumed) != PARSE_OK ||
        summary.row_count == 0) {
        malformed(reading, *text);
        return;
    }
    *text = span_skip(reply.rest, consumed);
    reading->have_nmt = true;
    reading->dropped = sample_add_nmt(sample, &summary);
    reading->unknown_lines = summary.unknown_lines;
    for (int i = 0; i < summary.row_count; i++) {
        if (nmt_row_get(&summary.rows[i], NMT_ROW_CLASSES_COUNT, &reading->classes))
            break;
    }
    reading->total_holds = nmt_summary_check_total(&summary).holds;
}

void memory_reply_read(struct span reply, bool asked_nmt, struct sample *sample,
                       struct memory_reading *reading)
{
    memset(reading, 0, sizeof *reading);
    reading->arenas = reading->classes = -1;
    reading->total_holds = true;
    struct span text = reply;
    if (asked_nmt) {
        read_nmt(&text, sample, reading);
        if (reading->result == MEMORY_MALFORMED)
            return;
    }
    struct metaspace metaspace;
    size_t consumed;
    if (metaspace_parse(&metaspace, text, &consumed) == PARSE_MALFORMED)
        return; /* JDK 8, 9: no such command, or it was not asked */
    reading->have_metaspace = true;
    reading->arenas = live_arenas(text);
    sample_add_metaspace(sample, &metaspace);
}
