#include "nmtwatch/serve/observer.h"

#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/process/messages.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define RUNNING_MAX    8     /* of all sections; the root helper has room for so many as well */
#define PATIENCE_MS    60000 /* a finding waits so long for its turn */
#define FITS_A_TURN    20    /* rules asked of JVMs in one turn: a few files each */
#define INTERVAL_NS    10000000
#define MINUTES        60
#define BUDGET_SAID_MS 60000
#define WAIT_MAX_MS    3600000 /* of a JVM that could not be observed */

struct running {
    struct observe_child *child; /* NULL: free */
    int64_t pid;
    uint64_t start_time_ticks;
    char label[TARGET_LABEL_MAX];
    struct observe_section section; /* as it was */
    enum profile_format format[2];
    int format_count;
};

struct observer {
    const struct serve_options *options;
    struct archive *archive; /* NULL: no folder */
    struct running running[RUNNING_MAX];
    int64_t started, failed, cpu_us, refused[OBSERVE_REFUSALS];
    struct {
        int64_t minute, cpu_us;
    } spent[MINUTES]; /* the last hour's */
    bool folder_changed;
    int fits_left;
    int64_t next_word_ms; /* about the budget: it is used up for all */
    /* by section: whom `every` has kept waiting longest */
    int64_t longest_due_ms[OBSERVE_SECTIONS_MAX];
    int64_t now_ms, wall_ms;
};

static void say(const char *what, const struct observe_section *section, const char *label,
                int64_t pid, const char *detail)
{
    print_log("observe %s: %s %s (pid %lld): %s\n", section->name, what, label, (long long)pid,
              detail);
}

/* --- the budget ------------------------------------------------------------------------------- */

static void spend(struct observer *observer, int64_t cpu_us)
{
    int64_t minute = observer->now_ms / 60000;
    observer->cpu_us += cpu_us;
    if (observer->spent[minute % MINUTES].minute != minute)
        observer->spent[minute % MINUTES].cpu_us = 0;
    observer->spent[minute % MINUTES].minute = minute;
    observer->spent[minute % MINUTES].cpu_us += cpu_us;
}

static bool budget_left(const struct observer *observer)
{
    int64_t minute = observer->now_ms / 60000, sum = 0;
    for (int i = 0; i < MINUTES; i++)
        if (observer->spent[i].minute > minute - MINUTES)
            sum += observer->spent[i].cpu_us;
    return sum < observer->options->observations_cpu_mpercent * 36000; /* of an hour, in us */
}

/* --- whose turn it is ------------------------------------------------------------------------- */

/* FNV-1a: a section with other rules is another one. */
static uint64_t key_of(const struct observe_section *section)
{
    uint64_t hash = 14695981039346656037U;
    const char *const texts[] = {section->name, section->match};
    for (int i = 0; i < 2; i++) {
        for (const char *at = texts[i];; at++) {
            hash = (hash ^ (unsigned char)*at) * 1099511628211U;
            if (*at == '\0')
                break;
        }
    }
    return hash | 1; /* 0: a free place */
}

static bool fits(const struct observe_section *section, const struct target *target)
{
    struct target_match match = {0};
    struct facts facts;
    char ignored[8];
    if (section->match[0] == '\0')
        return true;
    if (!target_match_add(&match, section->match, ignored, sizeof ignored))
        return false;
    facts_read(&facts, target);
    struct target_facts view = facts_view(&facts);
    bool good = target_match_fits(&match, &view);
    facts_free(&facts);
    return good;
}

