/* member: one JVM of the fleet: its watcher, and what is kept of it between events for those who
 * ask (label, sparkline, families, class loaders, the newest note).
 *
 *   member_create -> member_event ... -> member_view (any time) -> member_destroy
 *
 * Its watch may have begun in an earlier process of serve. Event loop, one thread. */
#pragma once

#include "analyzers/classes/family.h"
#include "nmtwatch/serve/archive.h"
#include "nmtwatch/serve/serve_options.h"
#include "nmtwatch/serve/snapshot.h"
#include "nmtwatch/watch/watching.h"
#include "floor/base/span.h"
#include "nmtwatch/jvm/target.h"
#include "nmtwatch/serve/target_rules.h"

/* Classes by family, summed up over all load logs and lists. */
struct family_count {
    struct flow_count loads, unloads;
    int64_t listed; /* alive in the last list */
};

/* What the observer keeps of a section [observe NAME] in a JVM. */
struct observe_turn {
    uint64_t section;  /* a hash of it; 0: none */
    bool fits;         /* by its rules */
    const char *cause; /* the finding that asked for it; NULL: none */
    int64_t asked_ms, next_ms, cool_ms;
    int failed;            /* observations in succession */
    int64_t outside_bytes; /* -1: no level yet */
};
#define MEMBER_OBSERVATIONS 3 /* the newest */

struct member {
    struct watched *watched;
    struct watcher *watcher; /* of watched */
    char label[TARGET_LABEL_MAX], user[64], cgroup[128];
    int64_t wall_start_ms;          /* since the epoch, at ms 0 */
    int64_t start_unix_ms;          /* of the JVM */
    struct archive_file *recording; /* NULL: none */
    struct sample first; /* the first with NMT, since the watch or the baseline asked for began */
    int64_t first_ms;
    struct sparkline spark;
    struct family_count *families; /* FAMILY_COUNT + 1; NULL until a name was seen */
    int list; /* 1 + method of the last list of live classes; 0: names of a load log came after it */
    int64_t names_from_ms, names_ms; /* when the newest class-load log was read; equal: none */
    struct top_view loaders, methods;
    int64_t raised[SEVERITY_CRITICAL + 1];
    char note[256];
    struct observe_turn turns[OBSERVE_SECTIONS_MAX];
    int observation_count;
    struct observation_view observations[MEMBER_OBSERVATIONS]; /* newest first */
    bool remember; /* something has changed that a restart has to know */
    bool was_warm, had_loaders;
};

struct member_facts {
    const char *label, *user, *cgroup;
    int64_t wall_start_ms; /* since the epoch: when the watch began, now or in an earlier process */
    int64_t wall_ms;       /* since the epoch, now */
    int64_t first_poll_ms; /* from now: spreads the ticks of JVMs that come together */
};

/* Takes the target over. NULL with errno. */
struct member *member_create(struct watching *watching, const struct target *target,
                             const struct member_facts *facts);
/* What was learned of it: kept, and written to its recording. */
void member_event(struct member *member, const struct event *event, const struct alerts *alerts);
/* Growth is counted from now on: a new first sample, a new baseline of the judge (judge.h). */
void member_begin_anew(struct member *member);
/* Takes over what was counted and drawn before the same JVM was watched anew. */
void member_continue(struct member *member, const struct member *before);

/* Adds to the evidence what the newest observation that is about it has seen, where there is one. */
void member_mention(const struct member *member, struct finding *finding);
/* Fills a view but for its findings and families. */
void member_view(const struct member *member, struct target_view *view);
int member_families(const struct member *member, int target, struct family_view *out, int max);
void member_destroy(struct member *member);

/* facts: what the rules (target_rules.h) ask of a JVM, read from /proc.
 *
 *   facts_read -> facts_view -> facts_free
 *
 * The user's name comes from /etc/passwd alone: a name service could keep the event loop waiting.
 * One thread. */

struct facts {
    char main[EVENT_NAME_MAX], user[64], uid[16];
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
