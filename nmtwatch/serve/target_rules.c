#include "nmtwatch/serve/target_rules.h"

#include "floor/base/span.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#define NAME_MAX_BYTES   128
#define VALUE_MAX        512
#define USER_IN_FRONT    "%{user}/"
#define DEFAULT_TEMPLATE USER_IN_FRONT "%{main}%{@unit|@pod|@container}"

void target_rules_default(struct target_rules *rules)
{
    memset(rules, 0, sizeof *rules);
    snprintf(rules->template, sizeof rules->template, "%s", DEFAULT_TEMPLATE);
}

/* --- the label ------------------------------------------------------------------------------- */

static bool is_name(const char *name, size_t length)
{
    static const char *const names[] = {"main", "user",   "uid",         "unit", "container",
                                        "pod",  "cgroup", "cgroup_path", "jdk"};
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
        bool joined = name_length > 0 && names[0] == '@';
        if (!is_name(names + joined, name_length - joined))
            return text_error(
                error, size,
                "'%.*s': expected main, user, uid, unit, container, pod, cgroup, cgroup_path, jdk, "
                "env:NAME or prop:NAME",
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

/* --- the label, made ----------------------------------------------------------------------------------- */

void target_main_name(const char *main_text, char *out, size_t size)
{
    const char *slash = strrchr(main_text, '/');
    size_t length = strlen(main_text);
    bool jar = length > 4 && strcmp(main_text + length - 4, ".jar") == 0;
    /* "module/package.Class" keeps its class. */
    const char *from = slash != NULL ? slash + 1 : main_text;
    snprintf(out, size, "%.*s", (int)(strlen(from) - (jar ? 4 : 0)), from);
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
        {"unit", facts->place.unit},
        {"container", facts->place.container},
        {"pod", facts->place.pod},
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
        int joined = names[0] == '@';
        snprintf(name, sizeof name, "%.*s", (int)name_length - joined, names + joined);
        value_of(facts, name, out + joined, size - (size_t)joined);
        out[0] = joined && out[1] == '\0' ? '\0' : joined ? '@' : out[0];
        names += name_length + 1;
    }
}

void target_label(const struct target_facts *facts, char label[static TARGET_LABEL_MAX])
{
    size_t length = 0;
    char value[VALUE_MAX];
    label[0] = '\0';
    const char *template = facts->template != NULL ? facts->template : DEFAULT_TEMPLATE;
    for (const char *at = template; *at != '\0';) {
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

/* --- where it runs ---------------------------------------------------------------------------- */

/* The id of a container: what follows the last '-' of "docker-ID.scope", or all of "ID". */
static struct span container_id(struct span part)
{
    span_take_end(&part, SPAN_LITERAL(".scope"));
    const char *dash = memrchr(part.ptr, '-', part.len);
    size_t from = dash != NULL ? (size_t)(dash - part.ptr) + 1 : 0;
    struct span id = span_of(part.ptr + from, part.len - from);
    bool good = id.len >= 32;
    for (size_t i = 0; good && i < id.len; i++)
        good = isxdigit((unsigned char)id.ptr[i]);
    return span_of(id.ptr, good ? 12 : 0);
}

#define POD_UID 36

/* "pod1234...": of "kubepods-burstable-pod1234....slice" as well. */
static struct span pod_uid(struct span part)
{
    span_take_end(&part, SPAN_LITERAL(".slice"));
    bool good = part.len >= POD_UID + 3 && memcmp(part.ptr + part.len - POD_UID - 3, "pod", 3) == 0;
    return span_of(part.ptr + part.len - POD_UID, good ? POD_UID : 0);
}

/* "machine-NAME.scope" and others whose container has a name. */
static struct span container_name(struct span part)
{
    static const struct {
        const char *before, *after;
    } forms[] = {{"machine-", ".scope"}, {"systemd-nspawn@", ".service"}, {"lxc.payload.", ""}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct span name = part;
        if (span_take(&name, span_from_cstr(forms[i].before)) &&
            span_take_end(&name, span_from_cstr(forms[i].after)))
            return name;
    }
    return span_of(part.ptr, 0);
}

/* From the root downwards: what is further down is nearer to the process. A unit around a container is not the JVM's
 * (containerd.service), nor is a user's whole session (user@1000.service). */
void target_place_of(const char *cgroup_path, struct target_place *place)
{
    *place = (struct target_place){0};
    for (const char *at = cgroup_path; *at != '\0';) {
        struct span part = span_of(at, strcspn(at, "/")), id = container_id(part),
                    name = container_name(part), uid = pod_uid(part), unit = part;
        if (id.len > 0 || name.len > 0) {
            span_copy(id.len > 0 ? id : name, place->container, sizeof place->container);
            place->unit[0] = '\0';
        } else if (uid.len > 0) {
            span_copy(uid, place->pod, sizeof place->pod);
        } else if (span_take_end(&unit, SPAN_LITERAL(".service")) &&
                   !span_starts_with(unit, SPAN_LITERAL("user@"))) {
            span_copy(unit, place->unit, sizeof place->unit);
        }
        at += part.len + (at[part.len] == '/');
    }
    for (char *at = place->pod; (at = strchr(at, '_')) != NULL;)
        *at = '-';
}

const char *target_place_name(const struct target_place *place)
{
    return place->unit[0] != '\0'  ? place->unit
           : place->pod[0] != '\0' ? place->pod
                                   : place->container;
}

/* --- which JVMs ------------------------------------------------------------------------------- */

static const char *const keys[FACT_COUNT] = {[FACT_MAIN] = "main",   [FACT_USER] = "user",
                                             [FACT_UNIT] = "unit",   [FACT_CONTAINER] = "container",
                                             [FACT_POD] = "pod",     [FACT_CGROUP] = "cgroup",
                                             [FACT_LABEL] = "label", [FACT_HOST] = "host",
                                             [FACT_PID] = "pid",     [FACT_ENV] = "env",
                                             [FACT_PROP] = "prop"};

/* NAME=PATTERN of env and prop, PATTERN of the others. */
static bool take_value(struct target_term *term, struct span value)
{
    if (term->fact == FACT_ENV || term->fact == FACT_PROP) {
        ptrdiff_t equals = span_find(value, SPAN_LITERAL("="));
        if (equals <= 0 || equals >= (ptrdiff_t)sizeof term->name)
            return false;
        span_copy(span_of(value.ptr, (size_t)equals), term->name, sizeof term->name);
        value = span_of(value.ptr + equals + 1, value.len - (size_t)equals - 1);
    }
    if (value.len == 0 || value.len >= sizeof term->pattern)
        return false;
    span_copy(value, term->pattern, sizeof term->pattern);
    if (term->fact != FACT_PID)
        return true;
    char *end;
    errno = 0;
    long pid = strtol(term->pattern, &end, 10);
    term->pid = (int)pid;
    return errno == 0 && *end == '\0' && pid > 0 && term->pid == pid;
}

static bool take_term(struct target_term *term, struct span text, char *error, size_t size)
{
    for (int fact = 0; fact < FACT_COUNT; fact++) {
        struct span value = text;
        *term = (struct target_term){.fact = (enum target_fact)fact};
        if (!span_take(&value, span_from_cstr(keys[fact])) ||
            (!span_take(&value, SPAN_LITERAL(":")) && !span_take(&value, SPAN_LITERAL("="))))
            continue;
        if (take_value(term, value))
            return true;
    }
    return text_error(error, size,
                      "'%.*s': expected main=, user=, unit=, container=, pod=, cgroup=, label=, "
                      "host=, env:NAME= or prop:NAME=PATTERN of 1 to %zu bytes, or pid=NUMBER",
                      text.len < 60 ? (int)text.len : 60, text.ptr, sizeof term->pattern - 1);
}

bool target_match_add(struct target_match *match, const char *text, char *error, size_t size)
{
    bool first = true;
    for (;;) {
        size_t length = strcspn(text, ",;");
        if (match->count == TARGET_TERMS_MAX)
            return text_error(error, size, "more than %d terms", TARGET_TERMS_MAX);
        struct target_term *term = &match->term[match->count];
        if (!take_term(term, span_of(text, length), error, size))
            return false;
        term->first = first;
        match->count++;
        if (text[length] == '\0')
            return true;
        first = text[length] == ';';
        text += length + 1;
    }
}

bool target_match_name(struct target_match match[static 2], const char *name)
{
    char text[1024], ignored[8];
    for (int i = 0; i < 2; i++) {
        match[i] = (struct target_match){0};
        if (target_match_add(&match[i], name, ignored, sizeof ignored))
            continue;
        match[i].count = 0;
        const char *any = i > 0 ? "*" : "";
        int length = snprintf(text, sizeof text,
                              "main=%s%s%s;unit=%s%s%s;container=%s%s%s;pod=%s%s%s;main=*[./]%s",
                              any, name, any, any, name, any, any, name, any, any, name, any, name);
        if (strpbrk(name, ",;") != NULL || length >= (int)sizeof text ||
            !target_match_add(&match[i], text, ignored, sizeof ignored))
            return false;
    }
    return true;
}

/* Either text. */
static bool like(const struct target_term *term, const char *one, const char *other)
{
    return fnmatch(term->pattern, one, 0) == 0 || fnmatch(term->pattern, other, 0) == 0;
}

static bool term_fits(const struct target_term *term, const struct target_facts *facts)
{
    char value[VALUE_MAX], label[TARGET_LABEL_MAX];
    switch (term->fact) {
    case FACT_MAIN: /* the short name or all of it */
        target_main_name(facts->main, value, sizeof value);
        return like(term, facts->main, value);
    case FACT_USER:
        return like(term, facts->user, facts->uid);
    case FACT_UNIT: /* also as systemd writes it */
        snprintf(value, sizeof value, "%s.service", facts->place.unit);
        return facts->place.unit[0] != '\0' && like(term, facts->place.unit, value);
    case FACT_CONTAINER:
        return facts->place.container[0] != '\0' &&
               fnmatch(term->pattern, facts->place.container, 0) == 0;
    case FACT_POD:
        return facts->place.pod[0] != '\0' && fnmatch(term->pattern, facts->place.pod, 0) == 0;
    case FACT_CGROUP:
        return fnmatch(term->pattern, facts->cgroup, 0) == 0;
    case FACT_LABEL:
        target_label(facts, label);
        return like(term, label, facts->user_in_front ? label + strcspn(label, "/") + 1 : label);
    case FACT_HOST:
        return fnmatch(term->pattern, facts->host, 0) == 0;
    case FACT_PID:
        return term->pid == facts->pid;
    case FACT_ENV:
    case FACT_PROP:
        return facts->look_up(facts->context, term->fact == FACT_PROP, term->name, value,
                              sizeof value) &&
               fnmatch(term->pattern, value, 0) == 0;
    case FACT_COUNT:
        break;
    }
    return false;
}

bool target_match_fits(const struct target_match *match, const struct target_facts *facts)
{
    bool fits = match->count == 0;
    for (int i = 0; i < match->count; i++) {
        const struct target_term *term = &match->term[i];
        if (term->first && fits)
            return true;
        fits = (term->first || fits) && term_fits(term, facts);
    }
    return fits;
}

bool target_rules_watch(const struct target_rules *rules, const struct target_facts *facts)
{
    return target_match_fits(&rules->include, facts) &&
           (rules->exclude.count == 0 || !target_match_fits(&rules->exclude, facts));
}
