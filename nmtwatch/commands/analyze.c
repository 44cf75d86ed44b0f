/* nmtwatch analyze: what people have saved, judged as a live triage would. */
#include "analyzers/parse/text_kind.h"
#include "analyzers/triage/facts_read.h"
#include "nmtwatch/commands/options.h"
#include "nmtwatch/heap/holders_run.h"
#include "nmtwatch/triage/saved.h"
#include "nmtwatch/triage/recorded.h"
#include "reports/text/escape.h"
#include "reports/diagnosis/triage_report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define FRONT_BYTES ((size_t)1 << 16)

/* One thing that was recognised in a file; kept for the answer. */
struct input {
    char *file;
    struct facts_input what;
};

struct unrecognised {
    char *file;
    struct looks_like looks;
};

#define DUMP_FINDINGS_MAX 32

/* A VM.classloader_stats that was read, for heap dumps of the same folder. */
struct loader_text {
    char *file, *text;
    size_t length;
};

/* What a heap dump said about who holds class loaders. */
struct dump_said {
    struct dump_said *next;
    struct page page;
    struct texts texts; /* of the findings */
    int finding_count;
    struct finding findings[DUMP_FINDINGS_MAX];
};

struct analysis {
    int input_count, unrecognised_count, recorded_count, loader_text_count;
    size_t input_room, unrecognised_room, recorded_room, loader_text_room;
    struct input *inputs;
    struct unrecognised *unrecognised;
    struct recorded **recorded;
    struct loader_text *loader_texts;
    struct dump_said *dumps, **last_dump;
    int64_t ignored_lines;
    int64_t unknown_lines; /* of recordings */
    bool failed;           /* out of memory */
};

static bool has_room(struct analysis *analysis, void *array, size_t *room, int count, size_t size)
{
    bool good = array_room(array, room, (size_t)count + 1, size);
    analysis->failed = analysis->failed || !good;
    return good;
}

static void keep_loader_text(struct analysis *analysis, const struct facts_input *what)
{
    struct loader_text kept = {strdup(what->file), strndup(what->text.ptr, what->text.len),
                               what->text.len};
    if (kept.file == NULL || kept.text == NULL ||
        !has_room(analysis, &analysis->loader_texts, &analysis->loader_text_room,
                  analysis->loader_text_count, sizeof kept)) {
        free(kept.file);
        free(kept.text);
        analysis->failed = true;
        return;
    }
    analysis->loader_texts[analysis->loader_text_count++] = kept;
}

static bool same_folder(const char *a, const char *b)
{
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    size_t length = end_a != NULL ? (size_t)(end_a - a) : 0;
    return length == (end_b != NULL ? (size_t)(end_b - b) : 0) && memcmp(a, b, length) == 0;
}

/* Metaspace of the loaders of a dump, by the one VM.classloader_stats beside it. */
static void take_metaspace(const struct analysis *analysis, const char *path,
                           struct holders *holders, char *note, size_t size)
{
    const struct loader_text *beside = NULL;
    int count = 0;
    for (int i = 0; i < analysis->loader_text_count; i++) {
        if (same_folder(path, analysis->loader_texts[i].file)) {
            beside = &analysis->loader_texts[i];
            count++;
        }
    }
    size_t used = strlen(note);
    const char *and = used > 0 ? "; " : "";
    if (count > 1)
        snprintf(note + used, size - used,
                 "%sMetaspace: %d VM.classloader_stats are beside it, none was used", and, count);
    else if (count == 1)
        snprintf(note + used, size - used, "%sMetaspace: %s VM.classloader_stats beside it", and,
                 holders_metaspace(holders, span_of(beside->text, beside->length))
                     ? "by the"
                     : "unknown, no total line in the");
}

static void keep_input(void *context, const struct facts_input *what)
{
    struct analysis *analysis = context;
    if (!has_room(analysis, &analysis->inputs, &analysis->input_room, analysis->input_count,
                  sizeof *analysis->inputs))
        return;
    struct input *input = &analysis->inputs[analysis->input_count++];
    input->what = *what;
    input->file = strdup(what->file);
    analysis->failed = analysis->failed || input->file == NULL;
    if (what->kind == TEXT_CLASSLOADER_STATS)
        keep_loader_text(analysis, what);
}

