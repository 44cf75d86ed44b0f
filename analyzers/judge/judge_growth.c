/* Whether Internal, and Class + Metaspace, converge: a verdict each (analyzers/trend/verdict.h),
 * and the alert about Internal. */
#include "analyzers/judge/judge_internal.h"

#include "analyzers/native/internal.h"

#include <inttypes.h>
#include <stdio.h>

#define MB           1048576.0
#define ASK_EVERY_MS 60000
/* Certain growth that is slower than the threshold of the slope is told when it has come to this: a
 * leak of 1 MB/h after most of a day. */
#define SLOW_BYTES   (16 * MB)

static bool watch(struct watched *watched)
{
    struct verdict_options options;
    verdict_options_default(&options);
    growth_alarm_init(&watched->alarm, GROWTH_ALARM_NEED, GROWTH_ALARM_OF);
    watched->series = verdict_create(&options);
    return watched->series != NULL;
}

bool judge_growth_create(struct judge *judge)
{
    return watch(&judge->internal_series) && watch(&judge->class_metaspace_series);
}

void judge_growth_destroy(struct judge *judge)
{
    verdict_destroy(judge->internal_series.series);
    verdict_destroy(judge->class_metaspace_series.series);
}

/* True when the verdict is a new one. The alarm has a slower schedule. */
static bool add(const struct judge *judge, struct watched *watched, int64_t bytes,
                enum growth_alarm_change *change)
{
    int64_t loaded = judge->classes_loaded >= 0 ? judge->classes_loaded : VERDICT_MISSING;
    verdict_feed(watched->series, judge->now_ms, bytes, loaded);
    if (judge->now_ms - watched->asked_ms < ASK_EVERY_MS)
        return false;
    watched->asked_ms = judge->now_ms;
    verdict_ask(watched->series, &watched->verdict);
    *change = GROWTH_ALARM_NONE;
    if (judge->now_ms - watched->alarm_ms >= GROWTH_ALARM_ASK_MS) {
        watched->alarm_ms = judge->now_ms;
        *change = growth_alarm_add(&watched->alarm, &watched->verdict);
    }
    return true;
}

static bool is_relevant(const struct judge *judge, const struct verdict *verdict)
{
    int64_t span_ms = verdict->to_ms - verdict->from_ms;
    double low = verdict->slope_bytes_per_h.low;
    if (span_ms < judge_threshold(judge, TH_INTERNAL_SLOPE_SPAN_S) * 1000)
        return false;
    return low > (double)judge_threshold(judge, TH_INTERNAL_SLOPE_BYTES_PER_H) ||
           low * (double)span_ms / 3600000 > SLOW_BYTES;
}

static void raise_internal(struct judge *judge, const struct verdict *verdict)
{
    const char *meaning = internal_meaning(judge->identity.jdk_major);
    const struct verdict_interval *slope = &verdict->slope_bytes_per_h;
    int64_t span_s = (verdict->to_ms - verdict->from_ms) / 1000;
    struct finding finding;
    finding_init(&finding, &judge->texts, FINDING_INTERNAL_NOT_CONVERGING);
    finding_title(&finding,
                  "%s: %s %+.1f MB/h (95 %% interval %.1f to %.1f) over %" PRId64 " min: %s",
                  finding_row(finding.kind)->title, meaning, slope->value / MB, slope->low / MB,
                  slope->high / MB, span_s / 60, verdict_state_meaning(verdict->state));
    finding_add_text(&finding, "internal_means", meaning);
    finding_add_text(&finding, "state", verdict_state_name(verdict->state));
    finding_add_int(&finding, "slope_bytes_per_h", (int64_t)slope->value);
    finding_add_int(&finding, "slope_low_bytes_per_h", (int64_t)slope->low);
    finding_add_int(&finding, "slope_high_bytes_per_h", (int64_t)slope->high);
    finding_add_int(&finding, "span_s", span_s);
    finding_add_int(&finding, "growth_bytes", verdict->growth_bytes);
    if (verdict->have_regressor) {
        finding_add_int(&finding, "explained_by_classes_percent",
                        (int64_t)(verdict->explained_share * 100 + 0.5));
        finding_add_int(&finding, "bytes_per_class", (int64_t)verdict->bytes_per_class);
        finding_add_int(&finding, "slope_left_bytes_per_h",
                        (int64_t)verdict->slope_left_bytes_per_h.value);
    }
    finding_add_int(&finding, "baseline_ms", judge->baseline_ms);
    finding_add_text(&finding, "warmup_ended", judge->warmup.reason);
    judge_raise(judge, &finding, "", verdict->from_ms);
}

void judge_growth_internal(struct judge *judge, int64_t bytes)
{
    struct watched *watched = &judge->internal_series;
    enum growth_alarm_change change;
    if (!add(judge, watched, bytes, &change))
        return;
    struct episode *episode = judge_episode(judge, FINDING_INTERNAL_NOT_CONVERGING, "");
    if (episode != NULL) {
        if (change == GROWTH_ALARM_CLEARED)
            judge_clear(judge, episode);
    } else if (watched->alarm.active && watched->verdict.answer == VERDICT_GROWING &&
               judge->baseline_ms >= 0 && is_relevant(judge, &watched->verdict)) {
        raise_internal(judge, &watched->verdict);
    }
}

void judge_growth_class_metaspace(struct judge *judge, int64_t bytes)
{
    enum growth_alarm_change change;
    add(judge, &judge->class_metaspace_series, bytes, &change);
}
