#include "agent/control/limits_json.h"

#include "agent/control/answer.h"
#include "agent/control/breaker_apply.h"

#include <inttypes.h>

static void put_or_null(FILE *out, const char *name, int64_t value, bool known)
{
    if (known)
        fprintf(out, "\"%s\":%" PRId64, name, value);
    else
        fprintf(out, "\"%s\":null", name);
}

static void put_ids(const struct jmethod_ids *ids, FILE *out)
{
    struct jmethod_ids_bill bill;
    if (ids == NULL) {
        fputs("\"jmethodid\":null,", out);
        return;
    }
    jmethod_ids_bill(ids, &bill);
    fprintf(out, "\"jmethodid\":{\"policy\":\"%s\",", id_policy_name(bill.policy));
    put_or_null(out, "budget_bytes", bill.budget_bytes, bill.policy == IDS_BUDGET);
    fputc(',', out);
    put_or_null(out, "predicted_bytes", bill.predicted_bytes, bill.predicted_bytes >= 0);
    fprintf(out,
            ",\"asked_bytes\":%" PRId64 ",\"prepared_classes\":%" PRId64
            ",\"skipped_classes\":%" PRId64 "},",
            bill.loaded_bytes, bill.classes, bill.skipped_classes);
}

static void put_breaker(FILE *out)
{
    struct breaker_view view;
    breaker_apply_view(&view);
    fprintf(out, "\"breaker\":{\"state\":\"%s\",\"reason\":", breaker_state_name(view.state));
    if (view.reason[0] != '\0')
        answer_json_text(out, view.reason);
    else
        fputs("null", out);
    fprintf(out,
            ",\"own_bytes\":%" PRId64 ",\"jvm_bytes\":%" PRId64 ",\"memory_bytes\":%" PRId64
            ",\"warn_bytes\":%" PRId64 ",\"shed_bytes\":%" PRId64 ",\"stop_at_bytes\":%" PRId64
            "},",
            view.own_bytes, view.jvm_bytes, view.limits.memory_bytes, view.limits.warn_bytes,
            view.limits.shed_bytes, view.limits.stop_bytes);
}

void limits_json(const struct jmethod_ids *ids, int64_t unnamed_frames, FILE *out)
{
    put_ids(ids, out);
    fprintf(out, "\"unnamed_frames\":%" PRId64 ",", unnamed_frames);
    put_breaker(out);
}
