/* nmtwatch report: a recording, judged again, as a page, charts, Markdown and JSON in a
 * directory. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/jfr/history_jfr.h"
#include "nmtwatch/record/recording.h"
#include "nmtwatch/process/files.h"
#include "reports/story/chart.h"
#include "reports/text/escape.h"
#include "reports/story/story.h"
#include "reports/text/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* gnuplot: runs the installed gnuplot on a script and hands back the picture.
 *
 * gnuplot is optional and somebody else's program: it gets the script on its standard input, no
 * file name and no start-up file, and GNUPLOT_TIMEOUT_MS to finish. Ownership: the caller frees the
 * picture. Setup context, one thread. */
#define GNUPLOT_TIMEOUT_MS 20000 /* a picture takes 50 ms */

enum gnuplot_result {
    GNUPLOT_OK,
    GNUPLOT_MISSING, /* not installed: no other script will do better */
    GNUPLOT_FAILED,
};

#define POLL_MS 5

extern char **environ;

/* Files in memory: no pipe that could fill up, nothing left behind. */
struct streams {
    int script, picture, complaints;
};

static void close_streams(struct streams *streams)
{
    if (streams->script >= 0)
        close(streams->script);
    if (streams->picture >= 0)
        close(streams->picture);
    if (streams->complaints >= 0)
        close(streams->complaints);
}

static bool open_streams(struct streams *streams, const char *script, size_t script_size)
{
    streams->script = memfd_create("gnuplot-script", MFD_CLOEXEC);
    streams->picture = memfd_create("gnuplot-picture", MFD_CLOEXEC);
    streams->complaints = memfd_create("gnuplot-complaints", MFD_CLOEXEC);
    return streams->script >= 0 && streams->picture >= 0 && streams->complaints >= 0 &&
           write_all(streams->script, script, script_size) &&
           lseek(streams->script, 0, SEEK_SET) == 0;
}

static int spawn(const struct streams *streams, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    /* -d: defaults, not the user's start-up file. */
    char *argv[] = {"gnuplot", "-d", "-", NULL};
    if ((error = posix_spawn_file_actions_adddup2(&actions, streams->script, 0)) == 0 &&
        (error = posix_spawn_file_actions_adddup2(&actions, streams->picture, 1)) == 0 &&
        (error = posix_spawn_file_actions_adddup2(&actions, streams->complaints, 2)) == 0)
        error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* False when it had to be killed. */
static bool wait_for(pid_t pid, int *status)
{
    for (int waited_ms = 0; waited_ms < GNUPLOT_TIMEOUT_MS; waited_ms += POLL_MS) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid)
            return true;
        if (ended < 0 && errno != EINTR)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return false;
}

/* The line of gnuplot's complaints that says what is wrong: it repeats the input before it. */
static void complaint(int fd, char *out, size_t size)
{
    char text[1024], *line = text, *last = text;
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    for (char *next; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        line += strspn(line, " \t");
        if (*line != '\0')
            last = line;
    }
    snprintf(out, size, "gnuplot: %.230s", *last != '\0' ? escape_name(last).text : "it failed");
}

static char *read_picture(int fd, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return NULL;
    char *picture = malloc((size_t)status.st_size + 1);
    if (picture == NULL)
        return NULL;
    *size = 0;
    while (*size < (size_t)status.st_size) {
        ssize_t got = pread(fd, picture + *size, (size_t)status.st_size - *size, (off_t)*size);
        if (got <= 0)
            break;
        *size += (size_t)got;
    }
    picture[*size] = '\0';
    return picture;
}

