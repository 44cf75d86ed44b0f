#include "nmtwatch/serve/facts.h"

#include "analyzers/parse/proc_text.h"
#include "nmtwatch/jvm/proc.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void facts_cgroup_path(struct span text, char *out, size_t size)
{
    struct span line;
    bool terminated;
    out[0] = '\0';
    while (span_next_line(&text, &line, &terminated)) {
        bool unified = span_starts_with(line, SPAN_LITERAL("0::"));
        ptrdiff_t first = span_find(line, SPAN_LITERAL(":"));
        if (first < 0)
            continue;
        struct span rest = span_of(line.ptr + first + 1, line.len - (size_t)first - 1);
        ptrdiff_t second = span_find(rest, SPAN_LITERAL(":"));
        if (second < 0 || (!unified && out[0] != '\0'))
            continue;
        span_copy(span_of(rest.ptr + second + 1, rest.len - (size_t)second - 1), out, size);
        /* "/" of version 2 says nothing where version 1 does the grouping. */
        if (unified && strcmp(out, "/") != 0)
            return;
    }
}

void facts_user_name(uid_t uid, char *out, size_t size)
{
    snprintf(out, size, "%u", (unsigned)uid);
    FILE *file = fopen("/etc/passwd", "re");
    if (file == NULL)
        return;
    for (struct passwd *entry; (entry = fgetpwent(file)) != NULL;) {
        if (entry->pw_uid != uid)
            continue;
        snprintf(out, size, "%s", entry->pw_name);
        break;
    }
    fclose(file);
}

void facts_read(struct facts *facts, const struct target *target)
{
    *facts = (struct facts){0};
    snprintf(facts->main, sizeof facts->main, "%s", target->identity.main);
    if (target->identity.jdk_major > 0)
        snprintf(facts->jdk, sizeof facts->jdk, "%d", target->identity.jdk_major % 1000);
    snprintf(facts->uid, sizeof facts->uid, "%u", (unsigned)target->uid);
    facts_user_name(target->uid, facts->user, sizeof facts->user);
    struct span cgroup = proc_read(target->pid, "cgroup");
    if (cgroup.ptr != NULL)
        facts_cgroup_path(cgroup, facts->cgroup, sizeof facts->cgroup);
    free((void *)cgroup.ptr);
    facts->environment = proc_read(target->pid, "environ");
    facts->command_line = proc_read(target->pid, "cmdline");
}

/* The last -DNAME=value wins, as in the JVM. */
static bool find_property(struct span arguments, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);
    bool found = false;
    while (arguments.len > 0) {
        const char *end = memchr(arguments.ptr, '\0', arguments.len);
        size_t piece = end != NULL ? (size_t)(end - arguments.ptr) : arguments.len;
        if (piece > length + 3 && memcmp(arguments.ptr, "-D", 2) == 0 &&
            memcmp(arguments.ptr + 2, name, length) == 0 && arguments.ptr[length + 2] == '=') {
            span_copy(span_of(arguments.ptr + length + 3, piece - length - 3), out, size);
            found = true;
        }
        size_t step = piece < arguments.len ? piece + 1 : piece;
        arguments = span_of(arguments.ptr + step, arguments.len - step);
    }
    return found;
}

static bool look_up(void *context, bool property, const char *name, char *out, size_t size)
{
    struct facts *facts = context;
    if (property)
        return facts->command_line.ptr != NULL &&
               find_property(facts->command_line, name, out, size);
    if (facts->environment.ptr == NULL)
        return false;
    struct span value = proc_environ_value(facts->environment, span_from_cstr(name));
    if (value.ptr != NULL)
        span_copy(value, out, size);
    return value.ptr != NULL;
}

struct target_facts facts_view(struct facts *facts)
{
    return (struct target_facts){.main = facts->main,
                                 .user = facts->user,
                                 .uid = facts->uid,
                                 .cgroup = facts->cgroup,
                                 .jdk = facts->jdk,
                                 .look_up = look_up,
                                 .context = facts};
}

void facts_free(struct facts *facts)
{
    free((void *)facts->environment.ptr);
    free((void *)facts->command_line.ptr);
    *facts = (struct facts){0};
}
