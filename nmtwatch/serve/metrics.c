#include "nmtwatch/serve/views.h"

#include "analyzers/classes/family.h"

#include <math.h>

#define EACH_TARGET(snapshot, target)                                                              \
    for (const struct target_view *target = (snapshot)->targets,                                   \
                                  *end_ = target + (snapshot)->target_count;                       \
         target < end_; target++)

static void family(struct exposition *out, const char *name, enum exposition_type type,
                   const char *unit, const char *help)
{
    exposition_family(out, name, type, unit, help);
}

static void of(struct exposition *out, const struct target_view *target)
{
    exposition_label(out, "target", target->label);
}

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

/* --- what a sample holds ---------------------------------------------------------------------- */

static struct exposition *one_text(void *out, const char *label)
{
    (void)label;
    return out;
}

static void write_samples(const struct snapshot *snapshot, struct exposition *out)
{
    for (int i = 0; i >= 0; i = sample_metrics_next(i)) {
        sample_metrics_family(out, i);
        EACH_TARGET (snapshot, target) {
            const struct sample_source source = {.target = target->label,
                                                 .start_unix_s = seconds(target->start_unix_ms)};
            sample_metrics_write(i, &target->latest, &source, one_text, out);
        }
    }
}

/* --- what is thought of it -------------------------------------------------------------------- */

static const struct verdict_view *series_of(const struct target_view *target, int series,
                                            const char **name)
{
    *name = series == 0 ? "internal" : "class_metaspace";
    return series == 0 ? &target->internal : &target->class_metaspace;
}

enum verdict_figure { FIGURE_LEVEL, FIGURE_GROWTH, FIGURE_SLOPE, FIGURE_SLOPE_LOW, FIGURE_GROWING };

static bool verdict_figure(const struct verdict_view *verdict, enum verdict_figure figure,
                           bool warm, double *value)
{
    switch (figure) {
    case FIGURE_LEVEL:
        *value = (double)verdict->level_bytes;
        return verdict->have_level;
    case FIGURE_GROWTH:
        *value = (double)verdict->growth_bytes;
        return verdict->have_level && warm;
    case FIGURE_SLOPE:
        *value = verdict->slope_bytes_per_h.value / 3600;
        return verdict->have_slope;
    case FIGURE_SLOPE_LOW:
        *value = verdict->slope_bytes_per_h.low / 3600;
        return verdict->have_slope && isfinite(verdict->slope_bytes_per_h.low);
    case FIGURE_GROWING:
        *value = verdict->answer == VERDICT_GROWING;
        return verdict->known && verdict->answer != VERDICT_UNDECIDED;
    }
    return false;
}

static void write_verdict_figure(const struct snapshot *snapshot, struct exposition *out,
                                 enum verdict_figure figure)
{
    EACH_TARGET (snapshot, target) {
        for (int series = 0; series < 2; series++) {
            const char *name;
            double value;
            const struct verdict_view *verdict = series_of(target, series, &name);
            if (!verdict_figure(verdict, figure, target->warm, &value))
                continue;
            of(out, target);
            exposition_label(out, "series", name);
            exposition_real(out, value);
        }
    }
}

static void write_verdicts(const struct snapshot *snapshot, struct exposition *out)
{
    family(out, "nmtwatch_series_bytes", EXPOSITION_GAUGE, "bytes",
           "What a verdict is about: Internal as this JDK means it, and Class with Metaspace.");
    write_verdict_figure(snapshot, out, FIGURE_LEVEL);
    family(out, "nmtwatch_series_growth_bytes", EXPOSITION_GAUGE, "bytes",
           "Growth since the baseline at the end of warm-up.");
    write_verdict_figure(snapshot, out, FIGURE_GROWTH);
    family(out, "nmtwatch_growth_bytes_per_second", EXPOSITION_GAUGE, "",
           "Slope of the last homogeneous window of the series.");
    write_verdict_figure(snapshot, out, FIGURE_SLOPE);
    family(out, "nmtwatch_growth_low_bytes_per_second", EXPOSITION_GAUGE, "",
           "Lower bound of that slope, 95 percent.");
    write_verdict_figure(snapshot, out, FIGURE_SLOPE_LOW);
    family(out, "nmtwatch_verdict_growing", EXPOSITION_GAUGE, "",
           "1: the series grows, 0: it does not; absent while it is not known.");
    write_verdict_figure(snapshot, out, FIGURE_GROWING);
    family(out, "nmtwatch_verdict_state", EXPOSITION_GAUGE, "",
           "1 at the state of the verdict (docs/verdict.md).");
    EACH_TARGET (snapshot, target) {
        for (int series = 0; series < 2; series++) {
            const char *name;
            const struct verdict_view *verdict = series_of(target, series, &name);
            if (!verdict->known)
                continue;
            of(out, target);
            exposition_label(out, "series", name);
            exposition_label(out, "state", verdict_state_name(verdict->state));
            exposition_int(out, 1);
        }
    }
}

