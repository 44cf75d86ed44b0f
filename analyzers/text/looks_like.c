#include "analyzers/text/looks_like.h"

#define FRONT_BYTES ((size_t)1 << 16)

static const struct {
    struct span mark;
    bool front;
    struct looks_like words;
} ROWS[] = {
#define LOOKS_LIKE(mark, front, what, how) {SPAN_INIT(mark), front, {what, how}},
#include "analyzers/text/looks_like.def"
#undef LOOKS_LIKE
};

struct looks_like looks_like(struct span text)
{
    static const char *const expected =
        "jcmd PID VM.native_memory summary >FILE, the file hs_err_pidPID.log, a log with "
        "OutOfMemoryError or class loads";
    text.len = text.len < FRONT_BYTES ? text.len : FRONT_BYTES;
    if (span_trim(text).len == 0)
        return (struct looks_like){"an empty file", expected};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        if (ROWS[i].front ? span_starts_with(text, ROWS[i].mark)
                          : span_find(text, ROWS[i].mark) >= 0)
            return ROWS[i].words;
    }
    if (memchr(text.ptr, '\0', text.len) != NULL)
        return (struct looks_like){"a binary file", expected};
    struct span front = span_trim(text);
    if (front.ptr[0] == '{' || front.ptr[0] == '[')
        return (struct looks_like){"JSON, or a log without a line about memory", expected};
    return (struct looks_like){"a text without a line that a JVM or the kernel prints about memory",
                               expected};
}
