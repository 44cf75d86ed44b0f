#include "nmtwatch/serve/target_rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#define NAME_MAX_BYTES 128
#define VALUE_MAX      512
#define USER_IN_FRONT  "%{user}/"

void target_rules_default(struct target_rules *rules)
{
    memset(rules, 0, sizeof *rules);
    snprintf(rules->template, sizeof rules->template, "%s%%{main}", USER_IN_FRONT);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool add(struct target_rule *list, int *count, const char *text, char *error, size_t size)
{
    static const char *const kinds[FACT_COUNT] = {[FACT_MAIN] = "main:",
                                                  [FACT_USER] = "user:",
                                                  [FACT_CGROUP] = "cgroup:",
                                                  [FACT_LABEL] = "label:"};
    if (*count == TARGET_RULES_MAX)
        return text_error(error, size, "more than %d rules", TARGET_RULES_MAX);
    for (int fact = 0; fact < FACT_COUNT; fact++) {
        size_t length = strlen(kinds[fact]);
        const char *pattern = text + length;
        if (strncmp(text, kinds[fact], length) != 0)
            continue;
        if (pattern[0] == '\0' || strlen(pattern) >= sizeof list->pattern)
            return text_error(error, size, "'%.60s': a pattern of 1 to %zu bytes is needed", text,
                              sizeof list->pattern - 1);
        list[*count].fact = (enum target_fact)fact;
        snprintf(list[*count].pattern, sizeof list->pattern, "%s", pattern);
        ++*count;
        return true;
    }
    return text_error(error, size, "'%.60s': main:, user:, cgroup: or label:PATTERN is needed",
                      text);
}

bool target_rules_include(struct target_rules *rules, const char *text, char *error, size_t size)
{
    return add(rules->include, &rules->include_count, text, error, size);
}

bool target_rules_exclude(struct target_rules *rules, const char *text, char *error, size_t size)
{
    return add(rules->exclude, &rules->exclude_count, text, error, size);
}

static bool is_name(const char *name, size_t length)
{
    static const char *const names[] = {"main", "user", "uid", "cgroup", "cgroup_path", "jdk"};
    if ((length > 4 && strncmp(name, "env:", 4) == 0) ||
        (length > 5 && strncmp(name, "prop:", 5) == 0))
        return length < NAME_MAX_BYTES;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* Whether each label that the template makes names the JVM's user. */
static bool names_user(const char *template)
{
    static const char *const forms[] = {"%{user}", "%{user|", "%{uid}", "%{uid|"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strstr(template, forms[i]) != NULL)
            return true;
    return false;
}

/* What stands between %{ and }: names, with | between them. */
static bool check_names(const char *names, size_t length, char *error, size_t size)
{
    const char *end = names + length;
    while (names <= end) {
        const char *bar = memchr(names, '|', (size_t)(end - names));
        size_t name_length = (size_t)((bar != NULL ? bar : end) - names);
        if (!is_name(names, name_length))
            return text_error(
                error, size,
                "'%.*s' is none of main, user, uid, cgroup, cgroup_path, jdk, env:NAME, "
                "prop:NAME",
                (int)(name_length < 60 ? name_length : 60), names);
        names += name_length + 1;
    }
    return true;
}

bool target_rules_template(struct target_rules *rules, const char *text, char *error, size_t size)
{
    const size_t longest = sizeof rules->template - sizeof USER_IN_FRONT;
    if (text[0] == '\0' || strlen(text) > longest)
        return text_error(error, size, "a template of 1 to %zu bytes is needed", longest);
    for (const char *at = text; (at = strstr(at, "%{")) != NULL;) {
        const char *end = strchr(at, '}');
        if (end == NULL)
            return text_error(error, size, "'%.60s' has no }", at);
        if (!check_names(at + 2, (size_t)(end - at) - 2, error, size))
            return false;
        at = end;
    }
    rules->user_in_front = !names_user(text);
    snprintf(rules->template, sizeof rules->template, "%s%s",
             rules->user_in_front ? USER_IN_FRONT : "", text);
    return true;
}

/* --- asking ----------------------------------------------------------------------------------- */

void target_main_name(const char *main_text, char *out, size_t size)
{
    const char *slash = strrchr(main_text, '/');
    size_t length = strlen(main_text);
    bool jar = length > 4 && strcmp(main_text + length - 4, ".jar") == 0;
    /* "module/package.Class" keeps its class. */
    const char *from = slash != NULL ? slash + 1 : main_text;
    snprintf(out, size, "%.*s", (int)(strlen(from) - (jar ? 4 : 0)), from);
}

static bool matches(const struct target_rules *rules, const struct target_rule *rule,
                    const struct target_facts *facts)
{
    char name[VALUE_MAX], label[TARGET_LABEL_MAX];
    const char *own; /* what the configured template made of the label */
    switch (rule->fact) {
    case FACT_MAIN: /* the short name or all of it */
        target_main_name(facts->main, name, sizeof name);
        return fnmatch(rule->pattern, facts->main, 0) == 0 || fnmatch(rule->pattern, name, 0) == 0;
    case FACT_USER:
        return fnmatch(rule->pattern, facts->user, 0) == 0 ||
               strcmp(rule->pattern, facts->uid) == 0;
    case FACT_CGROUP:
        return fnmatch(rule->pattern, facts->cgroup, 0) == 0;
    case FACT_LABEL:
        if (rules == NULL) /* no labels: no daemon */
            return false;
        target_rules_label(rules, facts, label);
        own = rules->user_in_front ? label + strcspn(label, "/") + 1 : label;
        return fnmatch(rule->pattern, label, 0) == 0 || fnmatch(rule->pattern, own, 0) == 0;
    case FACT_COUNT:
        break;
    }
    return false;
}

static bool any_matches(const struct target_rules *rules, const struct target_rule *list, int count,
                        const struct target_facts *facts)
{
    for (int i = 0; i < count; i++)
        if (matches(rules, &list[i], facts))
            return true;
    return false;
}

bool target_rules_watch(const struct target_rules *rules, const struct target_facts *facts)
{
    return (rules->include_count == 0 ||
            any_matches(rules, rules->include, rules->include_count, facts)) &&
           !any_matches(rules, rules->exclude, rules->exclude_count, facts);
}

static void value_of(const struct target_facts *facts, const char *name, char *out, size_t size)
{
    const char *last = strrchr(facts->cgroup, '/');
    const struct {
        const char *name, *value;
    } plain[] = {
        {"user", facts->user},
        {"uid", facts->uid},
        {"jdk", facts->jdk},
        {"cgroup_path", facts->cgroup},
        {"cgroup", last != NULL ? last + 1 : facts->cgroup},
    };
    out[0] = '\0';
    if (strcmp(name, "main") == 0) {
        target_main_name(facts->main, out, size);
        return;
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, name) == 0)
            snprintf(out, size, "%s", plain[i].value);
    bool property = strncmp(name, "prop:", 5) == 0;
    if ((property || strncmp(name, "env:", 4) == 0) &&
        !facts->look_up(facts->context, property, name + (property ? 5 : 4), out, size))
        out[0] = '\0';
}

/* The first of the names that says something. */
static void first_value(const struct target_facts *facts, const char *names, size_t length,
                        char *out, size_t size)
{
    const char *end = names + length;
    out[0] = '\0';
    while (names <= end && out[0] == '\0') {
        char name[NAME_MAX_BYTES];
        const char *bar = memchr(names, '|', (size_t)(end - names));
        size_t name_length = (size_t)((bar != NULL ? bar : end) - names);
        snprintf(name, sizeof name, "%.*s", (int)name_length, names);
        value_of(facts, name, out, size);
        names += name_length + 1;
    }
}

void target_rules_label(const struct target_rules *rules, const struct target_facts *facts,
                        char label[static TARGET_LABEL_MAX])
{
    size_t length = 0;
    char value[VALUE_MAX];
    label[0] = '\0';
    for (const char *at = rules->template; *at != '\0';) {
        const char *end = strncmp(at, "%{", 2) == 0 ? strchr(at, '}') : NULL;
        if (end != NULL) {
            first_value(facts, at + 2, (size_t)(end - at) - 2, value, sizeof value);
            at = end + 1;
        } else {
            snprintf(value, sizeof value, "%c", *at++);
        }
        int written = snprintf(label + length, TARGET_LABEL_MAX - length, "%s", value);
        length += (size_t)written;
        if (length >= TARGET_LABEL_MAX)
            break;
    }
    if (label[0] == '\0')
        snprintf(label, TARGET_LABEL_MAX, "jvm");
}

/* --- on a command line ------------------------------------------------------------------------ */

static const struct {
    const char *key;
    int kind;
    enum target_fact fact;
} terms[] = {{"main=", TERM_FACT, FACT_MAIN},     {"user=", TERM_FACT, FACT_USER},
             {"cgroup=", TERM_FACT, FACT_CGROUP}, {"host=", TERM_HOST, FACT_COUNT},
             {"env:", TERM_ENV, FACT_COUNT},      {"prop:", TERM_PROP, FACT_COUNT},
             {"pid=", TERM_PID, FACT_COUNT}};

/* NAME=PATTERN of env: and prop:, PATTERN of the others. */
static bool take_value(struct target_term *term, const char *value, size_t length)
{
    if (term->kind == TERM_ENV || term->kind == TERM_PROP) {
        const char *equals = memchr(value, '=', length);
        size_t name = equals != NULL ? (size_t)(equals - value) : 0;
        if (name == 0 || name >= sizeof term->name)
            return false;
        memcpy(term->name, value, name);
        value += name + 1;
        length -= name + 1;
    }
    if (length == 0 || length >= sizeof term->rule.pattern)
        return false;
    memcpy(term->rule.pattern, value, length);
    if (term->kind != TERM_PID)
        return true;
    char *end;
    errno = 0;
    long pid = strtol(term->rule.pattern, &end, 10);
    term->pid = (int)pid;
    return errno == 0 && *end == '\0' && pid > 0 && term->pid == pid;
}

static bool take_term(struct target_term *term, const char *text, size_t length, char *error,
                      size_t size)
{
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        size_t key = strlen(terms[i].key);
        if (length <= key || strncmp(text, terms[i].key, key) != 0)
            continue;
        term->kind = terms[i].kind;
        term->rule.fact = terms[i].fact;
        if (take_value(term, text + key, length - key))
            return true;
    }
    return text_error(
        error, size,
        "'%.*s': expected main=, user=, cgroup=, host=, env:NAME= or prop:NAME=PATTERN of 1 to "
        "%zu bytes, or pid=NUMBER",
        length < 60 ? (int)length : 60, text, sizeof term->rule.pattern - 1);
}