static enum gnuplot_result run_gnuplot(const struct streams *streams, char **picture, size_t *size,
                                       char *error, size_t error_size)
{
    pid_t pid;
    int status;
    int problem = spawn(streams, &pid);
    if (problem != 0) {
        bool missing = problem == ENOENT;
        snprintf(error, error_size, "gnuplot: %s", missing ? "not installed" : strerror(problem));
        return missing ? GNUPLOT_MISSING : GNUPLOT_FAILED;
    }
    if (!wait_for(pid, &status)) {
        snprintf(error, error_size, "gnuplot: not done within %d s", GNUPLOT_TIMEOUT_MS / 1000);
        return GNUPLOT_FAILED;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        complaint(streams->complaints, error, error_size);
        return GNUPLOT_FAILED;
    }
    *picture = read_picture(streams->picture, size);
    if (*picture != NULL && *size > 0)
        return GNUPLOT_OK;
    free(*picture);
    *picture = NULL;
    snprintf(error, error_size, "gnuplot: it made no image");
    return GNUPLOT_FAILED;
}

static enum gnuplot_result gnuplot_draw(const char *script, size_t script_size, char **picture,
                                        size_t *size, char *error, size_t error_size)
{
    struct streams streams = {-1, -1, -1};
    *picture = NULL;
    enum gnuplot_result result = GNUPLOT_FAILED;
    if (open_streams(&streams, script, script_size))
        result = run_gnuplot(&streams, picture, size, error, error_size);
    else
        snprintf(error, error_size, "gnuplot: %s", strerror(errno));
    close_streams(&streams);
    return result;
}

/* --- the verb --------------------------------------------------------------------------------- */

enum format {
    FORMAT_HTML = 1,
    FORMAT_MD = 2,
    FORMAT_PNG = 4,
    FORMAT_SVG = 8,
    FORMAT_JSON = 16,
    FORMAT_JFR = 32,
};

#define FILES_MAX (2 * CHART_KIND_COUNT + 4)

struct picture {
    enum chart_kind kind;
    char *svg; /* NULL: not asked for, or not drawn */
    char file[64];
};

struct writing {
    const char *directory;
    int directory_fd;
    int jfr_fd, jfr_error; /* recording.jfr; 0: written as a whole */
    unsigned formats;
    int file_count;
    char files[FILES_MAX][64];
    int fds[FILES_MAX]; /* written, and without a name until all are */
    int picture_count;
    struct picture pictures[CHART_KIND_COUNT];
    char no_charts[256]; /* why, when there are none */
};

/* --- options ---------------------------------------------------------------------------------- */

static const char *take_formats(const char *value, void *into)
{
    static const struct {
        const char *name;
        enum format format;
    } known[] = {{"html", FORMAT_HTML}, {"md", FORMAT_MD},     {"png", FORMAT_PNG},
                 {"svg", FORMAT_SVG},   {"json", FORMAT_JSON}, {"jfr", FORMAT_JFR}};
    unsigned formats = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        size_t i = 0;
        while (i < sizeof known / sizeof known[0] &&
               (strlen(known[i].name) != length || memcmp(known[i].name, at, length) != 0))
            i++;
        if (i == sizeof known / sizeof known[0])
            return "a list of html, md, png, svg, json, jfr";
        formats |= known[i].format;
        at += length;
        if (*at == '\0')
            break;
    }
    *(unsigned *)into = formats;
    return NULL;
}

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
static int open_file(const struct writing *writing, const char *name)
{
    return result_create(writing->directory_fd, name, O_NOFOLLOW, 0666);
}

static bool fail_file(const struct writing *writing, const char *name)
{
    print_error("nmtwatch report: %s/%s: %s\n", escape_name(writing->directory).text, name,
                strerror(errno));
    return false;
}

/* good: all was written; else errno says why not, and it goes. Takes it into the list. */
static bool end_file(struct writing *writing, const char *name, int fd, bool good)
{
    if (!good) {
        int error = errno;
        result_end(fd, writing->directory_fd, name, false);
        errno = error;
        return fail_file(writing, name);
    }
    writing->fds[writing->file_count] = fd;
    snprintf(writing->files[writing->file_count++], sizeof writing->files[0], "%s", name);
    return true;
}

