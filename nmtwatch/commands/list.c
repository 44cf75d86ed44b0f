/* nmtwatch list: every HotSpot JVM this user may see, and what can be known of it without asking
 * it: /proc and hsperfdata only, no attach, no signal. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/jvm/agent_files.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/serve/member.h"
#include "reports/text/units.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct row {
    const struct target *target;
    struct sample sample;
    char user[64]; /* its name here, or the number */
    struct target_place place;
    bool container;
};

static struct row row_of(const struct target *target)
{
    struct row row = {.target = target, .container = target->contained};
    sample_clear(&row.sample);
    sample_unasked(target, &row.sample);
    row.container = row.container || target->nspid != target->pid;

    const struct passwd *user = getpwuid(target->uid);
    if (user != NULL)
        snprintf(row.user, sizeof row.user, "%s", user->pw_name);
    else
        facts_user_name(target->uid, row.user, sizeof row.user);
    struct facts facts;
    facts_read(&facts, target);
    row.place = facts.place;
    facts_free(&facts);
    return row;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void json_value(struct json_out *out, const struct sample *sample, const char *key,
                       enum sample_field field)
{
    int64_t value = 0;
    bool known = sample_get(sample, field, &value);
    json_out_int_if(out, key, known, value);
}

static void json_row(struct json_out *out, const struct row *row)
{
    const struct target *target = row->target;
    json_out_begin(out, NULL, '{');
    json_out_int(out, "pid", target->pid);
    json_out_int(out, "nspid", target->nspid);
    json_out_int(out, "uid", target->uid);
    json_out_text(out, "user", row->user);
    json_out_text(out, "main", text_or_null(target->identity.main));
    json_out_text(out, "jdk", text_or_null(target->identity.jdk));
    json_out_int_if(out, "jdk_major", target->identity.jdk_major > 0, target->identity.jdk_major);
    json_out_text(out, "nmt", target->identity.nmt_level);
    json_value(out, &row->sample, "uptime_ms", SAMPLE_UPTIME_MS);
    json_value(out, &row->sample, "classes_loaded", SAMPLE_CLASSES_LOADED);
    json_value(out, &row->sample, "classes_unloaded", SAMPLE_CLASSES_UNLOADED);
    json_value(out, &row->sample, "rss_bytes", SAMPLE_RSS_BYTES);
    json_out_bool(out, "container", row->container);
    json_out_text(out, "unit", text_or_null(row->place.unit));
    json_out_text(out, "container_name", text_or_null(row->place.container));
    json_out_text(out, "pod", text_or_null(row->place.pod));
    target_machine_json(out, target);
    json_out_end(out, '}');
}

static int print_json(const struct discovery *found)
{
    struct json_out out = {0};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "jvms", '[');
    for (int i = 0; i < found->count; i++) {
        struct row row = row_of(&found->targets[i]);
        json_row(&out, &row);
    }
    json_out_end(&out, ']');
    json_out_int(&out, "unreadable", found->unreadable);
    json_out_int(&out, "held", found->held);
    json_out_end(&out, '}');
    if (json_out_print(&out, stdout))
        return 0;
    return print_failure(EXIT_IO, "nmtwatch list: out of memory\n");
}

/* --- the table -------------------------------------------------------------------------------- */

enum column { PID, NSPID, USER, JDK, NMT, UP, LOADED, UNLOADED, RSS, MACHINE, UNIT, MAIN, COLUMNS };

struct cells {
    char text[COLUMNS][512];
};

/* "17.0.15+6-Debian-1deb12u1" -> "17.0.15": the build is in --json. */
static void short_version(const char *jdk, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)strcspn(jdk, "+ "), jdk);
}

/* A jar is known by its file name; a class or module keeps its dots and slashes. */
static const char *short_main(const char *main)
{
    size_t len = strlen(main);
    const char *slash = strrchr(main, '/');
    bool jar = len > 4 && strcmp(main + len - 4, ".jar") == 0;
    return jar && slash != NULL ? slash + 1 : main;
}

static void value_cell(char *out, size_t size, const struct sample *sample, enum sample_field field,
                       struct units_text (*format)(int64_t))
{
    int64_t value;
    snprintf(out, size, "%s", sample_get(sample, field, &value) ? format(value).text : "?");
}

static void fill_cells(struct cells *cells, const struct row *row)
{
    const size_t size = sizeof cells->text[0];
    const struct target_identity *identity = &row->target->identity;
    char jdk[sizeof identity->jdk];
    short_version(identity->jdk, jdk, sizeof jdk);
    snprintf(cells->text[PID], size, "%d", (int)row->target->pid);
    snprintf(cells->text[NSPID], size, "%d", (int)row->target->nspid);
    snprintf(cells->text[USER], size, "%s", row->user);
    snprintf(cells->text[JDK], size, "%s", jdk[0] != '\0' ? jdk : "?");
    snprintf(cells->text[NMT], size, "%s", identity->nmt_level);
    value_cell(cells->text[UP], size, &row->sample, SAMPLE_UPTIME_MS, units_duration);
    value_cell(cells->text[LOADED], size, &row->sample, SAMPLE_CLASSES_LOADED, units_count);
    value_cell(cells->text[UNLOADED], size, &row->sample, SAMPLE_CLASSES_UNLOADED, units_count);
    value_cell(cells->text[RSS], size, &row->sample, SAMPLE_RSS_BYTES, units_bytes);
    snprintf(cells->text[MACHINE], size, "%s", target_machine(row->target).text);
    snprintf(cells->text[UNIT], size, "%s", target_place_name(&row->place));
    snprintf(cells->text[MAIN], size, "%s",
             identity->main[0] != '\0' ? short_main(identity->main) : "?");
}

