/* nmtwatch flamegraph: a profile as a flame graph, or the difference of two: JFR of the agent or collapsed
 * stacks of any profiler ("a;b;c 12"). */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/jfr/jfr_profile.h"
#include "nmtwatch/process/files.h"
#include "reports/profile/profile_difference.h"
#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAMES_MAX 8192 /* of a line */
#define TABLE_ROWS 40

struct source {
    const char *name;
    bool is_jfr;
    struct jfr_profile jfr;
    struct call_tree *collapsed;
    int64_t unread; /* lines that are no stacks */
    const struct call_tree *tree;
    const char *unit;
    bool bytes;
};

/* "method [library]" is how a frame of native code is written; a thread ("C2 CompilerThread", "G1 Conc#0",
 * async-profiler's "[main tid=7]") comes first, and no method's name is like it. */
static enum call_frame_kind kind_of(const char *name, bool outermost)
{
    size_t length = strlen(name);
    if (outermost && strstr(name, " [") == NULL && strpbrk(name, " #") != NULL &&
        strpbrk(name, "(<") == NULL)
        return CALL_FRAME_THREAD;
    return length > 0 && name[length - 1] == ']' && strstr(name, " [") != NULL ? CALL_FRAME_NATIVE
                                                                               : CALL_FRAME_JAVA;
}

/* Outermost first, as lines have it. False: it is no stack. */
static bool add_line(struct call_tree *tree, char *line)
{
    static struct stack_frame frames[FRAMES_MAX];
    line[strcspn(line, "\r\n")] = '\0';
    char *space = strrchr(line, ' '), *end;
    if (space == NULL)
        return false;
    errno = 0;
    long long samples = strtoll(space + 1, &end, 10);
    if (end == space + 1 || *end != '\0' || samples <= 0 || errno != 0)
        return false;
    *space = '\0';
    int depth = 1;
    for (const char *at = line; *at != '\0'; at++)
        depth += *at == ';';
    if (depth > FRAMES_MAX)
        return false;
    if (strcmp(line, "[no stack]") == 0)
        depth = 0;
    char *at = line;
    for (int i = depth - 1; i >= 0; i--) {
        char *name = strsep(&at, ";");
        frames[i] =
            (struct stack_frame){.name = name, .kind = kind_of(name, i == depth - 1 && i > 0)};
    }
    call_tree_add(tree, frames, depth, samples);
    return true;
}

#define LINE_MAX_BYTES ((size_t)4 << 20) /* a longer one is of no collapsed stacks */

enum line_kind { LINE_END, LINE_TEXT, LINE_BINARY, LINE_TOO_LONG };

/* The next line, without its end. */
static enum line_kind next_line(FILE *in, char line[LINE_MAX_BYTES])
{
    enum line_kind kind = LINE_TEXT;
    size_t length = 0;
    int c;
    while ((c = getc_unlocked(in)) != EOF && c != '\n') {
        if (length + 1 == LINE_MAX_BYTES)
            return LINE_TOO_LONG;
        if (c == '\0')
            kind = LINE_BINARY;
        line[length++] = (char)c;
    }
    line[length] = '\0';
    return c == EOF && length == 0 ? LINE_END : kind;
}

static bool read_collapsed(struct source *source, int fd, char *error, size_t error_size)
{
    FILE *in = fdopen(fd, "r");
    char *line = malloc(LINE_MAX_BYTES);
    enum line_kind kind;
    source->collapsed = call_tree_create();
    if (in == NULL || line == NULL || source->collapsed == NULL) {
        snprintf(error, error_size, "out of memory");
        free(line);
        if (in == NULL)
            close(fd);
        else
            fclose(in);
        return false;
    }
    while ((kind = next_line(in, line)) == LINE_TEXT || kind == LINE_BINARY)
        if (kind == LINE_BINARY || !add_line(source->collapsed, line))
            source->unread += kind == LINE_BINARY || (line[0] != '\0' && line[0] != '#');
    bool good = !ferror(in);
    if (!good)
        snprintf(error, error_size, "%s: %s", source->name, strerror(errno));
    free(line);
    fclose(in);
    call_tree_finish(source->collapsed);
    source->tree = source->collapsed;
    source->unit = "samples";
    if (good && (kind == LINE_TOO_LONG || call_tree_samples(source->tree) == 0)) {
        snprintf(error, error_size, "%s is neither a JFR file nor collapsed stacks", source->name);
        good = false;
    }
    return good;
}

