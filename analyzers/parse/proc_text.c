#include "analyzers/parse/proc_text.h"

static enum parse_result take_number(struct span *text, int64_t *number)
{
    struct span word;
    if (!span_take_word(text, &word))
        return PARSE_INCOMPLETE;
    return span_take_i64(&word, number) && word.len == 0 ? PARSE_OK : PARSE_MALFORMED;
}

/* --- stat ---------------------------------------------------------------------------- */

/* Fields are numbered as in proc(5): 1 pid, 2 (comm), 3 state, 4 ppid, ... */
static int64_t *stat_field(struct proc_stat *stat, int64_t *start_time, int number)
{
    switch (number) {
    case 4:
        return &stat->ppid;
    case 14:
        return &stat->utime_ticks;
    case 15:
        return &stat->stime_ticks;
    case 20:
        return &stat->threads;
    case 22:
        return start_time;
    default:
        return NULL;
    }
}

enum parse_result proc_stat_parse(struct proc_stat *stat, struct span text)
{
    *stat = (struct proc_stat){0};
    if (text.len == 0)
        return PARSE_INCOMPLETE;
    struct span rest = text;
    if (!span_take_unsigned(&rest, &stat->pid))
        return PARSE_MALFORMED;
    const char *close = memrchr(text.ptr, ')', text.len);
    if (close == NULL)
        return PARSE_INCOMPLETE;
    if (!span_take(&rest, SPAN_LITERAL(" (")) || close < rest.ptr)
        return PARSE_MALFORMED;
    stat->comm = span_of(rest.ptr, (size_t)(close - rest.ptr));
    rest = span_of(close + 1, text.len - (size_t)(close - text.ptr) - 1);

    struct span state;
    if (!span_take_word(&rest, &state))
        return PARSE_INCOMPLETE;
    if (state.len != 1)
        return PARSE_MALFORMED;
    stat->state = state.ptr[0];

    int64_t start_time = 0;
    for (int number = 4; number <= 22; number++) {
        struct span word;
        if (!span_take_word(&rest, &word) || rest.len == 0)
            return PARSE_INCOMPLETE; /* a number at the very end may have lost digits */
        int64_t *field = stat_field(stat, &start_time, number);
        if (field != NULL && (!span_take_i64(&word, field) || word.len > 0 || *field < 0))
            return PARSE_MALFORMED;
    }
    stat->start_time_ticks = (uint64_t)start_time;
    return PARSE_OK;
}

enum parse_result proc_statm_parse(struct proc_statm *statm, struct span text)
{
    int64_t *const fields[] = {&statm->size_pages, &statm->resident_pages, &statm->shared_pages};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        enum parse_result result = take_number(&text, fields[i]);
        if (result != PARSE_OK)
            return result;
        if (*fields[i] < 0)
            return PARSE_MALFORMED;
        if (text.len == 0)
            return PARSE_INCOMPLETE;
    }
    return PARSE_OK;
}

/* --- status -------------------------------------------------------------------------- */

static enum parse_result read_ids(struct span text, int64_t *real, int64_t *effective)
{
    enum parse_result result = take_number(&text, real);
    return result == PARSE_OK ? take_number(&text, effective) : result;
}

/* "NSpid:  4711  12": the last one is what the process calls itself. */
static enum parse_result read_nspid(struct proc_status *status, struct span text)
{
    enum parse_result result;
    int64_t nspid;
    while ((result = take_number(&text, &nspid)) == PARSE_OK) {
        status->nspid = nspid;
        status->nspid_depth++;
    }
    return status->nspid_depth > 0 && result == PARSE_INCOMPLETE ? PARSE_OK : PARSE_MALFORMED;
}