static const struct terminal_column columns[COLUMNS] = {
    [PID] = {"PID", true, 0, TERMINAL_PLAIN},
    [NSPID] = {"NSPID", true, 0, TERMINAL_PLAIN},
    [USER] = {"USER", false, 0, TERMINAL_PLAIN},
    [JDK] = {"JDK", false, 0, TERMINAL_PLAIN},
    [NMT] = {"NMT", false, 0, TERMINAL_PLAIN},
    [UP] = {"UP", true, 0, TERMINAL_PLAIN},
    [LOADED] = {"LOADED", true, 0, TERMINAL_PLAIN},
    [UNLOADED] = {"UNLOADED", true, 0, TERMINAL_PLAIN},
    [RSS] = {"RSS", true, 0, TERMINAL_PLAIN},
    [MACHINE] = {"ARCHITECTURE", false, 0, TERMINAL_PLAIN},
    [UNIT] = {"UNIT", false, 0, TERMINAL_PLAIN},
    [MAIN] = {"MAIN", false, 0, TERMINAL_PLAIN},
};

/* Columns of the terminal; 0: unlimited, because it is none. */
static int width_of_terminal(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static int print_table(const struct discovery *found)
{
    const struct terminal terminal = {.out = stdout, .width = width_of_terminal()};
    struct cells *cells = calloc((size_t)found->count + 1, sizeof *cells);
    const char **texts = calloc((size_t)found->count * COLUMNS + 1, sizeof *texts);
    struct terminal_column shown[COLUMNS];
    struct terminal_table table = {
        .gap = 2, .cut = true, .columns = shown, .row_count = found->count, .cells = texts};
    bool good = cells != NULL && texts != NULL,
         hidden[COLUMNS] = {[NSPID] = true, [MACHINE] = true, [UNIT] = true};
    for (int i = 0; i < found->count && good; i++) {
        struct row row = row_of(&found->targets[i]);
        fill_cells(&cells[i], &row);
        hidden[NSPID] = hidden[NSPID] && row.target->nspid == row.target->pid;
        hidden[MACHINE] = hidden[MACHINE] && !target_is_other_machine(row.target);
        hidden[UNIT] = hidden[UNIT] && cells[i].text[UNIT][0] == '\0';
    }
    for (int c = 0; c < COLUMNS && good; c++)
        if (!hidden[c])
            shown[table.column_count++] = columns[c];
    for (int i = 0, at = 0; i < found->count && good; i++) {
        for (int c = 0; c < COLUMNS; c++)
            if (!hidden[c])
                texts[at++] = cells[i].text[c];
    }
    good = good && (found->count == 0 || terminal_table(&terminal, &table));
    free(texts);
    free(cells);
    if (!good)
        print_error("nmtwatch list: out of memory\n");
    return good ? 0 : EXIT_IO;
}

/* Of agents whose JVM was killed. */
static void remove_leftovers(const struct discovery *found)
{
    int removed = agent_leftovers_remove_here();
    for (int i = 0; i < found->count; i++) {
        const struct target *target = &found->targets[i];
        if (target->contained)
            removed += agent_leftovers_remove(target);
    }
    if (removed > 0)
        print_error("nmtwatch list: removed %d file%s that killed JVMs had left in /tmp\n", removed,
                    removed == 1 ? "" : "s");
}

static int run(int argc, char **argv)
{
    bool json = false;
    const char *rules = NULL;
    char error[300];
    struct target_match match = {0};
    const struct option_row rows[] = {
        OPTION_MATCH(&rules),
        OPTION_JSON(&json),
    };
    int operands, code;
    if (!options_parse(&command_list, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands > 0)
        return options_error(&command_list, "unexpected operand '%s'", argv[1]);

    if (rules != NULL && !target_match_add(&match, rules, error, sizeof error))
        return options_error(&command_list, "--match: %s", error);
    struct discovery found;
    if ((code = target_option_all(&command_list, rules != NULL ? &match : NULL, &found)) != 0)
        return code;
    code = json ? print_json(&found) : print_table(&found);
    if (found.count == 0)
        print_error("nmtwatch list: no HotSpot JVM found\n");
    if (found.unreadable > 0)
        print_error("nmtwatch list: no permission to inspect %d process%s\n", found.unreadable,
                    found.unreadable == 1 ? "" : "es");
    if (found.held > 0)
        print_error("nmtwatch list: %d process%s passed by: reading %s does not end\n", found.held,
                    found.held == 1 ? " is" : "es are", found.held == 1 ? "it" : "them");
    if (target_proc_hides_others())
        print_error(
            "nmtwatch list: /proc is mounted with hidepid: other users' JVMs are not seen\n");
    remove_leftovers(&found);
    discovery_free(&found);
    return code;
}

const struct command command_list = {
    .name = "list",
    .usage = "Usage: nmtwatch list [--match RULES] [--json]\n"
             "\n"
             "Lists every HotSpot JVM this user may see, in containers and chroots too:\n"
             "process id (and the id inside of its own namespace), user, JDK, level of Native\n"
             "Memory Tracking, time since start, classes loaded and unloaded, resident\n"
             "memory, unit of systemd, pod or container, main class or jar; and the\n"
             "architecture, where a JVM is not of nmtwatch's or is emulated. Reads /proc and\n"
             "hsperfdata only: no JVM is asked or signalled.\n"
             "\n"
             "Removes what libnmtagent.so left in /tmp when its JVM was killed:\n"
             "/tmp/.nmtagent_PID and the unfinished chunk of a recording (NAME.chunk, in\n"
             "which nothing can be read). Files of a live process are locked and are not\n"
             "removed.\n"
             "\n"
             "A value that is not available is shown as ?, in JSON as null.\n",
    .run = run,
};
