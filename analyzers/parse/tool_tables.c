#include "analyzers/parse/tool_tables.h"

const char *process_source_name(enum process_source source)
{
    static const char *const names[] = {
        "", "top", "ps", "docker stats", "kubectl top", "/proc/PID/status", "the control group"};
    return (unsigned)source < sizeof names / sizeof names[0] ? names[source] : "";
}

static enum process_source heading_of(struct span line)
{
    struct span_words heads;
    span_split(line, &heads);
    if (span_words_find(&heads, SPAN_LITERAL("PID")) >= 0 &&
        span_words_find(&heads, SPAN_LITERAL("RES")) > 0)
        return PROCESS_TOP;
    if (span_words_find(&heads, SPAN_LITERAL("PID")) >= 0 &&
        span_words_find(&heads, SPAN_LITERAL("RSS")) >= 0 &&
        (span_words_find(&heads, SPAN_LITERAL("COMMAND")) > 0 ||
         span_words_find(&heads, SPAN_LITERAL("CMD")) > 0))
        return PROCESS_PS;
    /* "ps -o rss,cmd", "ps -o pid,rss": all of the line are names of columns. */
    bool columns = heads.count >= 2 && (span_words_find(&heads, SPAN_LITERAL("RSS")) >= 0 ||
                                        span_words_find(&heads, SPAN_LITERAL("RSZ")) >= 0);
    for (int i = 0; i < heads.count && columns; i++)
        for (size_t k = 0; k < heads.word[i].len && columns; k++)
            columns = (heads.word[i].ptr[k] >= 'A' && heads.word[i].ptr[k] <= 'Z') ||
                      heads.word[i].ptr[k] == '%';
    if (columns)
        return PROCESS_PS;
    if (span_contains(line, SPAN_LITERAL("MEM USAGE / LIMIT")) ||
        span_contains(line, SPAN_LITERAL("MEM USAGE/LIMIT")) ||
        span_equals(line, SPAN_LITERAL("docker stats"))) /* and its figures alone */
        return PROCESS_DOCKER;
    if (span_find(line, SPAN_LITERAL("MEMORY(bytes)")) > 0)
        return PROCESS_KUBECTL;
    return PROCESS_NONE;
}

/* "KiB Mem : ... total" of top. */
static bool is_host(struct span line)
{
    return line.len > 8 && span_equals(span_of(line.ptr + 1, 5), SPAN_LITERAL("iB Me")) &&
           span_find(line, SPAN_LITERAL(" total")) > 0;
}

bool process_row_is_table(struct span line)
{
    line = span_trim(line);
    return heading_of(line) != PROCESS_NONE || is_host(line);
}

bool process_row_is_heading(struct span line)
{
    line = span_trim(line);
    return process_row_is_table(line) ||
           (span_starts_with(line, SPAN_LITERAL("Name:")) &&
            span_equals(span_trim(span_skip(line, 5)), SPAN_LITERAL("java"))) ||
           span_starts_with(line, SPAN_LITERAL("VmPeak:")) ||
           span_starts_with(line, SPAN_LITERAL("VmRSS:"));
}

static bool is_java(struct span command)
{
    return span_find(command, SPAN_LITERAL("java")) >= 0;
}

/* PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND */
bool process_row_is_top(struct span line)
{
    struct span_words words;
    int64_t number;
    span_split(line, &words);
    if (words.count < 12 || words.word[7].len != 1 ||
        strchr("SRDZTI", words.word[7].ptr[0]) == NULL || !is_java(words.word[11]))
        return false;
    for (int i = 4; i <= 6; i++) {
        struct span size = words.word[i];
        if (!java_size_take(&size, &number) || size.len > 0)
            return false;
    }
    struct span pid = words.word[0];
    return span_take_unsigned(&pid, &number) && pid.len == 0;
}

