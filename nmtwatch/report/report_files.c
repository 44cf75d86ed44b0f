#include "nmtwatch/report/report_files.h"

#include "nmtwatch/jfr/history_jfr.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/messages.h"
#include "nmtwatch/record/recording.h"
#include "nmtwatch/report/gnuplot.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- from the recording to the story ---------------------------------------------------------- */

static void describe_watch_cost(struct story *story, const struct watch_cost *cost)
{
    if (cost == NULL)
        return;
    snprintf(
        story->watch_cost, sizeof story->watch_cost,
        "The watcher used %s of CPU and %s of memory for %s polls; the application was stopped "
        "for at most %s.",
        units_duration(cost->cpu_ms).text, units_bytes(cost->rss_bytes).text,
        units_count(cost->polls).text, units_microseconds(cost->pause_us).text);
}

static bool jfr_take(struct history_jfr *jfr, const struct replay *replay)
{
    bool good = history_jfr_event(jfr, &replay->event);
    for (int i = 0; good && i < replay->alerts.count; i++)
        good = history_jfr_alert(jfr, &replay->alerts.alert[i]);
    return good;
}

/* jfr: takes the same events; its first error. NULL when memory ran out. */
static struct story *story_of(struct replay *replay, struct history_jfr *jfr, int *jfr_error)
{
    const struct recording_header *header = replay->header;
    struct story *story = story_create(&header->target, header->wall_start_ms, &header->thresholds);
    while (story != NULL && replay_next(replay)) {
        for (int i = 0; i < replay->alerts.count; i++)
            story_alert(story, &replay->alerts.alert[i]);
        story_event(story, &replay->event);
        if (jfr != NULL && *jfr_error == 0 && !jfr_take(jfr, replay))
            *jfr_error = errno;
    }
    if (story == NULL)
        return NULL;
    struct judge_view view;
    judge_view(replay->judge, &view);
    describe_watch_cost(story, recording_cost(replay->recording));
    const char *damage = recording_damage(replay->recording);
    if (damage != NULL)
        snprintf(story->damage, sizeof story->damage, "%s", damage);
    story_finish(story, &view);
    return story;
}

/* --- files ------------------------------------------------------------------------------------ */

bool report_make_directory(const char *path)
{
    char partial[4096];
    if ((size_t)snprintf(partial, sizeof partial, "%s", path) >= sizeof partial) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *at = partial + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(partial, 0777) != 0 && errno != EEXIST)
            return false;
        *at = '/';
    }
    return mkdir(partial, 0777) == 0 || errno == EEXIST;
}

/* A link in the directory may be an attack: it is not followed. */
static int open_file(const struct report *report, const char *name)
{
    return result_create(report->directory_fd, name, O_NOFOLLOW, 0666);
}

static bool fail_file(const struct report *report, const char *name)
{
    print_error("nmtwatch report: %s/%s: %s\n", escape_name(report->directory).text, name,
                strerror(errno));
    return false;
}

/* good: all was written; else errno says why not, and it goes. Takes it into the list. */
static bool end_file(struct report *report, const char *name, int fd, bool good)
{
    if (!good) {
        int error = errno;
        result_end(fd, report->directory_fd, name, false);
        errno = error;
        return fail_file(report, name);
    }
    report->fds[report->file_count] = fd;
    snprintf(report->files[report->file_count++], sizeof report->files[0], "%s", name);
    return true;
}

/* All files of a report, or none. */
static bool end_files(struct report *report, bool good)
{
    bool said = !good;
    for (int i = 0; i < report->file_count; i++) {
        good = result_end(report->fds[i], report->directory_fd, report->files[i], good) && good;
        if (!good && !said)
            said = !fail_file(report, report->files[i]);
    }
    return good;
}

static bool write_file(struct report *report, const char *name, const char *data, size_t size)
{
    int fd = open_file(report, name);
    return end_file(report, name, fd, fd >= 0 && write_all(fd, data, size));
}

/* What a writer wrote into a stream over memory, as a file. */
static bool write_stream(struct report *report, const char *name, FILE *stream, bool written,
                         char **text, size_t *size)
{
    bool good = stream != NULL && fclose(stream) == 0 && written;
    if (good)
        good = write_file(report, name, *text, *size);
    else
        print_error("nmtwatch report: %s: out of memory\n", name);
    free(*text);
    return good;
}

