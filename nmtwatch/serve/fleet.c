#include "nmtwatch/serve/fleet.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/jvm/agent_files.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#define NO_ROOM_MS       60000
#define TIDY_MS          60000
#define NAMELESS_MS      2000 /* before that a JVM may not have published its name yet */
#define SPREAD_STEP_MS   389  /* between the ticks of JVMs that come together; a prime */
#define SLOT_MS          50   /* ticks fall on multiples of it: one wake-up serves several JVMs */
#define FLEET_ALERTS_MAX JUDGE_MEMORY_EPISODES /* of one JVM at once */

struct fleet {
    const struct serve_options *options;
    struct archive *archive;
    struct saved_state *state;
    struct fleet_hooks hooks;
    struct scan *scan;
    struct watching watching;
    int64_t now_ms; /* of the watching */
    int64_t next_scan_ms;
    bool looked; /* at all processes, at least once */
    int64_t seen;
    bool recording_failed;
    int64_t next_no_room_ms; /* when it may be reported again */
    int64_t next_tidy_ms;    /* when our own /tmp is looked at again (agent_files.h) */
    int count;
    size_t capacity;
    struct member **members;    /* by label */
    struct saved_target *saved; /* being put together */
    int ended_count;
    struct ended_view ended[ENDED_MAX]; /* newest first */
};

static void say(struct fleet *fleet, const char *what, const char *label, int64_t pid,
                const char *detail)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s %s (pid %lld)%s%s", what, label, (long long)pid,
             detail[0] != '\0' ? ": " : "", detail);
    fleet->hooks.say(fleet->hooks.context, sentence);
}

/* --- what a restart has to know --------------------------------------------------------------- */

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

/* --- recordings ------------------------------------------------------------------------------- */

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
    if (member->recording == NULL && !fleet->recording_failed)
        fleet->hooks.say(fleet->hooks.context, error);
    fleet->recording_failed = member->recording == NULL;
}

/* --- keeping ---------------------------------------------------------------------------------- */

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
                 const struct member_facts *who, const struct saved_target *saved)
{
    int64_t wall_ms = clock_ms(CLOCK_REALTIME);
    int64_t spread_ms = fleet->seen * SPREAD_STEP_MS % fleet->options->watch.interval_ms;
    struct member_facts about = {
        .label = label,
        .user = who->user,
        .cgroup = who->cgroup,
        .place = who->place,
        .wall_ms = wall_ms,
        .wall_start_ms =
            saved != NULL && saved->wall_start_ms < wall_ms ? saved->wall_start_ms : wall_ms,
        .first_poll_ms = (fleet->watching.now_ms + spread_ms) / SLOT_MS * SLOT_MS + SLOT_MS -
                         fleet->watching.now_ms,
    };
    errno = ENOMEM;
    struct member *member =
        array_room(&fleet->members, &fleet->capacity, (size_t)fleet->count + 1, sizeof(void *))
            ? member_create(&fleet->watching, target, &about)
            : NULL;
    if (member == NULL)
        return false;
    if (saved != NULL)
        watcher_resume(member->watcher, &saved->judge, saved->pause_us);
    begin_recording(fleet, member);
    member->remember = true;
    insert(fleet, member);
    fleet->seen++;
    if (saved != NULL && saved->pending_count > 0)
        hand_on(fleet, member, saved->pending, saved->pending_count);
    return true;
}

/* Whether one more of this user may be watched; else detail says which bound is reached. */
static bool is_room_for(const struct fleet *fleet, uid_t user, char *detail, size_t size)
{
    const struct serve_options *options = fleet->options;
    char name[64];
    int of_user = 0;
    for (int i = 0; i < fleet->count; i++)
        of_user += watcher_target(fleet->members[i]->watcher)->accountable == user;
    if (of_user >= options->max_targets_per_user) {
        facts_user_name(user, name, sizeof name);
        snprintf(detail, size, "%d JVMs of user %s are watched (max_targets_per_user)", of_user,
                 name);
    } else if (fleet->count >= options->max_targets) {
        snprintf(detail, size, "%d JVMs are watched (max_targets)", fleet->count);
    }
    return of_user < options->max_targets_per_user && fleet->count < options->max_targets;
}

