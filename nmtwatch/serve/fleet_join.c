/* JVMs come: who is wanted, what they are called, how their watch begins. */
#include "analyzers/judge/judge.h"
#include "nmtwatch/jvm/agent_leftovers.h"
#include "nmtwatch/serve/facts.h"
#include "nmtwatch/serve/fleet_internal.h"

#include "nmtwatch/process/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_ROOM_MS     60000
#define TIDY_MS        60000
#define NAMELESS_MS    2000 /* before that a JVM may not have told its name yet */
#define SPREAD_STEP_MS 389  /* between the ticks of JVMs that come together; a prime */

void fleet_say(struct fleet *fleet, const char *what, const char *label, int64_t pid,
               const char *detail)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s %s (pid %lld)%s%s", what, label, (long long)pid,
             detail[0] != '\0' ? ": " : "", detail);
    fleet->hooks.say(fleet->hooks.context, sentence);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Where a label is, or would be. */
static int place_of(const struct fleet *fleet, const char *label, bool *taken)
{
    int low = 0, high = fleet->count;
    *taken = false;
    while (low < high) {
        int middle = (low + high) / 2;
        int order = strcmp(fleet->members[middle]->label, label);
        *taken |= order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_taken(const struct fleet *fleet, const char *label)
{
    bool taken;
    place_of(fleet, label, &taken);
    return taken || (fleet->state != NULL && saved_state_waits_for(fleet->state, label));
}

struct owner fleet_owner(const struct target *target)
{
    return (struct owner){target->uid, target->contained};
}

static void describe_owner(struct owner owner, char *out, size_t size)
{
    char name[64];
    facts_user_name(owner.user, name, sizeof name);
    snprintf(out, size, "user %s%s", name, owner.contained ? " in a container" : "");
}

/* It came under a name whose owner runs no JVM of that name now: a name is being taken over. */
static void tell_of_owner(const struct member *member, const char *wanted, struct owner was)
{
    char owner[96], newcomer[96], note[512];
    describe_owner(was, owner, sizeof owner);
    describe_owner(fleet_owner(watcher_target(member->watcher)), newcomer, sizeof newcomer);
    const struct name_owner about = {wanted, owner, newcomer, member->label};
    name_owner_note(note, sizeof note, &about);
    watcher_add_note(member->watcher, note, watched_ms(member->watched));
}

/* Several JVMs of one name: name, name#2, name#3. A number is kept as long as its JVM lives; the
 * next one takes the lowest that is free, so that a restarted JVM goes on in its old series. */
static void choose_label(const struct fleet *fleet, const char *wanted, struct owner owner,
                         char label[static TARGET_LABEL_MAX])
{
    snprintf(label, TARGET_LABEL_MAX, "%s", wanted);
    for (int number = 2;
         (is_taken(fleet, label) || owners_is_foreign(fleet->owners, label, owner, NULL)) &&
         number < 10000;
         number++) {
        char suffix[8];
        snprintf(suffix, sizeof suffix, "#%d", number);
        snprintf(label, TARGET_LABEL_MAX, "%.*s%s", (int)(TARGET_LABEL_MAX - sizeof suffix), wanted,
                 suffix);
    }
}

/* --- coming ----------------------------------------------------------------------------------- */

bool fleet_make_room(struct fleet *fleet)
{
    if (fleet->count < fleet->capacity)
        return true;
    size_t capacity = fleet->capacity == 0 ? 16 : (size_t)fleet->capacity * 2;
    struct member **members = reallocarray(fleet->members, capacity, sizeof(void *));
    if (members == NULL)
        return false;
    fleet->members = members;
    fleet->capacity = (int)capacity;
    return true;
}

static void insert(struct fleet *fleet, struct member *member)
{
    bool taken;
    int at = place_of(fleet, member->label, &taken);
    memmove(&fleet->members[at + 1], &fleet->members[at],
            (size_t)(fleet->count - at) * sizeof *fleet->members);
    fleet->members[at] = member;
    fleet->count++;
}

/* The target becomes a member, anew or where an earlier process left it (saved). False: errno. */
static bool join(struct fleet *fleet, const struct target *target, const char *label,
                 const char *user, const char *cgroup, const struct saved_target *saved)
{
    int64_t wall_ms = clock_ms(CLOCK_REALTIME);
    struct member_facts about = {
        .label = label,
        .user = user,
        .cgroup = cgroup,
        .wall_ms = wall_ms,
        .wall_start_ms =
            saved != NULL && saved->wall_start_ms < wall_ms ? saved->wall_start_ms : wall_ms,
        .first_look_ms = fleet->seen * SPREAD_STEP_MS % fleet->options->watch.interval_ms,
    };
    errno = ENOMEM;
    struct member *member =
        fleet_make_room(fleet) ? member_create(&fleet->watching, target, &about) : NULL;
    if (member == NULL)
        return false;
    if (saved != NULL)
        watcher_resume(member->watcher, &saved->judge, saved->pause_us);
    fleet_begin_recording(fleet, member);
    member->remember = true;
    insert(fleet, member);
    fleet->seen++;
    if (saved != NULL && saved->pending_count > 0)
        fleet_hand_on(fleet, member, saved->pending, saved->pending_count);
    return true;
}

/* Whether one more of this user may be watched; else detail says which bound is reached. */
static bool is_room_for(const struct fleet *fleet, uid_t user, const char *name, char *detail,
                        size_t size)
{
    const struct serve_options *options = fleet->options;
    int of_user = 0;
    for (int i = 0; i < fleet->count; i++)
        of_user += watcher_target(fleet->members[i]->watcher)->uid == user;
    if (of_user >= options->max_targets_per_user)
        snprintf(detail, size, "%d JVMs of user %s are watched (max_targets_per_user)", of_user,
                 name);
    else if (fleet->count >= options->max_targets)
        snprintf(detail, size, "%d JVMs are watched (max_targets)", fleet->count);
    return of_user < options->max_targets_per_user && fleet->count < options->max_targets;
}

/* Once a minute at most: who starts JVMs by the thousand must not fill the log. */
static void tell_no_room(struct fleet *fleet, const char *label, int64_t pid, const char *detail)
{
    if (fleet->now_ms < fleet->next_no_room_ms)
        return;
    fleet->next_no_room_ms = fleet->now_ms + NO_ROOM_MS;
    fleet_say(fleet, "no room for", label, pid, detail);
}

/* What earlier JVMs left in the /tmp of this one. Of a container a restarted JVM is the occasion.
 */
static void tidy(struct fleet *fleet, const struct target *target)
{
    if (target->contained) {
        agent_leftovers_remove(target);
    } else if (fleet->now_ms >= fleet->next_tidy_ms) {
        fleet->next_tidy_ms = fleet->now_ms + TIDY_MS;
        agent_leftovers_remove_here();
    }
}

enum scan_answer fleet_found(void *context, const struct target *target)
{
    struct fleet *fleet = context;
    struct facts facts;
    char wanted[TARGET_LABEL_MAX], label[TARGET_LABEL_MAX];
    int64_t age_ms = target->identity.uptime_ms;
    if (age_ms < fleet->options->min_age_ms ||
        (age_ms < NAMELESS_MS && target->perfdata[0] == '\0'))
        return SCAN_LATER;
    facts_read(&facts, target);
    struct target_facts view = facts_view(&facts);
    bool wanted_here = target_rules_watch(&fleet->options->rules, &view);
    target_rules_label(&fleet->options->rules, &view, wanted);
    struct saved_target *saved =
        fleet->state != NULL ? saved_state_recall(fleet->state, target) : NULL;
    bool joined = false, full = false;
    char detail[128];
    if (wanted_here && saved == NULL &&
        !is_room_for(fleet, target->uid, facts.user, detail, sizeof detail)) {
        full = true;
        tell_no_room(fleet, wanted, target->pid, detail);
    } else if (wanted_here) {
        struct owner owner = fleet_owner(target), was;
        bool taken_over = saved == NULL && !is_taken(fleet, wanted) &&
                          owners_is_foreign(fleet->owners, wanted, owner, &was);
        if (saved != NULL && !is_taken(fleet, saved->label))
            snprintf(label, sizeof label, "%s", saved->label);
        else
            choose_label(fleet, wanted, owner, label);
        joined = join(fleet, target, label, facts.user, facts.cgroup, saved);
        if (joined) {
            bool there;
            tidy(fleet, target);
            owners_claim(fleet->owners, label, owner, clock_ms(CLOCK_REALTIME));
            fleet_say(fleet, saved != NULL ? "watching again" : "watching", label, target->pid, "");
            if (taken_over)
                tell_of_owner(fleet->members[place_of(fleet, label, &there)], wanted, was);
        } else if (errno != ENOENT && errno != ESRCH)
            fleet_say(fleet, "cannot watch", label, target->pid, strerror(errno));
    }
    saved_target_free(saved);
    facts_free(&facts);
    return joined ? SCAN_TAKEN : full ? SCAN_FULL : wanted_here ? SCAN_LATER : SCAN_REFUSED;
}

/* --- again ------------------------------------------------------------------------------------ */

void fleet_remove(struct fleet *fleet, int at)
{
    memmove(&fleet->members[at], &fleet->members[at + 1],
            (size_t)(fleet->count - at - 1) * sizeof *fleet->members);
    fleet->count--;
}

void fleet_renew(struct fleet *fleet, int at)
{
    struct member *old = fleet->members[at];
    struct saved_target *saved = fleet->saved;
    struct target target = *watcher_target(old->watcher);
    char label[TARGET_LABEL_MAX], user[64], cgroup[128];
    memcpy(label, old->label, sizeof label);
    memcpy(user, old->user, sizeof user);
    memcpy(cgroup, old->cgroup, sizeof cgroup);
    saved->wall_start_ms = old->wall_start_ms;
    saved->pause_us = watcher_pause_spent_us(old->watcher);
    saved->pending_count = 0;
    judge_remember(watcher_judge(old->watcher), &saved->judge);
    judge_memory_keep(&saved->judge, &saved->texts);
    struct member kept = *old; /* for what goes on below */
    old->families = NULL;
    member_destroy(old);
    fleet_remove(fleet, at);
    bool taken;
    bool joined = join(fleet, &target, label, user, cgroup, saved);
    texts_free(&saved->texts);
    if (!joined) {
        scan_forget(fleet->scan, target.pid);
        free(kept.families);
        return;
    }
    fleet->seen--;
    member_continue(fleet->members[place_of(fleet, label, &taken)], &kept);
}
