#include "analyzers/classlog/classlog.h"

#include <stdlib.h>

/* --- how lines begin -------------------------------------------------------------------------- */

/*
 * line_head: how the lines of a class-load log begin, up to the class's name.
 *
 *   [0.108s][info][class,load  ] Script1 source: ...
 *   <---------- head ----------->
 *
 * All that varies in a head is digits: times, ids. So a head that class_log.h has understood once
 * is recognised by comparing bytes, and a line with a known head is of the same kind, its name
 * begins at the same offset and so does its time: the head alone decides, as long as the name that
 * follows has no '['.
 *
 *   line_heads_learn (a line class_log.h has understood) -> line_heads_read
 *
 * A zeroed struct knows none. Calling context: one thread.
 */
#define LINE_HEADS      8
#define LINE_HEAD_BYTES 128 /* longer heads are not learnt */

struct line_head {
    enum class_log_kind kind;
    enum class_log_form form;
    size_t len;
    size_t clock_at, clock_len; /* of the decoration with the time; 0: none */
    int64_t unit_per_ms;
    bool uptime;                           /* or a time of day: */
    bool iso;                              /* ISO 8601, or a number */
    uint64_t text[LINE_HEAD_BYTES / 8];    /* digits as '0' */
    uint64_t digit[LINE_HEAD_BYTES / 8];   /* 0xff in each byte where any digit may stand */
    uint64_t literal[LINE_HEAD_BYTES / 8]; /* 0xff where the byte must be the same */
};

struct line_heads {
    int count;
    int next; /* to be replaced */
    int last; /* matched last: most probably the next line's too */
    struct line_head head[LINE_HEADS];
    char clock[32]; /* the time of the last line, as text and as what it means */
    size_t clock_len;
    int64_t clock_ms;
};

#define UPTIME_DIGITS 12 /* in milliseconds; class_log.h takes more for a time of day */
#define ONES          UINT64_C(0x0101010101010101)
#define TOP_BITS      (ONES * 0x80)

/* False when it has more digits than class_log.h takes, or another form. */
static bool learn_clock(struct line_head *head, struct span text, const struct class_log_line *line)
{
    head->uptime = line->uptime_ms >= 0;
    if (!head->uptime && line->wall_ms < 0)
        return true;
    struct span clock = line->clock;
    head->clock_at = (size_t)(clock.ptr - text.ptr);
    head->clock_len = clock.len;
    if (clock.len > sizeof((struct line_heads *)0)->clock)
        return false;
    head->iso = class_log_wall_ms(clock) >= 0;
    if (head->iso)
        return true;
    size_t whole = 0;
    while (whole < clock.len && is_digit(clock.ptr[whole]))
        whole++;
    char unit = clock.ptr[clock.len - 2];
    head->unit_per_ms = 1; /* "123.456s" without its dot */
    if (unit != 'm' && unit != 'n')
        return whole + sizeof ".000s" - 1 == clock.len && whole <= 8;
    if (unit == 'n')
        head->unit_per_ms = 1000000;
    size_t most = (head->uptime ? UPTIME_DIGITS : UPTIME_DIGITS + 1) + (unit == 'm' ? 0 : 6);
    return whole + 2 == clock.len && whole <= most;
}

/* Any digits may stand where digits do, except the first of a number so long that it may be an
 * uptime or a time of day: with another one in front it may be the other of the two. */
static void learn_text(struct line_head *head, const char *text)
{
    char *copy = (char *)head->text;
    unsigned char *digit = (unsigned char *)head->digit, *literal = (unsigned char *)head->literal;
    memcpy(copy, text, head->len);
    for (size_t i = 0; i < head->len;) {
        size_t end = i;
        while (end < head->len && is_digit(text[end]))
            end++;
        if (end == i || end - i > UPTIME_DIGITS)
            literal[i++] = 0xff;
        for (; i < end; i++) {
            copy[i] = '0';
            digit[i] = 0xff;
        }
    }
}