enum parse_result proc_status_parse(struct proc_status *status, struct span text)
{
    enum { STATE = 1, UID = 2, GID = 4, SIGNALS = 8, REQUIRED = 15 };
    *status = (struct proc_status){.nspid = -1};
    int seen = 0;
    struct span line;
    bool terminated;
    while (span_next_line(&text, &line, &terminated)) {
        enum parse_result result = PARSE_OK;
        if (!terminated)
            return PARSE_INCOMPLETE;
        if (span_take(&line, SPAN_LITERAL("State:"))) {
            struct span word;
            if (!span_take_word(&line, &word))
                return PARSE_MALFORMED;
            status->state = word.ptr[0];
            seen |= STATE;
        } else if (span_take(&line, SPAN_LITERAL("Uid:"))) {
            result = read_ids(line, &status->real_uid, &status->effective_uid);
            seen |= UID;
        } else if (span_take(&line, SPAN_LITERAL("Gid:"))) {
            result = read_ids(line, &status->real_gid, &status->effective_gid);
            seen |= GID;
        } else if (span_take(&line, SPAN_LITERAL("NSpid:"))) {
            result = read_nspid(status, line);
        } else if (span_take(&line, SPAN_LITERAL("SigCgt:"))) {
            line = span_trim(line);
            if (!span_take_hex(&line, &status->caught_signals) || line.len > 0)
                return PARSE_MALFORMED;
            seen |= SIGNALS;
        }
        if (result != PARSE_OK)
            return PARSE_MALFORMED;
    }
    return seen == REQUIRED ? PARSE_OK : PARSE_INCOMPLETE;
}

bool proc_status_catches(const struct proc_status *status, int signal_number)
{
    return signal_number >= 1 && signal_number <= 64 &&
           (status->caught_signals >> (signal_number - 1) & 1);
}

/* --- maps ---------------------------------------------------------------------------- */

/* "7f12a0000000-7f12a0021000 r-xp 00000000 08:01 1234   /usr/lib/libjvm.so (deleted)" */
enum parse_result proc_map_parse(struct proc_map *map, struct span line)
{
    *map = (struct proc_map){0};
    struct span word;
    if (line.len == 0)
        return PARSE_INCOMPLETE;
    if (!span_take_hex(&line, &map->start_address) || !span_take(&line, SPAN_LITERAL("-")) ||
        !span_take_hex(&line, &map->end_address) || map->end_address < map->start_address)
        return PARSE_MALFORMED;
    if (!span_take_word(&line, &word) || word.len < 4)
        return PARSE_INCOMPLETE;
    map->readable = word.ptr[0] == 'r';
    map->writable = word.ptr[1] == 'w';
    map->executable = word.ptr[2] == 'x';
    map->shared = word.ptr[3] == 's';
    for (int field = 0; field < 3; field++) /* offset, device, inode */
        if (!span_take_word(&line, &word))
            return PARSE_INCOMPLETE;
    span_take_i64(&word, &map->inode);
    struct span deleted = SPAN_LITERAL(" (deleted)");
    while (span_take(&line, SPAN_LITERAL(" ")))
        ;
    map->path = line;
    if (map->path.len > 0 && map->path.ptr[map->path.len - 1] == '\n')
        map->path.len--;
    map->deleted = span_ends_with(map->path, deleted);
    if (map->deleted)
        map->path.len -= deleted.len;
    return PARSE_OK;
}

struct span proc_map_file_name(const struct proc_map *map)
{
    const char *slash = map->path.len > 0 ? memrchr(map->path.ptr, '/', map->path.len) : NULL;
    return slash == NULL ? map->path : span_skip(map->path, (size_t)(slash + 1 - map->path.ptr));
}

/* --- NUL-separated texts ------------------------------------------------------------- */

static bool take_piece(struct span *text, struct span *piece)
{
    if (text->len == 0)
        return false;
    size_t len = strnlen(text->ptr, text->len);
    *piece = span_of(text->ptr, len);
    len += len < text->len;
    *text = span_skip(*text, len);
    return true;
}

struct span proc_environ_value(struct span environ_text, struct span name)
{
    struct span piece;
    while (take_piece(&environ_text, &piece))
        if (span_take(&piece, name) && span_take(&piece, SPAN_LITERAL("=")))
            return piece;
    return span_of(NULL, 0);
}

/* --- JVM options --------------------------------------------------------------------- */

static const struct {
    struct span name;
    enum nmt_level level;
} levels[] = {
    {SPAN_INIT("off"), NMT_LEVEL_OFF},
    {SPAN_INIT("summary"), NMT_LEVEL_SUMMARY},
    {SPAN_INIT("detail"), NMT_LEVEL_DETAIL},
};

const char *nmt_level_name(enum nmt_level level)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (levels[i].level == level)
            return levels[i].name.ptr;
    return "unknown";
}

