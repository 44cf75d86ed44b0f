/*
 * baseline: an earlier moment of a JVM, from a file that somebody kept: a recording (the first NMT
 * summary after its warm-up, else its last one) or a saved `jcmd PID VM.native_memory summary`.
 * Setup context.
 */
#ifndef NMTWATCH_COMMANDS_BASELINE_H
#define NMTWATCH_COMMANDS_BASELINE_H

#include "analyzers/model/sample.h"

/* False with one sentence (names the file) in error. */
bool baseline_load(const char *path, struct sample *sample, char *error, size_t error_size);

#endif
