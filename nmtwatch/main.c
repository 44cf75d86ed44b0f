/* nmtwatch: the verbs are a table; everything else is in their files. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/process/apart.h"
#include "nmtwatch/worker/worker.h"
#include "reports/json/json_out.h"
#include "nmtwatch/process/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);

const struct command command_help = {
    .name = "help",
    .usage = "Usage: nmtwatch help [VERB] [--json]\n",
    .run = run_help,
};

const struct command command_version = {
    .name = "version",
    .usage = "Usage: nmtwatch version [--json]\n",
    .run = run_version,
};

static const struct verb {
    const struct command *command;
    const char *name, *summary, *schema;
} verbs[] = {
#define COMMAND(id, summary, schema, page) {&command_##id, #id, summary, schema},
#include "nmtwatch/commands/commands.def"
};
#define VERBS (sizeof verbs / sizeof verbs[0])

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < VERBS; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return verbs[i].command;
    return NULL;
}

/* How many letters have to be changed, added or left out to make a of b. */
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    int row[LONGEST + 1];
    size_t b_len = strlen(b);
    if (strlen(a) > LONGEST || b_len > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        int diagonal = row[0]++;
        for (size_t j = 0; j < b_len; j++) {
            int change = diagonal + (a[i] != b[j]);
            int shorter = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = change < shorter ? change : shorter;
        }
    }
    return row[b_len];
}

static int unknown_command(const char *name)
{
    const char *nearest = NULL;
    int least = 3; /* further away it is another word */
    for (size_t i = 0; i < VERBS; i++)
        if (distance(name, verbs[i].name) < least) {
            nearest = verbs[i].name;
            least = distance(name, nearest);
        }
    if (nearest != NULL)
        return print_failure(EXIT_USAGE, "nmtwatch: unknown command '%s'; did you mean '%s'?\n",
                             name, nearest);
    return print_failure(EXIT_USAGE, "nmtwatch: unknown command '%s' (see nmtwatch help)\n", name);
}

static void print_overview(FILE *out)
{
    fprintf(out, "Usage: nmtwatch VERB [OPTION]... [PID]...\n\n"
                 "Whose native memory grows in a HotSpot JVM, why, does it converge, and what\n"
                 "to change.\n\n");
    for (size_t i = 0; i < VERBS; i++)
        fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    fprintf(out, "\nFor a PID a verb takes a name as well: a main class, jar, unit, container\n"
                 "or pod, or rules such as unit=orders,user=shop.\n"
                 "`nmtwatch help VERB` lists the options of one.\n");
}

static int print_verbs_json(void)
{
    struct json_out out = {0};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "verbs", '[');
    for (size_t i = 0; i < VERBS; i++) {
        json_out_begin(&out, NULL, '{');
        json_out_text(&out, "name", verbs[i].name);
        json_out_text(&out, "summary", verbs[i].summary);
        if (verbs[i].schema != NULL)
            json_out_text(&out, "schema", verbs[i].schema);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_end(&out, '}');
    return json_out_print(&out, stdout) ? 0 : EXIT_IO;
}

static int run_help(int argc, char **argv)
{
    bool json = false;
    const struct option_row rows[] = {{0, "json", NULL, NULL, &json, "the verbs as one object"}};
    int operands, code;
    if (!options_parse(&command_help, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (json)
        return print_verbs_json();
    if (operands > 1)
        return options_error(&command_help, "one verb at a time");
    if (operands == 0) {
        print_overview(stdout);
        return 0;
    }
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    char help[] = "--help";
    return command->run(2, (char *[]){argv[1], help, NULL});
}

static int run_version(int argc, char **argv)
{
    bool json = false;
    const struct option_row rows[] = {{0, "json", NULL, NULL, &json, "one JSON object"}};
    int operands, code;
    if (!options_parse(&command_version, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands > 0)
        return options_error(&command_version, "unexpected operand '%s'", argv[1]);
    if (json)
        printf("{\"name\":\"nmtwatch\",\"version\":\"" NMTWATCH_VERSION "\"}\n");
    else
        printf("nmtwatch " NMTWATCH_VERSION "\n");
    return 0;
}

/* A reader that has seen enough (`| head`) closes the pipe: no news. A full disk is. */
static int finish_output(const struct command *command, int code)
{
    bool failed = ferror(stdout) != 0;
    int error = 0;
    if (fflush(stdout) != 0) {
        failed = true;
        error = errno;
    }
    struct stat status;
    bool reader_left = fstat(STDOUT_FILENO, &status) == 0 &&
                       (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
    if (!failed || reader_left)
        return code;
    print_error("nmtwatch: writing to standard output: %s\n",
                error != 0 ? strerror(error) : "it failed");
    return command == &command_check ? EXIT_UNKNOWN : EXIT_IO;
}

/* Started with one of them closed, the next file to be opened, perhaps a recording, would become
 * standard output. What was closed refuses writes then as well. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

struct running {
    const struct command *command;
    int argc;
    char **argv;
};

static int run_command(void *context)
{
    const struct running *running = context;
    privileged_workers(worker_start);
    return finish_output(running->command, running->command->run(running->argc, running->argv));
}

/* A verb that reads a JVM's files by itself can be ended while it stands still in one of them. */
static int run_apart(const struct command *command, int argc, char **argv)
{
    struct running running = {command, argc, argv};
    int code = command->apart ? apart_run(run_command, &running, 0) : run_command(&running);
    if (code >= 0)
        return code;
    return print_failure(EXIT_IO,
                         "nmtwatch %s: a child that reads the JVM's files does not end; it is left "
                         "behind\n",
                         command->name);
}

int main(int argc, char **argv)
{
    open_standard_files();
    signal(SIGPIPE, SIG_IGN); /* every write is checked instead */
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is a full disk */
    /* A person at a terminal. */
    if (argc < 2 && isatty(STDIN_FILENO) && options_screen())
        return run_apart(&command_top, 1, (char *[]){"top", NULL});
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = command_help.name;
    else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        name = command_version.name;
    const struct command *command = find_command(name);
    return command != NULL ? run_apart(command, argc - 1, argv + 1) : unknown_command(name);
}