static const char *severity_label(enum severity severity)
{
    static const char *const names[] = {"info", "warning", "critical"};
    return names[severity];
}

/* No family for those that are not in the table: their names are the application's. */
static const char *family_label(int index)
{
    const struct family *row = index >= 0 ? family_at((size_t)index) : NULL;
    return row != NULL ? row->id : "unknown";
}

static void write_alerts(const struct snapshot *snapshot, struct exposition *out)
{
    family(out, "nmtwatch_alerts_active", EXPOSITION_GAUGE, "",
           "Alerts that are up, by finding (docs/runbooks).");
    for (int i = 0; i < snapshot->target_count; i++) {
        int active[FINDING_KIND_COUNT][SEVERITY_CRITICAL + 1] = {0};
        const struct target_view *target = &snapshot->targets[i];
        for (int f = 0; f < target->finding_count; f++) {
            const struct finding *finding = &snapshot->findings[target->first_finding + f].finding;
            active[finding->kind][finding->severity]++;
        }
        for (int kind = 0; kind < FINDING_WATCH_COUNT; kind++) {
            const struct finding_row *row = finding_row((enum finding_kind)kind);
            for (int severity = SEVERITY_INFO; severity <= SEVERITY_CRITICAL; severity++) {
                if (active[kind][severity] == 0 && severity != (int)row->severity)
                    continue;
                of(out, target);
                exposition_label(out, "finding", row->id);
                exposition_label(out, "severity", severity_label((enum severity)severity));
                exposition_int(out, active[kind][severity]);
            }
        }
    }
    family(out, "nmtwatch_alerts_raised", EXPOSITION_COUNTER, "", "Alerts raised.");
    EACH_TARGET (snapshot, target) {
        for (int severity = SEVERITY_INFO; severity <= SEVERITY_CRITICAL; severity++) {
            of(out, target);
            exposition_label(out, "severity", severity_label((enum severity)severity));
            exposition_created(out, seconds(snapshot->own.started_unix_ms));
            exposition_int(out, target->raised[severity]);
        }
    }
}

static void write_families(const struct snapshot *snapshot, struct exposition *out, bool unloads)
{
    if (unloads)
        family(out, "nmtwatch_family_unloads", EXPOSITION_COUNTER, "",
               "Generated classes seen to be unloaded, by who makes them.");
    else
        family(out, "nmtwatch_family_loads", EXPOSITION_COUNTER, "",
               "Generated classes seen to be loaded, by who makes them. Names are read above "
               "the trigger rate only (suspicion_rate_per_s).");
    for (int i = 0; i < snapshot->family_count; i++) {
        const struct family_view *view = &snapshot->families[i];
        of(out, &snapshot->targets[view->target]);
        exposition_label(out, "family", family_label(view->family));
        exposition_created(out, seconds(snapshot->own.started_unix_ms));
        exposition_int(out, unloads ? view->unloads : view->loads);
    }
}

static void write_top(const struct target_view *target, const struct top_view *top,
                      const char *label, struct exposition *out)
{
    for (int i = 0; i < top->count; i++) {
        of(out, target);
        exposition_label(out, label, top->rows[i].name);
        exposition_int(out, top->rows[i].number);
    }
    if (!top->have)
        return;
    of(out, target);
    exposition_label(out, label, "(other)");
    exposition_int(out, top->others);
}

static void write_tops(const struct snapshot *snapshot, struct exposition *out)
{
    family(out, "nmtwatch_class_loaders", EXPOSITION_GAUGE, "",
           "Class loaders by type; (other): the types with fewer.");
    EACH_TARGET (snapshot, target) {
        write_top(target, &target->loaders, "type", out);
    }
    family(
        out, "nmtwatch_family_methods", EXPOSITION_GAUGE, "",
        "Methods of loaded classes, by family of class names; (other): the families with fewer.");
    EACH_TARGET (snapshot, target) {
        write_top(target, &target->methods, "family", out);
    }
}

