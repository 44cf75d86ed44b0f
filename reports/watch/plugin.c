#include "reports/watch/plugin.h"

#include "analyzers/native/internal.h"
#include "reports/text/escape.h"

#include <inttypes.h>

#define UNLIMITED 0

static void print_text(FILE *out, const char *text)
{
    char safe[1024];

    escape(ESCAPE_PLUGIN, text, safe, sizeof safe);
    fputs(safe, out);
}

/* 'label'=value unit;warning;critical;minimum; with an empty place where there is no threshold. */
static void print_figure(FILE *out, const char *label, int64_t value, const char *unit,
                         int64_t warning, int64_t critical)
{
    fprintf(out, " '%s'=%" PRId64 "%s;", label, value, unit);
    if (warning != UNLIMITED)
        fprintf(out, "%" PRId64, warning);
    fputc(';', out);
    if (critical != UNLIMITED)
        fprintf(out, "%" PRId64, critical);
    fputs(";0;", out);
}

static void print_figures(FILE *out, const struct sample *sample, int jdk_major,
                          const struct thresholds *thresholds)
{
    /* What plugins call the unit: B bytes, c a counter that only grows. */
    static const struct {
        enum sample_field field;
        const char *label;
        const char *unit;
    } FIGURES[] = {
        {SAMPLE_CLASSES_LOADED, "classes_loaded", "c"},
        {SAMPLE_CLASSES_UNLOADED, "classes_unloaded", "c"},
        {SAMPLE_METASPACE_COMMITTED_BYTES, "metaspace", "B"},
        {SAMPLE_LOADERS, "loaders", ""},
        {SAMPLE_RSS_BYTES, "rss", "B"},
        {SAMPLE_NMT_COMMITTED_BYTES, "nmt_committed", "B"},
        {SAMPLE_THREADS, "threads", ""},
        {SAMPLE_AGENT_RESIDENT_BYTES, "agent", "B"},
        {SAMPLE_AGENT_JMETHOD_ID_BYTES, "agent_jmethod_ids", "B"},
    };
    int64_t value, loaded, unloaded, max;

    if (internal_bytes(sample, jdk_major, &value))
        print_figure(out, "internal", value, "B", thresholds->value[TH_INTERNAL_INVESTIGATE_BYTES],
                     thresholds->value[TH_INTERNAL_EXPLOSION_BYTES]);
    if (class_metaspace_bytes(sample, &value))
        print_figure(out, "class_metaspace", value, "B", UNLIMITED, UNLIMITED);
    if (sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded) &&
        sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded))
        print_figure(out, "classes", loaded - unloaded, "", UNLIMITED, UNLIMITED);
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++) {
        int64_t critical = UNLIMITED;
        if (!sample_get(sample, FIGURES[i].field, &value))
            continue;
        if (FIGURES[i].field == SAMPLE_METASPACE_COMMITTED_BYTES &&
            sample_get(sample, SAMPLE_METASPACE_MAX_BYTES, &max) && max > 0)
            critical = max / 100 * thresholds->value[TH_METASPACE_LIMIT_PERCENT];
        print_figure(out, FIGURES[i].label, value, FIGURES[i].unit, UNLIMITED, critical);
    }
}

void plugin_print(FILE *out, const struct check_result *result, const struct sample *sample,
                  int jdk_major, const struct thresholds *thresholds)
{
    fprintf(out, "NMTWATCH %s - ", check_status_name(result->status));
    print_text(out, result->reason);
    if (sample != NULL && (sample->present != 0 || sample_has_nmt(sample))) {
        fputs(" |", out);
        print_figures(out, sample, jdk_major, thresholds);
    }
    fputc('\n', out);
    for (int i = 0; i < result->finding_count; i++) {
        const struct finding *finding = &result->findings[i];
        fprintf(out, "%s %s: ", severity_name(finding->severity), finding_row(finding->kind)->id);
        print_text(out, finding->title);
        if (finding->advice[0]) {
            fputs(" - ", out);
            print_text(out, finding->advice);
        }
        fputc('\n', out);
    }
}