/* What is kept of a section in a JVM; NULL: its rules have not been asked yet. */
static struct observe_turn *turn_of(struct observer *observer, struct member *member,
                                    const struct observe_section *section)
{
    uint64_t key = key_of(section);
    struct observe_turn *place = NULL;
    for (int i = 0; i < OBSERVE_SECTIONS_MAX; i++) {
        if (member->turns[i].section == key)
            return &member->turns[i];
        bool used = false; /* by a section that is still there */
        for (int k = 0; k < observer->options->section_count; k++)
            used |= key_of(&observer->options->sections[k]) == member->turns[i].section;
        if (!used && place == NULL)
            place = &member->turns[i];
    }
    if (section->match[0] != '\0' && observer->fits_left-- <= 0)
        return NULL;
    *place = (struct observe_turn){
        .section = key,
        .fits = fits(section, watcher_target(member->watcher)),
        .outside_bytes = -1,
    };
    return place;
}

static bool is_observed(const struct observer *observer, const struct member *member)
{
    for (int i = 0; i < RUNNING_MAX; i++)
        if (observer->running[i].child != NULL &&
            observer->running[i].pid == watcher_target(member->watcher)->pid)
            return true;
    return false;
}

/* A free place, or NULL. */
static struct running *place_for(struct observer *observer, const struct observe_section *section)
{
    struct running *place = NULL;
    int64_t of_section = 0;
    for (int i = 0; i < RUNNING_MAX; i++) {
        struct running *running = &observer->running[i];
        if (running->child == NULL)
            place = running;
        else
            of_section += strcmp(running->section.name, section->name) == 0;
    }
    return of_section < section->at_once ? place : NULL;
}

/* A JVM that could not be observed is left alone for twice as long each time. */
static int64_t backed_off(const struct observe_turn *turn, int64_t ms)
{
    for (int i = 0; i < turn->failed && ms < WAIT_MAX_MS; i++)
        ms = 2 * ms < WAIT_MAX_MS ? 2 * ms : WAIT_MAX_MS;
    return ms;
}

static void refuse(struct observer *observer, const struct member *member,
                   const struct observe_section *section, struct observe_turn *turn,
                   enum observe_refusal reason, const char *detail)
{
    observer->refused[reason]++;
    if (reason != OBSERVE_OVER_BUDGET || observer->now_ms >= observer->next_word_ms) {
        say("not started:", section, member->label, watcher_target(member->watcher)->pid, detail);
        if (reason == OBSERVE_OVER_BUDGET)
            observer->next_word_ms = observer->now_ms + BUDGET_SAID_MS;
    }
    turn->cause = NULL;
    if (section->every_ms > 0 && turn->next_ms <= observer->now_ms)
        turn->next_ms = observer->now_ms + section->every_ms;
}

static int64_t default_ms(enum observe_mode mode)
{
    return mode == OBSERVE_RSS ? 60000 : mode == OBSERVE_CLASSES ? 20000 : 10000;
}

static void start(struct observer *observer, struct member *member,
                  const struct observe_section *section, struct observe_turn *turn,
                  struct running *running)
{
    const struct target *target = watcher_target(member->watcher);
    struct observe_request request;
    enum observe_mode mode;
    char error[300], detail[200];
    memset(&request, 0, sizeof request);
    observe_mode_by_name(section->what, &mode);
    request.options.mode = mode;
    request.options.duration_ms = section->for_ms > 0 ? section->for_ms : default_ms(mode);
    request.options.interval_ns = INTERVAL_NS;
    request.format[request.format_count++] = PROFILE_TOP;
    if (mode != OBSERVE_METHODS)
        request.format[request.format_count++] = PROFILE_HTML;
    *running = (struct running){
        .pid = target->pid,
        .start_time_ticks = target->start_time_ticks,
        .section = *section,
        .format_count = request.format_count,
    };
    memcpy(running->label, member->label, sizeof running->label);
    memcpy(running->format, request.format, sizeof running->format);
    running->child = observe_child_start(target, &request, error, sizeof error);
    if (running->child == NULL) {
        refuse(observer, member, section, turn, OBSERVE_NO_PROCESS, error);
        return;
    }
    observer->started++;
    snprintf(detail, sizeof detail, "%s%s%s", section->what, turn->cause != NULL ? ", for " : "",
             turn->cause != NULL ? turn->cause : "");
    say("started:", section, member->label, target->pid, detail);
    turn->cause = NULL;
    if (section->every_ms > 0)
        turn->next_ms = observer->now_ms + section->every_ms;
    turn->cool_ms = observer->now_ms + request.options.duration_ms + section->cooldown_ms;
}

