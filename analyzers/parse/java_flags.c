#include "analyzers/parse/java_flags.h"

static int shift_of(char unit)
{
    switch (unit | 0x20) {
    case 'k':
        return 10;
    case 'm':
        return 20;
    case 'g':
        return 30;
    case 't':
        return 40;
    default:
        return 0;
    }
}

/* ".907": thousandths. */
static int64_t take_thousandths(struct span *text)
{
    struct span rest = *text;
    int64_t thousandths = 0, worth = 100;
    if (rest.len < 2 || (rest.ptr[0] != '.' && rest.ptr[0] != ',') || rest.ptr[1] < '0' ||
        rest.ptr[1] > '9')
        return 0;
    size_t i = 1;
    for (; i < rest.len && rest.ptr[i] >= '0' && rest.ptr[i] <= '9'; i++) {
        thousandths += (rest.ptr[i] - '0') * worth;
        worth /= 10;
    }
    *text = span_of(rest.ptr + i, rest.len - i);
    return thousandths;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool java_size_take(struct span *text, int64_t *bytes)
{
    struct span rest = *text;
    int64_t number;
    if (!span_take_unsigned(&rest, &number))
        return false;
    int64_t thousandths = take_thousandths(&rest);
    struct span unit = rest;
    span_take(&unit, SPAN_LITERAL(" "));
    int shift = unit.len > 0 ? shift_of(unit.ptr[0]) : 0;
    if (shift > 0) {
        unit = span_of(unit.ptr + 1, unit.len - 1);
        span_take(&unit, SPAN_LITERAL("i"));
        if (!span_take(&unit, SPAN_LITERAL("B")))
            span_take(&unit, SPAN_LITERAL("b"));
        if (unit.len > 0 && is_letter(unit.ptr[0])) /* "12 tasks" */
            shift = 0;
        else
            rest = unit;
    }
    if (number > (INT64_MAX >> shift) - 1)
        return false;
    *bytes = (number << shift) + (thousandths << shift) / 1000;
    *text = rest;
    return true;
}

bool java_flag_size(struct span text, struct span flag, int64_t *bytes)
{
    struct span rest = text;
    ptrdiff_t at;
    bool found = false;
    while ((at = span_find(rest, flag)) >= 0) {
        const char *begin = rest.ptr + at;
        size_t from = (size_t)at + flag.len;
        rest = span_of(rest.ptr + from, rest.len - from);
        bool own = begin == text.ptr || strchr(" \t\n\"'=", begin[-1]) != NULL;
        struct span value = rest;
        found = (own && java_size_take(&value, bytes)) || found;
    }
    return found;
}