static void keep_unrecognised(struct analysis *analysis, const char *file, struct span text)
{
    struct unrecognised one = {strdup(file), looks_like(text)};
    if (one.file != NULL &&
        has_room(analysis, &analysis->unrecognised, &analysis->unrecognised_room,
                 analysis->unrecognised_count, sizeof one))
        analysis->unrecognised[analysis->unrecognised_count++] = one;
    else {
        analysis->failed = true;
        free(one.file);
    }
}

static void keep_recorded(struct analysis *analysis, const char *file, struct recorded *recorded)
{
    if (!has_room(analysis, &analysis->recorded, &analysis->recorded_room, analysis->recorded_count,
                  sizeof recorded)) {
        recorded_free(recorded);
        return;
    }
    analysis->recorded[analysis->recorded_count++] = recorded;
    analysis->unknown_lines += recorded->unknown_lines;
    struct facts_input what = {
        .file = file,
        .kind = TEXT_RECORDING,
        .pid = recorded->facts.identity.pid,
        .jdk_major = recorded->facts.identity.jdk_major,
        .used = true,
    };
    memcpy(what.note, recorded->damage, sizeof what.note);
    keep_input(analysis, &what);
}

/* False with one sentence. */
static bool read_dump(struct analysis *analysis, const char *path, char *error, size_t error_size)
{
    const struct holders_run_options options = {.progress = isatty(STDERR_FILENO)};
    struct holders_answer *answer = malloc(sizeof *answer);
    struct dump_said *said = calloc(1, sizeof *said);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool ok = answer != NULL && said != NULL && fd >= 0;
    struct facts_input what = {.file = path, .kind = TEXT_HEAP_DUMP, .pid = -1, .used = true};
    if (!ok) {
        snprintf(error, error_size, "%s", fd < 0 ? strerror(errno) : "out of memory");
        if (fd >= 0)
            close(fd);
    } else {
        ok = holders_run(answer, fd, &options, error, error_size);
        if (ok) {
            if (answer->heap.truncated)
                snprintf(what.note, sizeof what.note, "cut: what is there was used");
            take_metaspace(analysis, path, &answer->holders, what.note, sizeof what.note);
            const struct holders_report report = holders_answer_report(answer, path);
            holders_report_page(&report, &said->page);
            said->finding_count =
                holders_findings(&answer->holders, &said->texts, said->findings, DUMP_FINDINGS_MAX);
            *analysis->last_dump = said;
            analysis->last_dump = &said->next;
            keep_input(analysis, &what);
        }
        holders_answer_free(answer);
    }
    free(answer);
    if (!ok)
        free(said);
    return ok;
}

static void analysis_free(struct analysis *analysis)
{
    for (struct dump_said *said = analysis->dumps, *next; said != NULL; said = next) {
        next = said->next;
        page_free(&said->page);
        texts_free(&said->texts);
        free(said);
    }
    for (int i = 0; i < analysis->input_count; i++)
        free(analysis->inputs[i].file);
    for (int i = 0; i < analysis->unrecognised_count; i++)
        free(analysis->unrecognised[i].file);
    for (int i = 0; i < analysis->recorded_count; i++)
        recorded_free(analysis->recorded[i]);
    for (int i = 0; i < analysis->loader_text_count; i++) {
        free(analysis->loader_texts[i].file);
        free(analysis->loader_texts[i].text);
    }
    free(analysis->loader_texts);
    free(analysis->inputs);
    free(analysis->unrecognised);
    free(analysis->recorded);
}

/* What the progress was shown on. */
static void clear(bool progress)
{
    if (progress)
        fputs("\r\x1b[K", stderr);
}

/* Of several files: which process ids there are, before texts without one are given to a JVM. */
static void expect_all(const struct saved *saved, struct facts_reader *reader)
{
    char *front = saved->count > 1 ? malloc(FRONT_BYTES) : NULL;
    for (int i = 0; front != NULL && i < saved->count; i++) {
        size_t length = saved_front(saved->files[i].path, front, FRONT_BYTES);
        if (length > 0)
            facts_reader_expect(reader, span_of(front, length));
    }
    free(front);
}

