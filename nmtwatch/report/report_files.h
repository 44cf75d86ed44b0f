/* report_files: a recording, judged again, as page, pictures, Markdown, JSON and JFR in a directory, which is made
 * when it is not there: all of its files or none.
 *
 *   struct report report = {.directory_fd = -1, .directory = ..., .formats = REPORT_HTML | REPORT_MD};
 *   story = report_read(&report, recording) -> report_write(&report, story) -> report_end(&report, story)
 *
 * What goes wrong is one line on stderr. Setup context, one thread. */
#pragma once

#include "reports/page/page.h"
#include "reports/story/chart.h"
#include "reports/story/story.h"

enum report_format {
    REPORT_HTML = 1,
    REPORT_MD = 2,
    REPORT_PNG = 4,
    REPORT_SVG = 8,
    REPORT_JSON = 16,
    REPORT_JFR = 32,
};

#define REPORT_FILES_MAX (2 * CHART_KIND_COUNT + 4)

struct report_picture {
    enum chart_kind kind;
    char *svg; /* NULL: not asked for, or not drawn */
    char file[64];
};

struct report {
    const char *directory;
    int directory_fd;
    int jfr_fd, jfr_error; /* recording.jfr; 0: written as a whole */
    unsigned formats;
    int file_count;
    char files[REPORT_FILES_MAX][64];
    int fds[REPORT_FILES_MAX]; /* written, and without a name until all are */
    int picture_count;
    struct report_picture pictures[CHART_KIND_COUNT];
    char no_charts[256]; /* why, when there are none */
};

/* The story of a recording, with warnings on stderr; the directory is open then. NULL after one line there. */
struct story *report_read(struct report *report, const char *path);
/* False after one line on stderr. */
bool report_write(struct report *report, const struct story *story);
/* story: may be NULL. */
void report_end(struct report *report, struct story *story);

/* The recording as page, pictures, Markdown and JSON. */
bool report_make(const char *recording, const char *directory);
/* A page as stem.html and stem.md in the directory. */
bool report_add_page(const char *directory, const char *stem, const struct page *page);
/* Makes it with the folders above it; false with errno. */
bool report_make_directory(const char *path);
