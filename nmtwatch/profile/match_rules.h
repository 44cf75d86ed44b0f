/*
 * match_rules: which of the JVMs of a host are meant.
 *
 *   main=org.example.*,cgroup=/system.slice/shop*;pid=4711
 *
 * Rules are separated by ';' and one of them has to fit; the terms of a rule are separated by ','
 * and all of them have to. main: the main class or jar, cgroup: any of its control groups, both as
 * patterns of the shell (*, ?, [...]; '*' takes '/' as well). pid: exactly.
 *
 * Pure, but for match_rules_fit, which reads /proc/PID/cgroup when a rule asks for it.
 */
#ifndef NMTWATCH_PROFILE_MATCH_RULES_H
#define NMTWATCH_PROFILE_MATCH_RULES_H

#include "nmtwatch/jvm/target.h"

#include <stddef.h>

#define MATCH_TERMS_MAX 32

struct match_rules {
    int count;
    struct match_term {
        enum { MATCH_MAIN, MATCH_CGROUP, MATCH_PID } key;
        bool first; /* of its rule */
        pid_t pid;
        char pattern[256];
    } term[MATCH_TERMS_MAX];
};

/* False with one sentence. */
bool match_rules_parse(struct match_rules *rules, const char *text, char *error, size_t error_size);
/* cgroup: as in /proc/PID/cgroup: lines of "number:controllers:path". */
bool match_rules_fit_text(const struct match_rules *rules, pid_t pid, const char *main,
                          const char *cgroup);
bool match_rules_fit(const struct match_rules *rules, const struct target *target);

#endif