/* All files of a report, or none. */
static bool end_files(struct writing *writing, bool good)
{
    bool said = !good;
    for (int i = 0; i < writing->file_count; i++) {
        good = result_end(writing->fds[i], writing->directory_fd, writing->files[i], good) && good;
        if (!good && !said)
            said = !fail_file(writing, writing->files[i]);
    }
    return good;
}

static bool write_file(struct writing *writing, const char *name, const char *data, size_t size)
{
    int fd = open_file(writing, name);
    return end_file(writing, name, fd, fd >= 0 && write_all(fd, data, size));
}

/* What a writer wrote into a stream over memory, as a file. */
static bool write_stream(struct writing *writing, const char *name, FILE *stream, bool written,
                         char **text, size_t *size)
{
    bool good = stream != NULL && fclose(stream) == 0 && written;
    if (good)
        good = write_file(writing, name, *text, *size);
    else
        print_error("nmtwatch report: %s: out of memory\n", name);
    free(*text);
    return good;
}

/* --- pictures --------------------------------------------------------------------------------- */

/* The picture, or NULL after having said why not. */
static char *draw(struct writing *writing, const struct story *story, enum chart_kind kind,
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
        snprintf(writing->no_charts, sizeof writing->no_charts,
                 "Charts are left out: gnuplot is not installed (apt-get install gnuplot-nox).");
    else
        snprintf(writing->no_charts, sizeof writing->no_charts, "Charts are left out: %s.", error);
    if (result == GNUPLOT_MISSING)
        print_error("nmtwatch report: %s\n", writing->no_charts);
    else
        print_error("nmtwatch report: %s is left out: %s\n", chart_name(kind), error);
    return NULL;
}

/* One chart in the formats asked for. False when a file could not be written. */
static bool make_picture(struct writing *writing, const struct story *story, enum chart_kind kind)
{
    struct picture made = {.kind = kind};
    size_t size;
    bool good = true;
    if (writing->formats & FORMAT_PNG) {
        char *png = draw(writing, story, kind, CHART_PNG, &size);
        if (png != NULL) {
            snprintf(made.file, sizeof made.file, "%s.png", chart_name(kind));
            good = write_file(writing, made.file, png, size);
        }
        free(png);
    }
    if (good && writing->formats & (FORMAT_SVG | FORMAT_HTML) && writing->no_charts[0] == '\0')
        made.svg = draw(writing, story, kind, CHART_SVG, &size);
    if (made.svg != NULL && writing->formats & FORMAT_SVG) {
        char name[sizeof made.file];
        snprintf(name, sizeof name, "%s.svg", chart_name(kind));
        good = write_file(writing, name, made.svg, size);
        if (made.file[0] == '\0')
            memcpy(made.file, name, sizeof name);
    }
    if (made.svg != NULL || made.file[0] != '\0')
        writing->pictures[writing->picture_count++] = made;
    return good;
}

static bool make_pictures(struct writing *writing, const struct story *story)
{
    if ((writing->formats & (FORMAT_PNG | FORMAT_SVG | FORMAT_HTML)) == 0)
        return true;
    bool any = false;
    for (int kind = 0; kind < CHART_KIND_COUNT && writing->no_charts[0] == '\0'; kind++) {
        if (!chart_drawable(story, (enum chart_kind)kind))
            continue;
        any = true;
        if (!make_picture(writing, story, (enum chart_kind)kind))
            return false;
    }
    if (!any)
        snprintf(writing->no_charts, sizeof writing->no_charts,
                 "The recording holds too little for charts.");
    return true;
}

/* --- texts ------------------------------------------------------------------------------------ */

typedef bool page_writer(const struct page *page, FILE *out);

static bool make_page(struct writing *writing, const char *name, const struct page *page,
                      page_writer *write)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool written = stream != NULL && write(page, stream);
    return write_stream(writing, name, stream, written, &text, &size);
}

