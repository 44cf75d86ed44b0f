/* owners: whose a name is. A label that was one user's never becomes another's series.
 *
 *   owners_open (reads what an earlier process left) -> owners_is_foreign / owners_claim (a JVM
 *   comes) ... -> owners_keep (now and then) -> owners_close
 *
 * The problem: a label is made of what a JVM says of itself. After a restart of one user's JVM
 * another user's could come first and go on in its series. So a label belongs to the user, and to
 * the host or to containers, who had it first; others get the next number (name#2). It is given up
 * OWNER_KEEP_MS after its last JVM was seen, or when the file `owners` of the state folder is
 * removed.
 *
 * Bounded in all and for each user: who invents names pushes out his own. Event loop, one thread. */
#pragma once

#include "nmtwatch/serve/target_rules.h"

#include <stdint.h>
#include <sys/types.h>

#define OWNERS_MAX     4096
#define OWNERS_OF_USER 1024
#define OWNER_KEEP_MS  (30LL * 24 * 3600 * 1000)

struct owner {
    uid_t user;
    bool contained; /* its root or its mounts are not the host's */
};

struct owners;

/* folder: of the state; "": nothing outlives the process. NULL when out of memory. */
struct owners *owners_open(const char *folder, int64_t wall_ms);
/* Whether the label belongs to another target; was (may be NULL) gets the owner. */
bool owners_is_foreign(const struct owners *owners, const char *label, struct owner owner,
                       struct owner *was);
/* From now on it is his; a label that is his already is seen again. */
void owners_claim(struct owners *owners, const char *label, struct owner owner, int64_t wall_ms);
/* Writes what has changed. False with errno when that failed. */
bool owners_keep(struct owners *owners);
int owners_count(const struct owners *owners);
void owners_close(struct owners *owners);
