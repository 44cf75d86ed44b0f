/*
 * soak_jvm: one JVM under a soak: watcher, trial and recording, and what of it is said on stderr.
 *
 * Event loop, one thread.
 */
#ifndef NMTWATCH_SOAK_SOAK_JVM_H
#define NMTWATCH_SOAK_SOAK_JVM_H

#include "nmtwatch/soak/soak_run.h"

/* "nmtwatch soak: 0:01:23 text", escaped. */
void soak_say(const struct soak_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* On a terminal, now and then. */
void soak_progress(struct soak_run *run);

/* Where events go: trial, words, and the recording. */
void soak_jvm_open(struct soak_run *run);
/* Takes the target over. False: run->failure says why not. */
bool soak_jvm_add(struct soak_run *run, struct target *target);

#endif
