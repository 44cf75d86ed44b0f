#include "analyzers/soak/budget.h"

#include <math.h>

#define NEEDS_MAX_MS 1e12

static int64_t span_that_tells(double amount, struct estimate measured, int64_t span_ms)
{
    double distance = fabs(amount - measured.value);
    double half =
        measured.value > amount ? measured.value - measured.low : measured.high - measured.value;
    if (distance <= 0 || half <= 0)
        return 0;
    double needs_ms = (double)span_ms * pow(half / distance, 2.0 / 3.0);
    return needs_ms > (double)span_ms && needs_ms < NEEDS_MAX_MS ? (int64_t)needs_ms : 0;
}

struct budget_outcome budget_judge_slope(const struct budget *budget, struct estimate measured,
                                         int64_t span_ms)
{
    struct budget_outcome outcome = {budget, SOAK_UNDECIDED, measured, 0};
    if (!measured.known)
        return outcome;
    if (measured.low > budget->amount)
        outcome.answer = SOAK_FAIL;
    else if (measured.high <= budget->amount)
        outcome.answer = SOAK_PASS;
    else
        outcome.needs_ms = span_that_tells(budget->amount, measured, span_ms);
    return outcome;
}

struct budget_outcome budget_judge_amount(const struct budget *budget, bool known, double value)
{
    struct budget_outcome outcome = {
        budget, SOAK_UNDECIDED, {.known = known, value, value, value}, 0};
    if (known)
        outcome.answer = value > budget->amount ? SOAK_FAIL : SOAK_PASS;
    return outcome;
}
