/*
 * account: whose the resident memory of a JVM is, at one moment, from one sample.
 *
 * The one model of RSS: rows that add up to it. The kernel says how much is memory of no file, of files, shared
 * (/proc/PID/status); smaps says how much of the Java heap was touched; NMT says what the JVM has committed, which is
 * touched but for what it keeps in reserve. What is left of the memory of no file is outside of NMT: an estimate from
 * below, because NMT's untouched pages are taken off it. The collector's tables cover the heap, and are touched with it.
 *
 * Without NMT the rows it would have are missing, and in OUTSIDE, less what VM.metaspace counts.
 *
 * Pure, plain data; any thread.
 */
#pragma once

#include "analyzers/model/event.h"

enum account_owner {
#define OWNER(id, key, what) ACCOUNT_##id,
#include "analyzers/native/account.def"
    ACCOUNT_OWNERS,
};
extern const struct account_row {
    const char *key, *what;
} account_rows[ACCOUNT_OWNERS];

struct account {
    bool nmt; /* its rows are there */
    int64_t rss_bytes;
    int64_t bytes[ACCOUNT_OWNERS]; /* they add up to RSS; OUTSIDE may be negative */
};

/* False: the sample lacks one of the kernel's figures or the heap's, which come together. */
bool account_of(const struct sample *sample, int jdk_major, struct account *account);
/* What NMT's memory was not touched is the collector's, mostly: tables that cover the whole heap. It is taken off there,
 * by the same amount at both moments, so that what is outside of NMT is not below nothing. before: NULL: none. */
void account_settle(struct account *now, struct account *before);
