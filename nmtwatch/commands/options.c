#include "nmtwatch/commands/options.h"

#include "nmtwatch/jvm/syscall_filter.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/signals.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"
#include "nmtwatch/machine/machine.h"
#include "nmtwatch/serve/member.h"
#include "nmtwatch/serve/scan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* --- target option ---------------------------------------------------------------------------- */

void target_machine_json(struct json_out *out, const struct target *target)
{
    char room[24];
    json_out_text(out, "architecture",
                  target->machine != 0 ? machine_name(target->machine, room) : NULL);
    json_out_bool(out, "emulated", target_is_emulated(target));
}

void target_option_label(const struct target *target, char label[static TARGET_LABEL_MAX])
{
    struct facts facts;
    facts_read(&facts, target);
    const struct target_facts view = facts_view(&facts);
    target_label(&view, label);
    facts_free(&facts);
}

int target_option_all(const struct command *command, const struct target_match *match,
                      struct discovery *found)
{
    int code = target_option_proc(command), kept = 0;
    if (code != 0)
        return code;
    if (discover_jvms(found) != 0)
        return print_failure(EXIT_IO, "nmtwatch %s: /proc cannot be read: %s\n", command->name,
                             strerror(errno));
    for (int i = 0; i < found->count && match != NULL; i++) {
        struct facts facts;
        facts_read(&facts, &found->targets[i]);
        const struct target_facts view = facts_view(&facts);
        if (target_match_fits(match, &view))
            found->targets[kept++] = found->targets[i];
        facts_free(&facts);
    }
    found->count = match != NULL ? kept : found->count;
    return 0;
}

/* Several JVMs have the name. */
static int candidates(const struct command *command, const char *name,
                      const struct discovery *found)
{
    print_error("nmtwatch %s: '%s' fits %d JVMs; give a process id, or another term such as "
                "main=NAME,unit=NAME\n",
                command->name, escape_name(name).text, found->count);
    for (int i = 0; i < found->count; i++) {
        char label[TARGET_LABEL_MAX];
        target_option_label(&found->targets[i], label);
        print_error("%9d  %s\n", (int)found->targets[i].pid, escape_name(label).text);
    }
    return EXIT_USAGE;
}

static int pid_of_name(const struct command *command, const char *name, pid_t *pid)
{
    struct target_match match[2];
    struct discovery found = {0};
    int code = 0;
    bool good = target_match_name(match, name);
    for (int i = 0; i < 2 && good && code == 0 && found.count == 0; i++) {
        discovery_free(&found);
        code = target_option_all(command, &match[i], &found);
    }
    if (code == 0 && found.count > 1)
        code = candidates(command, name, &found);
    else if (code == 0 && found.count == 0)
        code = print_failure(failure_exit_code(FAILURE_NOT_A_JVM),
                             "nmtwatch %s: '%s' is neither a process id nor the name of a JVM "
                             "(main class, jar, unit, container or pod; see nmtwatch list)\n",
                             command->name, escape_name(name).text);
    else if (code == 0)
        *pid = found.targets[0].pid;
    discovery_free(&found);
    return code;
}

int target_option_pid(const struct command *command, const char *text, pid_t *pid)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (*end != '\0')
        return pid_of_name(command, text, pid);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || number < 1 || number > INT_MAX)
        return options_error(command, "'%s' is not a process id", text);
    *pid = (pid_t)number;
    return 0;
}

int target_option_proc(const struct command *command)
{
    struct failure failure;
    if (target_proc_is_ours())
        return 0;
    failure_set(&failure, FAILURE_FOREIGN_PROC, "a JVM", NULL);
    print_error("nmtwatch %s: %s\n", command->name, failure.sentence);
    return failure_exit_code(failure.kind);
}

int target_option_open(const struct command *command, const char *text, struct target *target)
{
    pid_t pid = 0;
    struct failure failure;
    int code = target_option_pid(command, text, &pid);
    if (code != 0)
        return code;
    if (target_open(target, pid, &failure) == FAILURE_NONE)
        return 0;
    print_error("nmtwatch %s: %s\n", command->name, failure.sentence);
    return failure_exit_code(failure.kind);
}

/* --- target many ------------------------------------------------------------------------------ */

/* A JVM is asked when it is this old, and when it has published its name or is older than those that have
 * not yet. Up to YOUNG_MS it may refuse, and is asked again. */
#define ASKED_MS     1000
#define NAMELESS_MS  2000
#define YOUNG_MS     10000
#define SCAN_EACH_MS 1000

struct target_many {
    const struct command *command;
    const char *text; /* of the rules; NULL: all */
    struct target_match match;
    struct scan *scan;
    int64_t next_scan_ms;
    bool (*take)(void *context, const struct target *target, bool young);
    void *context;
};

