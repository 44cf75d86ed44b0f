/* nmtwatch explain: the runbook of a finding, of a family of generated classes, or a page by its name. */
#include "nmtwatch/commands/options.h"
#include "reports/page/runbooks.h"

#include <stdlib.h>

/* What an operand names. Row is NULL unless it is a finding. */
struct topic {
    const char *kind; /* "finding", "family", "page" */
    const struct finding_row *row;
    const struct runbook *page;
    struct span text;
};

static bool find_topic(const char *id, struct topic *topic)
{
    for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
        const struct finding_row *row = finding_row((enum finding_kind)kind);
        if (strcmp(row->id, id) != 0)
            continue;
        const struct runbook *page = runbook_find(row->runbook);
        if (page == NULL)
            return false; /* a unit test sees to it that there is one */
        *topic = (struct topic){"finding", row, page, runbook_text(page)};
        return true;
    }
    const struct runbook *page = runbook_find(id);
    if (page != NULL) {
        *topic = (struct topic){"page", NULL, page, runbook_text(page)};
        return true;
    }
    page = runbook_find(RUNBOOK_FAMILIES);
    struct span section = runbook_section(page, id);
    *topic = (struct topic){"family", NULL, page, section};
    return section.len > 0;
}

static void put(struct span text)
{
    fwrite(text.ptr, 1, text.len, stdout);
}

static void text_member(struct json_out *out, const char *key, struct span text)
{
    char *copy = strndup(text.ptr, text.len);
    json_out_text(out, key, copy);
    out->failed |= copy == NULL;
    free(copy);
}

static int print_topic(const char *id, const struct topic *topic, bool json)
{
    if (!json) {
        if (topic->row != NULL)
            printf("%s (%s): %s\n%s\n\n", id, severity_name(topic->row->severity),
                   topic->row->title, topic->row->advice);
        put(topic->text);
        return 0;
    }
    struct json_out out = {0};
    json_out_begin(&out, NULL, '{');
    json_out_text(&out, "id", id);
    json_out_text(&out, "kind", topic->kind);
    if (topic->row != NULL) {
        json_out_text(&out, "severity", severity_name(topic->row->severity));
        json_out_text(&out, "title", topic->row->title);
        json_out_text(&out, "advice", topic->row->advice);
    }
    json_out_text(&out, "page", topic->page->name);
    text_member(&out, "text", topic->text);
    json_out_end(&out, '}');
    return json_out_print(&out, stdout) ? 0 : EXIT_IO;
}

static int print_list(void)
{
    printf("Findings, with their severity:\n");
    for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
        const struct finding_row *row = finding_row((enum finding_kind)kind);
        printf("  %-29s %-8s %s\n", row->id, severity_name(row->severity), row->title);
    }
    printf("\nPages:\n");
    const struct runbook *page;
    for (size_t i = 0; (page = runbook_at(i)) != NULL; i++) {
        printf("  %-29s ", page->name);
        put(runbook_title(page));
        putchar('\n');
    }
    printf(
        "\n`nmtwatch explain ID` prints the runbook; ID may also be a family of generated classes\n"
        "that an alert names (groovy-shell, jdk-proxy).\n");
    return 0;
}

static int print_list_json(void)
{
    struct json_out out = {0};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "findings", '[');
    for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
        const struct finding_row *row = finding_row((enum finding_kind)kind);
        json_out_begin(&out, NULL, '{');
        json_out_text(&out, "id", row->id);
        json_out_text(&out, "severity", severity_name(row->severity));
        json_out_text(&out, "title", row->title);
        json_out_text(&out, "page", row->runbook);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_begin(&out, "pages", '[');
    const struct runbook *page;
    for (size_t i = 0; (page = runbook_at(i)) != NULL; i++) {
        json_out_begin(&out, NULL, '{');
        json_out_text(&out, "name", page->name);
        text_member(&out, "title", runbook_title(page));
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_end(&out, '}');
    return json_out_print(&out, stdout) ? 0 : EXIT_IO;
}

static int run(int argc, char **argv)
{
    bool json = false;
    const struct option_row rows[] = {OPTION_JSON(&json)};
    int operands, code;
    if (!options_parse(&command_explain, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands > 1)
        return options_error(&command_explain, "one finding at a time");
    if (operands == 0)
        return json ? print_list_json() : print_list();
    struct topic topic;
    if (!find_topic(argv[1], &topic))
        return options_error(&command_explain,
                             "'%s' is no finding, page or family; `nmtwatch explain` lists them",
                             argv[1]);
    return print_topic(argv[1], &topic, json);
}

const struct command command_explain = {
    .name = "explain",
    .usage = "Usage: nmtwatch explain [FINDING] [--json]\n"
             "\n"
             "Prints the runbook of a finding, in Markdown. The runbooks are part of the\n"
             "program: no other file is needed. FINDING is the id that an alert, a report or\n"
             "JSON output shows (class-explosion), the name of a page (profiler-cost) or a\n"
             "family of generated classes (groovy-shell). Without it: all findings and pages,\n"
             "one line each.\n"
             "\n"
             "Exit codes: 0 printed, 64 usage or an unknown id, 74 writing failed.\n",
    .run = run,
};