/* --- pictures --------------------------------------------------------------------------------- */

/* The picture, or NULL after having said why not. */
static char *draw(struct report *report, const struct story *story, enum chart_kind kind,
                  enum chart_format format, size_t *size)
{
    char *script = NULL, *picture = NULL;
    size_t script_size = 0;
    char error[256] = "out of memory";
    enum gnuplot_result result = GNUPLOT_FAILED;
    FILE *stream = open_memstream(&script, &script_size);
    if (stream != NULL) {
        bool written = chart_script(story, kind, format, stream);
        if (fclose(stream) == 0 && written)
            result = gnuplot_draw(script, script_size, &picture, size, error, sizeof error);
    }
    free(script);
    if (result == GNUPLOT_OK)
        return picture;
    if (result == GNUPLOT_MISSING)
        snprintf(report->no_charts, sizeof report->no_charts,
                 "Charts are left out: gnuplot is not installed (apt-get install gnuplot-nox).");
    else
        snprintf(report->no_charts, sizeof report->no_charts, "Charts are left out: %s.", error);
    if (result == GNUPLOT_MISSING)
        print_error("nmtwatch report: %s\n", report->no_charts);
    else
        print_error("nmtwatch report: %s is left out: %s\n", chart_name(kind), error);
    return NULL;
}

/* One chart in the formats asked for. False when a file could not be written. */
static bool make_picture(struct report *report, const struct story *story, enum chart_kind kind)
{
    struct report_picture made = {.kind = kind};
    size_t size;
    bool good = true;
    if (report->formats & REPORT_PNG) {
        char *png = draw(report, story, kind, CHART_PNG, &size);
        if (png != NULL) {
            snprintf(made.file, sizeof made.file, "%s.png", chart_name(kind));
            good = write_file(report, made.file, png, size);
        }
        free(png);
    }
    if (good && report->formats & (REPORT_SVG | REPORT_HTML) && report->no_charts[0] == '\0')
        made.svg = draw(report, story, kind, CHART_SVG, &size);
    if (made.svg != NULL && report->formats & REPORT_SVG) {
        char name[sizeof made.file];
        snprintf(name, sizeof name, "%s.svg", chart_name(kind));
        good = write_file(report, name, made.svg, size);
        if (made.file[0] == '\0')
            memcpy(made.file, name, sizeof name);
    }
    if (made.svg != NULL || made.file[0] != '\0')
        report->pictures[report->picture_count++] = made;
    return good;
}

static bool make_pictures(struct report *report, const struct story *story)
{
    if ((report->formats & (REPORT_PNG | REPORT_SVG | REPORT_HTML)) == 0)
        return true;
    bool any = false;
    for (int kind = 0; kind < CHART_KIND_COUNT && report->no_charts[0] == '\0'; kind++) {
        if (!chart_drawable(story, (enum chart_kind)kind))
            continue;
        any = true;
        if (!make_picture(report, story, (enum chart_kind)kind))
            return false;
    }
    if (!any)
        snprintf(report->no_charts, sizeof report->no_charts,
                 "The recording holds too little for charts.");
    return true;
}

/* --- texts ------------------------------------------------------------------------------------ */

typedef bool page_writer(const struct page *page, FILE *out);

static bool make_page(struct report *report, const char *name, const struct page *page,
                      page_writer *write)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool written = stream != NULL && write(page, stream);
    return write_stream(report, name, stream, written, &text, &size);
}

static bool make_pages(struct report *report, const struct story *story)
{
    struct story_chart pictures[CHART_KIND_COUNT];
    struct page page;
    for (int i = 0; i < report->picture_count; i++) {
        const struct report_picture *drawn = &report->pictures[i];
        pictures[i] = (struct story_chart){chart_title(drawn->kind), chart_caption(drawn->kind),
                                           drawn->svg, drawn->file[0] != '\0' ? drawn->file : NULL,
                                           chart_subjects(drawn->kind)};
    }
    story_page(story, pictures, report->picture_count,
               report->no_charts[0] != '\0' ? report->no_charts : NULL, &page);
    bool good =
        (!(report->formats & REPORT_HTML) || make_page(report, "report.html", &page, page_html)) &&
        (!(report->formats & REPORT_MD) || make_page(report, "report.md", &page, page_markdown));
    page_free(&page);
    return good;
}

