/*
 * large_log: a log of any size into a dossier, in constant memory.
 *
 * Texts are read as a whole, because what stands around them is only known by all of their lines. A
 * log of more than LARGE_LOG_BYTES is read in blocks instead: class loads by analyzers/classlog, what
 * an application or a collector says of memory by oom_lines. Setup context.
 */
#ifndef NMTWATCH_TRIAGE_LARGE_LOG_H
#define NMTWATCH_TRIAGE_LARGE_LOG_H

#include "analyzers/triage/dossier_read.h"

#define LARGE_LOG_BYTES (INT64_C(64) << 20) /* as CLEAN_TEXT_MAX */

/* A regular file of that size, not packed, whose front is a log or nothing that is known. */
bool large_log_is(const char *path);
/* *any: something was recognised. False with a sentence; what was read until then counts. */
bool large_log_read(const char *path, struct dossier_reader *reader, bool *any, char *error,
                    size_t error_size);

#endif
