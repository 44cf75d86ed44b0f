/*
 * crash: how a JVM ended, by its error file, and which limit it hit.
 *
 *   hs_err_read -> crash_take -> crash_cause, crash_sentence
 *
 * Plain data, nothing is borrowed. Pure; any thread.
 */
#pragma once

#include "analyzers/parse/hs_err.h"
#include "analyzers/parse/oom_lines.h"

enum oom_cause {
#define OOM_CAUSE(id, key, what, fix, command) OOM_CAUSE_##id,
#include "analyzers/triage/oom_causes.def"
    OOM_CAUSE_COUNT,
};

struct oom_cause_row {
    const char *key, *what, *fix, *command;
};
const struct oom_cause_row *oom_cause_row(enum oom_cause cause);
/* What a line of the console says; OOM_CAUSE_UNKNOWN for those that name no limit. */
enum oom_cause oom_cause_of_line(enum oom_line kind);

#define CRASH_STEMS_MAX 4

struct crash {
    bool have; /* an error file was read */
    enum hs_err_end end;
    enum hs_err_platform platform;
    bool is_32bit, thread_failed;
    char how[200], what[96], signal[96], frame[240], library[96], caller[96];
    char thread[64], jre[160], os[128], arch[32];
    int64_t figure[HS_ERR_FIGURE_COUNT];
    int stem_count; /* most threads first */
    struct hs_err_stem stem[CRASH_STEMS_MAX];
};

/* "1.9 GB", "12.0 MB", "4096 bytes"; "?": -1, not known. */
struct size_text {
    char text[24];
};
struct size_text size_text(int64_t bytes);

void crash_take(struct crash *crash, const struct hs_err *file);
/* Of one that ended by exhausted native memory. */
bool crash_is_at_start(int64_t request_bytes);
enum oom_cause crash_cause(const struct crash *crash);
/* One sentence with the numbers of the file. */
void crash_sentence(const struct crash *crash, enum oom_cause cause, char *out, size_t size);
/* "container-limit", "crash-SIGSEGV": a row of the overview of many files; for any end but
 * HS_ERR_NO_END. */
void crash_key(const struct crash *crash, char *out, size_t size);