/* --- the watching ----------------------------------------------------------------------------- */

static void write_watching(const struct snapshot *snapshot, struct exposition *out)
{
    double began_s = seconds(snapshot->own.started_unix_ms);
    family(out, "nmtwatch_up", EXPOSITION_GAUGE, "", "1: the JVM is watched and answers.");
    EACH_TARGET (snapshot, target) {
        of(out, target);
        exposition_int(out, target->up);
    }
    family(out, "nmtwatch_target", EXPOSITION_INFO, "", "Who the target is.");
    EACH_TARGET (snapshot, target) {
        char pid[24];
        snprintf(pid, sizeof pid, "%lld", (long long)target->pid);
        of(out, target);
        exposition_label(out, "pid", pid);
        exposition_label(out, "main", target->main);
        exposition_label(out, "jdk", target->jdk);
        exposition_label(out, "user", target->user);
        exposition_label(out, "cgroup", target->cgroup);
        exposition_label(out, "unit", target->place.unit);
        exposition_label(out, "container", target->place.container);
        exposition_label(out, "pod", target->place.pod);
        exposition_label(out, "nmt", target->nmt_level);
        exposition_info(out);
    }
    family(out, "process_start_time_seconds", EXPOSITION_GAUGE, "seconds",
           "When the JVM started, since the epoch.");
    EACH_TARGET (snapshot, target) {
        of(out, target);
        exposition_real(out, seconds(target->start_unix_ms));
    }
    family(out, "nmtwatch_warm", EXPOSITION_GAUGE, "",
           "1: the JVM's start-up is over, growth counts from its baseline.");
    EACH_TARGET (snapshot, target) {
        of(out, target);
        exposition_int(out, target->warm);
    }
    family(out, "nmtwatch_polls", EXPOSITION_COUNTER, "", "Samples taken.");
    EACH_TARGET (snapshot, target) {
        of(out, target);
        exposition_created(out, began_s);
        exposition_int(out, target->counts.polls);
    }
    family(out, "nmtwatch_poll_duration_seconds", EXPOSITION_SUMMARY, "seconds",
           "Wall time of the questions the JVM answered.");
    EACH_TARGET (snapshot, target) {
        of(out, target);
        exposition_created(out, began_s);
        exposition_summary(out, (double)target->counts.answer_us / 1e6, target->counts.questions);
    }
    family(out, "nmtwatch_errors", EXPOSITION_COUNTER, "",
           "Questions that were not answered, by reason (docs/exit-codes.md).");
    EACH_TARGET (snapshot, target) {
        for (int kind = FAILURE_NONE + 1; kind < FAILURE_KIND_COUNT; kind++) {
            if (target->counts.failed[kind] == 0)
                continue;
            of(out, target);
            exposition_label(out, "reason", failure_reason((enum failure_kind)kind));
            exposition_created(out, began_s);
            exposition_int(out, target->counts.failed[kind]);
        }
    }
    family(out, "nmtwatch_questions_left_out", EXPOSITION_COUNTER, "",
           "Questions that were not asked because they would stop the application for too long, by "
           "reason.");
    EACH_TARGET (snapshot, target) {
        for (int at = 0; at < EXPENSIVE_COMMAND_COUNT * LEFT_OUT_COUNT; at++) {
            enum expensive_command command = (enum expensive_command)(at / LEFT_OUT_COUNT);
            enum left_out why = (enum left_out)(at % LEFT_OUT_COUNT);
            if (target->counts.left_out[command][why] == 0)
                continue;
            of(out, target);
            exposition_label(out, "command", expensive_command_text(command));
            exposition_label(out, "reason", left_out_reason(why));
            exposition_created(out, began_s);
            exposition_int(out, target->counts.left_out[command][why]);
        }
    }
    family(
        out, "nmtwatch_methods_wait_seconds", EXPOSITION_GAUGE, "seconds",
        "How long a JVM whose methods could not be counted waits for the next count, by reason.");
    EACH_TARGET (snapshot, target) {
        if (target->counts.methods_failed == 0)
            continue;
        of(out, target);
        exposition_label(out, "reason", target->counts.methods_why);
        exposition_real(out, seconds(target->counts.methods_wait_ms));
    }
    family(out, "nmtwatch_pause_seconds", EXPOSITION_COUNTER, "seconds",
           "For how long questions stopped the application, an upper bound.");
    EACH_TARGET (snapshot, target) {
        of(out, target);
        exposition_created(out, began_s);
        exposition_real(out, (double)target->counts.pause_us / 1e6);
    }
}

