#include "nmtwatch/profile/agent_call.h"

#include "analyzers/model/texts.h"

#include <inttypes.h>
#include <stdio.h>

/* For whoever stops it in time, and finds the JVM busy for twice as long as an answer may take. */
#define END_MARGIN_S 60

static void dashes(char *name)
{
    for (char *c = name; *c != '\0' && *c != '='; c++)
        if (*c == '_')
            *c = '-';
}

void start_options_init(struct start_options *options)
{
    *options = (struct start_options){0};
    for (int i = 0; i < AGENT_OPTION_COUNT; i++) {
        enum agent_option option = (enum agent_option)i;
        const char *dflt = agent_option_default(option);
        snprintf(options->name[i], sizeof options->name[i], "%s", agent_option_name(option));
        dashes(options->name[i]);
        snprintf(options->negation[i], sizeof options->negation[i], "no-%s", options->name[i]);
        snprintf(options->help[i], sizeof options->help[i], "%s%s%s%s",
                 agent_option_meaning(option), dflt[0] != '\0' ? " (" : "", dflt,
                 dflt[0] != '\0' ? ")" : "");
    }
}

/* "--NAME=true" where argument is "--NAME" and what follows is an option or a PID; NULL otherwise. */
static char *bare_true(const struct start_options *options, const char *argument, const char *next)
{
    static char spelled[AGENT_OPTION_COUNT][40];
    for (int i = 0; i < AGENT_OPTION_COUNT; i++) {
        if (agent_option_type((enum agent_option)i) != AGENT_TYPE_BOOL ||
            strcmp(argument + 2, options->name[i]) != 0)
            continue;
        if (next != NULL && next[0] != '-' && !(next[0] >= '0' && next[0] <= '9'))
            return NULL;
        snprintf(spelled[i], sizeof spelled[i], "--%s=true", options->name[i]);
        return spelled[i];
    }
    return NULL;
}

void start_options_spell(const struct start_options *options, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        dashes(argv[i]);
        char *spelled = bare_true(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (spelled != NULL)
            argv[i] = spelled;
    }
}

void start_options_end_after(struct start_options *options, int64_t duration_ms)
{
    int64_t end_s = duration_ms / 1000 + END_MARGIN_S;
    if (options->value[OPTION_END_AFTER] != NULL || end_s > AGENT_END_AFTER_MAX_S)
        return;
    snprintf(options->end_after, sizeof options->end_after, "%" PRId64 "s", end_s);
    options->value[OPTION_END_AFTER] = options->end_after;
}

/* Appends ",name=value" with the value's commas and backslashes escaped. */
static bool append(char *text, size_t size, const char *name, const char *value)
{
    size_t used = strlen(text);
    int len = snprintf(text + used, size - used, ",%s=", name);
    if (len < 0 || (used += (size_t)len) >= size)
        return false;
    for (const char *c = value; *c != '\0'; c++) {
        if (used + 3 > size)
            return false;
        if (*c == ',' || *c == '\\')
            text[used++] = '\\';
        text[used++] = *c;
    }
    text[used] = '\0';
    return true;
}

bool start_options_text(const struct start_options *options, enum agent_command command,
                        const char *file, char *text, size_t size, char *error, size_t error_size)
{
    struct agent_options parsed;
    bool fits = true;
    snprintf(text, size, "%s", agent_command_name(command));
    for (int i = 0; i < AGENT_OPTION_COUNT && fits; i++) {
        enum agent_option option = (enum agent_option)i;
        const char *value = options->value[i];
        if (options->negated[i] && value != NULL)
            return text_error(error, error_size, "--%s and --%s together", options->name[i],
                              options->negation[i]);
        if (option == OPTION_FILE && file != NULL)
            value = file;
        if (options->negated[i])
            value = "false";
        if (value != NULL)
            fits = append(text, size, agent_option_name(option), value);
    }
    if (!fits)
        return text_error(error, error_size, "the options are longer than %d bytes",
                          AGENT_WHOLE_MAX - 1);
    return agent_options_parse(text, &parsed, error, error_size);
}