/* KiB where there is no unit. */
static bool take_kib(struct span word, int64_t *bytes)
{
    struct span rest = word;
    int64_t number;
    if (!java_size_take(&rest, &number) || rest.len > 0)
        return false;
    char last = word.ptr[word.len - 1];
    bool bare = last >= '0' && last <= '9';
    if (bare && number > INT64_MAX / 1024)
        return false;
    *bytes = bare ? number * 1024 : number;
    return true;
}

static void keep(struct process_row *row, const struct process_row *found)
{
    int64_t rows = row->rows + 1, host = row->host_bytes, host_free = row->host_free_bytes;
    if (found->rss_bytes > row->rss_bytes)
        *row = *found;
    row->host_bytes = host;
    row->host_free_bytes = host_free;
    row->rows = rows;
}

static const struct process_row NOTHING = {
    .pid = -1,
    .rss_bytes = -1,
    .virtual_bytes = -1,
    .swap_bytes = -1,
    .limit_bytes = -1,
    .threads = -1,
    .host_bytes = -1,
    .host_free_bytes = -1,
};

static int64_t size_at(const struct span_words *words, int at)
{
    int64_t bytes;
    return at >= 0 && at < words->count && take_kib(words->word[at], &bytes) ? bytes : -1;
}

static void take_process(struct process_row *row, const struct span_words *heads, struct span line,
                         enum process_source source)
{
    static const struct span_words bare_top = {.count = 0};
    struct span_words words;
    struct process_row found = NOTHING;
    span_split(line, &words);
    bool bare = heads == NULL;
    heads = bare ? &bare_top : heads;
    int pid_at = bare ? 0 : span_words_find(heads, SPAN_LITERAL("PID"));
    int rss_at = bare ? 5
                      : span_words_find(heads, source == PROCESS_TOP ? SPAN_LITERAL("RES")
                                                                     : SPAN_LITERAL("RSS"));
    int size_at_column = bare ? 4 : span_words_find(heads, SPAN_LITERAL("VIRT"));
    if (size_at_column < 0)
        size_at_column = span_words_find(heads, SPAN_LITERAL("VSZ"));
    if (rss_at < 0)
        rss_at = span_words_find(heads, SPAN_LITERAL("RSZ"));
    struct span pid = pid_at >= 0 && pid_at < words.count ? words.word[pid_at] : line;
    bool named = bare || span_words_find(heads, SPAN_LITERAL("COMMAND")) >= 0 ||
                 span_words_find(heads, SPAN_LITERAL("CMD")) >= 0;
    /* The command is behind all figures: a user named java does not make a JVM. */
    bool java = !named; /* it names this process */
    for (int i = rss_at + 1; i >= 1 && i < words.count && !java; i++)
        java = is_java(words.word[i]);
    if (!java || (pid_at >= 0 && !span_take_unsigned(&pid, &found.pid)))
        return;
    found.source = source;
    found.rss_bytes = size_at(&words, rss_at);
    found.virtual_bytes = size_at(&words, size_at_column);
    span_copy(SPAN_LITERAL("java"), found.name, sizeof found.name);
    if (found.rss_bytes > 0)
        keep(row, &found);
}

/* "0f3c  app  0.50%  1.907GiB / 2GiB  95.35% ...", "app  3.55%  10.61 GB/135.3 GB  7.85% ...": the first two sizes
 * with a stroke between them. */
