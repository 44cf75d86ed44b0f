/* Who generates classes, by the names of those loaded (a flow) or alive (a stock). */
#include "analyzers/triage/triage_internal.h"

#include "analyzers/classes/family.h"

#include <inttypes.h>
#include <stdio.h>

/* Fewer loads of a family than this in a log are start-up. */
#define FLOW_LOADS_MIN   50
/* Of a family's loads this share falls into the last third of the log, or it has stopped. */
#define LATE_SHARE_MIN   0.20
/* A list of live classes has no time: only a large number is a finding. */
#define STOCK_MIN        200
/* Lambdas and the like are many in healthy programs. */
#define STOCK_HOSTED_MIN 3000
#define CHURN_SHARE      0.80

static bool is_secondary(const struct family *family)
{
    return family != NULL && family->role == FAMILY_SECONDARY;
}

static void describe(struct finding *finding, const struct family_row *row)
{
    const struct family *family = family_by_id(row->family);
    finding_family(finding, row->family);
    if (family != NULL)
        finding_advice(finding, "%s Why it grows: %s", family->fix, family->cause);
    else
        finding_advice(finding, "Find the code that defines %.100s and cache what it generates.",
                       row->example);
    finding_add_int(finding, "loads", row->loads);
    finding_add_int(finding, "unloads", row->unloads);
    finding_add_int(finding, "names", row->names);
    finding_add_int(finding, "max_same_name", row->max_same_name);
    finding_add_text(finding, "producer", family != NULL ? family->producer : "");
    finding_add_text(finding, "example", row->example);
    finding_add_text(finding, "stem", row->stem);
    finding_add_text(finding, "source", row->source);
}

static const char *producer_of(const struct family_row *row)
{
    const struct family *family = family_by_id(row->family);
    return family != NULL ? family->producer : "an unknown generator";
}

static void flow_row(const struct jvm_facts *facts, const struct family_row *row, int64_t late,
                     struct triage *out)
{
    const struct facts_names *flow = &facts->flow;
    if (row->loads < FLOW_LOADS_MIN)
        return;
    bool stopped = late >= 0 && (double)late < LATE_SHARE_MIN * (double)row->loads;
    bool churn = (double)row->unloads >= CHURN_SHARE * (double)row->loads;
    if (stopped && row->unloads >= row->loads)
        return;
    struct finding *finding =
        triage_add(out, churn ? FINDING_CLASS_CHURN : FINDING_CLASS_EXPLOSION);
    describe(finding, row);
    char rate[48] = "";
    if (flow->has_span && flow->span_s > 0.0) {
        double per_s = (double)row->loads / flow->span_s;
        snprintf(rate, sizeof rate, " (%.1f/s over %.0f s)", per_s, flow->span_s);
        finding_add_real(finding, "rate_per_s", per_s);
        finding_add_int(finding, "observed_s", (int64_t)flow->span_s);
    }
    if (stopped)
        finding->severity = SEVERITY_INFO;
    finding_title(finding, "%s: %.100s (%.60s) defined %s classes%s, %s unloaded; %s",
                  stopped ? "classes were generated"
                  : churn ? "class churn"
                          : "class explosion",
                  producer_of(row), row->family, units_count(row->loads).text, rate,
                  units_count(row->unloads).text,
                  stopped     ? "it has stopped"
                  : late >= 0 ? "it continues to the end"
                              : "whether it continues is not known");
    finding_add_caller(finding, facts->callers, facts->caller_count, row->example);
}

static void stock_row(const struct family_row *row, struct triage *out)
{
    const struct family *family = family_by_id(row->family);
    int64_t least = family != NULL && family->role == FAMILY_HOSTED ? STOCK_HOSTED_MIN : STOCK_MIN;
    if (row->loads < least)
        return;
    struct finding *finding = triage_add(out, FINDING_CLASS_EXPLOSION);
    describe(finding, row);
    finding->severity = SEVERITY_WARNING; /* one measurement does not show growth */
    finding_title(finding, "%s generated classes of %.100s (%.60s) are loaded",
                  units_count(row->loads).text, producer_of(row), row->family);
}

/* The families of a list; secondary ones only when no other family explains the loads. */
static bool any_producer(const struct facts_names *names, int64_t least)
{
    for (int i = 0; i < names->row_count; i++) {
        if (!is_secondary(family_by_id(names->rows[i].family)) && names->rows[i].loads >= least)
            return true;
    }
    return false;
}

void triage_names(const struct jvm_facts *facts, struct triage *out)
{
    if (triage_has(out, FINDING_CLASS_EXPLOSION) || triage_has(out, FINDING_CLASS_CHURN))
        return; /* the judge saw it live, with rates */
    const struct facts_names *flow = &facts->flow;
    bool produced = any_producer(flow, FLOW_LOADS_MIN);
    for (int i = 0; flow->have && i < flow->row_count; i++) {
        if (!produced || !is_secondary(family_by_id(flow->rows[i].family)))
            flow_row(facts, &flow->rows[i], flow->late_loads[i], out);
    }
    if (flow->have)
        return;
    const struct facts_names *stock = &facts->stock;
    produced = any_producer(stock, STOCK_MIN);
    for (int i = 0; stock->have && i < stock->row_count; i++) {
        if (!produced || !is_secondary(family_by_id(stock->rows[i].family)))
            stock_row(&stock->rows[i], out);
    }
}