static void own_value(struct exposition *out, const char *name, enum exposition_type type,
                      const char *unit, double value, const char *help)
{
    family(out, name, type, unit, help);
    exposition_real(out, value);
}

static void write_observing(const struct own_view *own, struct exposition *out)
{
    static const char *const REASONS[OBSERVE_REFUSALS] = {
        [OBSERVE_OVER_BUDGET] = "budget",
        [OBSERVE_BUSY] = "busy",
        [OBSERVE_COOLDOWN] = "cooldown",
        [OBSERVE_NO_PROCESS] = "no process",
    };
    own_value(out, "nmtwatch_observations_running", EXPOSITION_GAUGE, "", own->observations_running,
              "Observations from outside that are under way.");
    own_value(out, "nmtwatch_observations_started", EXPOSITION_COUNTER, "",
              own->observations_started, "Observations started.");
    own_value(out, "nmtwatch_observations_failed", EXPOSITION_COUNTER, "", own->observations_failed,
              "Those that gave no result.");
    family(out, "nmtwatch_observations_refused", EXPOSITION_COUNTER, "",
           "Observations that were not started.");
    for (int i = 0; i < OBSERVE_REFUSALS; i++) {
        exposition_label(out, "reason", REASONS[i]);
        exposition_created(out, seconds(own->started_unix_ms));
        exposition_int(out, own->observations_refused[i]);
    }
    own_value(out, "nmtwatch_observations_cpu_seconds", EXPOSITION_COUNTER, "seconds",
              own->observations_cpu_us / 1e6, "CPU time that observations took.");
    own_value(out, "nmtwatch_observations_bytes", EXPOSITION_GAUGE, "bytes",
              own->observations_bytes, "Size of the folder of their results.");
}

