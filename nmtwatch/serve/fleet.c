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
    struct member *member = fleet->members[at];
    pid_t pid = watcher_target(member->watcher)->pid;
    int count = judge_active_alerts(watcher_judge(member->watcher), alerts, FLEET_ALERTS_MAX);
    fleet->hooks.ended(fleet->hooks.context, member, alerts, count);
    forget_state(fleet, member);
    fleet_say(fleet, "no longer watching", member->label, pid, member->note);
    scan_forget(fleet->scan, pid);
    scan_forget_full(fleet->scan);
    member_destroy(member);
    fleet_remove(fleet, at);
}

static void reap(struct fleet *fleet)
{
    for (int i = fleet->count - 1; i >= 0; i--) {
        if (watcher_ended(fleet->members[i]->watcher))
            leave(fleet, i);
    }
}

/* --- turns ------------------------------------------------------------------------------------ */

static void on_event(void *context, struct watched *jvm, const struct event *event,
                     const struct alerts *alerts)
{
    struct member *member = jvm->owner;
    member_event(member, event, alerts);
    if (alerts->count > 0)
        fleet_hand_on(context, member, alerts->alert, alerts->count);
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
    int64_t wait_ms = fleet->next_scan_ms - clock_ms(CLOCK_BOOTTIME);
    watching_turn(&fleet->watching, wait_ms < at_most_ms ? wait_ms : at_most_ms, others,
                  other_count);
    fleet->now_ms = fleet->watching.now_ms;
    reap(fleet);
    look_for_more(fleet);
    return fleet->now_ms;
}

/* --- other rules ------------------------------------------------------------------------------ */

void fleet_reload(struct fleet *fleet)
{
    for (int i = fleet->count - 1; i >= 0; i--) {
        struct member *member = fleet->members[i];
        struct facts facts;
        facts_read(&facts, watcher_target(member->watcher));
        struct target_facts view = facts_view(&facts);
        bool wanted = target_rules_watch(&fleet->options->rules, &view);
        facts_free(&facts);
        if (!wanted)
            watched_stop(member->watched);
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
                           struct saved_state *state, const struct fleet_hooks *hooks)
{
    struct fleet *fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL)
        return NULL;
    fleet->options = options;
    fleet->archive = archive;
    fleet->state = state;
    fleet->hooks = *hooks;
    const struct watching_sink sink = {.context = fleet, .event = on_event};
    watching_open(&fleet->watching, &options->watch, &sink);
    fleet->now_ms = fleet->next_scan_ms = fleet->watching.now_ms;
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

void fleet_stop(struct fleet *fleet)
{
    for (int i = 0; i < fleet->count; i++)
        fleet_save(fleet, fleet->members[i], NULL, 0);
    watching_stop(&fleet->watching);
}

void fleet_destroy(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    for (int i = 0; i < fleet->count; i++)
        member_destroy(fleet->members[i]);
    scan_destroy(fleet->scan);
    owners_close(fleet->owners);
    watching_close(&fleet->watching);
    free(fleet->members);
    free(fleet->saved);
    free(fleet);
}
