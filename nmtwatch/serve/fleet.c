#include "nmtwatch/process/clock.h"
#include "nmtwatch/serve/facts.h"
#include "nmtwatch/serve/fleet_internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What outlives the process: state and recordings. */

/* --- what a restart has to know --------------------------------------------------------------- */

/* Everything a restart has to know of it, with the alerts that are still to be handed on. */
void fleet_save(struct fleet *fleet, const struct member *member, const struct alert *pending,
                int pending_count)
{
    struct saved_target *saved = fleet->saved;
    const struct target *target = watcher_target(member->watcher);
    if (fleet->state == NULL)
        return;
    saved->pid = target->pid;
    saved->start_time_ticks = (int64_t)target->start_time_ticks;
    memcpy(saved->label, member->label, sizeof saved->label);
    saved->wall_start_ms = member->wall_start_ms;
    saved->pause_us = watcher_pause_spent_us(member->watcher);
    judge_remember(watcher_judge(member->watcher), &saved->judge);
    saved->pending_count = pending_count < SAVED_PENDING_MAX ? pending_count : SAVED_PENDING_MAX;
    for (int i = 0; i < saved->pending_count; i++)
        saved->pending[i] = pending[i];
    saved_state_write(fleet->state, saved);
}

/* Before an alert is handed on the state knows that it has to be; the judge's memory in it says
 * that it was raised already. */
void fleet_hand_on(struct fleet *fleet, struct member *member, const struct alert *alerts,
                   int count)
{
    for (int i = 0; i < count; i++) {
        fleet_save(fleet, member, alerts + i, count - i);
        fleet->hooks.alert(fleet->hooks.context, member, &alerts[i]);
    }
    fleet_save(fleet, member, NULL, 0);
}

/* --- recordings ------------------------------------------------------------------------------- */

void fleet_begin_recording(struct fleet *fleet, struct member *member)
{
    char error[512];
    if (fleet->archive == NULL)
        return;
    struct recording_header header = {
        .wall_start_ms = member->wall_start_ms,
        .warmup_s = fleet->options->watch.warmup_s,
        .target = watcher_target(member->watcher)->identity,
        .thresholds = fleet->options->watch.thresholds,
    };
    member->recording = archive_file_create(fleet->archive, member->label, &header,
                                            clock_ms(CLOCK_REALTIME), error, sizeof error);
    if (member->recording == NULL && !fleet->recording_told)
        fleet->hooks.say(fleet->hooks.context, error);
    fleet->recording_told = member->recording == NULL;
}

/* --- keeping ---------------------------------------------------------------------------------- */

/* Targets of the last process that did not come back: what they had raised is over. */
static void bury_lost(struct fleet *fleet)
{
    struct saved_target *lost;
    while (fleet->looked && fleet->state != NULL &&
           (lost = saved_state_take_lost(fleet->state)) != NULL) {
        struct alert alerts[FLEET_ALERTS_MAX];
        struct member was = {0}; /* enough of it to be told about */
        memcpy(was.label, lost->label, sizeof was.label);
        was.wall_start_ms = lost->wall_start_ms;
        for (int i = 0; i < lost->judge.episode_count; i++)
            alerts[i] = (struct alert){.state = ALERT_RAISED,
                                       .started_ms = lost->judge.episodes[i].raised_ms,
                                       .finding = lost->judge.episodes[i].finding};
        fleet->hooks.ended(fleet->hooks.context, &was, alerts, lost->judge.episode_count);
        saved_target_free(lost);
    }
}

void fleet_keep(struct fleet *fleet, int64_t wall_ms)
{
    bury_lost(fleet);
    owners_keep(fleet->owners);
    for (int i = 0; i < fleet->count; i++) {
        struct member *member = fleet->members[i];
        struct judge_view view;
        judge_view(watcher_judge(member->watcher), &view);
        if (view.warm != member->was_warm)
            member->was_warm = member->remember = true;
        owners_claim(fleet->owners, member->label, fleet_owner(watcher_target(member->watcher)),
                     wall_ms);
        if (member->remember)
            fleet_save(fleet, member, NULL, 0);
        member->remember = false;
        if (member->recording != NULL)
            archive_file_turn(member->recording, wall_ms);
    }
}

/* The snapshot, for those who ask over HTTP. */

static void add_findings(const struct member *member, int target, struct snapshot *snapshot,
                         int room)
{
    struct alert alerts[FLEET_ALERTS_MAX];
    struct target_view *view = &snapshot->targets[target];
    view->first_finding = snapshot->finding_count;
    if (view->active_alerts == 0)
        return;
    int count = judge_active_alerts(watcher_judge(member->watcher), alerts, FLEET_ALERTS_MAX);
    for (int i = 0; i < count && snapshot->finding_count < room; i++) {
        struct finding_view *finding = &snapshot->findings[snapshot->finding_count++];
        finding->target = target;
        finding->started_unix_ms = member->wall_start_ms + alerts[i].started_ms;
        finding_copy(&finding->finding, &snapshot->texts, &alerts[i].finding);
    }
    view->finding_count = snapshot->finding_count - view->first_finding;
}

static void add_families(const struct member *member, int target, struct snapshot *snapshot,
                         int room)
{
    struct target_view *view = &snapshot->targets[target];
    view->first_family = snapshot->family_count;
    view->family_count = member_families(member, target, snapshot->families + view->first_family,
                                         room - view->first_family);
    snapshot->family_count += view->family_count;
}

struct snapshot *fleet_snapshot(const struct fleet *fleet)
{
    struct snapshot *snapshot = snapshot_create(fleet->count);
    int findings = 0, families = 0;
    if (snapshot == NULL)
        return NULL;
    for (int i = 0; i < fleet->count; i++) {
        const struct member *member = fleet->members[i];
        member_view(member, &snapshot->targets[i]);
        findings += snapshot->targets[i].active_alerts;
        families += member->families != NULL ? FAMILY_COUNT + 1 : 0;
    }
    snapshot->target_count = fleet->count;
    if (!snapshot_make_room(snapshot, findings, families)) {
        snapshot_release(snapshot);
        return NULL;
    }
    for (int i = 0; i < fleet->count; i++) {
        add_findings(fleet->members[i], i, snapshot, findings);
        add_families(fleet->members[i], i, snapshot, families);
    }
    struct scan_counts scan = scan_counts(fleet->scan);
    snapshot->own.processes = scan.processes;
    snapshot->own.unreadable = scan.unreadable;
    snapshot->own.refused = scan.refused;
    snapshot->own.over_limit = scan.full;
    snapshot->own.postponed = scan.postponed;
    snapshot->own.looks = scan.looks;
    snapshot->own.look_cpu_us = scan.cpu_us;
    snapshot->own.targets_seen = fleet->seen;
    return snapshot;
}

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
