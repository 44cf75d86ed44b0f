/* perfdata: the target's hsperfdata file as counters of a sample. No safepoint, no signal, no lock.
 *
 *   perfdata_open -> perfdata_sample ... -> perfdata_close
 *
 * The file is opened by rooted_read, must be a regular file of the target's uid, and is read with
 * pread into our own buffer: never mapped (a truncated mapping is SIGBUS) and never flock'ed (the
 * JVM of the next start would take the file for live). Offsets of the counters are found once and
 * checked against the file's size at each read. One thread. */
#pragma once

#include "analyzers/parse/hsperfdata.h"
#include "nmtwatch/jvm/target.h"

/* The default file: 32 KiB; -XX:PerfDataMemorySize may raise it. */
#define PERFDATA_MAX_BYTES (1 << 20)

struct perfdata;

/* target->perfdata. NULL with errno: ENOENT (none: -XX:-UsePerfData, PerfDisableSharedMem), EAGAIN
 * (not accessible yet), EPERM (a link, or another user's file), EINVAL (not an hsperfdata image).
 */
/* The file itself, for reading; -1 with errno. */
struct stat;
int perfdata_file(const struct target *target, struct stat *status);
struct perfdata *perfdata_open(const struct target *target);
/* Sets CLASSES_LOADED, CLASSES_UNLOADED, GC_YOUNG, GC_OLD, HEAP_USED, HEAP_COMMITTED as far as they exist.
 * Not the limit of Metaspace: sun.gc.metaspace.maxCapacity is what is reserved, and only as of the last GC.
 * False when the file cannot be read any more. */
bool perfdata_sample(struct perfdata *perfdata, struct sample *sample);
/* A string counter ("java.property.java.vm.version"); false when absent. */
bool perfdata_string(struct perfdata *perfdata, const char *name, char *out, size_t size);
bool perfdata_number(struct perfdata *perfdata, const char *name, int64_t *value);
/* What /proc and its hsperfdata say of a target, into sample: nothing is asked of it. */
void sample_unasked(const struct target *target, struct sample *sample);
void perfdata_close(struct perfdata *perfdata);
