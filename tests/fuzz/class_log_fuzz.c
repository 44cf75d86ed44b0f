/* Any text through class_log, line by line, and whole as one line. */
#include "analyzers/parse/class_log.h"
#include "tests/fuzz/fuzz.h"

static void check(struct span text, struct class_log_line line)
{
    promise_inside(text, line.name);
    promise_inside(text, line.source);
    promise(line.uptime_ms >= -1);
    promise((line.kind == CLASS_LOG_OTHER) == (line.name.len == 0));
    promise(line.kind == CLASS_LOG_LOAD || line.source.len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size), rest = text;
    struct class_log_line line;
    while (class_log_next(&rest, &line))
        check(text, line);
    promise_inside(text, rest);
    promise(rest.len == 0 || !memchr(rest.ptr, '\n', rest.len));
    check(text, class_log_parse(text));
    return 0;
}
