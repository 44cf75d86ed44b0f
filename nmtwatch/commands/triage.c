/* nmtwatch triage: whose memory is it, which code makes it, what to change. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/heap/holders_run.h"
#include "nmtwatch/jvm/syscall_filter.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/triage/live.h"
#include "nmtwatch/process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The names of what is written are known beforehand: in another user's folder (made in /tmp in
 * advance, say) they might be links to anywhere. */
static bool make_folder(const char *path)
{
    char raw[4096];
    struct stat status;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return false;
    if (stat(path, &status) != 0)
        return false;
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
        errno = S_ISDIR(status.st_mode) ? EPERM : ENOTDIR;
        return false;
    }
    if (snprintf(raw, sizeof raw, "%s/raw", path) >= (int)sizeof raw) {
        errno = ENAMETOOLONG;
        return false;
    }
    return mkdir(raw, 0700) == 0 || errno == EEXIST;
}

static void fill_json(const struct live *live, const struct triage_report *report,
                      struct json_out *out)
{
    const struct target_identity *identity = &live->facts->identity;
    json_out_begin(out, NULL, '{');
    json_out_int(out, "pid", identity->pid);
    json_out_text(out, "jdk", identity->jdk);
    json_out_text(out, "main", identity->main);
    json_out_begin(out, "findings", '[');
    for (int i = 0; i < live->triage.finding_count; i++)
        finding_json(out, NULL, &live->triage.findings[i]);
    json_out_end(out, ']');
    triage_report_json(report, out);
    json_out_end(out, '}');
}

/* Opens FOLDER/name for writing; NULL with a line on stderr. */
static FILE *open_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = result_open(path, O_NOFOLLOW);
    if (file == NULL)
        print_error("nmtwatch triage: %s: %s\n", path, strerror(errno));
    return file;
}

static bool close_file(FILE *file, bool ok, const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (result_close(file, path, ok))
        return true;
    print_error("nmtwatch triage: %s: could not be written: %s\n", path, strerror(errno));
    return false;
}

/* What holds class loaders, from a heap dump: as pages in the folder, and as findings. page is made
 * when it is true. */
static bool ask_heap(struct live *live, const struct target *target, const char *folder,
                     struct page *page)
{
    const struct holders_take_options options = {
        .verb = "triage", .allow_pause = true, .run.progress = isatty(STDERR_FILENO)};
    struct failure failure;
    struct texts texts = {0};
    struct finding findings[TRIAGE_FINDINGS_MAX];
    char sentence[600], name[64];
    struct holders_answer *answer = malloc(sizeof *answer);
    if (answer == NULL) {
        print_error("nmtwatch triage: out of memory\n");
        return false;
    }
    bool ok = holders_take(answer, target, &options, &failure, sentence, sizeof sentence) ==
              HOLDERS_TAKEN;
    if (!ok)
        print_error("nmtwatch triage: no answer from the heap: %s\n", sentence);
    if (ok) {
        snprintf(name, sizeof name, "pid %d", (int)target->pid);
        const struct holders_report report = holders_answer_report(answer, name);
        holders_report_page(&report, page);
        int count = holders_findings(&answer->holders, &texts, findings, TRIAGE_FINDINGS_MAX);
        triage_insert(&live->triage, findings, count);
        texts_free(&texts);
        FILE *file = open_file(folder, "holders.html");
        if (file != NULL)
            close_file(file, page_html(page, file), folder, "holders.html");
        file = open_file(folder, "holders.md");
        if (file != NULL)
            close_file(file, page_markdown(page, file), folder, "holders.md");
    }
    holders_answer_free(answer);
    free(answer);
    return ok;
}

static bool write_folder(const char *folder, const struct page *page, const char *json,
                         size_t json_length)
{
    FILE *file = open_file(folder, "findings.json");
    if (file == NULL || !close_file(file, fwrite(json, 1, json_length, file) == json_length, folder,
                                    "findings.json"))
        return false;
    file = open_file(folder, "ticket.md");
    if (file == NULL || !close_file(file, page_markdown(page, file), folder, "ticket.md"))
        return false;
    file = open_file(folder, "report.html");
    return file != NULL && close_file(file, page_html(page, file), folder, "report.html");
}

