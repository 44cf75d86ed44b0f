/* nmtwatch doctor: the checks of nmtwatch/doctor for this machine and its JVMs. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/doctor/doctor_checks.h"

#include <errno.h>

static const char *const state_names[] = {"ok", "limited", "missing"};
static const enum terminal_colour state_colours[] = {TERMINAL_GREEN, TERMINAL_YELLOW, TERMINAL_RED};

static enum doctor_state worst_of(const struct doctor_checks *checks)
{
    enum doctor_state worst = DOCTOR_OK;
    for (int i = 0; i < checks->count; i++)
        worst = checks->row[i].state > worst ? checks->row[i].state : worst;
    return worst;
}

static void print_checks(const struct terminal *terminal, const struct doctor_checks *checks)
{
    enum { COLUMN = 25 };
    for (int i = 0; i < checks->count; i++) {
        const struct doctor_check *check = &checks->row[i];
        printf("  %s%-8s%s%-15s", terminal_paint(terminal, state_colours[check->state]),
               state_names[check->state], terminal_paint(terminal, TERMINAL_PLAIN), check->name);
        terminal_continued(terminal, COLUMN, COLUMN, check->found);
        if (check->state == DOCTOR_OK)
            continue;
        terminal_labelled(terminal, COLUMN, "for", 6, check->serves);
        if (check->mend != NULL)
            terminal_labelled(terminal, COLUMN, "fix", 6, check->mend);
    }
}

static void json_checks(struct json_out *out, const struct doctor_checks *checks)
{
    json_out_begin(out, "checks", '[');
    for (int i = 0; i < checks->count; i++) {
        const struct doctor_check *check = &checks->row[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "name", check->name);
        json_out_text(out, "state", state_names[check->state]);
        json_out_text(out, "serves", check->serves);
        json_out_text(out, "found", check->found);
        json_out_text(out, "mend", check->mend);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void print_target(const struct terminal *terminal, const struct target *target,
                         const struct doctor_checks *checks)
{
    char head[EVENT_NAME_MAX + 128];
    snprintf(head, sizeof head, "%d %s (JDK %s%s)", (int)target->pid,
             target->identity.main[0] != '\0' ? target->identity.main : "?",
             target->identity.jdk[0] != '\0' ? target->identity.jdk : "?",
             target->contained ? ", in a container" : "");
    fputc('\n', stdout);
    terminal_wrapped(terminal, 0, head);
    print_checks(terminal, checks);
}

static void json_target(struct json_out *out, const struct target *target,
                        const struct doctor_checks *checks)
{
    json_out_begin(out, NULL, '{');
    json_out_int(out, "pid", target->pid);
    json_out_text(out, "main", target->identity.main[0] != '\0' ? target->identity.main : NULL);
    json_out_int_if(out, "jdk_major", target->identity.jdk_major > 0, target->identity.jdk_major);
    json_checks(out, checks);
    json_out_end(out, '}');
}

static int examine(const struct discovery *found, bool any_jvm, bool json)
{
    const struct terminal terminal = {.out = stdout, .colour = options_colour(false)};
    struct json_out out = {0};
    char library[4096];
    struct doctor_checks machine = {0};
    doctor_machine(&machine, any_jvm, library, sizeof library);
    enum doctor_state worst = worst_of(&machine);

    if (json) {
        json_out_begin(&out, NULL, '{');
        json_checks(&out, &machine);
        json_out_begin(&out, "jvms", '[');
    } else {
        printf("this machine\n");
        print_checks(&terminal, &machine);
    }
    for (int i = 0; i < found->count; i++) {
        struct doctor_checks checks = {0};
        doctor_target(&checks, &found->targets[i], library);
        worst = worst_of(&checks) > worst ? worst_of(&checks) : worst;
        if (json)
            json_target(&out, &found->targets[i], &checks);
        else
            print_target(&terminal, &found->targets[i], &checks);
    }
    if (json) {
        json_out_end(&out, ']');
        json_out_int(&out, "unreadable", found->unreadable);
        json_out_end(&out, '}');
        bool printed = json_out_print(&out, stdout);
        json_out_free(&out);
        if (!printed)
            return EXIT_IO;
    }
    return worst == DOCTOR_OK ? 0 : EXIT_WARNING;
}

static int run(int argc, char **argv)
{
    bool json = false;
    const struct option_row rows[] = {
        OPTION_JSON(&json),
    };
    int operands, code;
    if (!options_parse(&command_doctor, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands > 1)
        return options_error(&command_doctor, "one PID at most");
    if ((code = target_option_proc(&command_doctor)) != 0)
        return code;
    struct discovery found = {0};
    struct target target;
    if (operands == 1) {
        struct failure failure;
        pid_t pid;
        if ((code = target_option_pid(&command_doctor, argv[1], &pid)) != 0)
            return code;
        enum failure_kind kind = target_open(&target, pid, &failure);
        if (kind != FAILURE_NONE) {
            /* Where rights are missing, those of this machine say which. */
            if (kind == FAILURE_PERMISSION || kind == FAILURE_HIDDEN ||
                kind == FAILURE_FOREIGN_PROC || kind == FAILURE_FOREIGN_USERS)
                examine(&found, true, json);
            fflush(stdout);
            print_error("nmtwatch doctor: %s\n", failure.sentence);
            print_error("nmtwatch doctor: fix: %s\n", failure_mend(kind));
            return failure_exit_code(kind);
        }
        found = (struct discovery){.count = 1, .targets = &target};
        code = examine(&found, true, json);
        target_close(&target);
        return code;
    }
    if (discover_jvms(&found) != 0)
        return print_failure(EXIT_IO, "nmtwatch doctor: reading /proc: %s\n", strerror(errno));
    code = examine(&found, found.count > 0, json);
    fflush(stdout);
    if (found.count == 0)
        print_error("nmtwatch doctor: no HotSpot JVM found\n");
    if (found.unreadable > 0)
        print_error("nmtwatch doctor: no permission to inspect %d process%s: run as root\n",
                    found.unreadable, found.unreadable == 1 ? "" : "es");
    discovery_free(&found);
    return code;
}

const struct command command_doctor = {
    .name = "doctor",
    .usage = "Usage: nmtwatch doctor [PID] [--json]\n"
             "\n"
             "Checks this machine (/proc, containers, architecture, rights, memory of other\n"
             "processes, perf events, uprobes, pressure, the agent, libraries) and each JVM\n"
             "(architecture, attach, Native Memory Tracking, hsperfdata, version, whether the\n"
             "agent fits). Each check says what it is used for and, where something is\n"
             "missing, what to change. Rights are tried, not guessed: run it as the user that\n"
             "will run nmtwatch. No JVM is asked or signalled.\n"
             "\n"
             "Exit codes: 0 all checks passed, 1 something is missing or limited, 10-36 PID\n"
             "cannot be inspected.\n",
    .run = run,
    .apart = true,
};
