/*
 * failure: why a JVM could not be asked, as a value: kind, exit code, sentence.
 * The table is failures.def. Plain data; any thread.
 */
#ifndef NMTWATCH_JVM_FAILURE_H
#define NMTWATCH_JVM_FAILURE_H

enum failure_kind {
    FAILURE_NONE = 0,
#define FAILURE(id, reason, exit_code, sentence, mend) FAILURE_##id,
#include "nmtwatch/jvm/failures.def"
#undef FAILURE
    FAILURE_KIND_COUNT,
};

struct failure {
    enum failure_kind kind;
    char sentence[320]; /* one line for people, no trailing newline; empty when FAILURE_NONE */
};

const char *failure_reason(enum failure_kind kind); /* "ok" for FAILURE_NONE */
int failure_exit_code(enum failure_kind kind);      /* 0 for FAILURE_NONE */
const char *failure_mend(enum failure_kind kind);   /* NULL for FAILURE_NONE */

/* Fills the sentence from the table; who is e.g. "pid 4711"; detail (may be NULL) is appended after
 * ": ". Returns kind. */
enum failure_kind failure_set(struct failure *failure, enum failure_kind kind, const char *who,
                              const char *detail);

#endif
