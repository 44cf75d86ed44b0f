#include "nmtwatch/serve/member.h"

#include "nmtwatch/jvm/proc.h"
#include "analyzers/parse/proc_text.h"
#include "reports/text/units.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

/* --- events ------------------------------------------------------------------------- */

static float spark_value(bool known, int64_t value)
{
    return known ? (float)value : SPARK_MISSING;
}

static void take_spark(struct member *member, int64_t ms)
{
    if (!sparkline_due(&member->spark, ms))
        return;
    const struct sample *latest = watcher_latest(member->watcher);
    struct judge_view view;
    judge_view(watcher_judge(member->watcher), &view);
    int64_t rss = 0, loaded = 0, unloaded = 0;
    bool have_rss = sample_get(latest, SAMPLE_RSS_BYTES, &rss);
    bool have_classes = sample_get(latest, SAMPLE_CLASSES_LOADED, &loaded);
    sample_get(latest, SAMPLE_CLASSES_UNLOADED, &unloaded);
    const float values[SPARK_COUNT] = {
        [SPARK_RSS] = spark_value(have_rss, rss),
        [SPARK_INTERNAL] = spark_value(view.have_internal, view.internal_bytes),
        [SPARK_CLASS_METASPACE] =
            spark_value(view.have_class_metaspace, view.class_metaspace_bytes),
        [SPARK_CLASSES] = spark_value(have_classes, loaded - unloaded),
    };
    sparkline_add(&member->spark, ms, values);
}

static void take_first(struct member *member, const struct event *event)
{
    if (sample_has_nmt(&member->first) || !sample_has_nmt(&event->sample))
        return;
    member->first = event->sample;
    member->first_ms = event->ms;
}

void member_begin_anew(struct member *member)
{
    sample_clear(&member->first);
    watcher_begin_anew(member->watcher, watched_ms(member->watched));
}

static size_t family_at_name(const char *name)
{
    const struct family *family = family_by_id(name);
    return family != NULL ? family_index(family) : FAMILY_COUNT;
}

/* A list of live classes shows only that there are more than in the one before. */
static void count_families(struct member *member, const struct names_event *names)
{
    struct {
        int64_t loads, unloads;
    } seen[FAMILY_COUNT + 1] = {0};
    int list = names->method != CENSUS_LOAD_LOG ? 1 + (int)names->method : 0;
    bool again = list == member->list;
    if (member->families == NULL)
        member->families = calloc(FAMILY_COUNT + 1, sizeof *member->families);
    if (member->families == NULL)
        return;
    member->list = list;
    for (int i = 0; i < names->row_count; i++) {
        size_t at = family_at_name(names->rows[i].family);
        seen[at].loads += names->rows[i].loads;
        seen[at].unloads += names->rows[i].unloads;
    }
    for (int i = 0; i <= FAMILY_COUNT; i++) {
        struct family_count *count = &member->families[i];
        if (list == 0) {
            flow_count_add(&count->loads, names->load_log, seen[i].loads);
            flow_count_add(&count->unloads, names->load_log, seen[i].unloads);
            continue;
        }
        if (again && seen[i].loads > count->listed)
            count->loads.total += seen[i].loads - count->listed;
        count->listed = seen[i].loads;
    }
}

static void top_begin(struct top_view *top)
{
    *top = (struct top_view){.have = true};
}

static void top_add(struct top_view *top, const char *name, int64_t number)
{
    char cut[sizeof top->rows->name];
    snprintf(cut, sizeof cut, "%.*s", (int)sizeof cut - 1, name);
    int at = 0;
    while (at < top->count && strcmp(top->rows[at].name, cut) != 0)
        at++;
    if (at == TOP_VIEWS)
        return;
    if (at == top->count)
        memcpy(top->rows[top->count++].name, cut, sizeof cut);
    top->rows[at].number += number;
}

/* What is left of all is that of names that have no row. */
static void top_end(struct top_view *top, int64_t all)
{
    for (int i = 0; i < top->count; i++)
        all -= top->rows[i].number;
    top->others = all > 0 ? all : 0;
}

static void take_loaders(struct member *member, const struct loaders_event *loaders)
{
    top_begin(&member->loaders);
    for (int i = 0; i < loaders->row_count; i++)
        top_add(&member->loaders, loaders->rows[i].type, loaders->rows[i].loaders);
    top_end(&member->loaders, loaders->loaders);
    if (!member->had_loaders)
        member->had_loaders = member->remember = true;
}

static void take_methods(struct member *member, const struct methods_event *methods)
{
    top_begin(&member->methods);
    for (int i = 0; i < methods->row_count; i++)
        top_add(&member->methods, methods->rows[i].family, methods->rows[i].methods);
    top_end(&member->methods, methods->methods);
}

