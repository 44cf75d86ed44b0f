#include "nmtwatch/worker/worker.h"

#include "nmtwatch/watch/load_log.h"

#include <stdio.h>
#include <string.h>

#define PIECES 6

static const char *const commands[] = {
    "VM.version",         "VM.native_memory summary scale=KB", "VM.native_memory summary scale=B",
    "VM.metaspace basic", "VM.metaspace basic scale=1",        "VM.log list",
#define EXPENSIVE_COMMAND(id, text, ...) text,
#include "nmtwatch/watch/expensive_commands.def"
#undef EXPENSIVE_COMMAND
};

static bool is_on_list(const char *command, size_t length)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strlen(commands[i]) == length && memcmp(commands[i], command, length) == 0)
            return true;
    return false;
}

/* On or off, of a file in the JVM's /tmp that is called as a watch calls it. */
static bool is_load_log(const struct target *target, const char *command, size_t length)
{
    static const char BEGINNING[] = "VM.log output=file=";
    struct load_log load_log;
    char wanted[2][256];
    size_t at = sizeof BEGINNING - 1, name = 0;
    if (length <= at || memcmp(command, BEGINNING, at) != 0)
        return false;
    while (at + name < length && command[at + name] != ' ')
        name++;
    if (name >= sizeof load_log.file)
        return false;
    memcpy(load_log.file, command + at, name);
    load_log.file[name] = '\0';
    if (!load_log_name_is_for(target, load_log.file))
        return false;
    load_log_on_command(&load_log, wanted[0], sizeof wanted[0]);
    load_log_off_command(&load_log, wanted[1], sizeof wanted[1]);
    for (int i = 0; i < 2; i++)
        if (strlen(wanted[i]) == length && memcmp(wanted[i], command, length) == 0)
            return true;
    return false;
}

/* One command a line. */
static bool all_permitted(const struct target *target, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, "\n");
        if (!is_on_list(text, length) && !is_load_log(target, text, length))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

/* "1" operation arg arg arg, or "2" length operation arg arg arg; each ends with a NUL. */
bool permitted_request(const struct target *target, const char *request, size_t length)
{
    const char *piece[PIECES];
    int count = 0;
    if (length == 0 || request[length - 1] != '\0')
        return false;
    for (const char *at = request; at < request + length; at += strlen(at) + 1) {
        if (count == PIECES)
            return false;
        piece[count++] = at;
    }
    bool v2 = strcmp(piece[0], "2") == 0;
    if (count != (v2 ? PIECES : PIECES - 1) || (!v2 && strcmp(piece[0], "1") != 0))
        return false;
    const char **rest = piece + (v2 ? 2 : 1);
    char given[24];
    snprintf(given, sizeof given, "%zu", (size_t)(request + length - rest[0]));
    if ((v2 && strcmp(piece[1], given) != 0) || rest[2][0] != '\0' || rest[3][0] != '\0')
        return false;
    if (!v2 && strcmp(rest[0], "getversion") == 0)
        return strcmp(rest[1], "options") == 0;
    return strcmp(rest[0], v2 ? "jcmd streaming=0" : "jcmd") == 0 && all_permitted(target, rest[1]);
}
