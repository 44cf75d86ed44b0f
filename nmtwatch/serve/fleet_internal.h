/*
 * fleet_internal: the inside of a fleet, two files:
 *
 *   fleet_join.c     a JVM comes: rules, label, member; watched anew after a reload
 *   fleet.c          what a restart has to know, recordings; turns, going, life; the snapshot
 *
 * Nobody else includes it.
 */
#ifndef NMTWATCH_SERVE_FLEET_INTERNAL_H
#define NMTWATCH_SERVE_FLEET_INTERNAL_H

#include "nmtwatch/serve/fleet.h"
#include "nmtwatch/serve/owners.h"

#define FLEET_ALERTS_MAX JUDGE_MEMORY_EPISODES /* of one JVM at once */

struct fleet {
    const struct serve_options *options;
    struct archive *archive;
    struct saved_state *state;
    struct fleet_hooks hooks;
    struct scan *scan;
    struct owners *owners;
    struct watching watching;
    int64_t now_ms; /* of the watching */
    int64_t next_scan_ms;
    bool looked; /* at all processes, at least once */
    int64_t seen;
    bool recording_told;
    int64_t next_no_room_ms; /* when it may be told again */
    int64_t next_tidy_ms;    /* when our own /tmp is looked at again (agent_leftovers.h) */
    int count, capacity;
    struct member **members;    /* by label */
    struct saved_target *saved; /* being put together */
};

/* fleet.c: hands alerts on, each once (fleet.h); begins a recording where they are wanted. */
void fleet_hand_on(struct fleet *fleet, struct member *member, const struct alert *alerts,
                   int count);
void fleet_begin_recording(struct fleet *fleet, struct member *member);
void fleet_save(struct fleet *fleet, const struct member *member, const struct alert *pending,
                int pending_count);

/* fleet_join.c */
enum scan_answer fleet_found(void *context, const struct target *target); /* for scan_step */
struct owner fleet_owner(const struct target *target);
bool fleet_make_room(struct fleet *fleet);
void fleet_remove(struct fleet *fleet, int at);
/* Watches the same JVM anew, with the options as they are now: its judge goes on. */
void fleet_renew(struct fleet *fleet, int at);
void fleet_say(struct fleet *fleet, const char *what, const char *label, int64_t pid,
               const char *detail);

#endif
