#include "reports/evidence.h"

#include "reports/units.h"

#include <stdio.h>

/* A unit that stands beside the value need not stand in the label. */
static void label_from_key(const char *key, char *label, size_t size)
{
    static const struct span units[] = {SPAN_LITERAL("_bytes_per_h"), SPAN_LITERAL("_bytes"),
                                        SPAN_LITERAL("_per_s"),       SPAN_LITERAL("_percent"),
                                        SPAN_LITERAL("_ms"),          SPAN_LITERAL("_s")};
    struct span text = span_from_cstr(key);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!span_ends_with(text, units[i]))
            continue;
        text.len -= units[i].len;
        break;
    }
    span_copy(text, label, size);
    for (char *at = label; *at != '\0'; at++)
        if (*at == '_')
            *at = ' ';
}

struct evidence_text evidence_text(const struct evidence *evidence)
{
    struct evidence_text text;
    label_from_key(evidence->key, text.label, sizeof text.label);
    switch (evidence->type) {
    case EVIDENCE_INT:
        span_copy(span_from_cstr(units_figure(evidence->key, evidence->number).text), text.value,
                  sizeof text.value);
        break;
    case EVIDENCE_REAL:
        if (span_ends_with(span_from_cstr(evidence->key), SPAN_LITERAL("_per_s")))
            span_copy(span_from_cstr(units_rate(evidence->real).text), text.value,
                      sizeof text.value);
        else
            snprintf(text.value, sizeof text.value, "%.2f", evidence->real);
        break;
    case EVIDENCE_TEXT:
        span_copy(span_from_cstr(evidence->text), text.value, sizeof text.value);
        break;
    }
    return text;
}
