#include "nmtwatch/profile/profile_output.h"

#include "nmtwatch/jfr/jfr_profile.h"
#include "nmtwatch/process/files.h"
#include "reports/profile/call_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TOP_ROWS 60

bool profile_output_format(const char *name, enum profile_format *format)
{
    static const struct {
        const char *suffix;
        enum profile_format format;
    } suffixes[] = {{".jfr", PROFILE_JFR},
                    {".html", PROFILE_HTML},
                    {".txt", PROFILE_COLLAPSED},
                    {".json", PROFILE_TOP},
                    {".top", PROFILE_TOP_TEXT}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t suffix = strlen(suffixes[i].suffix);
        if (length > suffix && strcmp(name + length - suffix, suffixes[i].suffix) == 0) {
            *format = suffixes[i].format;
            return true;
        }
    }
    return false;
}

bool profile_output_possible(const char *output, char *error, size_t error_size)
{
    int fd = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        unlink(output);
        return true;
    }
    if (errno == EEXIST && access(output, W_OK) == 0)
        return true;
    snprintf(error, error_size, "%s: %s", output, strerror(errno));
    return false;
}

static bool write_summary(const struct jfr_profile *profile, enum profile_format format,
                          const char *title, FILE *out)
{
    const char *unit;
    switch (format) {
    case PROFILE_HTML:
        return jfr_profile_flamegraph(profile, title, out);
    case PROFILE_COLLAPSED:
        return collapsed_write(jfr_profile_samples(profile, &unit), out);
    case PROFILE_TOP:
        return jfr_profile_top_json(profile, out);
    case PROFILE_TOP_TEXT:
        return jfr_profile_top(profile, TOP_ROWS, out);
    case PROFILE_JFR:
        break;
    }
    return false;
}

/* Closes into. errno tells why not, 0: it does not. */
static bool summarize(const struct jfr_profile *profile, enum profile_format format,
                      const char *title, int into)
{
    FILE *out = fdopen(into, "w");
    if (out == NULL) {
        close(into);
        return false;
    }
    bool good = write_summary(profile, format, title, out);
    return fclose(out) == 0 && good;
}

bool profile_output_write(int recording, enum profile_format format, const char *output,
                          const char *title, char *error, size_t error_size)
{
    struct jfr_profile profile = {0};
    if (format != PROFILE_JFR &&
        !jfr_profile_read(&profile, recording, "the recording", error, error_size))
        return false;
    int into = create_private(output);
    if (into < 0) {
        snprintf(error, error_size, "%s: %s", output, strerror(errno));
        jfr_profile_free(&profile);
        return false;
    }
    errno = 0;
    bool good;
    if (format == PROFILE_JFR) {
        good = lseek(recording, 0, SEEK_SET) == 0 && copy_all(recording, into);
        int reason = errno;
        good = close(into) == 0 && good;
        errno = reason != 0 ? reason : errno;
    } else {
        good = summarize(&profile, format, title, into);
    }
    if (!good) {
        snprintf(error, error_size, "%s: %s", output,
                 errno != 0 ? strerror(errno) : "it could not be written");
        unlink(output);
    }
    jfr_profile_free(&profile);
    return good;
}