static bool make_pages(struct writing *writing, const struct story *story)
{
    struct story_chart pictures[CHART_KIND_COUNT];
    struct page page;
    for (int i = 0; i < writing->picture_count; i++) {
        const struct picture *drawn = &writing->pictures[i];
        pictures[i] = (struct story_chart){chart_title(drawn->kind), chart_caption(drawn->kind),
                                           drawn->svg, drawn->file[0] != '\0' ? drawn->file : NULL,
                                           chart_subjects(drawn->kind)};
    }
    story_page(story, pictures, writing->picture_count,
               writing->no_charts[0] != '\0' ? writing->no_charts : NULL, &page);
    bool good =
        (!(writing->formats & FORMAT_HTML) ||
         make_page(writing, "report.html", &page, page_html)) &&
        (!(writing->formats & FORMAT_MD) || make_page(writing, "report.md", &page, page_markdown));
    page_free(&page);
    return good;
}

static bool make_json(struct writing *writing, const struct story *story)
{
    struct json_out out = {0};
    const char *text = report_json(&out, story);
    bool good = text != NULL;
    if (good)
        good = write_file(writing, "report.json", text, strlen(text));
    else
        print_error("nmtwatch report: report.json: out of memory\n");
    json_out_free(&out);
    return good;
}

static bool end_jfr(struct writing *writing)
{
    errno = writing->jfr_error;
    return end_file(writing, "recording.jfr", writing->jfr_fd, writing->jfr_error == 0);
}

static bool make_report(struct writing *writing, const struct story *story)
{
    bool good = make_pictures(writing, story) &&
                (!(writing->formats & (FORMAT_HTML | FORMAT_MD)) || make_pages(writing, story)) &&
                (!(writing->formats & FORMAT_JSON) || make_json(writing, story)) &&
                (!(writing->formats & FORMAT_JFR) || end_jfr(writing));
    for (int i = 0; i < writing->picture_count; i++)
        free(writing->pictures[i].svg);
    if (good && writing->file_count == 0) {
        print_error("nmtwatch report: nothing was written: %s\n", writing->no_charts);
        return false;
    }
    return end_files(writing, good);
}

static bool print_files(const struct writing *writing, const struct story *story, bool json)
{
    struct json_out out = {0};
    char path[4096 + 64], verdict[2048];
    if (!json) {
        for (int i = 0; i < writing->file_count; i++)
            printf("%s/%s\n", writing->directory, writing->files[i]);
        return true;
    }
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "files", '[');
    for (int i = 0; i < writing->file_count; i++) {
        snprintf(path, sizeof path, "%s/%s", writing->directory, writing->files[i]);
        json_out_text(&out, NULL, path);
    }
    json_out_end(&out, ']');
    story_verdict(story, verdict, sizeof verdict);
    json_out_text(&out, "verdict", verdict);
    json_out_text(&out, "status", story_status_name(story_status(story)));
    json_out_end(&out, '}');
    return json_out_print(&out, stdout);
}

/* --- the verb --------------------------------------------------------------------------------- */

