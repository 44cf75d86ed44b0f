#include "nmtwatch/watch/replies.h"

#include "analyzers/model/sample_nmt.h"
#include "analyzers/parse/jcmd_reply.h"

#include <stdio.h>

#define METASPACE_FIRST_JDK  10
#define BYTE_SCALE_FIRST_JDK 11

const char *replies_memory_command(int jdk_major, bool nmt)
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
    static const struct span KEYS[2] = {{"num_arena_births: ", 18}, {"num_arena_deaths: ", 18}};
    int64_t value[2];
    for (int i = 0; i < 2; i++) {
        ptrdiff_t at = span_find(text, KEYS[i]);
        if (at < 0)
            return -1;
        size_t from = (size_t)at + KEYS[i].len;
        struct span number = span_of(text.ptr + from, text.len - from);
        if (!span_take_i64(&number, &value[i]))
            return -1;
    }
    return value[0] > value[1] ? value[0] - value[1] : 0;
}

static void malformed(struct memory_reading *reading, struct span text)
{
    struct span line;
    bool terminated;
    char shown[96] = "an empty reply";
    while (span_next_line(&text, &line, &terminated)) {
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
    static struct nmt_summary summary; /* 26 KB; the event loop has one thread */
    size_t consumed;
    if (reply.kind != JCMD_OK || nmt_summary_parse(&summary, reply.rest, &consumed) != PARSE_OK ||
        summary.row_count == 0) {
        malformed(reading, *text);
        return;
    }
    *text = span_of(reply.rest.ptr + consumed, reply.rest.len - consumed);
    reading->have_nmt = true;
    reading->dropped = sample_add_nmt(sample, &summary);
    reading->unknown_lines = summary.unknown_lines;
    for (int i = 0; i < summary.row_count; i++) {
        if (nmt_row_get(&summary.rows[i], NMT_ROW_CLASSES_COUNT, &reading->classes))
            break;
    }
    reading->total_holds = nmt_summary_check_total(&summary).holds;
}

void replies_read_memory(struct span reply, bool asked_nmt, struct sample *sample,
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
