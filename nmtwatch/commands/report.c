/* nmtwatch report: a recording, judged again, as a page, charts, Markdown and JSON in a
 * directory. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/report/report_files.h"

static const char *take_formats(const char *value, void *into)
{
    static const struct {
        const char *name;
        enum report_format format;
    } known[] = {{"html", REPORT_HTML}, {"md", REPORT_MD},     {"png", REPORT_PNG},
                 {"svg", REPORT_SVG},   {"json", REPORT_JSON}, {"jfr", REPORT_JFR}};
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

static bool print_files(const struct report *report, const struct story *story, bool json)
{
    struct json_out out = {0};
    char path[4096 + 64], verdict[2048];
    if (!json) {
        for (int i = 0; i < report->file_count; i++)
            printf("%s/%s\n", report->directory, report->files[i]);
        return true;
    }
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "files", '[');
    for (int i = 0; i < report->file_count; i++) {
        snprintf(path, sizeof path, "%s/%s", report->directory, report->files[i]);
        json_out_text(&out, NULL, path);
    }
    json_out_end(&out, ']');
    story_verdict(story, verdict, sizeof verdict);
    json_out_text(&out, "verdict", verdict);
    json_out_text(&out, "status", story_status_name(story_status(story)));
    json_out_end(&out, '}');
    return json_out_print(&out, stdout);
}

static int run(int argc, char **argv)
{
    struct report report = {.directory_fd = -1};
    bool json = false;
    const struct option_row rows[] = {
        {'o', "output", "DIR", option_take_text, &report.directory,
         "where to write; made when it is not there"},
        {0, "format", "LIST", take_formats, &report.formats,
         "of html,md,png,svg,json,jfr (html,png,jfr)"},
        {0, "json", NULL, NULL, &json, "print the files' names and the verdict as JSON"},
    };
    int operands, code;
    if (!options_parse(&command_report, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_report, "one recording is needed");
    if (report.directory == NULL || report.directory[0] == '\0')
        return options_error(&command_report, "-o DIR is required");
    if (report.formats == 0)
        report.formats = REPORT_HTML | REPORT_PNG | REPORT_JFR;

    struct story *story = report_read(&report, argv[1]);
    bool good = story != NULL && report_write(&report, story) && print_files(&report, story, json);
    report_end(&report, story);
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
