#include "nmtwatch/soak/budget_text.h"

#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <stdio.h>
#include <string.h>

#define ITEM_MAX 96

static const struct {
    const char *name;
    double per_h;
} units[] = {{"s", 3600}, {"m", 60}, {"min", 60}, {"h", 1}, {"d", 1.0 / 24}, {"day", 1.0 / 24}};

static void list_keys(char *out, size_t size)
{
    size_t length = 0;
    char key[SOAK_KEY_MAX];
    for (int series = 0; series < SOAK_FIRST_CATEGORY && length < size; series++) {
        soak_series_key((enum soak_series)series, key);
        length += (size_t)snprintf(out + length, size - length, "%s, ", key);
    }
    if (length < size)
        snprintf(out + length, size - length,
                 "or an NMT category such as thread, other, java-heap");
}

/* "/h", "/iteration", or nothing; false when it is something else. */
static bool take_unit(char *amount, struct budget *budget, double *per_h)
{
    char *slash = strchr(amount, '/');
    *per_h = 1;
    if (slash == NULL)
        return true;
    *slash = '\0';
    if (strcmp(slash + 1, "iteration") == 0) {
        budget->kind = BUDGET_ITERATION;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(slash + 1, units[i].name) == 0) {
            budget->kind = BUDGET_SLOPE;
            *per_h = units[i].per_h;
            return true;
        }
    }
    return false;
}

static bool parse_item(char *item, struct budget *budget, char *error, size_t error_size)
{
    char why[200], *equals = strchr(item, '=');
    if (equals == NULL || equals == item) {
        snprintf(error, error_size, "'%s' is not KEY=AMOUNT, such as internal=5MB/h",
                 escape_name(item).text);
        return false;
    }
    budget->series = soak_series_from_key(span_of(item, (size_t)(equals - item)));
    if (budget->series == SOAK_SERIES_COUNT) {
        *equals = '\0';
        list_keys(why, sizeof why);
        snprintf(error, error_size, "there is no series '%s': %s", escape_name(item).text, why);
        return false;
    }
    snprintf(budget->text, sizeof budget->text, "%s", equals + 1);
    char *amount = equals + 1;
    bool growth = *amount == '+';
    amount += growth;
    budget->kind = growth ? BUDGET_GROWTH : BUDGET_HEIGHT;
    double per_h;
    int64_t number;
    if (!take_unit(amount, budget, &per_h)) {
        snprintf(error, error_size, "'%s': a rate is /s, /min, /h, /d or /iteration",
                 escape_name(budget->text).text);
        return false;
    }
    bool count = soak_series_unit(budget->series) == SOAK_UNIT_COUNT;
    if (!units_parse_bytes(amount, &number, why, sizeof why) ||
        (count && strspn(amount, "0123456789") != strlen(amount))) {
        snprintf(error, error_size, "'%s': expected %s", escape_name(budget->text).text,
                 count ? "a whole number, such as 100/h" : "a size, such as 5MB/h, 2GB or +20MB");
        return false;
    }
    budget->amount = (double)number * per_h;
    return true;
}

bool budget_text_parse(const char *text, struct budgets *budgets, char *error, size_t error_size)
{
    for (const char *at = text;; at++) {
        char item[ITEM_MAX];
        size_t length = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", (int)length, at);
        if (length >= sizeof item) {
            snprintf(error, error_size, "'%s...' is too long for a budget", item);
            return false;
        }
        struct budget budget = {0};
        if (!parse_item(item, &budget, error, error_size))
            return false;
        if (budgets->count == BUDGETS_MAX) {
            snprintf(error, error_size, "more than %d budgets", BUDGETS_MAX);
            return false;
        }
        int same = 0;
        for (int i = 0; i < budgets->count; i++) {
            const struct budget *other = &budgets->budget[i];
            if (other->series == budget.series && other->kind == budget.kind)
                same++;
        }
        if (same > 0) {
            snprintf(error, error_size, "'%s' is the second budget of its kind for that series",
                     escape_name(budget.text).text);
            return false;
        }
        budgets->budget[budgets->count++] = budget;
        at += length;
        if (*at == '\0')
            return true;
    }
}