bool target_match_parse(struct target_match *match, const char *text, char *error, size_t size)
{
    bool first = true;
    *match = (struct target_match){0};
    for (;;) {
        size_t length = strcspn(text, ",;");
        if (match->count == TARGET_TERMS_MAX)
            return text_error(error, size, "more than %d terms", TARGET_TERMS_MAX);
        struct target_term *term = &match->term[match->count];
        if (!take_term(term, text, length, error, size))
            return false;
        term->first = first;
        match->count++;
        if (text[length] == '\0')
            return true;
        first = text[length] == ';';
        text += length + 1;
    }
}

static bool term_fits(const struct target_term *term, const struct target_facts *facts, int pid,
                      const char *host)
{
    char value[VALUE_MAX];
    switch (term->kind) {
    case TERM_FACT:
        return matches(NULL, &term->rule, facts);
    case TERM_HOST:
        return fnmatch(term->rule.pattern, host, 0) == 0;
    case TERM_ENV:
    case TERM_PROP:
        return facts->look_up(facts->context, term->kind == TERM_PROP, term->name, value,
                              sizeof value) &&
               fnmatch(term->rule.pattern, value, 0) == 0;
    case TERM_PID:
        return term->pid == pid;
    }
    return false;
}

bool target_match_fits(const struct target_match *match, const struct target_facts *facts, int pid,
                       const char *host)
{
    bool fits = match->count == 0;
    for (int i = 0; i < match->count; i++) {
        const struct target_term *term = &match->term[i];
        if (term->first && fits)
            return true;
        fits = (term->first || fits) && term_fits(term, facts, pid, host);
    }
    return fits;
}