/* Dumps come last: texts beside them say more of them. */
static bool read_dumps(const struct saved *saved, struct analysis *analysis)
{
    bool any = false;
    for (int i = 0; i < saved->count; i++) {
        const char *path = saved->files[i].path;
        char words[600];
        if (!dump_is(path))
            continue;
        if (read_dump(analysis, path, words, sizeof words))
            any = true;
        else
            print_error("nmtwatch analyze: %s: %s\n", path, words);
    }
    return any;
}

/* False: nothing could be read. */
static bool read_all(const struct saved *saved, struct facts_reader *reader,
                     struct analysis *analysis)
{
    bool progress = isatty(STDERR_FILENO), any = false;
    expect_all(saved, reader);
    for (int i = 0; i < saved->count; i++) {
        const char *path = saved->files[i].path;
        char error[512];
        struct span text;
        struct saved_log log;
        const char *cut;
        int64_t ignored = 0;
        if (progress)
            fprintf(stderr, "\r%d of %d files\x1b[K", i + 1, saved->count);
        if (dump_is(path))
            continue;
        if (!saved_read(path, &text, &log, &cut, error, sizeof error)) {
            clear(progress);
            print_error("nmtwatch analyze: %s\n", error);
            continue;
        }
        char words[160];
        if (!unpack(&text, (size_t)SAVED_TEXT_MAX, words, sizeof words)) {
            clear(progress);
            print_error("nmtwatch analyze: %s: %s\n", path, words);
            free((void *)(uintptr_t)text.ptr);
            continue;
        }
        any = true;
        if (cut != NULL) {
            clear(progress);
            print_error("nmtwatch analyze: %s: %s\n", path, cut);
        }
        if (log.is_log) {
            bool known;
            analysis->failed = !saved_log_take(&log, path, reader, &known) || analysis->failed;
            if (!known)
                keep_unrecognised(analysis, path, SPAN_LITERAL("log"));
            continue;
        }
        struct recorded *recorded =
            recorded_is(text) ? recorded_read(path, error, sizeof error) : NULL;
        if (recorded != NULL)
            keep_recorded(analysis, path, recorded);
        else if (!facts_reader_feed(reader, path, text, &ignored))
            keep_unrecognised(analysis, path, text);
        else
            analysis->ignored_lines += ignored;
        free((void *)(uintptr_t)text.ptr);
    }
    clear(progress);
    return read_dumps(saved, analysis) || any;
}

/* One JVM: of texts, or of a recording. */
struct jvm_case {
    const struct jvm_facts *facts;
    struct triage triage;
};

/* Nothing of what was given says anything about memory. */
static bool is_unknown(const struct analysis *analysis, const struct jvm_case *cases, int count)
{
    bool answered = analysis->dumps != NULL;
    for (int i = 0; i < analysis->input_count; i++)
        answered = answered || analysis->inputs[i].what.used;
    for (int i = 0; i < count; i++)
        answered = answered || cases[i].triage.finding_count > 0;
    return !answered;
}

/* Findings of all JVMs, each with its process id when there are several. */
static int collect(const struct facts_reader *reader, const struct analysis *analysis,
                   struct jvm_case *cases, int count)
{
    int worst = 0, of_texts = facts_reader_count(reader);
    for (int i = 0; i < count; i++) {
        const struct recorded *recorded = i < of_texts ? NULL : analysis->recorded[i - of_texts];
        struct jvm_case *jvm = &cases[i];
        jvm->facts = recorded == NULL ? facts_reader_at(reader, i) : &recorded->facts;
        triage_judge(jvm->facts, recorded == NULL ? NULL : recorded->alerts,
                     recorded == NULL ? 0 : recorded->alert_count, &jvm->triage);
        for (int k = 0; count > 1 && k < jvm->triage.finding_count; k++) {
            struct finding *finding = &jvm->triage.findings[k];
            if (finding_evidence(finding, "pid") == NULL)
                finding_add_int(finding, "pid", jvm->facts->identity.pid);
        }
        int status = triage_status(&jvm->triage);
        worst = status > worst ? status : worst;
    }
    for (const struct dump_said *said = analysis->dumps; said != NULL; said = said->next)
        worst = said->finding_count > 0 && worst < 1 ? 1 : worst;
    return is_unknown(analysis, cases, count) ? EXIT_UNKNOWN : worst;
}