static void take_docker(struct process_row *row, struct span line)
{
    struct span_words words;
    struct process_row found = NOTHING;
    span_split(line, &words);
    const char *stroke = line.len > 0 ? memchr(line.ptr, '/', line.len) : NULL;
    if (stroke == NULL || words.count < 2)
        return;
    size_t at = (size_t)(stroke - line.ptr), from = at;
    struct span limit = span_trim(span_skip(line, at + 1));
    while (from > 0 && !is_digit(line.ptr[from - 1]))
        from--;
    while (from > 0 && (is_digit(line.ptr[from - 1]) || line.ptr[from - 1] == '.'))
        from--;
    struct span used = span_of(line.ptr + from, at - from);
    if (!whole_size_take(&used, &found.rss_bytes) || span_trim(used).len > 0 ||
        !whole_size_take(&limit, &found.limit_bytes) || found.rss_bytes > found.limit_bytes)
        return;
    found.source = PROCESS_DOCKER;
    bool numbered = strchr(".0123456789/", words.word[1].ptr[0]) != NULL;
    if (from > 0)
        span_copy(words.word[numbered ? 0 : 1], found.name, sizeof found.name);
    keep(row, &found);
}

static void take_kubectl(struct process_row *row, const struct span_words *heads, struct span line)
{
    struct span_words words;
    struct process_row found = NOTHING;
    span_split(line, &words);
    int at = span_words_find(heads, SPAN_LITERAL("MEMORY(bytes)")),
        name = span_words_find(heads, SPAN_LITERAL("NAME"));
    if (at < 0 || at >= words.count)
        return;
    struct span size = words.word[at];
    if (!java_size_take(&size, &found.rss_bytes) || size.len > 0 || found.rss_bytes < 4096)
        return;
    found.source = PROCESS_KUBECTL;
    span_copy(words.word[name >= 0 && name < words.count ? name : 0], found.name,
              sizeof found.name);
    keep(row, &found);
}

/* /proc/PID/status, one line. */
static void take_status(struct process_row *status, struct span line)
{
    static const struct {
        struct span key;
        size_t member;
    } keys[] = {
        {SPAN_INIT("VmRSS:"), offsetof(struct process_row, rss_bytes)},
        {SPAN_INIT("VmSize:"), offsetof(struct process_row, virtual_bytes)},
        {SPAN_INIT("VmSwap:"), offsetof(struct process_row, swap_bytes)},
        {SPAN_INIT("Threads:"), offsetof(struct process_row, threads)},
        {SPAN_INIT("Pid:"), offsetof(struct process_row, pid)},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int64_t value;
        if (!span_starts_with(line, keys[i].key))
            continue;
        struct span rest = span_trim(span_skip(line, keys[i].key.len));
        bool has_unit = span_starts_with(keys[i].key, SPAN_LITERAL("Vm"));
        if (has_unit ? whole_size_take(&rest, &value) : java_size_take(&rest, &value))
            *(int64_t *)((char *)status + keys[i].member) = value;
    }
}

/* "KiB Mem :  2046500 total,    96704 free,", "MiB Mem :  15881.3 total,  ..." */
static void take_host(struct process_row *row, struct span line)
{
    int shift = span_starts_with(line, SPAN_LITERAL("MiB"))   ? 20
                : span_starts_with(line, SPAN_LITERAL("GiB")) ? 30
                                                              : 10;
    ptrdiff_t colon = span_find(line, SPAN_LITERAL(":"));
    if (colon < 0 || row->host_bytes >= 0)
        return;
    struct span rest = span_skip(line, (size_t)colon + 1);
    while (rest.len > 0) {
        struct span piece = rest;
        ptrdiff_t comma = span_find(rest, SPAN_LITERAL(", "));
        if (comma >= 0)
            piece.len = (size_t)comma;
        rest = comma < 0 ? span_of(NULL, 0) : span_skip(rest, (size_t)comma + 1);
        piece = span_trim(piece);
        int64_t number;
        bool total = span_find(piece, SPAN_LITERAL(" total")) > 0;
        bool is_free = span_find(piece, SPAN_LITERAL(" free")) > 0;
        if ((total || is_free) && java_size_take(&piece, &number) && number < INT64_MAX >> shift)
            *(total ? &row->host_bytes : &row->host_free_bytes) = number << shift;
    }
}

