#include "nmtwatch/serve/fleet_internal.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/serve/facts.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCAN_PAUSE_MS 20 /* between two steps of one look */

/* --- going ------------------------------------------------------------------------------------ */

static void forget_state(struct fleet *fleet, const struct member *member)
{
    const struct target *target = watcher_target(member->watcher);
    if (fleet->state != NULL)
        saved_state_forget(fleet->state, target->pid, (int64_t)target->start_time_ticks);
}

static void leave(struct fleet *fleet, int at)
{
    struct alert alerts[FLEET_ALERTS_MAX];
    struct member *member = fleet->slots[at].member;
    pid_t pid = watcher_target(member->watcher)->pid;
    int count = judge_active_alerts(watcher_judge(member->watcher), alerts, FLEET_ALERTS_MAX);
    fleet->hooks.ended(fleet->hooks.context, member, alerts, count);
    forget_state(fleet, member);
    fleet_say(fleet, "no longer watching", member->label, pid, member->note);
    scan_forget(fleet->scan, pid);
    scan_forget_full(fleet->scan);
    member_destroy(member);
    fleet_remove_slot(fleet, at);
}

static void reap(struct fleet *fleet)
{
    for (int i = fleet->count - 1; i >= 0; i--) {
        if (watcher_ended(fleet->slots[i].member->watcher))
            leave(fleet, i);
    }
}

/* --- turns ------------------------------------------------------------------------------------ */

static void step(struct fleet *fleet, struct slot *slot)
{
    struct member *member = slot->member;
    member_step(member, fleet->now_ms);
    slot->due_ms =
        fleet->now_ms + watcher_wait_ms(member->watcher, member_ms(member, fleet->now_ms));
}

static int64_t next_due_ms(const struct fleet *fleet)
{
    int64_t due_ms = fleet->next_scan_ms;
    for (int i = 0; i < fleet->count; i++) {
        if (fleet->slots[i].due_ms < due_ms)
            due_ms = fleet->slots[i].due_ms;
    }
    return due_ms;
}

/* The descriptors of those who owe an answer. */
static int gather(struct fleet *fleet, int from)
{
    int count = from;
    for (int i = 0; i < fleet->count; i++) {
        struct pollfd *waiting = &fleet->fds[count];
        waiting->fd = watcher_fd(fleet->slots[i].member->watcher, &waiting->events);
        waiting->revents = 0;
        fleet->fd_owner[count] = fleet->slots[i].member;
        count += waiting->fd >= 0;
    }
    return count;
}

static void look_for_more(struct fleet *fleet)
{
    if (fleet->now_ms < fleet->next_scan_ms)
        return;
    scan_begin(fleet->scan, fleet->now_ms);
    if (!scan_step(fleet->scan, fleet->now_ms, fleet_found, fleet)) {
        fleet->next_scan_ms = fleet->now_ms + SCAN_PAUSE_MS;
        return;
    }
    fleet->next_scan_ms = fleet->now_ms + fleet->options->discover_ms;
    fleet->looked = true;
}

int64_t fleet_turn(struct fleet *fleet, int64_t at_most_ms, struct pollfd *others, int other_count)
{
    fleet->now_ms = clock_ms(CLOCK_BOOTTIME);
    int64_t wait_ms = next_due_ms(fleet) - fleet->now_ms;
    if (wait_ms > at_most_ms)
        wait_ms = at_most_ms;
    memcpy(fleet->fds, others, (size_t)other_count * sizeof *others);
    int count = gather(fleet, other_count);
    poll(fleet->fds, (nfds_t)count, wait_ms > 0 ? (int)wait_ms : 0);
    memcpy(others, fleet->fds, (size_t)other_count * sizeof *others);
    fleet->now_ms = clock_ms(CLOCK_BOOTTIME);
    for (int i = 0, fd = other_count; i < fleet->count; i++) {
        struct slot *slot = &fleet->slots[i];
        bool ready = false;
        if (fd < count && fleet->fd_owner[fd] == slot->member)
            ready = fleet->fds[fd++].revents != 0;
        if (ready || slot->due_ms <= fleet->now_ms)
            step(fleet, slot);
    }
    reap(fleet);
    look_for_more(fleet);
    return fleet->now_ms;
}

/* --- other rules ------------------------------------------------------------------------------ */

void fleet_reload(struct fleet *fleet)
{
    for (int i = fleet->count - 1; i >= 0; i--) {
        struct member *member = fleet->slots[i].member;
        struct facts facts;
        facts_read(&facts, watcher_target(member->watcher));
        struct target_facts view = facts_view(&facts);
        bool wanted = target_rules_watch(&fleet->options->rules, &view);
        facts_free(&facts);
        if (!wanted)
            watcher_stop(member->watcher, member_ms(member, fleet->now_ms));
        else
            fleet_renew(fleet, i); /* keeps its place: the label is the same */
    }
    scan_forget_refused(fleet->scan);
    scan_forget_full(fleet->scan);
    scan_set_user_budget(fleet->scan, fleet->options->discover_per_user_ms);
    fleet->next_scan_ms = fleet->now_ms;
}

/* --- life ------------------------------------------------------------------------------------- */

struct fleet *fleet_create(const struct serve_options *options, struct archive *archive,
                           struct saved_state *state, const struct fleet_hooks *hooks,
                           int64_t now_ms)
{
    struct fleet *fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL)
        return NULL;
    fleet->options = options;
    fleet->archive = archive;
    fleet->state = state;
    fleet->hooks = *hooks;
    fleet->now_ms = fleet->next_scan_ms = now_ms;
    fleet->scan = scan_create();
    fleet->owners = owners_open(options->state, clock_ms(CLOCK_REALTIME));
    fleet->saved = calloc(1, sizeof *fleet->saved);
    if (fleet->scan != NULL && fleet->owners != NULL && fleet->saved != NULL &&
        fleet_make_room(fleet)) {
        scan_set_user_budget(fleet->scan, options->discover_per_user_ms);
        return fleet;
    }
    fleet_destroy(fleet);
    return NULL;
}

int fleet_count(const struct fleet *fleet)
{
    return fleet->count;
}

static bool all_ended(const struct fleet *fleet)
{
    for (int i = 0; i < fleet->count; i++) {
        if (!watcher_ended(fleet->slots[i].member->watcher))
            return false;
    }
    return true;
}

void fleet_stop(struct fleet *fleet, int64_t at_most_ms)
{
    int64_t until_ms = clock_ms(CLOCK_BOOTTIME) + at_most_ms;
    for (int i = 0; i < fleet->count; i++) {
        struct member *member = fleet->slots[i].member;
        fleet_save(fleet, member, NULL, 0);
        watcher_stop(member->watcher, member_ms(member, fleet->now_ms));
    }
    while (!all_ended(fleet) && fleet->now_ms < until_ms) {
        int count = gather(fleet, 0);
        poll(fleet->fds, (nfds_t)count, 50);
        fleet->now_ms = clock_ms(CLOCK_BOOTTIME);
        for (int i = 0; i < fleet->count; i++)
            step(fleet, &fleet->slots[i]);
    }
}

void fleet_destroy(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    for (int i = 0; i < fleet->count; i++)
        member_destroy(fleet->slots[i].member);
    scan_destroy(fleet->scan);
    owners_close(fleet->owners);
    free(fleet->slots);
    free(fleet->fds);
    free(fleet->fd_owner);
    free(fleet->saved);
    free(fleet);
}
