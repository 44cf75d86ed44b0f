/* fleet: the JVMs that are watched, as they come and go.
 *
 *   fleet_create -> fleet_turn ... -> fleet_stop -> fleet_destroy
 *
 * One thread: the loop is watching.h's. The memory of a JVM is freed when it has ended.
 */
#pragma once

#include "nmtwatch/serve/archive.h"
#include "nmtwatch/serve/member.h"
#include "nmtwatch/serve/saved_state.h"
#include "nmtwatch/serve/scan.h"
#include "nmtwatch/serve/serve_options.h"
#include "nmtwatch/serve/snapshot.h"

struct fleet;

struct fleet_hooks {
    void *context;
    /* Once for each alert: with a state folder also over a kill -9, but for one between this call
     * and its return. Valid during the call. */
    void (*alert)(void *context, const struct member *member, const struct alert *alert);
    /* A JVM has ended: these of its alerts were up. */
    void (*ended)(void *context, const struct member *member, const struct alert *alerts,
                  int count);
    /* One sentence about the fleet: a JVM has come, has gone, cannot be watched. */
    void (*say)(void *context, const char *sentence);
};

/* options, archive (NULL: no recordings) and state (NULL: none) have to outlive it. */
struct fleet *fleet_create(const struct serve_options *options, struct archive *archive,
                           struct saved_state *state, const struct fleet_hooks *hooks);

/* Something else to wait for; revents are left in it. */
struct pollfd;
/* Waits for at most that time, and steps the JVMs that are ready or due. Returns the new time. */
int64_t fleet_turn(struct fleet *fleet, int64_t at_most_ms, struct pollfd *others, int other_count);

/* What has to be done once a second: recordings turn over, changed state is written. */
void fleet_keep(struct fleet *fleet, int64_t wall_ms);
/* New options (the same pointer, changed): rules are asked again of everybody, JVMs that are no
 * longer wanted leave, the others go on with the new thresholds. */
void fleet_reload(struct fleet *fleet);

struct scan_counts fleet_scan(const struct fleet *fleet);
/* Its JVMs; their owners are struct member. */
const struct watching *fleet_watching(const struct fleet *fleet);
/* NULL: it is not watched. Until the next turn. */
struct member *fleet_find(const struct fleet *fleet, int64_t pid);
void fleet_each(struct fleet *fleet, void (*visit)(void *context, struct member *member),
                void *context);
/* Targets, findings, families and the figures of the scan. NULL when out of memory. */
struct snapshot *fleet_snapshot(const struct fleet *fleet);

/* Winds all watches down (watching_stop). State stays for the next process. */
void fleet_stop(struct fleet *fleet);
void fleet_destroy(struct fleet *fleet);