void process_row_read(struct process_row *row, struct span text)
{
    struct process_row status = NOTHING;
    struct span_words heads = {.count = 0};
    enum process_source source = PROCESS_NONE;
    struct span raw;
    *row = NOTHING;
    while (span_take_line(&text, &raw)) {
        struct span line = span_trim(raw);
        enum process_source heading = heading_of(line);
        if (heading != PROCESS_NONE) {
            source = heading;
            span_split(line, &heads);
            continue;
        }
        if (is_host(line)) {
            take_host(row, line);
            continue;
        }
        if (source == PROCESS_TOP || source == PROCESS_PS)
            take_process(row, &heads, line, source);
        else if (source == PROCESS_DOCKER)
            take_docker(row, line);
        else if (source == PROCESS_KUBECTL)
            take_kubectl(row, &heads, line);
        else if (process_row_is_top(line))
            take_process(row, NULL, line, PROCESS_TOP);
        take_status(&status, line);
    }
    if (status.rss_bytes > 0) {
        status.source = PROCESS_STATUS;
        span_copy(SPAN_LITERAL("java"), status.name, sizeof status.name);
        keep(row, &status);
    }
}

/* --- pmap ------------------------------------------------------------------------------------- */

#define KB          INT64_C(1024)
#define ARENA_BYTES (INT64_C(64) << 20)
#define BRK_BELOW                                                                                  \
    UINT64_C(0x10000000) /* a program that is not position independent, and what follows it */
/* Where HotSpot puts a heap of compressed references; -Xmx of more is anywhere. */
#define JAVA_HEAP_BELOW (UINT64_C(64) << 30)
#define STACK_LEAST     (INT64_C(900) << 10)
#define STACK_MOST      (INT64_C(1024) << 10)
#define GUARD_MOST      (INT64_C(64) << 10)

struct pmap_row {
    uint64_t address;
    int64_t size_bytes, rss_bytes;
    bool has_rss, writable, anonymous, brk;
};

static bool is_mode(struct span word)
{
    if (word.len != 5)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        if (strchr("rwxspR-", word.ptr[i]) == NULL)
            return false;
    }
    return word.ptr[0] == 'r' || word.ptr[0] == '-';
}

static bool take_kb(struct span word, int64_t *bytes)
{
    int64_t kb;
    if (!span_take_unsigned(&word, &kb) || kb > INT64_MAX / KB)
        return false;
    *bytes = kb * KB;
    return word.len == 0 || span_equals(word, SPAN_LITERAL("K"));
}

static bool row_parse(struct span line, struct pmap_row *row)
{
    struct span rest = span_trim(line), word;
    memset(row, 0, sizeof *row);
    if (!span_take_word(&rest, &word) || (word.len != 16 && word.len != 8) ||
        !span_take_hex(&word, &row->address) || word.len != 0)
        return false;
    int64_t sizes[3];
    int count = 0;
    while (span_take_word(&rest, &word) && count < 3 && take_kb(word, &sizes[count]))
        count++;
    if (count == 0 || !is_mode(word))
        return false;
    row->has_rss = count > 1;
    row->size_bytes = sizes[0];
    row->rss_bytes = count > 1 ? sizes[1] : 0;
    if (row->size_bytes < row->rss_bytes) /* some print 0 for what may not be looked at */
        row->size_bytes = row->rss_bytes;
    row->writable = word.ptr[1] == 'w';
    rest = span_trim(rest);
    row->anonymous = rest.len == 0 || span_find(rest, SPAN_LITERAL("anon")) >= 0;
    row->brk = span_contains(rest, SPAN_LITERAL("[heap]")) ||
               (row->anonymous && row->writable && row->address < BRK_BELOW && word.len == 5);
    return true;
}

bool pmap_is_row(struct span line)
{
    struct pmap_row row;
    return row_parse(line, &row);
}

bool pmap_is_head(struct span line)
{
    struct span rest = span_trim(line), word;
    return span_take_word(&rest, &word) && span_equals(word, SPAN_LITERAL("Address")) &&
           span_take_word(&rest, &word) && span_equals(word, SPAN_LITERAL("Kbytes"));
}

