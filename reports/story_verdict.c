#include "reports/story.h"

#include "analyzers/classes/family.h"
#include "analyzers/native/internal.h"
#include "reports/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define VERDICT_MIN_MS 5000 /* nobody can judge less, whatever the thresholds say */

/* How long the judge has looked after warm-up. */
static int64_t judged_ms(const struct story *story)
{
    if (!story->view.warm || story->view.baseline_ms < 0 || story->point_count == 0)
        return 0;
    return story->points[story->point_count - 1].ms - story->view.baseline_ms;
}

static int64_t needed_ms(const struct story *story)
{
    int64_t needed;
    if (__builtin_mul_overflow(story->thresholds.value[TH_CLASS_LOAD_SPAN_S], 1000, &needed))
        return INT64_MAX;
    return needed > VERDICT_MIN_MS ? needed : VERDICT_MIN_MS;
}

static bool saw_field(const struct story *story, enum sample_field field)
{
    for (int i = 0; i < story->point_count; i++)
        if (sample_has(&story->points[i].sample, field))
            return true;
    return false;
}

enum story_status story_status(const struct story *story)
{
    int worst = story_gravest(story);
    if (worst >= 0 && story->alerts[worst].finding.severity != SEVERITY_INFO)
        return story->alerts[worst].finding.severity == SEVERITY_CRITICAL ? STORY_CRITICAL
                                                                          : STORY_WARNING;
    if (judged_ms(story) < needed_ms(story) || !saw_field(story, SAMPLE_CLASSES_LOADED))
        return STORY_UNKNOWN;
    return STORY_OK;
}

const char *story_status_name(enum story_status status)
{
    static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    return names[status];
}

static void put_sentence(FILE *out, const char *text)
{
    size_t length = strlen(text);
    if (length == 0)
        return;
    bool ended = strchr(".!?", text[length - 1]) != NULL;
    fprintf(out, "%c%s%s", toupper((unsigned char)text[0]), text + 1, ended ? "" : ".");
}

static void describe_alert(const struct story *story, FILE *out)
{
    int worst = story_gravest(story);
    const struct alert *alert = &story->alerts[worst];
    put_sentence(out, alert->finding.title);
    int64_t cleared_ms = story_cleared_ms(story, worst);
    int64_t lasted_ms = cleared_ms >= 0 ? cleared_ms - alert->started_ms
                        : story->point_count > 0
                            ? story->points[story->point_count - 1].ms - alert->started_ms
                            : 0;
    if (cleared_ms >= 0)
        fprintf(out, " It stopped after %s.", units_duration(lasted_ms).text);
    else if (lasted_ms > 0)
        fprintf(out, " It went on for %s, to the end of the recording.",
                units_duration(lasted_ms).text);
}

static void describe_silence(const struct story *story, FILE *out)
{
    fprintf(out, "No growth was found in %s after warm-up", units_duration(judged_ms(story)).text);
    const char *separator = ": ";
    if (story->view.have_rates) {
        fprintf(out, "%sclass loads were at %s at the end", separator,
                units_rate(story->view.load_per_s).text);
        separator = ", ";
    }
    if (story->view.have_internal)
        fprintf(out, "%s%s changed by %s", separator, internal_meaning(story->identity.jdk_major),
                units_growth(story->view.internal_growth_bytes).text);
    fputc('.', out);
    if (!story->view.have_internal)
        fputs(" Native memory was not seen: the recording has no NMT summary.", out);
    else if (judged_ms(story) / 1000 < story->thresholds.value[TH_INTERNAL_SLOPE_SPAN_S])
        fputs(" Slow growth needs a longer watch.", out);
}

static void describe_doubt(const struct story *story, FILE *out)
{
    if (story->point_count == 0)
        fputs("Cannot tell: the recording holds no sample.", out);
    else if (!saw_field(story, SAMPLE_CLASSES_LOADED))
        fputs("Cannot tell: the class counters of this JVM could not be read.", out);
    else if (!story->view.warm)
        fprintf(out, "Cannot tell: warm-up had not ended when the recording stopped after %s.",
                units_duration(story_span_ms(story)).text);
    else
        fprintf(out, "Cannot tell: %s after warm-up is too short, a verdict needs %s.",
                units_duration(judged_ms(story)).text, units_duration(needed_ms(story)).text);
}

/* Writes through a stream of the buffer's size: what does not fit is cut. */
static void into_buffer(char *out, size_t size, const struct story *story,
                        void (*describe)(const struct story *, FILE *))
{
    if (size == 0)
        return;
    out[0] = '\0';
    FILE *text = fmemopen(out, size, "w");
    if (text == NULL)
        return;
    describe(story, text);
    fclose(text);
    out[size - 1] = '\0';
}

static void describe_headline(const struct story *story, FILE *out)
{
    if (story_gravest(story) >= 0)
        describe_alert(story, out);
    else if (story_status(story) == STORY_OK)
        describe_silence(story, out);
    else
        describe_doubt(story, out);
}

static void describe_advice(const struct story *story, FILE *out)
{
    int worst = story_gravest(story);
    if (worst < 0)
        return;
    const struct finding *finding = &story->alerts[worst].finding;
    const struct family *family = family_by_id(finding->family);
    put_sentence(out, family != NULL ? family->fix : finding->advice);
    int others = story_raised(story) - 1;
    if (others > 0)
        fprintf(out, " %d other alert%s raised.", others, others == 1 ? " was" : "s were");
}

void story_headline(const struct story *story, char *out, size_t size)
{
    into_buffer(out, size, story, describe_headline);
}

void story_advice(const struct story *story, char *out, size_t size)
{
    into_buffer(out, size, story, describe_advice);
}

void story_verdict(const struct story *story, char *out, size_t size)
{
    story_headline(story, out, size);
    char advice[1024];
    story_advice(story, advice, sizeof advice);
    size_t length = strlen(out);
    if (advice[0] != '\0' && length + 1 < size)
        snprintf(out + length, size - length, " %s", advice);
}
