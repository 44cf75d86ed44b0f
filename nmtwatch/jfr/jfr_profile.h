/* jfr_profile: a recording summed up: call trees of its samples, its losses and the agent's own
 * memory, as flame graph, collapsed stacks or top table want them.
 *
 *   jfr_profile_read -> use -> jfr_profile_free
 *
 * A recording that is damaged is summed up to the damage, and says so. One thread. */
#pragma once

#include "reports/profile/call_tree.h"
#include "reports/profile/class_makers.h"

#include <stddef.h>
#include <stdio.h>

#define JFR_LOSSES_MAX     64
#define JFR_COMPONENTS_MAX 64
#define JFR_NOTES_MAX      (JFR_LOSSES_MAX + 4)

struct jfr_profile {
    struct call_tree *cpu, *wall;     /* finished */
    bool by_state;                    /* their outermost frame is what the thread was doing */
    struct call_tree *alloc;          /* likewise; its samples are bytes */
    int64_t chunks, start_ns, end_ns; /* since the epoch */
    char options[512], jvm_version[256], agent_version[64]; /* "" when not known */
    int loss_count;
    struct {
        char reason[64];
        int64_t count;
    } loss[JFR_LOSSES_MAX]; /* not 0; the last word of the recording on each */
    int component_count;
    struct {
        char name[64];
        int64_t documented_bytes; /* -1: no fixed figure */
        int64_t requested_bytes, reserved_bytes, resident_bytes, peak_bytes;
        int64_t allocations, frees;
    } component[JFR_COMPONENTS_MAX]; /* as at the end; "total" is one of them */
    char damage[600];                /* "" when the recording is whole */
};

/* fd stays the caller's. False with one sentence: no recording, or out of memory. */
bool jfr_profile_read(struct jfr_profile *profile, int fd, const char *name, bool by_state,
                      char *error, size_t error_size);
/* The samples to show by default: of CPU time; if there are none, of wall-clock time;
 * if there are none either, bytes allocated. By state: of wall-clock time first. */
const struct call_tree *jfr_profile_samples(const struct jfr_profile *profile, const char **unit);
/* As a file of that format: a flame graph with losses and damage below, a table of so many rows. False when out failed,
 * or memory. */
bool jfr_profile_write(const struct jfr_profile *profile, enum profile_format format, uint32_t rows,
                       const char *title, FILE *out);
/* {"recording": ..., "damage": null, "cpu": {...}, "wall": {...}, "losses": [...]}: one line. */
bool jfr_profile_top_json(const struct jfr_profile *profile, FILE *out);
/* The same for people: the first rows of the samples that a flame graph would show; by state, those of
 * each. */
bool jfr_profile_top(const struct jfr_profile *profile, uint32_t rows, FILE *out);
void jfr_profile_free(struct jfr_profile *profile);

/* jfr_classes: a recording's class definitions, summed up (reports/profile/class_makers.h).
 *
 * Counts of families are exact; a stack stands for the classes of its family since the one before.
 * A recording that is damaged is summed up to the damage, and says so. One thread. */
/* fd stays the caller's. False with one sentence: no recording, or out of memory. Else the caller
 * calls class_makers_free. */
bool jfr_classes_read(struct class_makers *classes, int fd, const char *name, char *error,
                      size_t error_size);