/* line: kind load or unload, as class_log_parse read it from text. A head that is empty, too long
 * or has a time of another form is not learnt. */
static void line_heads_learn(struct line_heads *heads, struct span text,
                             const struct class_log_line *line)
{
    struct line_head head = {
        .kind = line->kind, .form = line->form, .len = (size_t)(line->name.ptr - text.ptr)};
    if (head.len == 0 || head.len > LINE_HEAD_BYTES || !learn_clock(&head, text, line))
        return;
    learn_text(&head, text.ptr);
    heads->last = heads->next;
    heads->head[heads->next] = head;
    heads->next = (heads->next + 1) % LINE_HEADS;
    if (heads->count < LINE_HEADS)
        heads->count++;
}

/* Eight bytes at a time. A digit less '0' is 0 to 9: neither it nor it plus 0x76 has the top bit. */
static bool has_head(const struct line_head *head, struct span text)
{
    if (text.len <= head->len)
        return false;
    uint64_t wrong = 0;
    for (size_t i = 0; i * 8 < head->len; i++) {
        uint64_t word;
        memcpy(&word, text.ptr + i * 8, 8);
        word ^= head->text[i];
        uint64_t digits = word & head->digit[i];
        wrong |= word & head->literal[i];
        wrong |= (digits | ((digits & ~TOP_BITS) + ONES * 0x76)) & TOP_BITS;
    }
    return wrong == 0;
}

static const struct line_head *find_head(struct line_heads *heads, struct span text)
{
    if (heads->count > 0 && has_head(&heads->head[heads->last], text))
        return &heads->head[heads->last];
    for (int i = 0; i < heads->count; i++) {
        if (i != heads->last && has_head(&heads->head[i], text)) {
            heads->last = i;
            return &heads->head[i];
        }
    }
    return NULL;
}

/* "123.456s" as milliseconds; other units as they are counted. */
static int64_t number_of(const char *clock, size_t len)
{
    int64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        if (is_digit(clock[i]))
            value = value * 10 + (clock[i] - '0');
    }
    return value;
}

/* Many lines have the same time. */
static int64_t time_of(struct line_heads *heads, const struct line_head *head, struct span clock)
{
    if (clock.len != heads->clock_len || memcmp(clock.ptr, heads->clock, clock.len) != 0) {
        memcpy(heads->clock, clock.ptr, clock.len);
        heads->clock_len = clock.len;
        heads->clock_ms = head->iso ? class_log_wall_ms(clock)
                                    : number_of(clock.ptr, clock.len) / head->unit_per_ms;
    }
    return heads->clock_ms;
}

/* The line as class_log_parse would read it; false when its head is unknown or what follows is not
 * what the head promises: then class_log_parse decides. Eight bytes after the text are readable. */
static bool line_heads_read(struct line_heads *heads, struct span text, struct class_log_line *line)
{
    const struct line_head *head = find_head(heads, text);
    if (head == NULL)
        return false;
    *line = (struct class_log_line){
        .kind = head->kind, .form = head->form, .uptime_ms = -1, .wall_ms = -1};
    line->source = line->clock = span_of(text.ptr, 0);
    if (head->clock_len > 0) {
        line->clock = span_of(text.ptr + head->clock_at, head->clock_len);
        int64_t ms = time_of(heads, head, line->clock);
        if (ms < 0)
            return false;
        *(head->uptime ? &line->uptime_ms : &line->wall_ms) = ms;
    }
    return class_log_body(span_of(text.ptr + head->len, text.len - head->len), line);
}

/* --- the log ---------------------------------------------------------------------------------- */

struct classlog {
    struct classlog_totals totals;
    struct line_heads heads;
    struct time_line time;
    enum classlog_clock clock; /* 0: not decided yet */
    bool count_only;
    struct class_rows rows;
};

