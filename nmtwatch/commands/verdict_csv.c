#include "nmtwatch/commands/verdict_csv.h"

#include "analyzers/trend/verdict.h"
#include "reports/text/escape.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum field { FIELD_NUMBER, FIELD_EMPTY, FIELD_BAD };

/* One column of a line that ends with NUL; *at moves behind its comma, to NULL after the last. */
static enum field take_field(char **at, double *number)
{
    char *text = *at;
    if (text == NULL)
        return FIELD_EMPTY;
    char *comma = strpbrk(text, ",;\t");
    *at = comma != NULL ? comma + 1 : NULL;
    if (comma != NULL)
        *comma = '\0';
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    if (length == 0)
        return FIELD_EMPTY;
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    if (*end != '\0' || strpbrk(text, "xXpP") != NULL)
        return FIELD_BAD;
    return isfinite(*number) ? FIELD_NUMBER : FIELD_EMPTY;
}

/* Numbers beyond what 64 bits hold are cut to the largest. */
static int64_t whole(double number)
{
    const double far = 9.2e18;
    return number >= far ? INT64_MAX : number <= -far ? -INT64_MAX : (int64_t)llround(number);
}

/* Bytes as an integer where it is one: a double would round beyond 2^53. */
static int64_t whole_text(const char *text, double number)
{
    char *end;
    errno = 0;
    long long exact = strtoll(text, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    bool integer = errno == 0 && (*end == '\0' || *end == ',') && exact != INT64_MIN;
    return integer ? exact : whole(number);
}

static void remember_bad(struct verdict_csv *csv, const char *line)
{
    if (csv->bad++ > 0)
        return;
    csv->first_bad_line = csv->lines;
    snprintf(csv->first_bad, sizeof csv->first_bad, "%.40s", escape_name(line).text);
}

static bool take_line(char *line, bool regressor_column, verdict_csv_point_fn *on_point,
                      void *context, struct verdict_csv *csv)
{
    char shown[64], *at = line;
    csv->lines++;
    line[strcspn(line, "\r\n")] = '\0';
    if (csv->lines == 1 && strncmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3; /* what spreadsheets put before UTF-8 */
    while (isspace((unsigned char)*at))
        at++;
    if (*at == '\0' || *at == '#')
        return true;
    snprintf(shown, sizeof shown, "%.60s", at);
    /* A header: the first line that is no comment and begins like a word. */
    bool first = csv->values + csv->missing + csv->bad == 0;
    if (first && (isalpha((unsigned char)*at) || *at == '"' || *at == '_') &&
        strncasecmp(at, "nan", 3) != 0 && strncasecmp(at, "inf", 3) != 0)
        return true;
    double seconds, bytes = 0, regressor = 0;
    char *second;
    enum field have_seconds = take_field(&at, &seconds);
    second = at;
    char exact[64] = "";
    if (second != NULL)
        snprintf(exact, sizeof exact, "%.60s", second);
    enum field have_bytes = take_field(&at, &bytes);
    enum field have_regressor = regressor_column ? take_field(&at, &regressor) : FIELD_EMPTY;
    if (have_seconds != FIELD_NUMBER || have_bytes == FIELD_BAD || have_regressor == FIELD_BAD ||
        second == NULL) {
        remember_bad(csv, shown);
        return true;
    }
    csv->values += have_bytes == FIELD_NUMBER;
    csv->missing += have_bytes != FIELD_NUMBER;
    return on_point(context, whole(seconds * 1000),
                    have_bytes == FIELD_NUMBER ? whole_text(exact, bytes) : VERDICT_MISSING,
                    have_regressor == FIELD_NUMBER ? whole(regressor) : VERDICT_MISSING);
}

bool verdict_csv_read(const char *path, bool regressor_column, verdict_csv_point_fn *on_point,
                      void *context, struct verdict_csv *csv, char *error, size_t error_size)
{
    memset(csv, 0, sizeof *csv);
    bool standard_input = strcmp(path, "-") == 0;
    const char *name = standard_input ? "standard input" : path;
    int fd = standard_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    gzFile file = fd >= 0 ? gzdopen(fd, "rb") : NULL; /* plain text passes unchanged */
    if (file == NULL) {
        snprintf(error, error_size, "%s: %s", escape_name(name).text, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    char line[VERDICT_CSV_LINE_MAX];
    bool good = true, inside_long = false;
    while (good && gzgets(file, line, sizeof line) != NULL) {
        bool whole_line = strchr(line, '\n') != NULL || gzeof(file);
        if (inside_long) {
            inside_long = !whole_line;
        } else if (!whole_line) {
            inside_long = true;
            csv->lines++;
            remember_bad(csv, line);
        } else if (!take_line(line, regressor_column, on_point, context, csv)) {
            snprintf(error, error_size, "out of memory");
            good = false;
        }
    }
    int code = Z_OK;
    const char *reason = gzerror(file, &code);
    if (good && code != Z_OK && code != Z_STREAM_END)
        snprintf(csv->damage, sizeof csv->damage, "%.200s: read up to line %lld only: %.100s",
                 escape_name(name).text, (long long)csv->lines,
                 code == Z_ERRNO       ? strerror(errno)
                 : code == Z_BUF_ERROR ? "it ends in the middle of a gzip member"
                                       : reason);
    gzclose_r(file);
    return good;
}