static void take_alert(struct member *member, const struct alert *alert)
{
    member->remember = true;
    if (alert->state == ALERT_RAISED)
        member->raised[alert->finding.severity]++;
    if (member->recording != NULL)
        archive_file_alert(member->recording, alert);
}

void member_event(struct member *member, const struct event *event, const struct alerts *alerts)
{
    switch (event->kind) {
    case EVENT_SAMPLE:
        take_first(member, event);
        take_spark(member, event->ms);
        break;
    case EVENT_NAMES:
        count_families(member, &event->names);
        if (event->names.method == CENSUS_LOAD_LOG) {
            member->names_from_ms = event->names.from_ms;
            member->names_ms = event->ms;
        }
        break;
    case EVENT_LOADERS:
        take_loaders(member, &event->loaders);
        break;
    case EVENT_NOTE:
    case EVENT_BASELINE:
    case EVENT_GONE:
        snprintf(member->note, sizeof member->note, "%.*s", (int)sizeof member->note - 1,
                 event->text);
        break;
    case EVENT_METHODS:
        take_methods(member, &event->methods);
        break;
    case EVENT_HISTOGRAM:
    case EVENT_CALLERS:
    case EVENT_COST:
    case EVENT_KIND_COUNT:
        break;
    }
    if (member->recording != NULL)
        archive_file_event(member->recording, event);
    for (int i = 0; i < alerts->count; i++)
        take_alert(member, &alerts->alert[i]);
}

void member_mention(const struct member *member, struct finding *finding)
{
    for (int i = 0; i < member->observation_count; i++) {
        const struct observation_view *view = &member->observations[i];
        if ((view->about >> finding->kind & 1) == 0)
            continue;
        finding_add_text(finding, "observed", view->sentence);
        finding_add_text(finding, "observation", view->file);
        return;
    }
}

/* --- life ------------------------------------------------------------------------------------- */

struct member *member_create(struct watching *watching, const struct target *target,
                             const struct member_facts *facts)
{
    struct member *member = calloc(1, sizeof *member);
    if (member == NULL)
        return NULL;
    int64_t origin_ms = watching->now_ms - (facts->wall_ms - facts->wall_start_ms);
    member->wall_start_ms = facts->wall_start_ms;
    member->start_unix_ms = facts->wall_ms - proc_uptime_ms(target->start_time_ticks);
    snprintf(member->label, sizeof member->label, "%s", facts->label);
    snprintf(member->user, sizeof member->user, "%s", facts->user);
    snprintf(member->cgroup, sizeof member->cgroup, "%.*s", (int)sizeof member->cgroup - 1,
             facts->cgroup);
    member->place = facts->place;
    member->watched = watching_add(watching, target, origin_ms, facts->first_poll_ms, member);
    if (member->watched != NULL) {
        member->watcher = member->watched->watcher;
        ending_open(&member->ending, target);
        return member;
    }
    int saved = errno;
    free(member);
    errno = saved;
    return NULL;
}

void member_continue(struct member *member, const struct member *before)
{
    member->first = before->first;
    member->first_ms = before->first_ms;
    member->spark = before->spark;
    member->families = before->families;
    /* Its load logs are numbered from 1 again. */
    for (int i = 0; member->families != NULL && i <= FAMILY_COUNT; i++)
        member->families[i].loads.load_log = member->families[i].unloads.load_log = 0;
    member->loaders = before->loaders;
    member->methods = before->methods;
    memcpy(member->raised, before->raised, sizeof member->raised);
    memcpy(member->note, before->note, sizeof member->note);
    memcpy(member->turns, before->turns, sizeof member->turns);
    member->observation_count = before->observation_count;
    memcpy(member->observations, before->observations, sizeof member->observations);
}

void member_destroy(struct member *member)
{
    if (member == NULL)
        return;
    watching_remove(member->watched);
    archive_file_close(member->recording);
    ending_close(&member->ending);
    free(member->families);
    free(member);
}

/* --- the view --------------------------------------------------------------------------------- */

static void view_verdict(struct verdict_view *view, const struct verdict *verdict, bool have_level,
                         int64_t level_bytes, int64_t growth_bytes)
{
    view->known = verdict->points > 0;
    view->state = verdict->state;
    view->answer = verdict->answer;
    view->have_slope = verdict->have_slope;
    view->slope_bytes_per_h = verdict->slope_bytes_per_h;
    view->have_level = have_level;
    view->level_bytes = level_bytes;
    view->growth_bytes = growth_bytes;
    memcpy(view->sentence, verdict->sentence, sizeof view->sentence);
}