static void take_total(struct pmap *map, struct span line)
{
    struct span rest = line, word;
    if (!span_take_word(&rest, &word) || !span_equals(word, SPAN_LITERAL("total")))
        return;
    int64_t size, rss;
    span_take_word(&rest, &word);
    if (span_equals(word, SPAN_LITERAL("kB")))
        span_take_word(&rest, &word);
    if (!take_kb(word, &size))
        return;
    map->total_size_bytes = size;
    if (span_take_word(&rest, &word) && take_kb(word, &rss))
        map->total_rss_bytes = rss;
}

/* What a mapping is, by its address and size and that of the row before. */
static void take_meaning(struct pmap *map, const struct pmap_row *row, const struct pmap_row *last,
                         int64_t held)
{
    bool beside = last->address + (uint64_t)last->size_bytes == row->address;
    const struct pmap_row *block = row->writable ? row : last, *guard = row->writable ? last : row;
    bool guarded = beside && guard->size_bytes > 0 && guard->size_bytes <= GUARD_MOST &&
                   !guard->writable && block->writable && block->anonymous &&
                   block->size_bytes >= STACK_LEAST && block->size_bytes <= STACK_MOST;
    if (row->brk) {
        map->brk_bytes = saturated_add(map->brk_bytes, held);
    } else if (guarded) {
        map->stacks++;
        map->stack_bytes =
            saturated_add(map->stack_bytes, block->has_rss ? block->rss_bytes : block->size_bytes);
    } else if (row->anonymous && row->writable && row->address < JAVA_HEAP_BELOW &&
               row->address % (1 << 20) == 0 && row->size_bytes >= ARENA_BYTES &&
               held > map->java_heap_bytes) {
        map->java_heap_bytes = held;
        map->java_heap_at = row->address;
    }
}

void pmap_read(struct pmap *map, struct span text)
{
    *map = (struct pmap){.pid = -1, .total_size_bytes = -1, .total_rss_bytes = -1};
    struct span line;
    struct pmap_row last = {.size_bytes = 0};
    while (span_take_line(&text, &line)) {
        struct pmap_row row;
        int64_t pid;
        struct span rest = span_trim(line);
        if (!row_parse(line, &row)) {
            if (map->mappings == 0 && span_take_unsigned(&rest, &pid) &&
                span_take(&rest, SPAN_LITERAL(":")) && rest.len > 0) {
                map->pid = pid;
                map->is_other = !is_java(rest);
            }
            take_total(map, span_trim(line));
            continue;
        }
        map->mappings++;
        map->has_rss = map->has_rss || row.has_rss;
        map->size_bytes = saturated_add(map->size_bytes, row.size_bytes);
        map->rss_bytes = saturated_add(map->rss_bytes, row.rss_bytes);
        int64_t held = row.has_rss ? row.rss_bytes : row.size_bytes;
        if (row.anonymous)
            map->anonymous_bytes = saturated_add(map->anonymous_bytes, held);
        if (row.anonymous && row.writable && row.address != 0 &&
            row.address % (uint64_t)ARENA_BYTES == 0 && row.size_bytes <= ARENA_BYTES) {
            map->arenas++;
            map->arena_bytes = saturated_add(map->arena_bytes, held);
        }
        take_meaning(map, &row, &last, held);
        last = row;
    }
}

/* --- jstat ------------------------------------------------------------------------------------ */

#define LARGEST_KB (INT64_C(1) << 40)

bool jstat_is_heading(struct span line)
{
    struct span_words heads;
    line = span_trim(line);
    if (!span_starts_with(line, SPAN_LITERAL("S0")))
        return false;
    span_split(line, &heads);
    return heads.count >= 8 && (span_equals(heads.word[0], SPAN_LITERAL("S0C")) ||
                                (span_equals(heads.word[0], SPAN_LITERAL("S0")) &&
                                 span_equals(heads.word[1], SPAN_LITERAL("S1"))));
}

