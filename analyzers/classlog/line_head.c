#include "analyzers/classlog/line_head.h"

#define UPTIME_DIGITS 12 /* in milliseconds; class_log.h takes what is above for a time of day */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum line_form line_form_of(const struct class_log_line *line)
{
    if (line->kind == CLASS_LOG_UNLOAD)
        return line->form == CLASS_LOG_JDK8 ? LINE_JDK8_UNLOAD : LINE_UNLOAD;
    if (line->form == CLASS_LOG_JDK8)
        return LINE_JDK8_LOAD;
    return line->form == CLASS_LOG_TAGGED ? LINE_LOAD : LINE_PLAIN_LOAD;
}

/* False when it has more digits than line_digits or class_log.h takes. */
static bool learn_clock(struct line_head *head, struct span text, const struct class_log_line *line)
{
    head->clock = line->uptime_ms >= 0 ? CLOCK_UPTIME
                  : line->wall_ms >= 0 ? CLOCK_WALL
                                       : CLOCK_NONE;
    if (head->clock == CLOCK_NONE)
        return true;
    struct span clock = line->clock;
    head->clock_at = (uint8_t)(clock.ptr - text.ptr);
    if (class_log_wall_ms(clock) >= 0)
        return true;
    size_t whole = 0;
    while (whole < clock.len && is_digit(clock.ptr[whole]))
        whole++;
    head->whole = (uint8_t)whole;
    head->unit = clock.ptr[clock.len - 2];
    if (head->unit != 'm' && head->unit != 'n') {
        head->unit = 's';
        return whole + sizeof ".000s" - 1 == clock.len && whole <= 8;
    }
    size_t most = head->clock == CLOCK_UPTIME ? UPTIME_DIGITS : UPTIME_DIGITS + 1;
    return whole + 2 == clock.len && whole <= (head->unit == 'm' ? most : most + 6);
}

/* Digits may be any others in the next line, but the first of a number so long that it may be an
 * uptime or a time of day: with another one in front it is perhaps not what it was. */
static void learn_text(struct line_head *head, const char *text)
{
    memcpy(head->text, text, head->len);
    for (size_t i = 0; i < head->len;) {
        size_t end = i;
        while (end < head->len && is_digit(text[end]))
            end++;
        bool kept = end == i || end - i > UPTIME_DIGITS;
        if (kept) {
            head->literal[i / 64] |= UINT64_C(1) << (i % 64);
            i++;
        }
        for (; i < end; i++)
            head->digit[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

void line_heads_learn(struct line_heads *heads, struct span text, const struct class_log_line *line)
{
    size_t len = (size_t)(line->name.ptr - text.ptr);
    struct line_head head = {.len = (uint8_t)len, .form = line_form_of(line)};
    if (len == 0) {
        heads->plain |= head.form == LINE_PLAIN_LOAD;
        return;
    }
    if (len > LINE_HEAD_BYTES - 1 || !learn_clock(&head, text, line))
        return;
    learn_text(&head, text.ptr);
    heads->last = heads->next;
    heads->head[heads->next] = head;
    heads->next = (heads->next + 1) % LINE_HEADS;
    if (heads->count < LINE_HEADS)
        heads->count++;
}
