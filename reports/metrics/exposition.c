#include "reports/metrics/exposition.h"

#include "analyzers/model/texts.h"
#include "reports/text/escape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define VALUE_MAX 512 /* bytes of a label's value, once it is safe */

const char *exposition_content_type(enum exposition_format format)
{
    return format == EXPOSITION_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

static void append(struct exposition *out, const char *text, size_t length)
{
    if (out->failed)
        return;
    if (!array_room(&out->text, &out->capacity, out->length + length + 1, 1)) {
        out->failed = true;
        return;
    }
    memcpy(out->text + out->length, text, length);
    out->length += length;
    out->text[out->length] = '\0';
}

static void put(struct exposition *out, const char *text)
{
    append(out, text, strlen(text));
}

/* Backslashes and line ends are escaped everywhere, quotes in values. Returns the length, or size
 * when it does not fit. */
static size_t quote(const char *text, bool quotes, char *out, size_t size)
{
    size_t length = 0;
    for (; *text != '\0'; text++) {
        bool escaped = *text == '\\' || *text == '\n' || (quotes && *text == '"');
        if (length + (escaped ? 2 : 1) >= size)
            return size;
        if (escaped)
            out[length++] = '\\';
        out[length++] = *text;
        if (*text == '\n')
            out[length - 1] = 'n';
    }
    out[length] = '\0';
    return length;
}

/* --- families --------------------------------------------------------------------------------- */

static const char *const TYPE_NAMES[] = {
    [EXPOSITION_GAUGE] = "gauge",
    [EXPOSITION_COUNTER] = "counter",
    [EXPOSITION_SUMMARY] = "summary",
    [EXPOSITION_INFO] = "info",
};

static const char *ending(const struct exposition *out)
{
    return out->type == EXPOSITION_COUNTER ? "_total" : out->type == EXPOSITION_INFO ? "_info" : "";
}

static void header_line(struct exposition *out, const char *what, const char *text)
{
    put(out, "# ");
    put(out, what);
    put(out, " ");
    put(out, out->name);
    if (out->format == EXPOSITION_TEXT)
        put(out, ending(out));
    put(out, " ");
    put(out, text);
    put(out, "\n");
}

static void write_header(struct exposition *out)
{
    if (out->header_written)
        return;
    out->header_written = true;
    char help[1024];
    if (quote(out->help, out->format == EXPOSITION_OPENMETRICS, help, sizeof help) == sizeof help)
        snprintf(help, sizeof help, "(a text too long to be shown)");
    header_line(out, "HELP", help);
    bool unknown_type = out->format == EXPOSITION_TEXT && out->type == EXPOSITION_INFO;
    header_line(out, "TYPE", unknown_type ? "gauge" : TYPE_NAMES[out->type]);
    if (out->format == EXPOSITION_OPENMETRICS && out->unit[0] != '\0')
        header_line(out, "UNIT", out->unit);
}

void exposition_family(struct exposition *out, const char *name, enum exposition_type type,
                       const char *unit, const char *help)
{
    out->name = name;
    out->type = type;
    out->unit = unit;
    out->help = help;
    out->header_written = false;
    out->labels_length = 0;
    out->created_s = 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

void exposition_label(struct exposition *out, const char *key, const char *value)
{
    char safe[VALUE_MAX], quoted[VALUE_MAX * 2];
    escape(ESCAPE_TERMINAL, value, safe, sizeof safe);
    quote(safe, true, quoted, sizeof quoted);
    size_t room = sizeof out->labels - out->labels_length;
    int written = snprintf(out->labels + out->labels_length, room, "%s%s=\"%s\"",
                           out->labels_length > 0 ? "," : "", key, quoted);
    if (written > 0 && (size_t)written < room)
        out->labels_length += (size_t)written;
    else
        out->labels[out->labels_length] = '\0';
}

void exposition_created(struct exposition *out, double unix_s)
{
    out->created_s = unix_s;
}

void exposition_timestamp(struct exposition *out, int64_t unix_ms)
{
    out->unix_ms = unix_ms;
}

static void line(struct exposition *out, const char *suffix, const char *value)
{
    put(out, out->name);
    put(out, suffix);
    if (out->labels_length > 0) {
        put(out, "{");
        append(out, out->labels, out->labels_length);
        put(out, "}");
    }
    put(out, " ");
    put(out, value);
    if (out->unix_ms != 0) {
        char text[32];
        if (out->format == EXPOSITION_OPENMETRICS)
            snprintf(text, sizeof text, " %" PRId64 ".%03d", out->unix_ms / 1000,
                     (int)(out->unix_ms % 1000));
        else
            snprintf(text, sizeof text, " %" PRId64, out->unix_ms);
        put(out, text);
    }
    put(out, "\n");
}

static void real_text(double value, char *out, size_t size)
{
    if (isnan(value))
        snprintf(out, size, "NaN");
    else if (isinf(value))
        snprintf(out, size, value > 0 ? "+Inf" : "-Inf");
    else
        snprintf(out, size, "%.15g", value);
}

static void end_sample(struct exposition *out)
{
    if (out->format == EXPOSITION_OPENMETRICS && out->created_s > 0 &&
        (out->type == EXPOSITION_COUNTER || out->type == EXPOSITION_SUMMARY)) {
        char text[48];
        snprintf(text, sizeof text, "%.3f", out->created_s);
        line(out, "_created", text);
    }
    out->samples++;
    out->labels_length = 0;
    out->created_s = 0;
}

static void sample(struct exposition *out, const char *value)
{
    write_header(out);
    line(out, ending(out), value);
    end_sample(out);
}

void exposition_int(struct exposition *out, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    sample(out, text);
}

void exposition_real(struct exposition *out, double value)
{
    char text[48];
    real_text(value, text, sizeof text);
    sample(out, text);
}

void exposition_info(struct exposition *out)
{
    sample(out, "1");
}

void exposition_summary(struct exposition *out, double sum, int64_t count)
{
    char text[48];
    write_header(out);
    real_text(sum, text, sizeof text);
    line(out, "_sum", text);
    snprintf(text, sizeof text, "%" PRId64, count);
    line(out, "_count", text);
    end_sample(out);
}

/* --- the whole -------------------------------------------------------------------------------- */

const char *exposition_end(struct exposition *out, size_t *length)
{
    put(out, out->format == EXPOSITION_OPENMETRICS ? "# EOF\n" : "");
    *length = out->length;
    return out->failed ? NULL : out->text;
}

void exposition_free(struct exposition *out)
{
    free(out->text);
    *out = (struct exposition){0};
}