/* The whole part of "99.98", "99,98"; -1: no such column, or no number ("-"). */
static int64_t value_of(const struct span_words *heads, const struct span_words *row,
                        const char *name)
{
    for (int i = 0; i < heads->count && i < row->count; i++) {
        int64_t value;
        struct span word = row->word[i];
        if (span_equals(heads->word[i], span_from_cstr(name)))
            return span_take_unsigned(&word, &value) && value < LARGEST_KB ? value : -1;
    }
    return -1;
}

static int64_t sum_of(const struct span_words *heads, const struct span_words *row,
                      const char *const names[4])
{
    int64_t sum = -1;
    for (int i = 0; i < 4; i++) {
        int64_t value = value_of(heads, row, names[i]);
        if (value >= 0)
            sum = (sum < 0 ? 0 : sum) + value * KB;
    }
    return sum;
}

void jstat_read(struct jstat *jstat, struct span text)
{
    static const char *const used[] = {"S0U", "S1U", "EU", "OU"};
    static const char *const capacity[] = {"S0C", "S1C", "EC", "OC"};
    struct span_words heads = {.count = 0}, row;
    struct span line;
    *jstat = (struct jstat){0, -1, -1, -1, -1, -1, -1, {.each = 1}};
    while (span_take_line(&text, &line)) {
        if (jstat_is_heading(line)) {
            span_split(line, &heads);
            continue;
        }
        span_split(line, &row);
        if (heads.count == 0 || row.count != heads.count || value_of(&heads, &row, "YGC") < 0)
            continue;
        jstat->rows++;
        int64_t full = value_of(&heads, &row, "FGC");
        bool collected = full > jstat->full_gcs && jstat->full_gcs >= 0;
        jstat->full_gcs = full;
        jstat->young_gcs = value_of(&heads, &row, "YGC");
        jstat->old_percent = value_of(&heads, &row, "O");
        jstat->heap_used_bytes = sum_of(&heads, &row, used);
        jstat->heap_committed_bytes = sum_of(&heads, &row, capacity);
        int64_t old_used = value_of(&heads, &row, "OU"), old = value_of(&heads, &row, "OC");
        if (old > 0 && old_used >= 0)
            jstat->old_percent = old_used * 100 / old;
        if (collected && jstat->old_percent >= 0)
            gc_series_add(&jstat->old, -1, jstat->old_percent);
        int64_t metaspace = value_of(&heads, &row, "MU");
        jstat->metaspace_used_bytes = metaspace < 0 ? -1 : metaspace * KB;
    }
}

/* --- profiles of malloc ----------------------------------------------------------------------- */

/* "994112043  39.5%  39.5% 994112043  39.5% rocksdb::X", sizes in bytes or, with a point, in MB. */
bool malloc_profile_row(struct span line, struct span *name, int64_t *bytes)
{
    struct span word, rest = span_trim(line);
    for (int i = 0; i < 5; i++) {
        struct span size;
        int64_t number;
        if (!span_take_word(&rest, &word))
            return false;
        size = word;
        bool percent = span_ends_with(word, SPAN_LITERAL("%"));
        if (percent != (i != 0 && i != 3) || !java_size_take(&size, &number))
            return false;
        if (i == 0)
            *bytes = memchr(word.ptr, '.', word.len) == NULL ? number
                     : number < INT64_MAX >> 20              ? number << 20
                                                             : INT64_MAX;
    }
    *name = span_trim(rest);
    return name->len > 0;
}

/* --- tables and leak reports of Eclipse MAT --------------------------------------------------- */

#define FIGURES_MAX 3
#define THOUSANDS   ",.'"

