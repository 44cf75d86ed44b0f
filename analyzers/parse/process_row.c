#include "analyzers/parse/process_row.h"

#include "analyzers/parse/java_flags.h"

#define WORDS_MAX 24

struct words {
    int count;
    struct span word[WORDS_MAX];
    struct span tail; /* from the last word counted on */
};

static void split(struct span line, struct words *words)
{
    words->count = 0;
    line = span_trim(line);
    while (line.len > 0 && words->count < WORDS_MAX) {
        size_t length = 0;
        while (length < line.len && line.ptr[length] != ' ' && line.ptr[length] != '\t')
            length++;
        words->tail = line;
        words->word[words->count++] = span_of(line.ptr, length);
        line = span_trim(span_of(line.ptr + length, line.len - length));
    }
}

static int column(const struct words *heads, struct span name)
{
    for (int i = 0; i < heads->count; i++) {
        if (span_equals(heads->word[i], name))
            return i;
    }
    return -1;
}

const char *process_source_name(enum process_source source)
{
    static const char *const names[] = {
        "", "top", "ps", "docker stats", "kubectl top", "/proc/PID/status"};
    return (unsigned)source < sizeof names / sizeof names[0] ? names[source] : "";
}

static enum process_source heading_of(struct span line)
{
    struct words heads;
    split(line, &heads);
    if (column(&heads, SPAN_LITERAL("PID")) >= 0 && column(&heads, SPAN_LITERAL("RES")) > 0)
        return PROCESS_TOP;
    if (column(&heads, SPAN_LITERAL("PID")) >= 0 && column(&heads, SPAN_LITERAL("RSS")) >= 0 &&
        (column(&heads, SPAN_LITERAL("COMMAND")) > 0 || column(&heads, SPAN_LITERAL("CMD")) > 0))
        return PROCESS_PS;
    /* "ps -o rss,cmd", "ps -o pid,rss": all of the line are names of columns. */
    bool columns = heads.count >= 2 && (column(&heads, SPAN_LITERAL("RSS")) >= 0 ||
                                        column(&heads, SPAN_LITERAL("RSZ")) >= 0);
    for (int i = 0; i < heads.count && columns; i++)
        for (size_t k = 0; k < heads.word[i].len && columns; k++)
            columns = (heads.word[i].ptr[k] >= 'A' && heads.word[i].ptr[k] <= 'Z') ||
                      heads.word[i].ptr[k] == '%';
    if (columns)
        return PROCESS_PS;
    if (span_find(line, SPAN_LITERAL("MEM USAGE / LIMIT")) > 0)
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
            span_equals(span_trim(span_of(line.ptr + 5, line.len - 5)), SPAN_LITERAL("java"))) ||
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
    struct words words;
    int64_t number;
    split(line, &words);
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

static int64_t size_at(const struct words *words, int at)
{
    int64_t bytes;
    return at >= 0 && at < words->count && take_kib(words->word[at], &bytes) ? bytes : -1;
}

static void take_process(struct process_row *row, const struct words *heads, struct span line,
                         enum process_source source)
{
    static const struct words bare_top = {.count = 0};
    struct words words;
    struct process_row found = NOTHING;
    split(line, &words);
    bool bare = heads == NULL;
    heads = bare ? &bare_top : heads;
    int pid_at = bare ? 0 : column(heads, SPAN_LITERAL("PID"));
    int rss_at =
        bare ? 5 : column(heads, source == PROCESS_TOP ? SPAN_LITERAL("RES") : SPAN_LITERAL("RSS"));
    int size_at_column = bare ? 4 : column(heads, SPAN_LITERAL("VIRT"));
    if (size_at_column < 0)
        size_at_column = column(heads, SPAN_LITERAL("VSZ"));
    if (rss_at < 0)
        rss_at = column(heads, SPAN_LITERAL("RSZ"));
    struct span pid = pid_at >= 0 && pid_at < words.count ? words.word[pid_at] : line;
    bool named = bare || column(heads, SPAN_LITERAL("COMMAND")) >= 0 ||
                 column(heads, SPAN_LITERAL("CMD")) >= 0;
    /* The command is behind all figures: a user named java does not make a JVM. */
    bool java = !named; /* somebody asked for this process */
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

/* "0f3c  app  0.50%  1.907GiB / 2GiB  95.35%  1.2MB / 3MB ..." */
static void take_docker(struct process_row *row, struct span line)
{
    struct words words;
    struct process_row found = NOTHING;
    split(line, &words);
    for (int i = 1; i + 1 < words.count; i++) {
        struct span used = words.word[i - 1], limit = words.word[i + 1];
        if (!span_equals(words.word[i], SPAN_LITERAL("/")) ||
            !java_size_take(&used, &found.rss_bytes) || !java_size_take(&limit, &found.limit_bytes))
            continue;
        found.source = PROCESS_DOCKER;
        span_copy(words.word[i > 2 ? 1 : 0], found.name, sizeof found.name);
        keep(row, &found);
        return;
    }
}

static void take_kubectl(struct process_row *row, const struct words *heads, struct span line)
{
    struct words words;
    struct process_row found = NOTHING;
    split(line, &words);
    int at = column(heads, SPAN_LITERAL("MEMORY(bytes)")),
        name = column(heads, SPAN_LITERAL("NAME"));
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
        struct span rest =
            span_trim(span_of(line.ptr + keys[i].key.len, line.len - keys[i].key.len));
        if (java_size_take(&rest, &value))
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
    struct span rest = span_of(line.ptr + colon + 1, line.len - (size_t)colon - 1);
    while (rest.len > 0) {
        struct span piece = rest;
        ptrdiff_t comma = span_find(rest, SPAN_LITERAL(", "));
        if (comma >= 0)
            piece.len = (size_t)comma;
        rest = comma < 0 ? span_of(NULL, 0)
                         : span_of(rest.ptr + comma + 1, rest.len - (size_t)comma - 1);
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
    struct words heads = {.count = 0};
    enum process_source source = PROCESS_NONE;
    struct span raw;
    bool terminated;
    *row = NOTHING;
    while (span_next_line(&text, &raw, &terminated)) {
        struct span line = span_trim(raw);
        enum process_source heading = heading_of(line);
        if (heading != PROCESS_NONE) {
            source = heading;
            split(line, &heads);
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