/* RSS beyond what NMT has committed has grown: what is committed and not touched hides growth and never
 * feigns it. The level is that of the first poll after warm-up, or of the last growth. */
static bool outside_grew(const struct member *member, const struct observe_section *section,
                         struct observe_turn *turn)
{
    const struct sample *latest = watcher_latest(member->watcher);
    int64_t rss, committed;
    if (!member->was_warm || !sample_get(latest, SAMPLE_RSS_BYTES, &rss) ||
        !sample_get(latest, SAMPLE_NMT_COMMITTED_BYTES, &committed))
        return false;
    int64_t outside = rss > committed ? rss - committed : 0;
    bool grew = turn->outside_bytes >= 0 && outside - turn->outside_bytes >= section->growth_bytes;
    if (grew || turn->outside_bytes < 0)
        turn->outside_bytes = outside;
    return grew;
}

static bool is_due(const struct observer *observer, const struct observe_section *section,
                   const struct observe_turn *turn)
{
    return section->every_ms > 0 && observer->now_ms >= turn->next_ms;
}

/* Where places are few, labels that come first must not displace the others. */
static void find_longest_due(void *context, struct member *member)
{
    struct observer *observer = context;
    bool free = !is_observed(observer, member);
    for (int i = 0; i < observer->options->section_count && free; i++) {
        const struct observe_section *section = &observer->options->sections[i];
        struct observe_turn *turn = turn_of(observer, member, section);
        if (turn == NULL || !turn->fits)
            continue;
        int64_t most_ms = observer->now_ms + backed_off(turn, section->every_ms);
        if (turn->next_ms > most_ms) /* the interval has become shorter */
            turn->next_ms = most_ms;
        if (is_due(observer, section, turn) && turn->next_ms < observer->longest_due_ms[i])
            observer->longest_due_ms[i] = turn->next_ms;
    }
}

static void look(struct observer *observer, struct member *member, int at)
{
    const struct observe_section *section = &observer->options->sections[at];
    struct observe_turn *turn = turn_of(observer, member, section);
    if (turn == NULL || !turn->fits)
        return;
    if (observe_section_on(section, OBSERVE_OUTSIDE) && outside_grew(member, section, turn) &&
        turn->cause == NULL) {
        turn->cause = OBSERVE_OUTSIDE;
        turn->asked_ms = observer->now_ms;
    }
    bool due = is_due(observer, section, turn) && turn->next_ms <= observer->longest_due_ms[at];
    if (!due && turn->cause == NULL)
        return;
    if (!due && observer->now_ms < turn->cool_ms) {
        refuse(observer, member, section, turn, OBSERVE_COOLDOWN,
               turn->failed > 0 ? "the last one failed" : "cooldown");
        return;
    }
    struct running *place = is_observed(observer, member) ? NULL : place_for(observer, section);
    if (place == NULL) { /* what is due waits */
        if (turn->cause != NULL && observer->now_ms - turn->asked_ms > PATIENCE_MS)
            refuse(observer, member, section, turn, OBSERVE_BUSY, "others were under way");
    } else if (!budget_left(observer)) {
        refuse(observer, member, section, turn, OBSERVE_OVER_BUDGET,
               "observations_cpu is used up for this hour");
    } else {
        start(observer, member, section, turn, place);
    }
}

static void look_at(void *context, struct member *member)
{
    struct observer *observer = context;
    for (int i = 0; i < observer->options->section_count; i++)
        look(observer, member, i);
}

/* --- results ---------------------------------------------------------------------------------- */