static bool open_directory(struct writing *writing)
{
    writing->directory_fd = -1;
    if (report_make_directory(writing->directory))
        writing->directory_fd = open(writing->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (writing->directory_fd < 0)
        print_error("nmtwatch report: %s: %s\n", escape_name(writing->directory).text,
                    strerror(errno));
    return writing->directory_fd >= 0;
}

/* The story, and recording.jfr if it is asked for: of one reading. */
static struct story *read_events(struct writing *writing, struct replay *replay)
{
    const struct recording_header *header = replay->header;
    if (!(writing->formats & FORMAT_JFR))
        return story_of(replay, NULL, NULL);
    writing->jfr_fd = open_file(writing, "recording.jfr");
    writing->jfr_error = writing->jfr_fd < 0 ? errno : 0;
    struct history_jfr *jfr =
        history_jfr_create(writing->jfr_fd, &header->target, header->wall_start_ms, false);
    struct story *story = jfr != NULL ? story_of(replay, jfr, &writing->jfr_error) : NULL;
    if (jfr != NULL && !history_jfr_end(jfr) && writing->jfr_error == 0)
        writing->jfr_error = errno;
    return story;
}

/* The story of a recording, with warnings on stderr; the directory is open then. NULL after one line there. */
static struct story *read_story(struct writing *writing, const char *path)
{
    char error[512];
    struct replay replay;
    if (!replay_open(&replay, path, error, sizeof error)) {
        print_error("nmtwatch report: %s\n", error);
        return NULL;
    }
    bool opened = open_directory(writing);
    struct story *story = opened ? read_events(writing, &replay) : NULL;
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
        print_error("nmtwatch report: warning: passed by %" PRId64 " lines of a newer nmtwatch\n",
                    unknown);
    return story;
}

bool report_add_page(const char *directory, const char *stem, const struct page *page)
{
    struct writing writing = {.directory_fd = -1, .directory = directory};
    char html[64], markdown[64];
    snprintf(html, sizeof html, "%s.html", stem);
    snprintf(markdown, sizeof markdown, "%s.md", stem);
    if (!open_directory(&writing))
        return false;
    bool good = make_page(&writing, html, page, page_html) &&
                make_page(&writing, markdown, page, page_markdown);
    good = end_files(&writing, good);
    close(writing.directory_fd);
    return good;
}

static void end_story(struct writing *writing, struct story *story)
{
    story_destroy(story);
    if (writing->directory_fd >= 0)
        close(writing->directory_fd);
}

bool report_make(const char *recording, const char *directory)
{
    struct writing writing = {.directory_fd = -1,
                              .directory = directory,
                              .formats = FORMAT_HTML | FORMAT_MD | FORMAT_PNG | FORMAT_JSON};
    struct story *story = read_story(&writing, recording);
    bool good = story != NULL && make_report(&writing, story);
    end_story(&writing, story);
    return good;
}

static int run(int argc, char **argv)
{
    struct writing writing = {.directory_fd = -1};
    bool json = false;
    const struct option_row rows[] = {
        {'o', "output", "DIR", option_take_text, &writing.directory,
         "where to write; made when it is not there"},
        {0, "format", "LIST", take_formats, &writing.formats,
         "of html,md,png,svg,json,jfr (html,png,jfr)"},
        {0, "json", NULL, NULL, &json, "print the files' names and the verdict as JSON"},
    };
    int operands, code;
    if (!options_parse(&command_report, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_report, "one recording is needed");
    if (writing.directory == NULL || writing.directory[0] == '\0')
        return options_error(&command_report, "where to? give -o DIR");
    if (writing.formats == 0)
        writing.formats = FORMAT_HTML | FORMAT_PNG | FORMAT_JFR;

    struct story *story = read_story(&writing, argv[1]);
    bool good = story != NULL && make_report(&writing, story) && print_files(&writing, story, json);
    end_story(&writing, story);
    return good ? 0 : EXIT_IO;
}

const struct command command_report = {
    .name = "report",
    .usage = "Usage: nmtwatch report FILE -o DIR [--format html,md,png,svg,json,jfr]\n"
             "\n"
             "Judges a recording again, with the thresholds it was made with, and writes\n"
             "report.html (one self-contained page), report.md, report.json, and a picture of\n"
             "each chart (classes, growth, class_memory, internal, memory, process), and\n"
             "recording.jfr (nmtwatch export). FILE - is standard input. Prints the names of\n"
             "the files written.\n"
             "\n"
             "Charts are drawn by gnuplot; without it the report is written without them and\n"
             "says so. A damaged recording is reported up to the damage, with a warning.\n"
             "\n"
             "Exit codes: 0 written, 64 usage, 74 the recording cannot be read or a file not\n"
             "written.\n",
    .run = run,
};
