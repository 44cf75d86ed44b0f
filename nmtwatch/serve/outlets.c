#include "nmtwatch/serve/outlets.h"

#include "nmtwatch/alert/notify.h"
#include "reports/text/escape.h"
#include "reports/json/event_json.h"
#include "nmtwatch/process/messages.h"

#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

#define STEP_MS   500 /* how often a notifier's children are looked after */
#define QUEUE_MAX 10000
#define RESEND_MS 60000

struct outlets {
    struct notifier *notifier;
    struct delivery *delivery;
    struct json_out json;
    int64_t notified;
};

static void on_word(void *context, const char *sentence)
{
    (void)context;
    print_error("nmtwatch serve: %s\n", sentence);
}

static bool open_delivery(struct outlets *outlets, const struct serve_options *options, char *error,
                          size_t error_size)
{
    struct receiver_options receivers[RECEIVERS_MAX];
    char queue[SERVE_PATH_MAX + 16];
    int count = serve_options_receivers(options, receivers);
    if (count == 0)
        return true;
    if (options->queue[0] != '\0')
        snprintf(queue, sizeof queue, "%s", options->queue);
    else
        snprintf(queue, sizeof queue, "%s/queue", options->state);
    const struct delivery_options delivery = {
        .receiver_count = count,
        .receivers = receivers,
        .queue_dir = queue,
        .queue_max = QUEUE_MAX,
        .resend_ms = RESEND_MS,
        .runbook_base = options->runbooks,
        .external_url = options->external_url,
    };
    outlets->delivery = delivery_create(&delivery, on_word, outlets, error, error_size);
    return outlets->delivery != NULL;
}

struct outlets *outlets_open(const struct serve_options *options, char *error, size_t error_size)
{
    struct outlets *outlets = calloc(1, sizeof *outlets);
    if (outlets == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    if (options->notify[0] != '\0')
        outlets->notifier = notifier_create(options->notify);
    if (open_delivery(outlets, options, error, error_size))
        return outlets;
    outlets_close(outlets);
    return NULL;
}

static void print(const char *target, int64_t pid, const struct alert *alert)
{
    bool raised = alert->state == ALERT_RAISED;
    int priority = !raised                                        ? LOG_NOTICE
                   : alert->finding.severity == SEVERITY_CRITICAL ? LOG_CRIT
                   : alert->finding.severity == SEVERITY_WARNING  ? LOG_WARNING
                                                                  : LOG_INFO;
    print_log("%s%s %s %s (pid %lld): %s\n", print_priority(STDOUT_FILENO, priority),
              raised ? "ALERT" : "CLEARED", severity_name(alert->finding.severity), target,
              (long long)pid, alert->finding.title);
}

/* The line of a recording, with the target's name in front. */
static void notify(struct outlets *outlets, const char *target, int64_t pid,
                   const struct alert *alert, int64_t now_ms)
{
    if (outlets->notifier == NULL)
        return;
    const char *line = event_json_alert(&outlets->json, pid, alert);
    char name[TARGET_LABEL_MAX * ESCAPE_GROWTH];
    char *whole;
    escape(ESCAPE_JSON, target, name, sizeof name);
    int length = line != NULL ? asprintf(&whole, "{\"target\":\"%s\",%s", name, line + 1) : -1;
    if (length < 0)
        return;
    outlets->notified++;
    notifier_send(outlets->notifier, alert, whole, (size_t)length, now_ms);
    free(whole);
}

void outlets_alert(struct outlets *outlets, const char *target, int64_t pid,
                   const struct alert *alert, int64_t wall_ms, int64_t now_ms)
{
    print(target, pid, alert);
    notify(outlets, target, pid, alert, now_ms);
    if (outlets->delivery != NULL)
        delivery_alert(outlets->delivery, target, alert, wall_ms, now_ms);
}

void outlets_ended(struct outlets *outlets, const char *target, int64_t pid,
                   const struct alert *alerts, int count, int64_t wall_ms, int64_t now_ms)
{
    for (int i = 0; i < count; i++) {
        struct alert over = alerts[i];
        over.state = ALERT_CLEARED;
        print(target, pid, &over);
        notify(outlets, target, pid, &over, now_ms);
    }
    if (outlets->delivery != NULL)
        delivery_target_ended(outlets->delivery, target, wall_ms, now_ms);
}

void outlets_see(struct outlets *outlets, const struct snapshot *snapshot, int64_t now_ms)
{
    if (outlets->delivery == NULL)
        return;
    for (int i = 0; i < snapshot->finding_count; i++) {
        const struct finding_view *view = &snapshot->findings[i];
        delivery_confirm(outlets->delivery, snapshot->targets[view->target].label, &view->finding,
                         view->started_unix_ms, now_ms);
    }
    delivery_sweep(outlets->delivery, snapshot->unix_ms, now_ms);
}

int64_t outlets_step(struct outlets *outlets, int64_t now_ms)
{
    int64_t wait_ms = outlets->notifier != NULL ? STEP_MS : INT64_MAX;
    if (outlets->notifier != NULL)
        notifier_step(outlets->notifier, now_ms);
    if (outlets->delivery != NULL) {
        int64_t delivery_ms = delivery_step(outlets->delivery, now_ms);
        wait_ms = delivery_ms < wait_ms ? delivery_ms : wait_ms;
    }
    return wait_ms;
}

int outlets_fd(const struct outlets *outlets)
{
    return outlets->delivery != NULL ? delivery_fd(outlets->delivery) : -1;
}

void outlets_counts(const struct outlets *outlets, struct own_view *own)
{
    own->notifying = outlets->notifier != NULL;
    own->notified = outlets->notified;
    own->delivering = outlets->delivery != NULL;
    if (outlets->delivery == NULL)
        return;
    struct delivery_counts counts;
    delivery_counts(outlets->delivery, &counts);
    own->queued = counts.queued;
    own->delivered = counts.delivered;
    own->delivery_retried = counts.retried;
    own->delivery_refused = counts.refused;
    own->delivery_overflow = counts.overflow;
}

void outlets_close(struct outlets *outlets)
{
    if (outlets == NULL)
        return;
    struct notifier_counts counts;
    if (outlets->notifier != NULL)
        notifier_destroy(outlets->notifier, &counts);
    if (outlets->delivery != NULL)
        delivery_destroy(outlets->delivery);
    json_out_free(&outlets->json);
    free(outlets);
}