static bool say_secrets(const struct live *live, bool kept)
{
    if (kept)
        return printf("Passwords and tokens of the command line are in it (--no-redact).\n") > 0;
    return printf("Passwords and tokens recognized in the command line are replaced by *** in it: "
                  "%d. Check before you share it; --no-redact keeps them.\n",
                  live->secrets) > 0;
}

/* Again at the end: what the page begins with is many lines above the prompt. */
static bool say_verdict(const struct page *page, const struct terminal *terminal)
{
    printf("\n%s: ", page->status);
    terminal_continued(terminal, 0, (int)strlen(page->status) + 2, page->title);
    return !ferror(stdout);
}

/* holders: NULL, or the page of ask_heap. */
/* What a terminal shows: one screen of a JVM in health, of another one all that is in the folder. */
static bool show(const struct triage_report *report, const struct page *holders,
                 const struct terminal *terminal)
{
    struct triage_report brief = *report;
    struct page page;
    brief.brief = true;
    triage_report_page(&brief, &page);
    bool ok = page_terminal(&page, terminal) &&
              (holders == NULL || (putchar('\n') != EOF && page_terminal(holders, terminal)));
    page_free(&page);
    return ok;
}

static int finish(const struct live *live, const char *folder, bool json, bool keep_secrets,
                  const struct page *holders)
{
    const struct triage_report report = {.facts = live->facts,
                                         .triage = &live->triage,
                                         .step_count = live->step_count,
                                         .steps = live->steps};
    const struct terminal terminal = {.out = stdout, .colour = options_colour(false), .width = 100};
    struct json_out out = {0};
    struct page page;
    size_t length;
    fill_json(live, &report, &out);
    triage_report_page(&report, &page);
    if (holders != NULL)
        page_link(&page, "What holds the class loaders", "holders.html");
    const char *line = json_out_line(&out, &length);
    bool ok = line != NULL && write_folder(folder, &page, line, length);
    if (ok && json)
        ok = fwrite(line, 1, length, stdout) == length;
    else if (ok)
        ok = show(&report, holders, &terminal) &&
             printf("\nKept in %s: report.html, ticket.md, findings.json, %sraw/\n", folder,
                    holders != NULL ? "holders.html, holders.md, " : "") > 0 &&
             say_secrets(live, keep_secrets) && say_verdict(&page, &terminal);
    page_free(&page);
    json_out_free(&out);
    return ok && fflush(stdout) == 0 ? triage_status(&live->triage) : EXIT_IO;
}

static const char *take_level(const char *value, void *into)
{
    bool thorough = strcmp(value, "thorough") == 0;
    if (!thorough && strcmp(value, "gentle") != 0)
        return "gentle or thorough";
    *(bool *)into = thorough;
    return NULL;
}