static bool make_json(struct report *report, const struct story *story)
{
    struct json_out out = {0};
    const char *text = report_json(&out, story);
    bool good = text != NULL;
    if (good)
        good = write_file(report, "report.json", text, strlen(text));
    else
        print_error("nmtwatch report: report.json: out of memory\n");
    json_out_free(&out);
    return good;
}

static bool end_jfr(struct report *report)
{
    errno = report->jfr_error;
    return end_file(report, "recording.jfr", report->jfr_fd, report->jfr_error == 0);
}

bool report_write(struct report *report, const struct story *story)
{
    bool good = make_pictures(report, story) &&
                (!(report->formats & (REPORT_HTML | REPORT_MD)) || make_pages(report, story)) &&
                (!(report->formats & REPORT_JSON) || make_json(report, story)) &&
                (!(report->formats & REPORT_JFR) || end_jfr(report));
    for (int i = 0; i < report->picture_count; i++)
        free(report->pictures[i].svg);
    if (good && report->file_count == 0) {
        print_error("nmtwatch report: nothing was written: %s\n", report->no_charts);
        return false;
    }
    return end_files(report, good);
}

static bool open_directory(struct report *report)
{
    report->directory_fd = -1;
    if (report_make_directory(report->directory))
        report->directory_fd = open(report->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (report->directory_fd < 0)
        print_error("nmtwatch report: %s: %s\n", escape_name(report->directory).text,
                    strerror(errno));
    return report->directory_fd >= 0;
}

/* The story, and recording.jfr where the formats have it: of one reading. */
static struct story *read_events(struct report *report, struct replay *replay)
{
    const struct recording_header *header = replay->header;
    if (!(report->formats & REPORT_JFR))
        return story_of(replay, NULL, NULL);
    report->jfr_fd = open_file(report, "recording.jfr");
    report->jfr_error = report->jfr_fd < 0 ? errno : 0;
    struct history_jfr *jfr =
        history_jfr_create(report->jfr_fd, &header->target, header->wall_start_ms, false);
    struct story *story = jfr != NULL ? story_of(replay, jfr, &report->jfr_error) : NULL;
    if (jfr != NULL && !history_jfr_end(jfr) && report->jfr_error == 0)
        report->jfr_error = errno;
    return story;
}

struct story *report_read(struct report *report, const char *path)
{
    char error[512];
    struct replay replay;
    if (!replay_open(&replay, path, error, sizeof error)) {
        print_error("nmtwatch report: %s\n", error);
        return NULL;
    }
    bool opened = open_directory(report);
    struct story *story = opened ? read_events(report, &replay) : NULL;
    int64_t unknown = recording_unknown_lines(replay.recording);
    replay_close(&replay);
    if (story == NULL) {
        if (opened)
            print_error("nmtwatch report: out of memory\n");
        return NULL;
    }
    if (story->damage[0] != '\0')
        print_error("nmtwatch report: warning: %s; reporting what precedes it\n", story->damage);
    if (unknown > 0)
        print_error("nmtwatch report: warning: skipped %" PRId64
                    " lines written by a newer nmtwatch\n",
                    unknown);
    return story;
}

bool report_add_page(const char *directory, const char *stem, const struct page *page)
{
    struct report report = {.directory_fd = -1, .directory = directory};
    char html[64], markdown[64];
    snprintf(html, sizeof html, "%s.html", stem);
    snprintf(markdown, sizeof markdown, "%s.md", stem);
    if (!open_directory(&report))
        return false;
    bool good = make_page(&report, html, page, page_html) &&
                make_page(&report, markdown, page, page_markdown);
    good = end_files(&report, good);
    close(report.directory_fd);
    return good;
}

void report_end(struct report *report, struct story *story)
{
    story_destroy(story);
    if (report->directory_fd >= 0)
        close(report->directory_fd);
}

bool report_make(const char *recording, const char *directory)
{
    struct report report = {.directory_fd = -1,
                            .directory = directory,
                            .formats = REPORT_HTML | REPORT_MD | REPORT_PNG | REPORT_JSON};
    struct story *story = report_read(&report, recording);
    bool good = story != NULL && report_write(&report, story);
    report_end(&report, story);
    return good;
}