static bool read_source(struct source *source, const char *name, char *error, size_t error_size)
{
    *source = (struct source){.name = name};
    char magic[4] = "";
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || pread(fd, magic, sizeof magic, 0) < 0) {
        snprintf(error, error_size, "%s: %s", name, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (memcmp(magic, "FLR", sizeof magic) != 0)
        return read_collapsed(source, fd, error, error_size);
    source->is_jfr = jfr_profile_read(&source->jfr, fd, name, false, error, error_size);
    close(fd);
    if (!source->is_jfr)
        return false;
    source->tree = jfr_profile_samples(&source->jfr, &source->unit);
    source->bytes = source->tree == source->jfr.alloc;
    return true;
}

static void free_source(struct source *source)
{
    if (source->is_jfr)
        jfr_profile_free(&source->jfr);
    call_tree_destroy(source->collapsed);
}

/* What a reader has to know of a source; "" for nothing. */
static void note_of(const struct source *source, char *out, size_t size)
{
    out[0] = '\0';
    if (source->is_jfr && source->jfr.damage[0] != '\0')
        snprintf(out, size, "%s is damaged: %s", source->name, source->jfr.damage);
    else if (source->unread > 0)
        snprintf(out, size, "%s: left out, because they are no stacks: %lld lines", source->name,
                 (long long)source->unread);
}

static bool write_page(const struct source *before, const struct source *after,
                       const struct profile_difference *difference, FILE *out)
{
    char title[600], texts[2][1000];
    const char *notes[2];
    struct flamegraph_page page = {.title = title,
                                   .unit = after->unit,
                                   .bytes = after->bytes,
                                   .notes = notes,
                                   .before = before != NULL ? before->tree : NULL,
                                   .difference = difference};
    if (before != NULL)
        snprintf(title, sizeof title, "%.250s, compared with %.250s", after->name, before->name);
    else
        snprintf(title, sizeof title, "%.500s", after->name);
    for (int i = 0; i < 2; i++) {
        const struct source *source = i == 0 ? before : after;
        texts[i][0] = '\0';
        if (source != NULL)
            note_of(source, texts[i], sizeof texts[i]);
        if (texts[i][0] != '\0')
            notes[page.note_count++] = texts[i];
    }
    return flamegraph_write(after->tree, &page, out);
}

static int write_output(const char *output, const struct source *before, const struct source *after,
                        const struct profile_difference *difference)
{
    FILE *out = result_open(output, 0);
    if (result_close(out, output, out != NULL && write_page(before, after, difference, out)))
        return 0;
    return print_failure(EXIT_IO, "nmtwatch flamegraph: %s: %s\n", output, strerror(errno));
}

static int show(const struct source *before, const struct source *after, bool absolute,
                const char *output)
{
    struct profile_difference difference = {0};
    int code = 0;
    if (before != NULL &&
        !profile_difference_make(&difference, before->tree, after->tree, absolute, after->bytes))
        return print_failure(EXIT_IO, "nmtwatch flamegraph: out of memory\n");
    if (output != NULL)
        code = write_output(output, before, after, before != NULL ? &difference : NULL);
    else if (before != NULL)
        code = profile_difference_print(&difference, TABLE_ROWS, stdout) ? 0 : EXIT_IO;
    profile_difference_free(&difference);
    return code;
}

static int run(int argc, char **argv)
{
    const char *output = NULL;
    bool absolute = false;
    const struct option_row rows[] = {
        {'o', "output", "FILE", option_take_text, &output, "the page (.html)"},
        {0, "absolute", NULL, NULL, &absolute, "compare samples, not shares"},
    };
    int operands, code;
    if (!options_parse(&command_flamegraph, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands < 1 || operands > 2)
        return options_error(&command_flamegraph, "one profile, or two: before and after");
    if (operands == 1 && output == NULL)
        return options_error(&command_flamegraph, "-o FILE.html is needed");
    if (operands == 1 && absolute)
        return options_error(&command_flamegraph, "--absolute is for two profiles");

    struct source sources[2] = {0};
    char error[700], note[1000];
    bool good = true;
    for (int i = 0; i < operands && good; i++) {
        good = read_source(&sources[i], argv[1 + i], error, sizeof error);
        if (good)
            note_of(&sources[i], note, sizeof note);
        if (good && note[0] != '\0')
            print_error("nmtwatch flamegraph: warning: %s\n", note);
    }
    const struct source *before = operands == 2 ? &sources[0] : NULL;
    const struct source *after = &sources[operands - 1];
    if (good && before != NULL && before->bytes != after->bytes) {
        snprintf(error, sizeof error,
                 "one profile is of CPU or wall-clock time, the other of allocations");
        good = false;
    }
    if (good)
        code = show(before, after, absolute, output);
    else
        print_error("nmtwatch flamegraph: %s\n", error);
    free_source(&sources[0]);
    free_source(&sources[1]);
    return good ? code : EXIT_IO;
}

const struct command command_flamegraph = {
    .name = "flamegraph",
    .summary = "a profile as a flame graph, or what differs between two",
    .usage = "Usage: nmtwatch flamegraph PROFILE -o FILE.html\n"
             "       nmtwatch flamegraph BEFORE AFTER [-o FILE.html] [--absolute]\n"
             "\n"
             "A profile is a JFR file of the agent, or collapsed stacks (\"a;b;c 12\") of any\n"
             "profiler. Of two, frames are as wide as they are in AFTER, red where they take\n"
             "more than in BEFORE and blue where they take less, and a table names the\n"
             "methods that changed most, and those that are new or gone. Without -o the table\n"
             "is printed. Shares are compared: the profiles need not be of the same length;\n"
             "with --absolute samples are; the page switches between both.\n"
             "\n"
             "The page needs no network. A click (Enter) zooms, the search counts, arrow keys\n"
             "move, Escape shows all again; the address keeps what is shown. A JFR file has a\n"
             "heat map of its samples over time: click a column, or drag over a span, for its\n"
             "flame graph. A stack without Java frames begins with its thread (\"C2\n"
             "CompilerThread\", \"G1 Conc#0\"). Numbers are left out where there are more than\n"
             "four (\"GC Thread#*\").\n",
    .run = run,
};