struct target_many *target_many_open(const struct command *command, const char *match, int *code)
{
    char error[300];
    struct target_many *many = calloc(1, sizeof *many);
    *code = EXIT_IO;
    if (many == NULL || (many->scan = scan_create()) == NULL)
        print_error("nmtwatch %s: out of memory\n", command->name);
    else if (match != NULL && !target_match_add(&many->match, match, error, sizeof error))
        *code = options_error(command, "--match: %s", error);
    else if ((*code = target_option_proc(command)) == 0) {
        many->command = command;
        many->text = match;
        scan_set_user_budget(many->scan, SCAN_EACH_MS);
        return many;
    }
    target_many_close(many);
    return NULL;
}

static enum scan_answer many_found(void *context, const struct target *target)
{
    struct target_many *many = context;
    struct facts facts;
    int64_t age_ms = target->identity.uptime_ms;
    if (age_ms < ASKED_MS || (age_ms < NAMELESS_MS && target->perfdata[0] == '\0'))
        return SCAN_LATER;
    facts_read(&facts, target);
    struct target_facts view = facts_view(&facts);
    bool fits = target_match_fits(&many->match, &view);
    facts_free(&facts);
    if (!fits)
        return SCAN_REFUSED;
    return many->take(many->context, target, age_ms < YOUNG_MS) ? SCAN_TAKEN : SCAN_LATER;
}

void target_many_scan(struct target_many *many,
                      bool (*take)(void *context, const struct target *target, bool young),
                      void *context)
{
    int64_t now_ms = clock_ms(CLOCK_BOOTTIME);
    if (now_ms < many->next_scan_ms)
        return;
    many->take = take;
    many->context = context;
    scan_begin(many->scan, now_ms);
    while (!scan_step(many->scan, now_ms, many_found, many) && signals_asked() == 0)
        continue;
    many->next_scan_ms = now_ms + SCAN_EACH_MS;
}

int target_many_none(const struct target_many *many)
{
    print_error("nmtwatch %s: there is no JVM%s%s\n", many->command->name,
                many->text != NULL ? " that fits " : "",
                many->text != NULL ? escape_name(many->text).text : "");
    return failure_exit_code(FAILURE_NOT_A_JVM);
}

void target_many_close(struct target_many *many)
{
    if (many != NULL)
        scan_destroy(many->scan);
    free(many);
}

#define SETTINGS_MAX 80

static const char *const agent_value_names[] = {
    [AGENT_TYPE_TIME] = "TIME", [AGENT_TYPE_BYTES] = "SIZE",      [AGENT_TYPE_COUNT] = "N",
    [AGENT_TYPE_TEXT] = "TEXT", [AGENT_TYPE_BOOL] = "true|false",
};

size_t options_agent(struct start_options *options, struct option_row *rows)
{
    size_t count = 0;
    start_options_init(options);
    for (int i = 0; i < AGENT_OPTION_COUNT; i++) {
        enum agent_option_type type = agent_option_type((enum agent_option)i);
        if (i == OPTION_ANSWER) /* ours to give */
            continue;
        rows[count++] = (struct option_row){0,
                                            options->name[i],
                                            agent_value_names[type],
                                            option_take_text,
                                            &options->value[i],
                                            options->help[i]};
        if (type == AGENT_TYPE_BOOL)
            rows[count++] = (struct option_row){0,    options->negation[i], NULL,
                                                NULL, &options->negated[i], "the same as false"};
    }
    return count;
}

int options_error(const struct command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_error("nmtwatch %s: ", command->name);
    vprint_error(format, args);
    print_error(" (see nmtwatch help %s)\n", command->name);
    va_end(args);
    return EXIT_USAGE;
}

static void describe(const struct option_row *row, char *out, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "%s", row->name);
    for (char *at = name; (at = strchr(at, '_')) != NULL;)
        *at = '-';
    snprintf(out, size, "%c%c%s--%s%s%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
             row->letter ? ", " : "  ", name, row->value ? " " : "", row->value ? row->value : "");
}

/* Descriptions of options begin in one column; behind a longer name on a line of its own. */
#define NAME_COLUMNS_MAX 28

static void print_help(const struct command *command, const struct option_row *rows, size_t count)
{
    static const struct option_row help = {'h', "help", NULL, NULL, NULL, "this text"};
    const struct terminal terminal = {.out = stdout};
    char left[80];
    int width = 20;
    for (size_t i = 0; i < count; i++) {
        describe(&rows[i], left, sizeof left);
        int columns = (int)strlen(left);
        width = columns > width && columns <= NAME_COLUMNS_MAX ? columns : width;
    }
    fputs(command->usage, stdout);
    printf("\nOptions:\n");
    for (size_t i = 0; i <= count; i++) {
        const struct option_row *row = i < count ? &rows[i] : &help;
        describe(row, left, sizeof left);
        if ((int)strlen(left) > width)
            printf("  %s\n%*s", left, width + 4, "");
        else
            printf("  %-*s  ", width, left);
        terminal_continued(&terminal, width + 4, width + 4, row->help);
    }
}

