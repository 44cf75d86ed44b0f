#include "analyzers/parse/ticket_text.h"

#include "analyzers/parse/hs_err.h"
#include "analyzers/parse/jstat.h"
#include "analyzers/parse/mat_table.h"
#include "analyzers/parse/oom_killer.h"
#include "analyzers/parse/oom_lines.h"
#include "analyzers/parse/pmap.h"
#include "analyzers/parse/process_row.h"

static bool is_javacore(struct span line)
{
    static const struct span marks[] = {SPAN_INIT("0SECTION "), SPAN_INIT("1TISIGINFO "),
                                        SPAN_INIT("1CIJAVAVERSION "), SPAN_INIT("1TIDATETIME "),
                                        SPAN_INIT("0MEMUSER")};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (span_starts_with(line, marks[i]))
            return true;
    }
    return false;
}

enum text_kind ticket_text_heading(struct span line, enum text_kind in)
{
    if (in == TEXT_JAVACORE || in == TEXT_RECORDING)
        return TEXT_UNRECOGNISED;
    /* Error files have tables of other kinds in them, which end at their own lines. */
    bool in_table = in == TEXT_FLAGS || in == TEXT_NMT_SUMMARY;
    if (in_table ? hs_err_is_head(line) : hs_err_is_section(line))
        return TEXT_HS_ERR;
    if (in == TEXT_CLASS_LOG) /* read with it */
        return TEXT_UNRECOGNISED;
    if (in == TEXT_HS_ERR) /* behind the head that was pasted */
        return oom_killer_is_line(line)     ? TEXT_OOM_KILLER
               : process_row_is_table(line) ? TEXT_PROCESS
                                            : TEXT_UNRECOGNISED;
    if (is_javacore(line))
        return TEXT_JAVACORE;
    if (oom_killer_is_line(line))
        return TEXT_OOM_KILLER;
    if (process_row_is_heading(line) || process_row_is_top(line))
        return TEXT_PROCESS;
    if (in != TEXT_SMAPS && (pmap_is_head(line) || pmap_is_row(line)))
        return TEXT_PMAP;
    if (jstat_is_heading(line))
        return TEXT_JSTAT;
    if (mat_table_is_heading(line))
        return TEXT_MAT_TABLE;
    if (in == TEXT_MAT_TABLE) /* names of classes may be those of errors */
        return TEXT_UNRECOGNISED;
    if (oom_line_kind(line) != OOM_LINE_NONE || oom_line_is_gc(line))
        return TEXT_CONSOLE;
    return TEXT_UNRECOGNISED;
}
