#include "analyzers/classlog/line_head.h"

#define UPTIME_DIGITS 12 /* in milliseconds; class_log.h takes more for a time of day */
#define ONES          UINT64_C(0x0101010101010101)
#define TOP_BITS      (ONES * 0x80)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- learning --------------------------------------------------------------------------------- */

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

void line_heads_learn(struct line_heads *heads, struct span text, const struct class_log_line *line)
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

/* --- recognising ------------------------------------------------------------------------------ */

/* Eight bytes at a time. A digit less '0' is 0 to 9: neither it nor it plus 0x76 has the top bit.
 */
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

bool line_heads_read(struct line_heads *heads, struct span text, struct class_log_line *line)
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
