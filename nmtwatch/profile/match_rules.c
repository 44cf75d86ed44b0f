#include "nmtwatch/profile/match_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_BYTES_MAX 16384

static const char *const keys[] = {
    [MATCH_MAIN] = "main=", [MATCH_CGROUP] = "cgroup=", [MATCH_PID] = "pid="};

static bool take_term(struct match_term *term, const char *text, size_t length, char *error,
                      size_t error_size)
{
    int shown = length < 60 ? (int)length : 60;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t key = strlen(keys[i]);
        if (length <= key || strncmp(text, keys[i], key) != 0)
            continue;
        if (length - key >= sizeof term->pattern) {
            snprintf(error, error_size, "'%.*s...' is too long", shown, text);
            return false;
        }
        term->key = i;
        memcpy(term->pattern, text + key, length - key);
        term->pattern[length - key] = '\0';
        if (i != MATCH_PID)
            return true;
        char *end;
        errno = 0;
        long pid = strtol(term->pattern, &end, 10);
        term->pid = (pid_t)pid;
        if (errno == 0 && *end == '\0' && pid > 0 && term->pid == pid)
            return true;
    }
    snprintf(error, error_size, "'%.*s': expected main=PATTERN, cgroup=PATTERN or pid=NUMBER",
             shown, text);
    return false;
}

bool match_rules_parse(struct match_rules *rules, const char *text, char *error, size_t error_size)
{
    bool first = true;
    *rules = (struct match_rules){0};
    for (;;) {
        size_t length = strcspn(text, ",;");
        struct match_term *term = &rules->term[rules->count];
        if (rules->count == MATCH_TERMS_MAX) {
            snprintf(error, error_size, "more than %d terms", MATCH_TERMS_MAX);
            return false;
        }
        if (!take_term(term, text, length, error, error_size))
            return false;
        term->first = first;
        rules->count++;
        if (text[length] == '\0')
            return true;
        first = text[length] == ';';
        text += length + 1;
    }
}

static bool any_cgroup(const char *pattern, const char *cgroup)
{
    char path[4096];
    for (const char *line = cgroup; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *colon = memchr(line, ':', length);
        if (colon != NULL)
            colon = memchr(colon + 1, ':', length - (size_t)(colon + 1 - line));
        if (colon != NULL) {
            snprintf(path, sizeof path, "%.*s", (int)(line + length - colon - 1), colon + 1);
            if (fnmatch(pattern, path, 0) == 0)
                return true;
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

bool match_rules_fit_text(const struct match_rules *rules, pid_t pid, const char *main,
                          const char *cgroup)
{
    bool fits = false;
    for (int i = 0; i < rules->count; i++) {
        const struct match_term *term = &rules->term[i];
        if (term->first && fits)
            return true;
        if (term->first)
            fits = true;
        switch (term->key) {
        case MATCH_MAIN:
            fits = fits && fnmatch(term->pattern, main, 0) == 0;
            break;
        case MATCH_CGROUP:
            fits = fits && any_cgroup(term->pattern, cgroup);
            break;
        case MATCH_PID:
            fits = fits && term->pid == pid;
            break;
        }
    }
    return fits;
}

bool match_rules_fit(const struct match_rules *rules, const struct target *target)
{
    char path[64], cgroup[CGROUP_BYTES_MAX] = "";
    size_t used = 0;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)target->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && used < sizeof cgroup - 1; used += (size_t)got) {
        got = read(fd, cgroup + used, sizeof cgroup - 1 - used);
        if (got < 0)
            break;
    }
    if (fd >= 0)
        close(fd);
    return match_rules_fit_text(rules, target->pid, target->identity.main, cgroup);
}
