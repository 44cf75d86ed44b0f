#include "nmtwatch/jvm/target.h"

#include <stdio.h>

static const struct failure_row {
    const char *reason;
    int exit_code;
    const char *mend;
} rows[FAILURE_KIND_COUNT] = {
    [FAILURE_NONE] = {"ok", 0, NULL},
#define FAILURE(id, reason, exit_code, sentence, mend) [FAILURE_##id] = {reason, exit_code, mend},
#include "nmtwatch/jvm/failures.def"
#undef FAILURE
};

const char *failure_reason(enum failure_kind kind)
{
    return rows[kind].reason;
}

int failure_exit_code(enum failure_kind kind)
{
    return rows[kind].exit_code;
}

const char *failure_mend(enum failure_kind kind)
{
    return rows[kind].mend;
}

/* A switch rather than a column of the table: so the compiler sees each format beside its argument. */
static int write_sentence(char *out, size_t size, enum failure_kind kind, const char *who)
{
    switch (kind) {
#define FAILURE(id, reason, exit_code, sentence, mend)                                             \
    case FAILURE_##id:                                                                             \
        return snprintf(out, size, sentence, who);
#include "nmtwatch/jvm/failures.def"
#undef FAILURE
    default:
        out[0] = '\0';
        return 0;
    }
}

/* The detail may hold text of the target: one line, printable ASCII and UTF-8 only. */
static void append_detail(char *out, size_t size, const char *detail)
{
    size_t used = strlen(out);
    if (used + 3 >= size)
        return;
    out[used++] = ':';
    out[used++] = ' ';
    for (const char *c = detail; *c != '\0' && used + 1 < size; c++)
        out[used++] = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
    while (used > 0 && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

enum failure_kind failure_set(struct failure *failure, enum failure_kind kind, const char *who,
                              const char *detail)
{
    failure->kind = kind;
    write_sentence(failure->sentence, sizeof failure->sentence, kind, who);
    if (kind != FAILURE_NONE && detail != NULL && detail[0] != '\0')
        append_detail(failure->sentence, sizeof failure->sentence, detail);
    return kind;
}