/* A key of a file has '_' where its option has '-'. */
static bool is_name(const char *row, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (row[i] != name[i] && !(row[i] == '_' && name[i] == '-'))
            return false;
    return row[len] == '\0';
}

static const struct option_row *find_by_name(const struct option_row *rows, size_t count,
                                             const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (is_name(rows[i].name, name, len))
            return &rows[i];
    return NULL;
}

static const struct option_row *find_by_letter(const struct option_row *rows, size_t count,
                                               char letter)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

/* One option at argv[*at], `text` in the user's spelling; *at moves over a value that stands alone.
 * value: what followed '=' or the letter, else NULL. */
static int take_option(const struct command *command, const struct option_row *row,
                       const char *text, const char *value, int argc, char **argv, int *at)
{
    int text_len = (int)strcspn(text, "=");
    if (row == NULL)
        return options_error(command, "unknown option '%.*s'", text_len, text);
    if (row->value == NULL) {
        if (value != NULL)
            return options_error(command, "--%s takes no value", row->name);
        if (row->take != NULL)
            row->take(NULL, row->into);
        else
            *(bool *)row->into = true;
        return 0;
    }
    if (value == NULL && *at + 1 < argc)
        value = argv[++*at];
    if (value == NULL)
        return options_error(command, "--%s needs a value: %s", row->name, row->value);
    const char *expected = row->take(value, row->into);
    if (expected != NULL)
        return options_error(command, "--%s '%s': expected %s", row->name, value, expected);
    return 0;
}

bool options_parse(const struct command *command, const struct option_row *rows, size_t row_count,
                   int argc, char **argv, int *operands, int *code)
{
    bool options_over = false;
    *operands = 0;
    *code = 0;
    for (int i = 1; i < argc && *code == 0; i++) {
        char *text = argv[i];
        if (options_over || text[0] != '-' || text[1] == '\0') {
            argv[++*operands] = text; /* never ahead of i */
        } else if (strcmp(text, "--") == 0) {
            options_over = true;
        } else if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
            print_help(command, rows, row_count);
            return false;
        } else if (text[1] == '-') {
            const char *name = text + 2, *equals = strchr(name, '=');
            size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
            *code = take_option(command, find_by_name(rows, row_count, name, len), text,
                                equals != NULL ? equals + 1 : NULL, argc, argv, &i);
        } else {
            *code = take_option(command, find_by_letter(rows, row_count, text[1]), text,
                                text[2] != '\0' ? text + 2 : NULL, argc, argv, &i);
        }
    }
    return *code == 0;
}

static const char *take_flag(const char *value, void *into)
{
    (void)value;
    *(const char **)into = "yes";
    return NULL;
}

size_t options_settings(const struct setting *settings, size_t count, const char *text[],
                        struct option_row *rows, size_t used)
{
    static char help[SETTINGS_MAX][SETTING_HELP_MAX];
    static size_t helps;
    for (size_t i = 0; i < count && helps < SETTINGS_MAX; i++, helps++) {
        const struct setting *setting = &settings[i];
        bool has_initial = setting->value != NULL && setting->initial[0] != '\0';
        snprintf(help[helps], sizeof help[0], "%s%s%s%s", setting->help, has_initial ? " (" : "",
                 has_initial ? setting->initial : "", has_initial ? ")" : "");
        rows[used++] = (struct option_row){0,
                                           setting->key,
                                           setting->value,
                                           setting->value != NULL ? option_take_text : take_flag,
                                           &text[i],
                                           help[helps]};
    }
    return used;
}

bool options_colour(bool refused)
{
    const char *no_color = getenv("NO_COLOR");
    return !refused && (no_color == NULL || no_color[0] == '\0') && isatty(1);
}

bool options_screen(void)
{
    const char *name = getenv("TERM");
    return isatty(1) && name != NULL && name[0] != '\0' && strcmp(name, "dumb") != 0;
}

const char *option_take_text(const char *value, void *into)
{
    *(const char **)into = value;
    return NULL;
}

const char *option_take_count(const char *value, void *into)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 || number < 1)
        return "a whole number, 1 or more";
    *(int64_t *)into = number;
    return NULL;
}

