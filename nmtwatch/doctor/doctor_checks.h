/* doctor_checks: what can be used on this machine and with each JVM, what is missing, and the line that
 * fixes it. Each check tries the thing itself where that is harmless; the checks send no JVM a question or a
 * signal. Setup context, one thread. */
#pragma once

#include "nmtwatch/jvm/target.h"

enum doctor_state { DOCTOR_OK, DOCTOR_LIMITED, DOCTOR_MISSING };
struct doctor_check {
    enum doctor_state state;
    const char *name;   /* a word that scripts may rely on */
    const char *serves; /* what it is used for */
    char found[400];
    const char *mend; /* NULL: nothing to do */
};

#define DOCTOR_CHECKS_MAX 16
struct doctor_checks {
    struct doctor_check row[DOCTOR_CHECKS_MAX];
    int count;
};

/* any_jvm: there is one that could be in a container. library gets the path of the agent, or "". */
void doctor_machine(struct doctor_checks *checks, bool any_jvm, char *library, size_t size);
void doctor_target(struct doctor_checks *checks, const struct target *target, const char *library);