/* "occupies 401,627,128 (41.22%) bytes": the number, or nothing. */
static struct span occupied(struct span line)
{
    static const struct span verbs[] = {SPAN_INIT("occupies "), SPAN_INIT("occupy "),
                                        SPAN_INIT("with total size ")};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        struct span rest = span_behind(line, verbs[i]);
        if (rest.len > 0 && is_digit(rest.ptr[0]) && span_contains(rest, SPAN_LITERAL("%)")))
            return rest;
    }
    return span_of(NULL, 0);
}

bool mat_table_is_heading(struct span line)
{
    static const struct span columns[] = {SPAN_INIT("Objects"), SPAN_INIT("Shallow"),
                                          SPAN_INIT("Retained"), SPAN_INIT("Defined Classes"),
                                          SPAN_INIT("No. of Instances")};
    line = span_trim(line);
    if (occupied(line).ptr != NULL)
        return true;
    span_take(&line, SPAN_LITERAL("|"));
    line = span_trim(line);
    span_take(&line, SPAN_LITERAL("\""));
    if (!span_take(&line, SPAN_LITERAL("Class Name")) &&
        !span_take(&line, SPAN_LITERAL("Class Loader Name")))
        return false;
    if (span_trim(line).len == 0) /* each column on a line of its own */
        return true;
    return span_row(line, span_contains, SPAN_TABLE(columns)) >= 0;
}

void mat_table_begin(struct mat_table *table, struct span text)
{
    *table = (struct mat_table){0};
    line_cursor_begin(&table->lines, text);
    /* The columns may be apart: all of what stands in front of the first row. */
    struct span head = span_of(text.ptr, text.len < 256 ? text.len : 256);
    table->is_csv = span_find(head, SPAN_LITERAL("Class Name\",")) >= 0 ||
                    span_find(head, SPAN_LITERAL("Class Name,")) >= 0;
    table->of_loaders = span_find(head, SPAN_LITERAL("Defined Classes")) >= 0;
}

/* A number, which may have separators of thousands, at the end of the line; takes it off. */
static bool take_last(struct span *line, const char *separators, int64_t *value)
{
    size_t end = line->len;
    while (end > 0 && strchr(" \t|\",", line->ptr[end - 1]) != NULL)
        end--;
    size_t at = end;
    while (at > 0 && is_digit(line->ptr[at - 1]))
        at--;
    for (size_t group = end - at; group == 3;) {
        if (at < 2 || strchr(separators, line->ptr[at - 1]) == NULL)
            break;
        size_t front = at - 1;
        for (; front > 0 && is_digit(line->ptr[front - 1]);)
            front--;
        group = at - 1 - front;
        if (group == 0 || group > 3)
            break;
        at = front;
    }
    if (at == end || (at > 0 && strchr(" \t|\"=,", line->ptr[at - 1]) == NULL))
        return false;
    int64_t number = 0;
    for (size_t i = at; i < end; i++) {
        if (is_digit(line->ptr[i]) && (__builtin_mul_overflow(number, 10, &number) ||
                                       __builtin_add_overflow(number, line->ptr[i] - '0', &number)))
            number = INT64_MAX;
    }
    while (at > 0 && strchr(" \t|\">=,", line->ptr[at - 1]) != NULL)
        at--;
    line->len = at;
    *value = number;
    return true;
}

/* "|- a.B @ 0x1", "[a.B[]](mat://...)", "a.B$C": the name of a class, or nothing. */
static struct span class_name(struct span line)
{
    line = span_trim(line);
    while (line.len > 0 && strchr("|'\"+- \t\\*", line.ptr[0]) != NULL)
        line = span_skip(line, 1);
    ptrdiff_t link = -1;
    if (span_take(&line, SPAN_LITERAL("[")))
        link = span_find(line, SPAN_LITERAL("]("));
    size_t length = 0;
    if (link > 0)
        length = (size_t)link;
    while (link <= 0 && length < line.len && strchr(" \t|\",(", line.ptr[length]) == NULL)
        length++;
    struct span name = span_of(line.ptr, length);
    bool array = span_ends_with(name, SPAN_LITERAL("[]"));
    bool dotted = false;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        dotted = dotted || (c == '.' && i > 0 && i + 1 < name.len);
        if (c < '$' || c == '(' || c == ')' || c == ':')
            return span_of(NULL, 0);
    }
    bool letter = name.len > 0 && !is_digit(name.ptr[0]);
    return letter && (dotted || array) ? name : span_of(NULL, 0);
}

