/*
 * facts: what the rules (target_rules.h) ask of a JVM, read from /proc.
 *
 *   facts_read -> facts_view -> facts_free
 *
 * The user's name comes from /etc/passwd alone: a name service could keep the event loop waiting.
 * One thread.
 */
#ifndef NMTWATCH_SERVE_FACTS_H
#define NMTWATCH_SERVE_FACTS_H

#include "analyzers/parse/span.h"
#include "nmtwatch/jvm/target.h"
#include "nmtwatch/serve/target_rules.h"

struct facts {
    char main[EVENT_NAME_MAX];
    char user[64];
    char uid[16];
    char jdk[8]; /* "" when not known */
    char cgroup[512];
    struct span environment; /* pieces that end with NUL; ptr NULL: not readable */
    struct span command_line;
};

/* Of /etc/passwd; the number when it is not there. */
void facts_user_name(uid_t uid, char *out, size_t size);
void facts_read(struct facts *facts, const struct target *target);
/* Points into facts. */
struct target_facts facts_view(struct facts *facts);
void facts_free(struct facts *facts);

/* The path of a process in the hierarchy of version 2, or else in the first one named: the text of
 * /proc/PID/cgroup -> "/system.slice/orders.service". */
void facts_cgroup_path(struct span text, char *out, size_t size);

#endif
