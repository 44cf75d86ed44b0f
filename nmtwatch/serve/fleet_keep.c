/* What outlives the process: state and recordings. */
#include "nmtwatch/serve/fleet_internal.h"

#include "nmtwatch/process/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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