const char *option_take_duration_ms(const char *value, void *into)
{
    char error[160];
    if (!units_parse_duration(value, into, error, sizeof error))
        return "a time such as 500ms, 10s, 5m40s or 2h";
    return NULL;
}

const char *option_take_span_ms(const char *value, void *into)
{
    int64_t ms;
    if (option_take_duration_ms(value, &ms) != NULL || ms <= 0)
        return "a time above 0, such as 500ms, 10s, 5m40s or 2h";
    *(int64_t *)into = ms;
    return NULL;
}

const char *option_take_bytes(const char *value, void *into)
{
    char error[160];
    if (!units_parse_bytes(value, into, error, sizeof error))
        return "an amount such as 512K, 64M or 2G";
    return NULL;
}

const char *option_take_under_seccomp(const char *value, void *into)
{
    (void)into;
    if (strcmp(value, "skip") != 0 && strcmp(value, "ask") != 0)
        return "'skip' or 'ask'";
    syscall_filter_ask_anyway(value[0] == 'a');
    return NULL;
}

/* --- watch options --------------------------------------------------------------------------- */

bool watch_given_take(const struct watch_given *given, struct watch_options *options, char *error,
                      size_t error_size)
{
    for (int i = 0; i < WATCH_OPTION_COUNT; i++) {
        char expected[160], name[32];
        if (given->text[i] == NULL || watch_option_take(options, (enum watch_option)i,
                                                        given->text[i], expected, sizeof expected))
            continue;
        snprintf(name, sizeof name, "%s", watch_option_settings(false)[i].key);
        for (char *at = name; (at = strchr(at, '_')) != NULL;)
            *at = '-';
        return text_error(error, error_size, "--%s '%.80s': expected %s", name, given->text[i],
                          expected);
    }
    return true;
}

int watch_given_apply(const struct command *command, const struct watch_given *given,
                      const char *config, bool soak, struct watch_options *options)
{
    char error[512];
    (soak ? watch_options_default_soak : watch_options_default)(options);
    if (config != NULL && !config_load(config, options, error, sizeof error))
        return print_failure(EXIT_USAGE, "nmtwatch %s: %s\n", command->name, error);
    if (!watch_given_take(given, options, error, sizeof error))
        return options_error(command, "%s", error);
    return 0;
}

size_t watch_arguments_rows(struct watch_arguments *arguments, struct session_options *options,
                            struct option_row *rows, size_t used)
{
    const struct option_row own[] = {
        OPTION_FOR(&options->for_ms),
        OPTION_CONFIG_WATCH(&arguments->config),
        OPTION_NOTIFY(&options->notify),
        OPTION_FORCE(&options->record_force),
        OPTION_NO_COLOR(&arguments->no_color),
        {0, "json", NULL, NULL, &arguments->json, "one JSON object per line"},
    };
    used = options_settings(watch_option_settings(false), WATCH_OPTION_COUNT, arguments->given.text,
                            rows, used);
    memcpy(&rows[used], own, sizeof own);
    return used + OPTION_COUNT(own);
}

int watch_arguments_apply(const struct command *command, const struct watch_arguments *arguments,
                          struct session_options *options)
{
    options->colour = options_colour(arguments->no_color);
    return watch_given_apply(command, &arguments->given, arguments->config, false, &options->watch);
}

static int open_all(const struct command *command, struct session_options *options)
{
    struct discovery discovery;
    int code = target_option_all(command, NULL, &discovery);
    if (code != 0)
        return code;
    options->target_count = discovery.count;
    options->targets = discovery.targets; /* kept: the process ends with the session */
    return 0;
}

static int open_targets(const struct command *command, char **operands, int count,
                        struct session_options *options)
{
    if (options->all && count > 0)
        return options_error(command, "--all and process ids exclude each other");
    if (options->all)
        return open_all(command, options);
    if (count == 0)
        return options_error(command,
                             "the process id of a JVM is missing (nmtwatch list shows them)");
    options->targets = calloc((size_t)count, sizeof *options->targets);
    if (options->targets == NULL)
        return EXIT_IO;
    for (int i = 0; i < count; i++) {
        int code = target_option_open(command, operands[i], &options->targets[i]);
        if (code != 0) {
            free(options->targets);
            options->targets = NULL;
            options->target_count = 0;
            return code;
        }
        options->target_count++;
    }
    return 0;
}

int watch_options_run(const struct command *command, const struct watch_arguments *arguments,
                      char **operands, int count, struct session_options *options)
{
    int code = open_targets(command, operands, count, options);
    if (code != 0)
        return code;
    options->output = arguments->json    ? SESSION_JSON
                      : options_screen() ? SESSION_TABLE
                                         : arguments->into_pipe;
    code = session_run(options);
    free(options->targets);
    return code;
}
