/*
 * member: one JVM of the fleet: its watcher, and what is kept of it between events for those who
 * ask (label, sparkline, families, class loaders, the newest note).
 *
 *   member_create -> member_step ... -> member_view (any time) -> member_destroy
 *
 * Its clock: `ms` of a watcher is since the watch began, which may have been in an earlier process
 * of serve; origin_ms ties it to the loop's clock. Event loop, one thread.
 */
#ifndef NMTWATCH_SERVE_MEMBER_H
#define NMTWATCH_SERVE_MEMBER_H

#include "analyzers/classes/family.h"
#include "nmtwatch/serve/archive.h"
#include "nmtwatch/serve/snapshot.h"

/* Classes by family, summed up over all taps. */
struct family_count {
    int64_t loads, unloads;
    int64_t tap_loads, tap_unloads; /* as the present tap, or the last list, had them */
};

struct member {
    struct watcher *watcher;
    char label[TARGET_LABEL_MAX];
    char user[64];
    char cgroup[128];
    int64_t origin_ms;              /* loop clock at ms 0 of the watch */
    int64_t wall_start_ms;          /* since the epoch, at ms 0 */
    int64_t start_unix_ms;          /* of the JVM */
    struct archive_file *recording; /* NULL: none */
    struct sparkline spark;
    struct family_count *families; /* FAMILY_COUNT + 1; NULL until a name was seen */
    int source; /* of what the families were counted from: the number of a tap, or a list */
    bool have_loaders;
    int loader_count;
    struct loader_view loaders[LOADER_VIEWS];
    int64_t other_loaders;
    int64_t raised[SEVERITY_CRITICAL + 1];
    char note[256];
    void (*alerts)(void *context, struct member *member, const struct alerts *alerts);
    void *context;
    bool remember; /* something has changed that a restart has to know */
    bool was_warm;
    bool had_loaders;
};

struct member_facts {
    const char *label, *user, *cgroup;
    int64_t loop_ms;       /* now */
    int64_t wall_start_ms; /* since the epoch: when the watch began, now or in an earlier process */
    int64_t wall_ms;       /* since the epoch, now */
    int64_t first_look_ms; /* from now: spreads the ticks of JVMs that come together */
    /* Hands on what an event has raised and cleared; called from member_step. */
    void (*alerts)(void *context, struct member *member, const struct alerts *alerts);
    void *context;
};

/* Takes the target over. NULL with errno. */
struct member *member_create(const struct target *target, const struct watch_options *options,
                             const struct member_facts *facts);
static inline int64_t member_ms(const struct member *member, int64_t loop_ms)
{
    return loop_ms - member->origin_ms;
}
/* Takes over what was counted and drawn before the same JVM was watched anew. */
void member_continue(struct member *member, const struct member *before);
void member_step(struct member *member, int64_t loop_ms);

/* Fills a view but for its findings and families. */
void member_view(const struct member *member, struct target_view *view);
int member_families(const struct member *member, int target, struct family_view *out, int max);
void member_destroy(struct member *member);

#endif
