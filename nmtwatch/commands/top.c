/* nmtwatch top: all JVMs of this host on one screen. */
#include "nmtwatch/top/top.h"

#include "nmtwatch/commands/options.h"
#include "nmtwatch/top/screen.h"

static const char *take_columns(const char *value, void *into)
{
    static char error[300];
    return top_columns_parse(value, into, error, sizeof error) ? NULL : error;
}

static const char *take_sort(const char *value, void *into)
{
    static char error[300];
    unsigned one;
    enum top_column column = top_column_from_key(value, strlen(value));
    if (column == TOP_COLUMNS) {
        top_columns_parse(value, &one, error, sizeof error);
        return error[0] != '\0' ? error : "a column";
    }
    *(enum top_column *)into = column;
    return NULL;
}

/* Where a screen cannot be drawn it is `watch`, of the same JVMs. */
static int fall_back(const struct top_options *options, int64_t for_ms, char **operands, int count,
                     const char *why)
{
    const struct watch_arguments arguments = {.into_pipe = SESSION_LINES};
    struct session_options session = {.watch = options->watch, .all = count == 0, .for_ms = for_ms};
    print_error("nmtwatch top: %s: as nmtwatch watch\n", why);
    return watch_options_run(&command_top, &arguments, operands, count, &session);
}

static int run(int argc, char **argv)
{
    struct top_options options = {.order = {.sort = TOP_VERDICT, .filter = ""}};
    struct watch_given given = {0};
    const char *config = NULL;
    bool no_colour = false;
    char why[160];
    struct option_row rows[WATCH_OPTION_COUNT + 8] = {
        {0, "sort", "COLUMN", take_sort, &options.order.sort, "sort by this column (verdict)"},
        {0, "columns", "COLUMN,...", take_columns, &options.columns,
         "of pid, main, user, unit, jdk, rss, heap, nmt, class, internal, classes, loads, unloads, "
         "verdict, "
         "finding, trend (those chosen last, else all; as many as fit)"},
        {0, "filter", "TEXT", option_take_text, &options.order.filter,
         "only JVMs with this in name, pid, user, unit, JDK, container or finding"},
        {0, "tree", NULL, NULL, &options.order.tree, "JVMs below their container"},
        OPTION_FOR(&options.for_ms),
        OPTION_CONFIG_WATCH(&config),
        OPTION_NO_COLOR(&no_colour),
    };
    int operands, code;
    size_t count =
        options_settings(watch_option_settings(false), WATCH_OPTION_COUNT, given.text, rows, 7);
    if (!options_parse(&command_top, rows, count, argc, argv, &operands, &code))
        return code;
    code = watch_given_apply(&command_top, &given, config, false, &options.watch);
    if (code != 0)
        return code;
    if (operands > 1)
        return options_error(&command_top, "one process id at a time");
    if (options.columns == 0 && !top_columns_load(&options.columns))
        options.columns = TOP_ALL;
    options.colour = options_colour(no_colour);
    if (!screen_usable(why, sizeof why))
        return fall_back(&options, options.for_ms, argv + 1, operands, why);
    code = target_option_proc(&command_top);
    if (code == 0 && operands == 1) {
        /* Opened here only to say what is wrong with it. */
        struct target target;
        code = target_option_open(&command_top, argv[1], &target);
        if (code == 0) {
            options.pid = target.pid;
            target_close(&target);
        }
    }
    return code != 0 ? code : top_run(&options);
}

const struct command command_top = {
    .name = "top",
    .usage = "Usage: nmtwatch top [PID] [options]\n"
             "\n"
             "All JVMs on one screen, refreshed each second: memory, classes, verdict, the\n"
             "highest finding. Enter (or a PID) opens one: categories of native memory with\n"
             "what has changed, findings with their fix, families of classes, class loaders,\n"
             "the cost of watching.\n"
             "\n"
             "Keys: ? shows them all; < > sort, / filter, c columns, T tree by container, t\n"
             "triage, o observe or profile, r record, b new baseline, q quit. The mouse\n"
             "works.\n"
             "\n"
             "It watches as nmtwatch watch does, with the same options. Where no screen can\n"
             "be drawn (a pipe, TERM=dumb) it is nmtwatch watch --all. nmtwatch alone on a\n"
             "terminal starts it.\n"
             "\n"
             "Exit: 0 quit, 10-36 the PID cannot be watched, 64 usage, 74 out of memory; as\n"
             "nmtwatch watch where no screen can be drawn.\n",
    .run = run,
};
