#include "nmtwatch/serve/fleet.h"

#include "nmtwatch/serve/facts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NEWBORN_MS     2000 /* before that a JVM may not have told its name yet */
#define SPREAD_STEP_MS 389  /* between the ticks of JVMs that come together; a prime */
#define SCAN_PAUSE_MS  20   /* between two steps of one look */
#define ALERTS_MAX     JUDGE_MEMORY_EPISODES

struct slot {
    struct member *member;
    int64_t due_ms;
};

struct fleet {
    const struct serve_options *options;
    struct archive *archive;
    struct saved_state *state;
    struct fleet_hooks hooks;
    struct scan *scan;
    int64_t now_ms;
    int64_t next_scan_ms;
    bool looked; /* at all processes, at least once */
    int64_t seen;
    bool recording_told;
    int count, capacity;
    struct slot *slots; /* by label */
    struct pollfd *fds; /* capacity + FDS_OTHER */
    struct member **fd_owner;
    struct saved_target *saved; /* being put together */
};

#define FDS_OTHER 4

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Goes on while the machine is suspended: growth per hour is real time. */
static int64_t loop_clock_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

static void say(struct fleet *fleet, const char *what, const char *label, int64_t pid,
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

/* --- what a restart has to know -----------------------------------------------------------------
 */

/* Everything a restart has to know of it, with the alerts that are still to be handed on. */
static void save(struct fleet *fleet, const struct member *member, const struct alert *pending,
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
static void hand_on(struct fleet *fleet, struct member *member, const struct alert *alerts,
                    int count)
{
    for (int i = 0; i < count; i++) {
        save(fleet, member, alerts + i, count - i);
        fleet->hooks.alert(fleet->hooks.context, member, &alerts[i]);
    }
    save(fleet, member, NULL, 0);
}

/* --- coming ----------------------------------------------------------------------------------- */

static bool make_room(struct fleet *fleet)
{
    if (fleet->count < fleet->capacity)
        return true;
    size_t capacity = fleet->capacity == 0 ? 16 : (size_t)fleet->capacity * 2;
    struct slot *slots = reallocarray(fleet->slots, capacity, sizeof *slots);
    if (slots != NULL)
        fleet->slots = slots;
    struct pollfd *fds = reallocarray(fleet->fds, capacity + FDS_OTHER, sizeof *fds);
    if (fds != NULL)
        fleet->fds = fds;
    struct member **owner = reallocarray(fleet->fd_owner, capacity + FDS_OTHER, sizeof *owner);
    if (owner != NULL)
        fleet->fd_owner = owner;
    if (slots == NULL || fds == NULL || owner == NULL)
        return false;
    fleet->capacity = (int)capacity;
    return true;
}

static void begin_recording(struct fleet *fleet, struct member *member)
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
    int64_t wall_ms = clock_ms(CLOCK_REALTIME);
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
        make_room(fleet) ? member_create(target, &fleet->options->watch, &about) : NULL;
    if (member == NULL)
        return false;
    if (saved != NULL)
        watcher_resume(member->watcher, &saved->judge, saved->pause_us);
    begin_recording(fleet, member);
    member->remember = true;
    insert(fleet, member, fleet->now_ms + about.first_look_ms);
    fleet->seen++;
    if (saved != NULL && saved->pending_count > 0)
        hand_on(fleet, member, saved->pending, saved->pending_count);
    return true;
}

static enum scan_answer on_found(void *context, const struct target *target)
{
    struct fleet *fleet = context;
    struct facts facts;
    char wanted[TARGET_LABEL_MAX], label[TARGET_LABEL_MAX];
    if (target->identity.uptime_ms < NEWBORN_MS && target->perfdata[0] == '\0')
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
            say(fleet, saved != NULL ? "watching again" : "watching", label, target->pid, "");
        else if (errno != ENOENT && errno != ESRCH)
            say(fleet, "cannot watch", label, target->pid, strerror(errno));
    }
    free(saved);
    facts_free(&facts);
    return joined ? SCAN_TAKEN : wanted_here ? SCAN_LATER : SCAN_REFUSED;
}

/* --- going ------------------------------------------------------------------------------------ */

static void forget_state(struct fleet *fleet, const struct member *member)
{
    const struct target *target = watcher_target(member->watcher);
    if (fleet->state != NULL)
        saved_state_forget(fleet->state, target->pid, (int64_t)target->start_time_ticks);
}

static void leave(struct fleet *fleet, int at)
{
    static struct alert alerts[ALERTS_MAX]; /* one thread; 330 KB */
    struct member *member = fleet->slots[at].member;
    pid_t pid = watcher_target(member->watcher)->pid;
    int count = judge_active_alerts(watcher_judge(member->watcher), alerts, ALERTS_MAX);
    fleet->hooks.ended(fleet->hooks.context, member, alerts, count);
    forget_state(fleet, member);
    say(fleet, "no longer watching", member->label, pid, member->note);
    scan_forget(fleet->scan, pid);
    member_destroy(member);
    memmove(&fleet->slots[at], &fleet->slots[at + 1],
            (size_t)(fleet->count - at - 1) * sizeof *fleet->slots);
    fleet->count--;
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
    if (member->pending_count > 0)
        hand_on(fleet, member, member->pending, member->pending_count);
    member->pending_count = 0;
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
    if (!scan_step(fleet->scan, fleet->now_ms, on_found, fleet)) {
        fleet->next_scan_ms = fleet->now_ms + SCAN_PAUSE_MS;
        return;
    }
    fleet->next_scan_ms = fleet->now_ms + fleet->options->discover_ms;
    fleet->looked = true;
}