void member_view(const struct member *member, struct target_view *view)
{
    const struct target *target = watcher_target(member->watcher);
    const struct target_identity *identity = &target->identity;
    struct judge_view judged;
    judge_view(watcher_judge(member->watcher), &judged);

    memcpy(view->label, member->label, sizeof view->label);
    memcpy(view->main, identity->main, sizeof view->main);
    memcpy(view->jdk, identity->jdk, sizeof view->jdk);
    memcpy(view->user, member->user, sizeof view->user);
    memcpy(view->cgroup, member->cgroup, sizeof view->cgroup);
    view->place = member->place;
    memcpy(view->nmt_level, identity->nmt_level, sizeof view->nmt_level);
    memcpy(view->note, member->note, sizeof view->note);
    if (member->recording != NULL)
        snprintf(view->recording, sizeof view->recording, "%s",
                 archive_file_name(member->recording));
    view->pid = identity->pid;
    view->start_unix_ms = member->start_unix_ms;
    view->since_unix_ms = member->wall_start_ms;
    view->latest = *watcher_latest(member->watcher);
    view->counts = watcher_counts(member->watcher);
    view->up = view->counts.polls > 0 && view->counts.failing == FAILURE_NONE;
    view->warm = judged.warm;
    view->have_rates = judged.have_rates;
    view->load_per_s = judged.load_per_s;
    view->unload_per_s = judged.unload_per_s;
    view_verdict(&view->internal, &judged.internal_verdict, judged.have_internal,
                 judged.internal_bytes, judged.internal_growth_bytes);
    view_verdict(&view->class_metaspace, &judged.class_metaspace_verdict,
                 judged.have_class_metaspace, judged.class_metaspace_bytes,
                 judged.class_metaspace_growth_bytes);
    view->active_alerts = judged.active_alerts;
    view->worst_active = judged.worst_active;
    memcpy(view->raised, member->raised, sizeof view->raised);
    view->spark = member->spark;
    view->loaders = member->loaders;
    view->methods = member->methods;
}

int member_families(const struct member *member, int target, struct family_view *out, int max)
{
    int count = 0;
    for (int i = 0; member->families != NULL && i <= FAMILY_COUNT && count < max; i++) {
        const struct family_count *family = &member->families[i];
        if (family->loads.total > 0 || family->unloads.total > 0)
            out[count++] = (struct family_view){.target = target,
                                                .family = i,
                                                .loads = family->loads.total,
                                                .unloads = family->unloads.total};
    }
    return count;
}

void member_now(const struct target_view *view, struct finding *finding)
{
    char text[300] = "";
    int64_t rss = 0, loaded = 0, unloaded = 0;
    if (sample_get(&view->latest, SAMPLE_RSS_BYTES, &rss))
        text_add(text, sizeof text, "RSS %s", units_bytes(rss).text);
    if (view->internal.have_level)
        text_add(text, sizeof text, ", Internal %s", units_bytes(view->internal.level_bytes).text);
    if (view->class_metaspace.have_level)
        text_add(text, sizeof text, ", Class + Metaspace %s",
                 units_bytes(view->class_metaspace.level_bytes).text);
    if (sample_get(&view->latest, SAMPLE_CLASSES_LOADED, &loaded)) {
        sample_get(&view->latest, SAMPLE_CLASSES_UNLOADED, &unloaded);
        text_add(text, sizeof text, ", %s classes", units_count(loaded - unloaded).text);
    }
    if (view->have_rates)
        text_add(text, sizeof text, " (+%s -%s)", units_rate(view->load_per_s).text,
                 units_rate(view->unload_per_s).text);
    finding_add_text(finding, "now", text);
}

void member_ended(const struct member *member, const struct alert *alerts, int count,
                  int64_t wall_ms, struct ended_view *view)
{
    const struct target *target = watcher_target(member->watcher);
    *view = (struct ended_view){.pid = target->pid,
                                .ended_unix_ms = wall_ms,
                                .lived_ms = wall_ms - member->start_unix_ms,
                                .latest = *watcher_latest(member->watcher),
                                .active_alerts = count};
    memcpy(view->label, member->label, sizeof view->label);
    memcpy(view->main, target->identity.main, sizeof view->main);
    view->out_of_memory = ending_describe(&member->ending, target, view->how, sizeof view->how);
    if (member->recording != NULL)
        snprintf(view->recording, sizeof view->recording, "%s",
                 archive_file_name(member->recording));
    for (int severity = SEVERITY_CRITICAL; severity >= SEVERITY_INFO; severity--)
        for (int i = 0; i < count; i++) {
            const struct finding *finding = &alerts[i].finding;
            if ((int)finding->severity != severity)
                continue;
            view->worst = view->findings[0] == '\0' ? finding->severity : view->worst;
            text_add(view->findings, sizeof view->findings, "%s%s",
                     view->findings[0] != '\0' ? "; " : "", finding->title);
        }
}

/* --- facts ----------------------------------------------------------------------------------- */