static void write_own(const struct snapshot *snapshot, struct exposition *out)
{
    const struct own_view *own = &snapshot->own;
    const struct {
        const char *name;
        enum exposition_type type;
        const char *unit;
        double value;
        const char *help;
    } rows[] = {
        {"nmtwatch_targets", EXPOSITION_GAUGE, "", snapshot->target_count, "JVMs watched."},
        {"nmtwatch_targets_seen", EXPOSITION_COUNTER, "", own->targets_seen,
         "JVMs watched so far."},
        {"nmtwatch_jvms_excluded", EXPOSITION_GAUGE, "", own->refused,
         "JVMs that the rules leave out."},
        {"nmtwatch_jvms_over_limit", EXPOSITION_GAUGE, "", own->over_limit,
         "JVMs that are not watched because max_targets or max_targets_per_user is reached."},
        {"nmtwatch_discovery_postponed", EXPOSITION_COUNTER, "", (double)own->postponed,
         "Inspections of processes postponed because the time budget of their user was used up."},
        {"nmtwatch_reply_bytes", EXPOSITION_GAUGE, "bytes", (double)own->reply_bytes,
         "Memory held for replies of JVMs."},
        {"nmtwatch_replies_refused", EXPOSITION_COUNTER, "", own->replies_refused,
         "Times that reply_memory or reply_memory_per_user was used up."},
        {"nmtwatch_http_connections_displaced", EXPOSITION_COUNTER, "", own->displaced,
         "Connections that gave way to newer ones."},
        {"nmtwatch_processes_unreadable", EXPOSITION_GAUGE, "", own->unreadable,
         "Processes of other users that may be JVMs."},
        {"nmtwatch_processes_held", EXPOSITION_GAUGE, "", own->held,
         "Processes that may be JVMs and are passed by because reading them does not end."},
        {"nmtwatch_targets_held", EXPOSITION_GAUGE, "", own->passed_by,
         "Processes that were read and are passed by for a while because that did not end."},
        {"nmtwatch_workers", EXPOSITION_GAUGE, "", own->workers,
         "Processes of nmtwatch that read JVMs, one for each owner of JVMs."},
        {"nmtwatch_workers_late", EXPOSITION_COUNTER, "", (double)own->workers_late,
         "Workers that did not answer in time and were left behind."},
        {"nmtwatch_workers_died", EXPOSITION_COUNTER, "", (double)own->workers_died,
         "Workers that ended in the middle of a request."},
        {"nmtwatch_discoveries", EXPOSITION_COUNTER, "", own->scans, "Scans for new JVMs."},
        {"nmtwatch_discovery_cpu_seconds", EXPOSITION_COUNTER, "seconds", own->scan_cpu_us / 1e6,
         "CPU time of these scans."},
        {"nmtwatch_process_cpu_seconds", EXPOSITION_COUNTER, "seconds", own->cpu_us / 1e6,
         "CPU time of nmtwatch itself and of its workers."},
        {"nmtwatch_children_cpu_seconds", EXPOSITION_COUNTER, "seconds", own->children_cpu_us / 1e6,
         "CPU time of processes of nmtwatch that count methods and look for callers."},
        {"nmtwatch_process_resident_memory_bytes", EXPOSITION_GAUGE, "bytes", own->rss_bytes,
         "Resident memory of nmtwatch itself, and of its workers what they do not share."},
        {"nmtwatch_process_open_fds", EXPOSITION_GAUGE, "", own->open_fds,
         "Descriptors nmtwatch has open."},
        {"nmtwatch_process_start_time_seconds", EXPOSITION_GAUGE, "seconds",
         seconds(own->started_unix_ms), "When nmtwatch serve started."},
        {"nmtwatch_recording_bytes", EXPOSITION_GAUGE, "bytes", own->recording_bytes,
         "Size of the folder of recordings."},
        {"nmtwatch_recording_errors", EXPOSITION_COUNTER, "", own->recording_errors,
         "Recordings that could not be written."},
        {"nmtwatch_state_errors", EXPOSITION_COUNTER, "", own->state_errors,
         "Times the state for a restart could not be written."},
        {"nmtwatch_config_reload_success", EXPOSITION_GAUGE, "", own->config_good,
         "1: the configuration was good when it was last read."},
        {"nmtwatch_snapshot_time_seconds", EXPOSITION_GAUGE, "seconds", seconds(snapshot->unix_ms),
         "When these values were put together: old means that the loop hangs."},
    };
    family(out, "nmtwatch_build", EXPOSITION_INFO, "", "The version of nmtwatch.");
    exposition_label(out, "version", NMTWATCH_VERSION);
    exposition_info(out);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        own_value(out, rows[i].name, rows[i].type, rows[i].unit, rows[i].value, rows[i].help);
    family(out, "nmtwatch_http_requests", EXPOSITION_COUNTER, "", "Requests answered, by status.");
    for (int digit = 2; digit <= 5; digit++) {
        const char code[] = {(char)('0' + digit), 'x', 'x', '\0'};
        exposition_label(out, "code", code);
        exposition_int(out, own->http_answers[digit]);
    }
    if (own->observing)
        write_observing(own, out);
    if (own->notifying) {
        own_value(out, "nmtwatch_notifications", EXPOSITION_COUNTER, "", own->notified,
                  "Alerts handed to the command.");
        own_value(out, "nmtwatch_notifications_failed", EXPOSITION_COUNTER, "", own->notify_failed,
                  "Those it did not take.");
    }
    if (!own->delivering)
        return;
    own_value(out, "nmtwatch_delivery_queued", EXPOSITION_GAUGE, "", own->queued,
              "Alerts on their way.");
    own_value(out, "nmtwatch_delivery_delivered", EXPOSITION_COUNTER, "", own->delivered,
              "Alerts delivered.");
    own_value(out, "nmtwatch_delivery_retried", EXPOSITION_COUNTER, "", own->delivery_retried,
              "Deliveries tried again.");
    own_value(out, "nmtwatch_delivery_lost", EXPOSITION_COUNTER, "",
              (own->delivery_refused + own->delivery_overflow),
              "Alerts that a receiver refused, or that found no room in the queue.");
}

void metrics_write(const struct snapshot *snapshot, struct exposition *out)
{
    write_watching(snapshot, out);
    write_samples(snapshot, out);
    write_verdicts(snapshot, out);
    write_alerts(snapshot, out);
    write_families(snapshot, out, false);
    write_families(snapshot, out, true);
    write_tops(snapshot, out);
    write_own(snapshot, out);
}