int64_t fleet_turn(struct fleet *fleet, int64_t at_most_ms, struct pollfd *others, int other_count)
{
    fleet->now_ms = loop_clock_ms();
    int64_t wait_ms = next_due_ms(fleet) - fleet->now_ms;
    if (wait_ms > at_most_ms)
        wait_ms = at_most_ms;
    memcpy(fleet->fds, others, (size_t)other_count * sizeof *others);
    int count = gather(fleet, other_count);
    poll(fleet->fds, (nfds_t)count, wait_ms > 0 ? (int)wait_ms : 0);
    memcpy(others, fleet->fds, (size_t)other_count * sizeof *others);
    fleet->now_ms = loop_clock_ms();
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

/* --- keeping ---------------------------------------------------------------------------------- */

/* Targets of the last process that did not come back: what they had raised is over. */
static void bury_lost(struct fleet *fleet)
{
    struct saved_target *lost;
    while (fleet->looked && fleet->state != NULL &&
           (lost = saved_state_take_lost(fleet->state)) != NULL) {
        static struct alert alerts[ALERTS_MAX];
        struct member was = {0}; /* enough of it to be told about */
        memcpy(was.label, lost->label, sizeof was.label);
        was.wall_start_ms = lost->wall_start_ms;
        for (int i = 0; i < lost->judge.episode_count; i++)
            alerts[i] = (struct alert){.state = ALERT_RAISED,
                                       .started_ms = lost->judge.episodes[i].raised_ms,
                                       .finding = lost->judge.episodes[i].finding};
        fleet->hooks.ended(fleet->hooks.context, &was, alerts, lost->judge.episode_count);
        free(lost);
    }
}

void fleet_keep(struct fleet *fleet, int64_t wall_ms)
{
    bury_lost(fleet);
    for (int i = 0; i < fleet->count; i++) {
        struct member *member = fleet->slots[i].member;
        struct judge_view view;
        judge_view(watcher_judge(member->watcher), &view);
        if (view.warm != member->was_warm)
            member->was_warm = member->remember = true;
        if (member->remember)
            save(fleet, member, NULL, 0);
        member->remember = false;
        if (member->recording != NULL)
            archive_file_turn(member->recording, wall_ms);
    }
}

/* The same JVM watched anew: its judge goes on, with the options as they are now. */
static void renew(struct fleet *fleet, int at)
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
    memmove(&fleet->slots[at], &fleet->slots[at + 1],
            (size_t)(fleet->count - at - 1) * sizeof *fleet->slots);
    fleet->count--;
    bool taken;
    if (!join(fleet, &target, label, user, cgroup, saved)) {
        scan_forget(fleet->scan, target.pid);
        free(kept.families);
        return;
    }
    fleet->seen--;
    member_continue(fleet->slots[place_of(fleet, label, &taken)].member, &kept);
}

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
            renew(fleet, i); /* keeps its place: the label is the same */
    }
    scan_forget_refused(fleet->scan);
    fleet->next_scan_ms = fleet->now_ms;
}

/* --- the picture ------------------------------------------------------------------------------ */

int fleet_count(const struct fleet *fleet)
{
    return fleet->count;
}

static void add_findings(const struct member *member, int target, struct snapshot *snapshot,
                         int room)
{
    static struct alert alerts[ALERTS_MAX]; /* one thread */
    struct target_view *view = &snapshot->targets[target];
    view->first_finding = snapshot->finding_count;
    if (view->active_alerts == 0)
        return;
    int count = judge_active_alerts(watcher_judge(member->watcher), alerts, ALERTS_MAX);
    for (int i = 0; i < count && snapshot->finding_count < room; i++) {
        struct finding_view *finding = &snapshot->findings[snapshot->finding_count++];
        finding->target = target;
        finding->started_unix_ms = member->wall_start_ms + alerts[i].started_ms;
        finding->finding = alerts[i].finding;
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
        const struct member *member = fleet->slots[i].member;
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
        add_findings(fleet->slots[i].member, i, snapshot, findings);
        add_families(fleet->slots[i].member, i, snapshot, families);
    }
    struct scan_counts scan = scan_counts(fleet->scan);
    snapshot->own.processes = scan.processes;
    snapshot->own.unreadable = scan.unreadable;
    snapshot->own.refused = scan.refused;
    snapshot->own.looks = scan.looks;
    snapshot->own.look_cpu_us = scan.cpu_us;
    snapshot->own.targets_seen = fleet->seen;
    return snapshot;
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
    fleet->saved = calloc(1, sizeof *fleet->saved);
    if (fleet->scan != NULL && fleet->saved != NULL && make_room(fleet))
        return fleet;
    fleet_destroy(fleet);
    return NULL;
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
    int64_t until_ms = loop_clock_ms() + at_most_ms;
    for (int i = 0; i < fleet->count; i++) {
        struct member *member = fleet->slots[i].member;
        save(fleet, member, NULL, 0);
        watcher_stop(member->watcher, member_ms(member, fleet->now_ms));
    }
    while (!all_ended(fleet) && fleet->now_ms < until_ms) {
        int count = gather(fleet, 0);
        poll(fleet->fds, (nfds_t)count, 50);
        fleet->now_ms = loop_clock_ms();
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
    free(fleet->slots);
    free(fleet->fds);
    free(fleet->fd_owner);
    free(fleet->saved);
    free(fleet);
}