static uint32_t about(const struct observe_section *section)
{
    uint32_t kinds = 0;
    for (int kind = 0; kind < FINDING_WATCH_COUNT; kind++)
        if (observe_section_on(section, finding_row((enum finding_kind)kind)->id))
            kinds |= 1U << kind;
    return kinds;
}

static void remember(struct observer *observer, struct member *member,
                     const struct running *running, const struct observe_result *result,
                     const char *file)
{
    struct observation_view *views = member->observations;
    memmove(views + 1, views, (MEMBER_OBSERVATIONS - 1) * sizeof *views);
    memset(views, 0, sizeof *views);
    if (member->observation_count < MEMBER_OBSERVATIONS)
        member->observation_count++;
    snprintf(views->file, sizeof views->file, "%s", file);
    snprintf(views->section, sizeof views->section, "%s", running->section.name);
    snprintf(views->what, sizeof views->what, "%s", running->section.what);
    snprintf(views->sentence, sizeof views->sentence, "%.*s", (int)sizeof views->sentence - 1,
             result->sentence);
    views->unix_ms = observer->wall_ms;
    views->about = about(&running->section);
}

/* All texts; file: the name of the last one, which is the one for people. */
static bool write_texts(struct observer *observer, const struct running *running,
                        char file[ARCHIVE_NAME_MAX], char *error, size_t error_size)
{
    snprintf(error, error_size, "out of memory");
    for (int i = 0; i < running->format_count; i++) {
        char ending[48];
        size_t bytes;
        char *text = observe_child_text(running->child, i, &bytes);
        snprintf(ending, sizeof ending, "%s.%s", running->section.name,
                 running->format[i] == PROFILE_HTML ? "html" : "json");
        bool good =
            text != NULL && archive_put(observer->archive, running->label, running->pid, ending,
                                        observer->wall_ms, text, bytes, file, error, error_size);
        free(text);
        if (!good)
            return false;
    }
    return true;
}

static void wait_after(struct observer *observer, struct member *member,
                       const struct observe_section *section, bool good)
{
    struct observe_turn *turn = member != NULL ? turn_of(observer, member, section) : NULL;
    if (turn == NULL)
        return;
    turn->failed = good ? 0 : turn->failed + 1;
    if (good)
        return;
    int64_t next_ms = observer->now_ms + backed_off(turn, section->every_ms);
    int64_t cool_ms = observer->now_ms + backed_off(turn, section->cooldown_ms);
    if (section->every_ms > 0 && next_ms > turn->next_ms)
        turn->next_ms = next_ms;
    if (cool_ms > turn->cool_ms)
        turn->cool_ms = cool_ms;
}

static void finish(struct observer *observer, struct fleet *fleet, struct running *running,
                   const struct observe_result *result)
{
    char file[ARCHIVE_NAME_MAX], error[512], detail[OBSERVE_SENTENCE_MAX + ARCHIVE_NAME_MAX + 16];
    struct member *member = fleet_find(fleet, running->pid);
    if (member != NULL &&
        watcher_target(member->watcher)->start_time_ticks != running->start_time_ticks)
        member = NULL;
    spend(observer, result->cpu_us);
    wait_after(observer, member, &running->section, result->code == 0);
    if (result->code != 0) {
        observer->failed++;
        say("failed:", &running->section, running->label, running->pid, result->sentence);
        return;
    }
    observer->folder_changed = true;
    if (!write_texts(observer, running, file, error, sizeof error)) {
        observer->failed++;
        say("result not written:", &running->section, running->label, running->pid, error);
        return;
    }
    snprintf(detail, sizeof detail, "%s; file %s", result->sentence, file);
    say("seen of", &running->section, running->label, running->pid, detail);
    if (member != NULL)
        remember(observer, member, running, result, file);
}