/* Once a minute at most: who starts JVMs by the thousand must not fill the log. */
static void print_no_room(struct fleet *fleet, const char *label, int64_t pid, const char *detail)
{
    if (fleet->now_ms < fleet->next_no_room_ms)
        return;
    fleet->next_no_room_ms = fleet->now_ms + NO_ROOM_MS;
    say(fleet, "no room for", label, pid, detail);
}

/* What earlier JVMs left in the /tmp of this one. Of a container a restarted JVM is the occasion. */
static void tidy(struct fleet *fleet, const struct target *target)
{
    if (target->contained) {
        agent_leftovers_remove(target);
    } else if (fleet->now_ms >= fleet->next_tidy_ms) {
        fleet->next_tidy_ms = fleet->now_ms + TIDY_MS;
        agent_leftovers_remove_here();
    }
}

static enum scan_answer found(void *context, const struct target *target)
{
    struct fleet *fleet = context;
    struct facts facts;
    char wanted[TARGET_LABEL_MAX], label[TARGET_LABEL_MAX];
    int64_t age_ms = target->identity.uptime_ms;
    if (age_ms < fleet->options->min_age_ms ||
        (age_ms < NAMELESS_MS && target->perfdata[0] == '\0'))
        return SCAN_LATER;
    facts_read(&facts, target);
    const struct member_facts who = {
        .user = facts.user, .cgroup = facts.cgroup, .place = facts.place};
    struct target_facts view = facts_view(&facts);
    view.template = fleet->options->rules.template;
    view.user_in_front = fleet->options->rules.user_in_front;
    bool wanted_here = target_rules_watch(&fleet->options->rules, &view);
    target_label(&view, wanted);
    struct saved_target *saved =
        fleet->state != NULL ? saved_state_recall(fleet->state, target) : NULL;
    bool joined = false, full = false;
    char detail[128];
    if (wanted_here && saved == NULL &&
        !is_room_for(fleet, target->accountable, detail, sizeof detail)) {
        full = true;
        print_no_room(fleet, wanted, target->pid, detail);
    } else if (wanted_here) {
        if (saved != NULL && !is_taken(fleet, saved->label))
            snprintf(label, sizeof label, "%s", saved->label);
        else
            choose_label(fleet, wanted, label);
        joined = join(fleet, target, label, &who, saved);
        if (joined) {
            tidy(fleet, target);
            say(fleet, saved != NULL ? "watching again" : "watching", label, target->pid, "");
        } else if (errno != ENOENT && errno != ESRCH)
            say(fleet, "cannot watch", label, target->pid, strerror(errno));
    }
    saved_target_free(saved);
    facts_free(&facts);
    return joined ? SCAN_TAKEN : full ? SCAN_FULL : wanted_here ? SCAN_LATER : SCAN_REFUSED;
}

/* --- again ------------------------------------------------------------------------------------ */

static void take_out(struct fleet *fleet, int at)
{
    memmove(&fleet->members[at], &fleet->members[at + 1],
            (size_t)(fleet->count - at - 1) * sizeof *fleet->members);
    fleet->count--;
}

static void renew(struct fleet *fleet, int at)
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
    const struct member_facts who = {.user = user, .cgroup = cgroup, .place = kept.place};
    old->families = NULL;
    member_destroy(old);
    take_out(fleet, at);
    bool taken;
    bool joined = join(fleet, &target, label, &who, saved);
    texts_free(&saved->texts);
    if (!joined) {
        scan_forget(fleet->scan, target.pid);
        free(kept.families);
        return;
    }
    fleet->seen--;
    member_continue(fleet->members[place_of(fleet, label, &taken)], &kept);
}

