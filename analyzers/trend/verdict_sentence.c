/* One sentence that a person understands. */
#include "analyzers/trend/verdict_internal.h"

#include <math.h>
#include <stdio.h>

#define MB 1048576.0

static void duration(double seconds, char *out, size_t size)
{
    if (seconds < 120)
        snprintf(out, size, "%.0f s", seconds);
    else if (seconds < 7200)
        snprintf(out, size, "%.0f min", seconds / 60);
    else if (seconds < 172800)
        snprintf(out, size, "%.1f h", seconds / 3600);
    else if (seconds < 86400 * 1000.0)
        snprintf(out, size, "%.1f days", seconds / 86400);
    else
        snprintf(out, size, "more than 1000 days");
}

void verdict_write_sentence(const struct verdict_options *options, struct verdict *verdict)
{
    char span[32], eta[160] = "", soon[32], late[32];
    duration((double)(verdict->to_ms - verdict->from_ms) / 1000, span, sizeof span);
    if (verdict->have_eta) {
        duration(verdict->eta_low_s, soon, sizeof soon);
        duration(verdict->eta_high_s, late, sizeof late);
        snprintf(eta, sizeof eta, "; reaches the %s in %s to %s",
                 options->limit_name != NULL ? options->limit_name : "limit", soon, late);
    }
    const struct verdict_interval *slope = &verdict->slope_bytes_per_h;
    if (verdict->have_slope)
        snprintf(verdict->sentence, sizeof verdict->sentence,
                 "%s: %.2f MB/h, 95 %% [%.2f, %.2f], over %s%s",
                 verdict_state_meaning(verdict->state), slope->value / MB, slope->low / MB,
                 slope->high / MB, span, eta);
    else
        snprintf(verdict->sentence, sizeof verdict->sentence, "%s: %d points over %s",
                 verdict_state_meaning(verdict->state), verdict->points, span);
}
