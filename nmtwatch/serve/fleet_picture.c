/* The picture of the moment, for those who ask over HTTP. */
#include "nmtwatch/serve/fleet_internal.h"

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