static int run(int argc, char **argv)
{
    struct live_options options = {.for_ms = 60000};
    const char *folder = NULL, *config = NULL, *observe = NULL;
    int64_t timeout_ms = 10000;
    bool json = false, heap = false, allow_pause = false;
    const struct option_row rows[] = {
        {0, "for", "TIME", option_take_duration_ms, &options.for_ms, "how long to watch (60s)"},
        {0, "level", "LEVEL", take_level, &options.thorough,
         "gentle: below 50 ms of pause in all; thorough: NMT detail and class lists, too (gentle)"},
        {'o', "output", "DIR", option_take_text, &folder,
         "where the evidence is kept (nmtwatch-triage-PID)"},
        {0, "gc", NULL, NULL, &options.gc, "a full GC before the last measurement"},
        {0, "heap", NULL, NULL, &heap,
         "with --level thorough and --allow-pause: a heap dump, and who holds class loaders"},
        {0, "allow-pause", NULL, NULL, &allow_pause,
         "a full GC and the writing of a heap dump may stop the application"},
        {0, "observe", "auto|never", option_take_text, &observe,
         "see from outside, where this user may, which code asks for classes and makes memory "
         "outside of NMT grow, and count jmethodIDs (auto)"},
        OPTION_TIMEOUT(&timeout_ms, "10s"),
        OPTION_UNDER_SECCOMP,
        OPTION_CONFIG(&config),
        {0, "no-redact", NULL, NULL, &options.keep_secrets,
         "keep passwords and tokens of the command line in the texts"},
        {0, "json", NULL, NULL, &json, "print findings.json"},
    };
    struct target target;
    struct failure failure;
    char error[600], own_folder[64];
    int operands, code;
    watch_options_default(&options.watch);
    if (!options_parse(&command_triage, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_triage, "one process id is needed");
    if (heap && !options.thorough)
        return options_error(&command_triage, "--heap needs --level thorough");
    if (heap && !allow_pause)
        return options_error(&command_triage, "--heap takes a heap dump, which stops the "
                                              "application; --allow-pause allows it");
    if (config != NULL && !config_load(config, &options.watch, error, sizeof error))
        return print_failure(EXIT_USAGE, "nmtwatch triage: %s\n", error);
    if (observe != NULL &&
        !watch_option_take(&options.watch, WATCH_OPTION_observe, observe, error, sizeof error))
        return options_error(&command_triage, "--observe '%.80s': expected %s", observe, error);
    options.watch.ask_under_seccomp |= syscall_filter_asked_anyway();
    syscall_filter_ask_anyway(options.watch.ask_under_seccomp);
    code = target_option_open(&command_triage, argv[1], &target);
    if (code != 0)
        return code;
    options.timeout_ms = timeout_ms > 0 ? (int)timeout_ms : 1;
    identify_target(&target, options.timeout_ms);
    if (folder == NULL) {
        snprintf(own_folder, sizeof own_folder, "nmtwatch-triage-%d", (int)target.pid);
        folder = own_folder;
    }
    if (!make_folder(folder)) {
        print_error("nmtwatch triage: %s: %s\n", folder, strerror(errno));
        target_close(&target);
        return EXIT_IO;
    }
    options.folder = folder;
    options.progress = isatty(STDERR_FILENO);
    options.watch.thresholds.value[TH_SUSPICION_RATE_PER_S] = 1; /* it was asked for */
    signals_catch(SIGNALS_END);
    struct live *live = malloc(sizeof *live);
    enum failure_kind kind =
        live != NULL ? live_run(live, &target, &options, &failure) : FAILURE_SYSTEM;
    if (live == NULL) {
        print_error("nmtwatch triage: out of memory\n");
        code = EXIT_IO;
    } else if (kind != FAILURE_NONE) {
        print_error("nmtwatch triage: %s\n", failure.sentence);
        code = failure_exit_code(kind);
    } else {
        struct page page;
        heap = heap && signals_asked() == 0 && ask_heap(live, &target, folder, &page);
        code = finish(live, folder, json, options.keep_secrets, heap ? &page : NULL);
        if (heap)
            page_free(&page);
    }
    if (live != NULL)
        live_free(live);
    free(live);
    target_close(&target);
    return code;
}

const struct command command_triage = {
    .name = "triage",
    .usage = "Usage: nmtwatch triage PID [--for 60s] [--level gentle|thorough] [-o DIR]\n"
             "\n"
             "Asks the JVM in order of cost, watches its class loads, asks again, and names\n"
             "the culprit and its fix. The folder holds report.html, ticket.md, findings.json\n"
             "and the raw texts; `nmtwatch analyze DIR/raw` reads them again. Passwords and\n"
             "tokens that are recognized in the command line are replaced by ***; check\n"
             "before you share them. With --heap it also takes a heap dump and says who holds\n"
             "class loaders (nmtwatch holders): holders.html, holders.md.\n"
             "\n"
             "Exit: 0 no finding above a note, 1 WARNING, 2 CRITICAL, 10-36 the JVM could not\n"
             "be asked, 64 usage, 74 the folder cannot be written.\n",
    .run = run,
    .apart = true,
};