void facts_cgroup_path(struct span text, char *out, size_t size)
{
    struct span line;
    out[0] = '\0';
    while (span_take_line(&text, &line)) {
        bool unified = span_starts_with(line, SPAN_LITERAL("0::"));
        ptrdiff_t first = span_find(line, SPAN_LITERAL(":"));
        if (first < 0)
            continue;
        struct span rest = span_of(line.ptr + first + 1, line.len - (size_t)first - 1);
        ptrdiff_t second = span_find(rest, SPAN_LITERAL(":"));
        if (second < 0 || (!unified && out[0] != '\0'))
            continue;
        span_copy(span_of(rest.ptr + second + 1, rest.len - (size_t)second - 1), out, size);
        /* "/" of version 2 says nothing where version 1 does the grouping. */
        if (unified && strcmp(out, "/") != 0)
            return;
    }
}

void facts_user_name(uid_t uid, char *out, size_t size)
{
    char link[64];
    snprintf(link, sizeof link, "/run/systemd/dynamic-uid/direct:%u", (unsigned)uid);
    ssize_t length = readlink(link, out, size);
    if (length > 0 && (size_t)length < size) {
        out[length] = '\0';
        return;
    }
    snprintf(out, size, "%u", (unsigned)uid);
    FILE *file = fopen("/etc/passwd", "re");
    if (file == NULL)
        return;
    for (struct passwd *entry; (entry = fgetpwent(file)) != NULL;) {
        if (entry->pw_uid != uid)
            continue;
        snprintf(out, size, "%s", entry->pw_name);
        break;
    }
    fclose(file);
}

void facts_read(struct facts *facts, const struct target *target)
{
    *facts = (struct facts){0};
    snprintf(facts->main, sizeof facts->main, "%s", target->identity.main);
    if (target->identity.jdk_major > 0)
        snprintf(facts->jdk, sizeof facts->jdk, "%d", target->identity.jdk_major % 1000);
    snprintf(facts->uid, sizeof facts->uid, "%u", (unsigned)target->uid);
    facts_user_name(target->uid, facts->user, sizeof facts->user);
    struct span cgroup = proc_read(target->pid, "cgroup");
    if (cgroup.ptr != NULL)
        facts_cgroup_path(cgroup, facts->cgroup, sizeof facts->cgroup);
    free((void *)cgroup.ptr);
    facts->pid = target->pid;
    gethostname(facts->host, sizeof facts->host - 1);
    facts->environment = proc_read(target->pid, "environ");
    facts->command_line = proc_read(target->pid, "cmdline");
    target_place_of(facts->cgroup, &facts->place);
    struct span name = proc_environ_value(facts->environment, SPAN_LITERAL("HOSTNAME"));
    if (facts->place.pod[0] != '\0' && name.len > 0 &&
        !span_equals(name, span_from_cstr(facts->host)))
        span_copy(name, facts->place.pod, sizeof facts->place.pod);
}

/* The last -DNAME=value wins, as in the JVM. */
static bool find_property(struct span arguments, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);
    bool found = false;
    while (arguments.len > 0) {
        const char *end = memchr(arguments.ptr, '\0', arguments.len);
        size_t piece = end != NULL ? (size_t)(end - arguments.ptr) : arguments.len;
        if (piece > length + 3 && memcmp(arguments.ptr, "-D", 2) == 0 &&
            memcmp(arguments.ptr + 2, name, length) == 0 && arguments.ptr[length + 2] == '=') {
            span_copy(span_of(arguments.ptr + length + 3, piece - length - 3), out, size);
            found = true;
        }
        size_t step = piece < arguments.len ? piece + 1 : piece;
        arguments = span_of(arguments.ptr + step, arguments.len - step);
    }
    return found;
}

static bool look_up(void *context, bool property, const char *name, char *out, size_t size)
{
    struct facts *facts = context;
    if (property)
        return facts->command_line.ptr != NULL &&
               find_property(facts->command_line, name, out, size);
    if (facts->environment.ptr == NULL)
        return false;
    struct span value = proc_environ_value(facts->environment, span_from_cstr(name));
    if (value.ptr != NULL)
        span_copy(value, out, size);
    return value.ptr != NULL;
}

struct target_facts facts_view(struct facts *facts)
{
    return (struct target_facts){.pid = facts->pid,
                                 .main = facts->main,
                                 .user = facts->user,
                                 .uid = facts->uid,
                                 .cgroup = facts->cgroup,
                                 .jdk = facts->jdk,
                                 .host = facts->host,
                                 .place = facts->place,
                                 .look_up = look_up,
                                 .context = facts};
}

void facts_free(struct facts *facts)
{
    free((void *)facts->environment.ptr);
    free((void *)facts->command_line.ptr);
    *facts = (struct facts){0};
}
