/* JVMs come: who is wanted, what they are called, how their watch begins. */
#include "nmtwatch/serve/facts.h"
#include "nmtwatch/serve/fleet_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEWBORN_MS     2000 /* before that a JVM may not have told its name yet */
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
        int order = strcmp(fleet->slots[middle].member->label, label);
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

/* Several JVMs of one name: name, name#2, name#3. A number is kept as long as its JVM lives; the
 * next one takes the lowest that is free, so that a restarted JVM goes on in its old series. */
static void choose_label(const struct fleet *fleet, const char *wanted,
                         char label[static TARGET_LABEL_MAX])
{
    snprintf(label, TARGET_LABEL_MAX, "%s", wanted);
    for (int number = 2; is_taken(fleet, label) && number < 10000; number++) {
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
    struct slot *slots = reallocarray(fleet->slots, capacity, sizeof *slots);
    if (slots != NULL)
        fleet->slots = slots;
    struct pollfd *fds = reallocarray(fleet->fds, capacity + FLEET_FDS_OTHER, sizeof *fds);
    if (fds != NULL)
        fleet->fds = fds;
    struct member **owner =
        reallocarray(fleet->fd_owner, capacity + FLEET_FDS_OTHER, sizeof *owner);
    if (owner != NULL)
        fleet->fd_owner = owner;
    if (slots == NULL || fds == NULL || owner == NULL)
        return false;
    fleet->capacity = (int)capacity;
    return true;
}

static void insert(struct fleet *fleet, struct member *member, int64_t due_ms)
{
    bool taken;
    int at = place_of(fleet, member->label, &taken);
    memmove(&fleet->slots[at + 1], &fleet->slots[at],
            (size_t)(fleet->count - at) * sizeof *fleet->slots);
    fleet->slots[at] = (struct slot){.member = member, .due_ms = due_ms};
    fleet->count++;
}

/* The target becomes a member, anew or where an earlier process left it (saved). False: errno. */
static bool join(struct fleet *fleet, const struct target *target, const char *label,
                 const char *user, const char *cgroup, const struct saved_target *saved)
{
    int64_t wall_ms = fleet_wall_ms();
    struct member_facts about = {
        .label = label,
        .user = user,
        .cgroup = cgroup,
        .loop_ms = fleet->now_ms,
        .wall_ms = wall_ms,
        .wall_start_ms =
            saved != NULL && saved->wall_start_ms < wall_ms ? saved->wall_start_ms : wall_ms,
        .first_look_ms = fleet->seen * SPREAD_STEP_MS % fleet->options->watch.interval_ms,
    };
    errno = ENOMEM;
    struct member *member =
        fleet_make_room(fleet) ? member_create(target, &fleet->options->watch, &about) : NULL;
    if (member == NULL)
        return false;
    if (saved != NULL)
        watcher_resume(member->watcher, &saved->judge, saved->pause_us);
    fleet_begin_recording(fleet, member);
    member->remember = true;
    insert(fleet, member, fleet->now_ms + about.first_look_ms);
    fleet->seen++;
    if (saved != NULL && saved->pending_count > 0)
        fleet_hand_on(fleet, member, saved->pending, saved->pending_count);
    return true;
}

enum scan_answer fleet_found(void *context, const struct target *target)
{
    struct fleet *fleet = context;
    struct facts facts;
    char wanted[TARGET_LABEL_MAX], label[TARGET_LABEL_MAX];
    int64_t age_ms = target->identity.uptime_ms;
    if (age_ms < fleet->options->min_age_ms || (age_ms < NEWBORN_MS && target->perfdata[0] == '\0'))
        return SCAN_LATER;
    facts_read(&facts, target);
    struct target_facts view = facts_view(&facts);
    bool wanted_here = target_rules_watch(&fleet->options->rules, &view);
    target_rules_label(&fleet->options->rules, &view, wanted);
    struct saved_target *saved =
        fleet->state != NULL ? saved_state_recall(fleet->state, target) : NULL;
    bool joined = false;
    if (wanted_here) {
        if (saved != NULL && !is_taken(fleet, saved->label))
            snprintf(label, sizeof label, "%s", saved->label);
        else
            choose_label(fleet, wanted, label);
        joined = join(fleet, target, label, facts.user, facts.cgroup, saved);
        if (joined)
            fleet_say(fleet, saved != NULL ? "watching again" : "watching", label, target->pid, "");
        else if (errno != ENOENT && errno != ESRCH)
            fleet_say(fleet, "cannot watch", label, target->pid, strerror(errno));
    }
    free(saved);
    facts_free(&facts);
    return joined ? SCAN_TAKEN : wanted_here ? SCAN_LATER : SCAN_REFUSED;
}

/* --- again ------------------------------------------------------------------------------------ */

void fleet_remove_slot(struct fleet *fleet, int at)
{
    memmove(&fleet->slots[at], &fleet->slots[at + 1],
            (size_t)(fleet->count - at - 1) * sizeof *fleet->slots);
    fleet->count--;
}

void fleet_renew(struct fleet *fleet, int at)
{
    struct member *old = fleet->slots[at].member;
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
    struct member kept = *old; /* for what goes on below */
    old->families = NULL;
    member_destroy(old);
    fleet_remove_slot(fleet, at);
    bool taken;
    if (!join(fleet, &target, label, user, cgroup, saved)) {
        scan_forget(fleet->scan, target.pid);
        free(kept.families);
        return;
    }
    fleet->seen--;
    member_continue(fleet->slots[place_of(fleet, label, &taken)].member, &kept);
}