static void read_option(struct jvm_options *options, struct span option)
{
    if (span_equals(option, SPAN_LITERAL("-XX:+DisableAttachMechanism"))) {
        options->attach_disabled = true;
    } else if (span_equals(option, SPAN_LITERAL("-XX:-DisableAttachMechanism"))) {
        options->attach_disabled = false;
    } else if (span_take(&option, SPAN_LITERAL("-XX:NativeMemoryTracking="))) {
        options->nmt = NMT_LEVEL_OTHER;
        int at = span_row(option, span_equals, SPAN_TABLE(levels));
        if (at >= 0)
            options->nmt = levels[at].level;
    }
}

/* Options of the launcher whose value is the next piece. */
static bool takes_next_piece(struct span option)
{
    static const struct span names[] = {
        SPAN_INIT("-cp"),
        SPAN_INIT("-classpath"),
        SPAN_INIT("--class-path"),
        SPAN_INIT("-p"),
        SPAN_INIT("--module-path"),
        SPAN_INIT("--upgrade-module-path"),
        SPAN_INIT("--add-modules"),
        SPAN_INIT("--limit-modules"),
        SPAN_INIT("--add-exports"),
        SPAN_INIT("--add-opens"),
        SPAN_INIT("--add-reads"),
        SPAN_INIT("--patch-module"),
        SPAN_INIT("--enable-native-access"),
        SPAN_INIT("--illegal-native-access"),
        SPAN_INIT("--source"),
    };
    return span_row(option, span_equals, SPAN_TABLE(names)) >= 0;
}

/* The next piece is the program. */
static bool announces_main(struct span option)
{
    static const struct span names[] = {SPAN_INIT("-jar"), SPAN_INIT("-m"), SPAN_INIT("--module")};
    return span_row(option, span_equals, SPAN_TABLE(names)) >= 0;
}

static bool is_java(struct span piece)
{
    return span_equals(piece, SPAN_LITERAL("java")) || span_ends_with(piece, SPAN_LITERAL("/java"));
}

struct span proc_emulated_cmdline(struct span cmdline)
{
    struct span rest = cmdline, piece;
    while (take_piece(&rest, &piece) && !is_java(piece))
        cmdline = rest;
    struct span next = rest;
    return take_piece(&next, &piece) && is_java(piece) ? rest : cmdline;
}

void jvm_options_from_cmdline(struct jvm_options *options, struct span cmdline)
{
    struct span piece;
    if (!take_piece(&cmdline, &piece)) /* the executable */
        return;
    while (take_piece(&cmdline, &piece)) {
        if (announces_main(piece)) {
            take_piece(&cmdline, &options->main);
            return;
        }
        if (span_take(&piece, SPAN_LITERAL("--module="))) {
            options->main = piece;
            return;
        }
        if (takes_next_piece(piece)) {
            take_piece(&cmdline, &piece);
        } else if (span_starts_with(piece, SPAN_LITERAL("-"))) {
            read_option(options, piece);
        } else if (piece.len > 0 && piece.ptr[0] != '@') { /* @argfile: not ours to read */
            options->main = piece;
            return;
        }
    }
}

/* Quotes only group: an option that holds one inside is not one of those we look for. */
void jvm_options_from_string(struct jvm_options *options, struct span text)
{
    size_t at = 0;
    while (at < text.len) {
        size_t from = at;
        char quote = '\0';
        for (; at < text.len; at++) {
            char c = text.ptr[at];
            if (quote ? c == quote : c == '"' || c == '\'')
                quote = quote ? '\0' : c;
            else if (!quote && (c == ' ' || c == '\t' || c == '\n' || c == '\0'))
                break;
        }
        struct span option = span_of(text.ptr + from, at - from);
        char first = option.len >= 2 ? option.ptr[0] : '\0';
        if ((first == '"' || first == '\'') && option.ptr[option.len - 1] == first)
            option = span_of(option.ptr + 1, option.len - 2);
        read_option(options, option);
        at++;
    }
}

/* --- smaps ------------------------------------------------------------------------------------ */

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
        if (!span_take_unsigned(&rest, &kb) || rest.len == 0 || kb > INT64_MAX >> 11)
            return false; /* without its unit it may have been cut off */
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
        line_cursor_give_back(&smaps->lines, line); /* untrusted text */
        return has_rss;
    }
    return has_rss && smaps->lines.result == PARSE_OK;
}
