/* One sentence that a person understands. */
#include "analyzers/trend/verdict_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define MB 1048576.0

struct sentence {
    char *text;
    size_t size;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *sentence, const char *format,
                                                      ...)
{
    size_t room = sentence->size - sentence->length;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(sentence->text + sentence->length, room, format, arguments);
    va_end(arguments);
    if (written > 0)
        sentence->length += (size_t)written < room ? (size_t)written : room - 1;
}

struct duration {
    char text[24];
};

static struct duration duration(double seconds)
{
    static const struct {
        double below_s, unit_s;
        int decimals;
        const char *unit;
    } steps[] = {
        {120, 1, 0, "s"},
        {7200, 60, 0, "min"},
        {172800, 3600, 1, "h"},
        {86400 * 1000.0, 86400, 1, "days"},
    };
    struct duration out = {"years"};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (seconds < steps[i].below_s) {
            snprintf(out.text, sizeof out.text, "%.*f %s", steps[i].decimals,
                     seconds / steps[i].unit_s, steps[i].unit);
            break;
        }
    }
    return out;
}

/* MB/h to two decimals; -0.00 is 0. */
static double mb(double bytes)
{
    double value = bytes / MB;
    return fabs(value) < 0.005 ? 0 : value;
}

static void say_eta(struct sentence *sentence, const struct verdict_options *options,
                    const struct verdict *verdict)
{
    const char *limit = options->limit_name != NULL ? options->limit_name : "limit";
    if (verdict->eta_s <= 0)
        say(sentence, "; the %s is reached", limit);
    else if (isinf(verdict->eta_high_s))
        say(sentence, "; reaches the %s in %s, not before %s", limit, duration(verdict->eta_s).text,
            duration(verdict->eta_low_s).text);
    else
        say(sentence, "; reaches the %s in %s [%s, %s]", limit, duration(verdict->eta_s).text,
            duration(verdict->eta_low_s).text, duration(verdict->eta_high_s).text);
}

void verdict_write_sentence(const struct verdict_options *options, struct verdict *verdict)
{
    struct sentence sentence = {verdict->sentence, sizeof verdict->sentence, 0};
    const struct verdict_interval *slope = &verdict->slope_bytes_per_h;
    struct duration span = duration((double)(verdict->to_ms - verdict->from_ms) / 1000);
    say(&sentence, "%s: ", verdict_state_meaning(verdict->state));
    if (!verdict->have_slope) {
        say(&sentence, "%d points over %s", verdict->points, span.text);
        return;
    }
    say(&sentence, "%.2f MB/h, 95 %% [%.2f, %.2f], over %s", mb(slope->value), mb(slope->low),
        mb(slope->high), span.text);
    if (verdict->have_regressor && verdict->answer == VERDICT_GROWING)
        say(&sentence, "; %.0f %% of the growth goes with classes loaded, %.0f bytes each",
            verdict->explained_share * 100, verdict->bytes_per_class);
    if (verdict->have_eta)
        say_eta(&sentence, options, verdict);
}