/* Targets of the last process that did not come back: what they had raised is over. */
static void bury_lost(struct fleet *fleet)
{
    struct saved_target *lost;
    while (fleet->looked && fleet->state != NULL &&
           (lost = saved_state_take_lost(fleet->state)) != NULL) {
        struct alert alerts[FLEET_ALERTS_MAX];
        struct member was = {0}; /* enough of it for a message */
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
    for (int i = 0; i < fleet->count; i++) {
        struct member *member = fleet->members[i];
        struct judge_view view;
        judge_view(watcher_judge(member->watcher), &view);
        ending_look(&member->ending);
        if (view.warm != member->was_warm)
            member->was_warm = member->remember = true;
        if (member->remember)
            save(fleet, member, NULL, 0);
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
        member_mention(member, &finding->finding);
        member_now(view, &finding->finding);
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

static void add_observations(const struct member *member, int target, struct snapshot *snapshot)
{
    for (int i = 0; i < member->observation_count; i++) {
        struct observation_view *view = &snapshot->observations[snapshot->observation_count++];
        *view = member->observations[i];
        view->target = target;
    }
}

struct snapshot *fleet_snapshot(const struct fleet *fleet)
{
    struct snapshot *snapshot = snapshot_create(fleet->count);
    int findings = 0, families = 0, observations = 0;
    if (snapshot == NULL)
        return NULL;
    for (int i = 0; i < fleet->count; i++) {
        const struct member *member = fleet->members[i];
        member_view(member, &snapshot->targets[i]);
        findings += snapshot->targets[i].active_alerts;
        families += member->families != NULL ? FAMILY_COUNT + 1 : 0;
        observations += member->observation_count;
    }
    snapshot->target_count = fleet->count;
    if (!snapshot_make_room(snapshot, findings, families, observations)) {
        snapshot_release(snapshot);
        return NULL;
    }
    for (int i = 0; i < fleet->count; i++) {
        add_findings(fleet->members[i], i, snapshot, findings);
        add_families(fleet->members[i], i, snapshot, families);
        add_observations(fleet->members[i], i, snapshot);
    }
    while (snapshot->ended_count < fleet->ended_count &&
           clock_ms(CLOCK_REALTIME) - fleet->ended[snapshot->ended_count].ended_unix_ms <
               ENDED_KEEP_MS)
        snapshot->ended_count++;
    memcpy(snapshot->ended, fleet->ended, (size_t)snapshot->ended_count * sizeof *fleet->ended);
    struct scan_counts scan = fleet_scan(fleet);
    snapshot->own.processes = scan.processes;
    snapshot->own.unreadable = scan.unreadable;
    snapshot->own.held = scan.held;
    snapshot->own.refused = scan.refused;
    snapshot->own.over_limit = scan.full;
    snapshot->own.postponed = scan.postponed;
    snapshot->own.scans = scan.scans;
    snapshot->own.scan_cpu_us = scan.cpu_us;
    snapshot->own.targets_seen = fleet->seen;
    return snapshot;
}

#define SCAN_PAUSE_MS 20 /* between two steps of one scan */

/* --- going ------------------------------------------------------------------------------------ */

static void forget_state(struct fleet *fleet, const struct member *member)
{
    const struct target *target = watcher_target(member->watcher);
    if (fleet->state != NULL)
        saved_state_forget(fleet->state, target->pid, (int64_t)target->start_time_ticks);
}

static void keep_ended(struct fleet *fleet, const struct member *member, const struct alert *alerts,
                       int count)
{
    if (target_still_same(watcher_target(member->watcher)))
        return; /* it is only watched no longer */
    int kept = fleet->ended_count < ENDED_MAX ? fleet->ended_count : ENDED_MAX - 1;
    memmove(fleet->ended + 1, fleet->ended, (size_t)kept * sizeof *fleet->ended);
    member_ended(member, alerts, count, clock_ms(CLOCK_REALTIME), &fleet->ended[0]);
    fleet->ended_count = kept + 1;
}

static void leave(struct fleet *fleet, int at)
{
    struct alert alerts[FLEET_ALERTS_MAX];
    struct member *member = fleet->members[at];
    pid_t pid = watcher_target(member->watcher)->pid;
    int count = judge_active_alerts(watcher_judge(member->watcher), alerts, FLEET_ALERTS_MAX);
    fleet->hooks.ended(fleet->hooks.context, member, alerts, count);
    forget_state(fleet, member);
    keep_ended(fleet, member, alerts, count);
    say(fleet, "no longer watching", member->label, pid, member->note);
    scan_forget(fleet->scan, pid);
    scan_forget_full(fleet->scan);
    member_destroy(member);
    take_out(fleet, at);
}

static void reap(struct fleet *fleet)
{
    for (int i = fleet->count - 1; i >= 0; i--)
        if (fleet->members[i]->watched->ended)
            leave(fleet, i);
}

/* --- turns ------------------------------------------------------------------------------------ */

static void on_event(void *context, struct watched *jvm, const struct event *event,
                     const struct alerts *alerts)
{
    struct member *member = jvm->owner;
    member_event(member, event, alerts);
    if (event->kind == EVENT_COST && event->cost.measured_us < 0) {
        char detail[sizeof event->cost.command + sizeof event->cost.skipped + 8];
        snprintf(detail, sizeof detail, "%s: it %s", event->cost.command, event->cost.skipped);
        say(context, "a question was left out:", member->label,
            watcher_target(member->watcher)->pid, detail);
    }
    if (alerts->count > 0)
        hand_on(context, member, alerts->alert, alerts->count);
}

static void look_for_more(struct fleet *fleet)
{
    if (fleet->now_ms < fleet->next_scan_ms)
        return;
    scan_begin(fleet->scan, fleet->now_ms);
    if (!scan_step(fleet->scan, fleet->now_ms, found, fleet)) {
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
        view.template = fleet->options->rules.template;
        view.user_in_front = fleet->options->rules.user_in_front;
        bool wanted = target_rules_watch(&fleet->options->rules, &view);
        facts_free(&facts);
        if (!wanted)
            watched_stop(member->watched);
        else
            renew(fleet, i); /* keeps its place: the label is the same */
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
    fleet->saved = calloc(1, sizeof *fleet->saved);
    if (fleet->scan != NULL && fleet->saved != NULL &&
        array_room(&fleet->members, &fleet->capacity, (size_t)fleet->count + 1, sizeof(void *))) {
        scan_set_user_budget(fleet->scan, options->discover_per_user_ms);
        return fleet;
    }
    fleet_destroy(fleet);
    return NULL;
}

struct scan_counts fleet_scan(const struct fleet *fleet)
{
    return scan_counts(fleet->scan);
}

const struct watching *fleet_watching(const struct fleet *fleet)
{
    return &fleet->watching;
}

struct member *fleet_find(const struct fleet *fleet, int64_t pid)
{
    for (int i = 0; i < fleet->count; i++)
        if (watcher_target(fleet->members[i]->watcher)->pid == pid)
            return fleet->members[i];
    return NULL;
}

void fleet_each(struct fleet *fleet, void (*visit)(void *context, struct member *member),
                void *context)
{
    for (int i = 0; i < fleet->count; i++)
        visit(context, fleet->members[i]);
}

void fleet_stop(struct fleet *fleet)
{
    for (int i = 0; i < fleet->count; i++)
        save(fleet, fleet->members[i], NULL, 0);
    watching_stop(&fleet->watching);
}

void fleet_destroy(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    for (int i = 0; i < fleet->count; i++)
        member_destroy(fleet->members[i]);
    scan_destroy(fleet->scan);
    watching_close(&fleet->watching);
    free(fleet->members);
    free(fleet->saved);
    free(fleet);
}
