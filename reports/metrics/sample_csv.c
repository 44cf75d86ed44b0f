#include "reports/metrics/sample_csv.h"

#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <inttypes.h>

void csv_sample_head(FILE *out)
{
    fputs("time,ms", out);
    for (int field = 0; field < SAMPLE_FIELD_COUNT; field++)
        fprintf(out, ",%s", sample_field_key((enum sample_field)field));
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        const char *name = nmt_category_name((enum nmt_category)i);
        fprintf(out, ",%s reserved_bytes,%s committed_bytes", name, name);
    }
    fputs(",other categories reserved_bytes,other categories committed_bytes\n", out);
}

static void csv_amount(FILE *out, bool known, const struct nmt_amount *amount)
{
    if (known)
        fprintf(out, ",%" PRId64 ",%" PRId64, amount->reserved_bytes, amount->committed_bytes);
    else
        fputs(",,", out);
}

static void csv_time(FILE *out, int64_t unix_ms, int64_t ms)
{
    fprintf(out, "%s.%03dZ,%" PRId64, units_utc(unix_ms, UNITS_ISO).text, (int)(unix_ms % 1000),
            ms);
}

static void csv_text(FILE *out, const char *text)
{
    fputs(",\"", out);
    escape_put(ESCAPE_CSV, text, out);
    fputc('"', out);
}

void csv_histogram_head(FILE *out)
{
    fputs("time,ms,class,family,classes,instances,bytes\n", out);
}

void csv_histogram_rows(FILE *out, int64_t unix_ms, int64_t ms,
                        const struct histogram_event *histogram)
{
    for (int i = 0; i < histogram->row_count; i++) {
        const struct histogram_class *row = &histogram->rows[i];
        csv_time(out, unix_ms, ms);
        csv_text(out, row->name);
        csv_text(out, row->family);
        fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", row->classes, row->instances,
                row->bytes);
    }
}

void csv_sample_row(FILE *out, int64_t unix_ms, int64_t ms, const struct sample *sample)
{
    csv_time(out, unix_ms, ms);
    for (int field = 0; field < SAMPLE_FIELD_COUNT; field++) {
        int64_t value;
        if (sample_get(sample, (enum sample_field)field, &value))
            fprintf(out, ",%" PRId64, value);
        else
            fputc(',', out);
    }
    struct nmt_amount amount = {0}, other = {0};
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        bool known = sample_get_nmt(sample, (enum nmt_category)i, &amount);
        csv_amount(out, known, &amount);
    }
    for (int i = 0; i < sample->extra_count; i++) {
        other.reserved_bytes += sample->extra[i].amount.reserved_bytes;
        other.committed_bytes += sample->extra[i].amount.committed_bytes;
    }
    csv_amount(out, sample->extra_count > 0, &other);
    fputc('\n', out);
}