static void take_results(struct observer *observer, struct fleet *fleet)
{
    for (int i = 0; i < RUNNING_MAX; i++) {
        struct running *running = &observer->running[i];
        struct observe_result result;
        if (running->child == NULL || !observe_child_ended(running->child, &result))
            continue;
        finish(observer, fleet, running, &result);
        observe_child_close(running->child);
        running->child = NULL;
    }
}

void observer_turn(struct observer *observer, struct fleet *fleet, int64_t now_ms, int64_t wall_ms)
{
    observer->now_ms = now_ms;
    observer->wall_ms = wall_ms;
    observer->fits_left = FITS_A_TURN;
    take_results(observer, fleet);
    int64_t before = -1;
    while (observer->archive != NULL && observer->options->section_count > 0 &&
           before != observer->started) {
        before = observer->started;
        for (int i = 0; i < OBSERVE_SECTIONS_MAX; i++)
            observer->longest_due_ms[i] = INT64_MAX;
        fleet_each(fleet, find_longest_due, observer);
        fleet_each(fleet, look_at, observer);
    }
    if (observer->folder_changed)
        observer_tidy(observer, wall_ms);
    observer->folder_changed = false;
}

/* --- findings --------------------------------------------------------------------------------- */

void observer_alert(struct observer *observer, struct fleet *fleet, int64_t pid,
                    const struct alert *alert, int64_t now_ms)
{
    struct member *member = fleet_find(fleet, pid);
    const char *id = finding_row(alert->finding.kind)->id;
    observer->fits_left = INT_MAX;
    for (int i = 0; member != NULL && alert->state == ALERT_RAISED && observer->archive != NULL &&
                    i < observer->options->section_count;
         i++) {
        const struct observe_section *section = &observer->options->sections[i];
        struct observe_turn *turn =
            observe_section_on(section, id) ? turn_of(observer, member, section) : NULL;
        if (turn == NULL || !turn->fits || turn->cause != NULL)
            continue;
        turn->cause = id;
        turn->asked_ms = now_ms;
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static struct archive_bounds bounds_of(const struct serve_options *options)
{
    return (struct archive_bounds){.keep_bytes = options->observations_bytes,
                                   .keep_files = options->observations_files,
                                   .keep_ms = options->keep_ms};
}

struct observer *observer_create(const struct serve_options *options, char *error,
                                 size_t error_size)
{
    struct observer *observer = calloc(1, sizeof *observer);
    struct archive_bounds bounds = bounds_of(options);
    if (observer == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    observer->options = options;
    if (options->observations[0] == '\0' ||
        (observer->archive =
             archive_open_results(options->observations, &bounds, error, error_size)) != NULL)
        return observer;
    free(observer);
    return NULL;
}

void observer_reload(struct observer *observer)
{
    struct archive_bounds bounds = bounds_of(observer->options);
    if (observer->archive != NULL)
        archive_set_bounds(observer->archive, &bounds);
}

void observer_tidy(struct observer *observer, int64_t wall_ms)
{
    if (observer->archive != NULL)
        archive_tidy(observer->archive, wall_ms);
}

void observer_counts(const struct observer *observer, struct own_view *own)
{
    own->observing = observer->archive != NULL;
    own->observations_started = observer->started;
    own->observations_failed = observer->failed;
    own->observations_cpu_us = observer->cpu_us;
    memcpy(own->observations_refused, observer->refused, sizeof observer->refused);
    for (int i = 0; i < RUNNING_MAX; i++)
        own->observations_running += observer->running[i].child != NULL;
    if (observer->archive == NULL)
        return;
    struct archive_counts counts = archive_counts(observer->archive);
    own->observations_bytes = counts.bytes;
    own->observations_errors = counts.errors;
}

void observer_destroy(struct observer *observer)
{
    if (observer == NULL)
        return;
    for (int i = 0; i < RUNNING_MAX; i++)
        observe_child_close(observer->running[i].child);
    archive_close(observer->archive);
    free(observer);
}
