#include "analyzers/parse/smaps.h"

void smaps_begin(struct smaps *smaps, struct span text)
{
    line_cursor_begin(&smaps->lines, text);
}

/* "Rss:                  84 kB", "VmFlags: rd wr mr": true for both. */
static bool read_field(struct span line, struct smaps_mapping *mapping)
{
    const struct {
        struct span name;
        int64_t *into;
    } fields[] = {
        {SPAN_INIT("Rss:"), &mapping->rss_bytes},
        {SPAN_INIT("Pss:"), &mapping->pss_bytes},
        {SPAN_INIT("Private_Clean:"), &mapping->private_bytes},
        {SPAN_INIT("Private_Dirty:"), &mapping->private_bytes},
        {SPAN_INIT("Anonymous:"), &mapping->anonymous_bytes},
        {SPAN_INIT("Swap:"), &mapping->swap_bytes},
        {SPAN_INIT("AnonHugePages:"), &mapping->huge_bytes},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct span rest = line;
        int64_t kb;
        if (!span_take(&rest, fields[i].name))
            continue;
        rest = span_trim(rest);
        if (!span_take_unsigned(&rest, &kb) || kb > INT64_MAX >> 11)
            return false;
        *fields[i].into += kb << 10;
        return true;
    }
    ptrdiff_t colon = span_find(line, SPAN_LITERAL(":"));
    return colon > 0 && line.ptr[0] >= 'A' && line.ptr[0] <= 'Z';
}

bool smaps_next(struct smaps *smaps, struct smaps_mapping *mapping)
{
    struct span line;
    memset(mapping, 0, sizeof *mapping);
    bool first = smaps->lines.at == 0;
    do {
        if (!line_cursor_next(&smaps->lines, &line))
            return false;
    } while (line.len == 0);
    if (proc_map_parse(&mapping->map, line) != PARSE_OK)
        return line_cursor_stop(&smaps->lines, line, first ? PARSE_MALFORMED : PARSE_OK);
    bool has_rss = false;
    while (line_cursor_next(&smaps->lines, &line)) {
        struct proc_map next;
        if (line.len > 0 && line.ptr[0] >= 'A' && line.ptr[0] <= 'Z') {
            has_rss = has_rss || span_starts_with(line, SPAN_LITERAL("Rss:"));
            if (!read_field(line, mapping))
                line_cursor_count_unknown(&smaps->lines, line);
            continue;
        }
        if (line.len == 0 || proc_map_parse(&next, line) == PARSE_OK) {
            line_cursor_give_back(&smaps->lines, line);
            return has_rss;
        }
        line_cursor_give_back(&smaps->lines, line); /* somebody else's text */
        return has_rss;
    }
    return has_rss && smaps->lines.result == PARSE_OK;
}