static bool quoted(struct span line, struct span *name)
{
    struct span rest = span_behind(line, SPAN_LITERAL("\""));
    *name = span_until(rest, "\"");
    if (name->len == 0 || name->len == rest.len)
        return false;
    ptrdiff_t blank = span_find(*name, SPAN_LITERAL(" @ 0x"));
    if (blank > 0)
        name->len = (size_t)blank;
    return true;
}

/* "The class a.B, loaded by ...", "38 instances of a.B, ...": copied from a browser, it has lost its quotes. */
static bool unquoted(struct span line, struct span *name)
{
    static const struct span fronts[] = {
        SPAN_INIT("instances of "), SPAN_INIT("instance of "), SPAN_INIT("The class "),
        SPAN_INIT("The classloader/component "), SPAN_INIT("The thread ")};
    *name = span_of(line.ptr + line.len, 0);
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        struct span rest = span_behind(line, fronts[i]);
        if (rest.len > name->len) /* the first of them in the line */
            *name = rest;
    }
    *name = span_until(*name, " ,@");
    return name->len > 0;
}

/* "401,627,128", "31,93,98,208": digits in groups; "187.01 MB". */
static bool take_occupied(struct span number, int64_t *bytes)
{
    struct span size = number;
    if (java_size_take(&size, bytes) && size.ptr > number.ptr && is_letter(size.ptr[-1]))
        return true;
    *bytes = 0;
    for (size_t i = 0; i < number.len && strchr(" (", number.ptr[i]) == NULL; i++) {
        if (is_digit(number.ptr[i]) && (__builtin_mul_overflow(*bytes, 10, bytes) ||
                                        __builtin_add_overflow(*bytes, number.ptr[i] - '0', bytes)))
            return false;
    }
    return *bytes > 0;
}

/* A sentence of the leak report. */
static bool read_sentence(struct mat_row *row, struct span line)
{
    struct span number = occupied(line), rest = line, first;
    if (number.ptr == NULL || (!quoted(line, &row->name) && !unquoted(line, &row->name)) ||
        !take_occupied(number, &row->bytes))
        return false;
    span_take_word(&rest, &first);
    if (!take_last(&first, THOUSANDS, &row->instances))
        row->instances = 1;
    return true;
}

bool mat_table_next(struct mat_table *table, struct mat_row *row)
{
    struct span line;
    while (line_cursor_next(&table->lines, &line)) {
        *row = (struct mat_row){.instances = -1, .bytes = -1};
        if (span_trim(line).len == 0)
            continue;
        if (read_sentence(row, line))
            return true;
        int64_t figure[FIGURES_MAX];
        int count = 0;
        struct span rest = line;
        bool dashes = span_find(line, SPAN_LITERAL("---")) >= 0;
        while (!dashes && count < FIGURES_MAX &&
               take_last(&rest, table->is_csv ? "" : THOUSANDS, &figure[count]))
            count++;
        struct span name = dashes ? span_of(NULL, 0) : class_name(rest);
        if (name.len > 0)
            table->name = name;
        if (count == 0 || table->name.len == 0)
            continue;
        row->name = table->name;
        row->is_loader = table->of_loaders || span_find(rest, SPAN_LITERAL(" @ 0x")) > 0;
        row->instances = figure[count - 1];
        row->bytes = count > 1 && !row->is_loader ? figure[count - 2] : -1;
        table->name = span_of(NULL, 0);
        return true;
    }
    return false;
}