static void overview_of(const struct jvm_case *cases, int count, struct triage_overview *overview)
{
    memset(overview, 0, sizeof *overview);
    for (int i = 0; i < count; i++)
        triage_overview_add(overview, cases[i].facts);
}

static void print_json(const struct analysis *analysis, const struct facts_reader *reader,
                       const struct jvm_case *cases, int count)
{
    struct json_out out = {0};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "inputs", '[');
    for (int i = 0; i < analysis->input_count; i++) {
        const struct facts_input *what = &analysis->inputs[i].what;
        json_out_begin(&out, NULL, '{');
        json_out_text(&out, "file", analysis->inputs[i].file);
        json_out_text(&out, "kind", text_kind_key(what->kind));
        json_out_int_if(&out, "jdk", what->jdk_major > 0, what->jdk_major);
        json_out_bool(&out, "used", what->used);
        if (what->pid >= 0)
            json_out_int(&out, "pid", what->pid);
        if (what->line > 0)
            json_out_int(&out, "line", what->line);
        if (what->removed[0] != '\0')
            json_out_text(&out, "removed", what->removed);
        if (what->note[0] != '\0')
            json_out_text(&out, "note", what->note);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_begin(&out, "findings", '[');
    for (int severity = SEVERITY_CRITICAL; severity >= SEVERITY_INFO; severity--) {
        for (const struct dump_said *said = analysis->dumps; said != NULL; said = said->next) {
            for (int k = 0; k < said->finding_count; k++)
                if ((int)said->findings[k].severity == severity)
                    finding_json(&out, NULL, &said->findings[k]);
        }
        for (int i = 0; i < count; i++) {
            const struct triage *triage = &cases[i].triage;
            for (int k = 0; k < triage->finding_count; k++)
                if ((int)triage->findings[k].severity == severity)
                    finding_json(&out, NULL, &triage->findings[k]);
        }
    }
    json_out_end(&out, ']');
    struct triage_overview overview;
    overview_of(cases, count, &overview);
    triage_overview_json(&overview, &out);
    json_out_begin(&out, "unrecognised", '[');
    for (int i = 0; i < analysis->unrecognised_count; i++)
        json_out_text(&out, NULL, analysis->unrecognised[i].file);
    json_out_end(&out, ']');
    if (analysis->unrecognised_count > 0) {
        json_out_begin(&out, "looks_like", '[');
        for (int i = 0; i < analysis->unrecognised_count; i++) {
            const struct unrecognised *file = &analysis->unrecognised[i];
            json_out_begin(&out, NULL, '{');
            json_out_text(&out, "file", file->file);
            json_out_text(&out, "what", file->looks.what);
            json_out_text(&out, "how", file->looks.how);
            json_out_end(&out, '}');
        }
        json_out_end(&out, ']');
    }
    json_out_int(&out, "unparsed_lines",
                 facts_reader_unparsed_lines(reader) + analysis->unknown_lines);
    json_out_int(&out, "ignored_lines", analysis->ignored_lines);
    json_out_begin(&out, "jvms", '[');
    for (int i = 0; i < count; i++) {
        const struct jvm_facts *facts = cases[i].facts;
        const struct triage_report report = {.facts = facts, .triage = &cases[i].triage};
        json_out_begin(&out, NULL, '{');
        if (facts->identity.pid >= 0)
            json_out_int(&out, "pid", facts->identity.pid);
        if (facts->identity.jdk_major > 0)
            json_out_int(&out, "jdk", facts->identity.jdk_major);
        triage_report_json(&report, &out);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_end(&out, '}');
    json_out_print(&out, stdout);
}

static void print_inputs(const struct analysis *analysis)
{
    printf("\nRead\n");
    for (int i = 0; i < analysis->input_count; i++) {
        const struct facts_input *what = &analysis->inputs[i].what;
        printf("  %-40s %s%s", escape_name(analysis->inputs[i].file).text,
               text_kind_key(what->kind), what->used ? "" : ", not used");
        if (what->note[0] != '\0')
            printf(": %s", escape_name(what->note).text);
        if (what->removed[0] != '\0')
            printf(" (removed: %s)", escape_name(what->removed).text);
        putchar('\n');
    }
    for (int i = 0; i < analysis->unrecognised_count; i++)
        printf("  %-40s not recognised: it looks like %s; %s\n",
               escape_name(analysis->unrecognised[i].file).text,
               analysis->unrecognised[i].looks.what, analysis->unrecognised[i].looks.how);
}

enum form { AS_TEXT, AS_MARKDOWN, AS_HTML, AS_JSON };

/* What was read, at the end of a page of HTML. */
static void inputs_page(const struct analysis *analysis, struct page *page)
{
    page_heading(page, "Read");
    page_table(page, "file", "what it is", "note");
    for (int i = 0; i < analysis->input_count; i++) {
        const struct facts_input *what = &analysis->inputs[i].what;
        char kind[96], note[640];
        snprintf(kind, sizeof kind, "%s%s", text_kind_key(what->kind),
                 what->used ? "" : ", not used");
        snprintf(note, sizeof note, "%.300s%s%.300s", what->note,
                 what->removed[0] != '\0' ? "; removed: " : "", what->removed);
        page_row(page, analysis->inputs[i].file, kind, note);
    }
    for (int i = 0; i < analysis->unrecognised_count; i++) {
        char note[640];
        snprintf(note, sizeof note, "it looks like %.300s; %.300s",
                 analysis->unrecognised[i].looks.what, analysis->unrecognised[i].looks.how);
        page_row(page, analysis->unrecognised[i].file, "not recognised", note);
    }
}

/* A page for each JVM and each dump; what is about all of them is a page without a title: the first one, in a
 * file of HTML the last one. unknown: that page alone, and it has the headline. own: room for count + 1 pages, which
 * the caller frees; pages: for all. */
static int make_pages(const struct analysis *analysis, const struct jvm_case *cases, int count,
                      bool unknown, enum form form, struct page *own, const struct page **pages)
{
    int made = 0;
    struct page *all = &own[count];
    struct triage_overview overview;
    overview_of(cases, count, &overview);
    page_begin(all, unknown ? "nothing here is about the memory of a JVM" : "",
               unknown ? "UNKNOWN" : "", SEVERITY_INFO);
    page_set_tone(all, PAGE_UNKNOWN);
    triage_overview_page(&overview, all);
    if (form != AS_HTML && (unknown || overview.files > 1))
        pages[made++] = all;
    for (int i = 0; i < count && !unknown; i++) {
        const struct triage_report report = {.facts = cases[i].facts, .triage = &cases[i].triage};
        triage_report_page(&report, &own[i]);
        pages[made++] = &own[i];
    }
    for (const struct dump_said *said = analysis->dumps; said != NULL; said = said->next)
        pages[made++] = &said->page;
    if (form == AS_HTML || (unknown && form == AS_MARKDOWN))
        inputs_page(analysis, all);
    if (form == AS_HTML)
        pages[made++] = all;
    return made;
}

static int print_pages(const struct analysis *analysis, const struct jvm_case *cases, int count,
                       enum form form)
{
    const struct terminal terminal = {.out = stdout, .colour = options_colour(false), .width = 100};
    bool ok = true;
    int room = count + 1, made = 0;
    for (const struct dump_said *said = analysis->dumps; said != NULL; said = said->next)
        room++;
    struct page *own = calloc((size_t)count + 1, sizeof *own);
    const struct page **pages = calloc((size_t)room, sizeof *pages);
    if (own == NULL || pages == NULL) {
        print_error("nmtwatch analyze: out of memory\n");
        ok = false;
    } else {
        made = make_pages(analysis, cases, count, is_unknown(analysis, cases, count), form, own,
                          pages);
    }
    if (ok && form == AS_HTML)
        ok = page_html_all(pages, made, stdout);
    for (int i = 0; i < made && form != AS_HTML; i++) {
        if (i > 0)
            putchar('\n');
        ok = (form == AS_MARKDOWN ? page_markdown(pages[i], stdout)
                                  : page_terminal(pages[i], &terminal)) &&
             ok;
    }
    if (form == AS_TEXT)
        print_inputs(analysis);
    for (int i = 0; own != NULL && i <= count; i++)
        page_free(&own[i]);
    free(own);
    free(pages);
    return ok && fflush(stdout) == 0 ? 0 : EXIT_IO;
}

static int analyze(struct saved *saved, const struct thresholds *thresholds, enum form form)
{
    struct analysis analysis = {.last_dump = &analysis.dumps};
    struct facts_reader *reader = facts_reader_create(thresholds, keep_input, &analysis);
    int code = EXIT_IO;
    if (reader == NULL || !read_all(saved, reader, &analysis)) {
        if (reader == NULL)
            print_error("nmtwatch analyze: out of memory\n");
        else if (saved->count == 0 && saved->passed_over == 0)
            print_error("nmtwatch analyze: no file to read\n");
    } else {
        facts_reader_finish(reader);
        int count = facts_reader_count(reader) + analysis.recorded_count;
        struct jvm_case *cases = calloc((size_t)count + 1, sizeof *cases);
        if (cases == NULL || analysis.failed) {
            print_error("nmtwatch analyze: out of memory\n");
        } else {
            code = collect(reader, &analysis, cases, count);
            if (form == AS_JSON)
                print_json(&analysis, reader, cases, count);
            else if (print_pages(&analysis, cases, count, form) != 0)
                code = EXIT_IO;
        }
        for (int i = 0; cases != NULL && i < count; i++)
            triage_free(&cases[i].triage);
        free(cases);
    }
    if (reader != NULL)
        facts_reader_destroy(reader);
    analysis_free(&analysis);
    return code;
}

static int run(int argc, char **argv)
{
    bool json = false, markdown = false, html = false;
    const char *config = NULL;
    const struct option_row rows[] = {
        OPTION_JSON(&json),
        OPTION_MARKDOWN(&markdown),
        {0, "html", NULL, NULL, &html, "one page of HTML"},
        OPTION_CONFIG(&config),
    };
    struct watch_options options;
    struct saved saved;
    char error[600];
    int operands, code;
    watch_options_default(&options);
    if (!options_parse(&command_analyze, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (json + markdown + html > 1)
        return options_error(&command_analyze, "either --json, --markdown or --html");
    if (operands == 0)
        return options_error(&command_analyze, "a file or a folder is needed");
    if (config != NULL && !config_load(config, &options, error, sizeof error))
        return print_failure(EXIT_USAGE, "nmtwatch analyze: %s\n", error);
    if (!saved_collect(&saved, argv + 1, operands, error, sizeof error)) {
        print_error("nmtwatch analyze: %s\n", error);
        saved_free(&saved);
        return EXIT_IO;
    }
    code = analyze(&saved, &options.thresholds,
                   json       ? AS_JSON
                   : html     ? AS_HTML
                   : markdown ? AS_MARKDOWN
                              : AS_TEXT);
    saved_free(&saved);
    return code;
}

const struct command command_analyze = {
    .name = "analyze",
    .usage = "Usage: nmtwatch analyze FILE|DIR|-... [options]\n"
             "\n"
             "Recognises each text by its content (JDK 8 to 27; gz, xz, zst, bz2 too; several\n"
             "replies in one file; pasted pieces with quotes, timestamps, line numbers, JSON):\n"
             "VM.native_memory summary, detail and their differences, VM.classloader_stats,\n"
             "VM.class_hierarchy, VM.classes, GC.class_histogram, VM.metaspace,\n"
             "PerfCounter.print, class-load and GC logs of any size, hs_err files and\n"
             "VM.info, VM.flags, jstat, smaps, recordings; and what else a ticket\n"
             "holds: OutOfMemoryError lines, the kernel's OOM killer, OOMKilled pods, top,\n"
             "ps, pmap, docker stats, kubectl top, /proc/PID/status, tables of Eclipse MAT,\n"
             "thread dumps, profiles of malloc, what YARN, Netty and Gradle say.\n"
             "Of heap dumps: who holds class loaders (nmtwatch holders). Two summaries of one\n"
             "JVM are two measurements; the files' times say which was first. With several\n"
             "JVMs a text without a process id is judged by itself.\n"
             "\n"
             "Exit: 0 no finding above a note, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (nothing of\n"
             "it is about the memory of a JVM), 64 usage, 74 nothing could be read.\n",
    .run = run,
};