struct classlog *classlog_create(const struct classlog_options *options)
{
    struct classlog *log = calloc(1, sizeof *log);
    if (log == NULL)
        return NULL;
    log->count_only = options->count_only;
    if (log->count_only || class_rows_init(&log->rows, options->row_max))
        return log;
    classlog_destroy(log);
    return NULL;
}

void classlog_destroy(struct classlog *log)
{
    if (log == NULL)
        return;
    class_rows_free(&log->rows);
    free(log);
}

/* --- a line ----------------------------------------------------------------------------------- */

static void take_time(struct classlog *log, const struct class_log_line *line)
{
    if (log->clock == 0)
        log->clock = line->uptime_ms >= 0 ? CLASSLOG_UPTIME
                     : line->wall_ms >= 0 ? CLASSLOG_WALL
                                          : CLASSLOG_LINES;
    int64_t ms = log->time.log_ms;
    if (log->clock == CLASSLOG_LINES)
        ms = log->totals.lines;
    else if (log->clock == CLASSLOG_UPTIME && line->uptime_ms >= 0)
        ms = line->uptime_ms;
    else if (log->clock == CLASSLOG_WALL && line->uptime_ms < 0 && line->wall_ms >= 0)
        ms = line->wall_ms;
    time_line_set(&log->time, ms);
}

static void count(struct classlog *log, const struct class_log_line *line)
{
    bool load = line->kind == CLASS_LOG_LOAD;
    *(load ? &log->totals.loads : &log->totals.unloads) += 1;
    if (log->count_only)
        return;
    take_time(log, line);
    *(load ? &log->time.now->loads : &log->time.now->unloads) += 1;
    struct log_place at = {log->totals.lines, log->time.ms};
    if (load)
        class_rows_load(&log->rows, line->name, line->source, at, &log->time);
    else
        class_rows_unload(&log->rows, line->name, at, &log->time);
}

/* A line whose head was not seen before. */
static void parse_line(struct classlog *log, struct span text)
{
    struct class_log_line line = class_log_parse(text);
    log->totals.unparsed += line.claims;
    if (line.kind == CLASS_LOG_OTHER)
        return;
    line_heads_learn(&log->heads, text, &line);
    count(log, &line);
}

static struct span without_return(struct span line)
{
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* --- feeding and asking ----------------------------------------------------------------------- */

size_t classlog_feed(struct classlog *log, const char *text, size_t len)
{
    const char *at = text, *end = text + len, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        struct span raw = without_return(span_of(at, (size_t)(newline - at)));
        struct class_log_line line;
        log->totals.lines++;
        if (line_heads_read(&log->heads, raw, &line))
            count(log, &line);
        else
            parse_line(log, raw);
        at = newline + 1;
    }
    return (size_t)(at - text);
}

void classlog_feed_last(struct classlog *log, const char *text, size_t len)
{
    if (len == 0)
        return;
    log->totals.lines++;
    parse_line(log, without_return(span_of(text, len)));
}

const struct classlog_totals *classlog_totals(const struct classlog *log)
{
    return &log->totals;
}

int classlog_families(const struct classlog *log, struct class_family *picked, int max,
                      struct class_family *other)
{
    return class_rows_pick(&log->rows, &log->time, picked, max, other);
}

struct class_fold classlog_folded(const struct classlog *log)
{
    struct class_fold sum = {0};
    for (size_t i = 0; i <= FAMILY_COUNT; i++) {
        sum.loads += log->rows.fold[i].loads;
        sum.unloads += log->rows.fold[i].unloads;
        sum.names += log->rows.fold[i].names;
        sum.rows += log->rows.fold[i].rows;
    }
    return sum;
}

enum classlog_clock classlog_clock(const struct classlog *log)
{
    return log->clock != 0 ? log->clock : CLASSLOG_LINES;
}

const struct time_line *classlog_time(const struct classlog *log)
{
    return &log->time;
}

int64_t classlog_span_ms(const struct classlog *log)
{
    return log->time.ms > log->time.last_ms ? log->time.ms : log->time.last_ms;
}
