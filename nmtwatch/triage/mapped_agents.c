#include "nmtwatch/triage/mapped_agents.h"

#include "analyzers/parse/proc_text.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/triage/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The JDK's own libraries lie in the folder of libjvm.so's folder: lib/server/libjvm.so. */
static size_t jdk_prefix(struct span maps)
{
    static const struct span jvm = SPAN_INIT("/libjvm.so");
    ptrdiff_t at = span_find(maps, jvm);
    if (at < 0)
        return 0;
    size_t from = (size_t)at;
    while (from > 0 && maps.ptr[from - 1] != '\n' && maps.ptr[from - 1] != ' ')
        from--;
    size_t length = (size_t)at - from;
    while (length > 0 && maps.ptr[from + length - 1] != '/')
        length--; /* without "server" */
    return length > 0 ? from : 0;
}

static bool exports_agent(const struct target *target, const char *path)
{
    struct stat status;
    int fd = rooted_read(target, path, ROOTED_LINKS, MAPPED_AGENT_MAX, &status);
    bool found = false;
    if (fd >= 0 && status.st_size > 64) {
        size_t size = (size_t)status.st_size;
        char *bytes = malloc(size); /* read, not mapped: the file may shrink meanwhile */
        ssize_t got = bytes != NULL ? pread(fd, bytes, size, 0) : -1;
        found = got > 0 && (memmem(bytes, (size_t)got, "Agent_OnLoad", 12) != NULL ||
                            memmem(bytes, (size_t)got, "Agent_OnAttach", 14) != NULL);
        free(bytes);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

void mapped_agents(const struct target *target, struct dossier *dossier)
{
    char path[4096], error[256], last[4096] = "";
    struct span text, rest, line;
    bool cut, terminated;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)target->pid);
    if (!saved_read(path, &text, &cut, error, sizeof error))
        return;
    dossier->agents_known = true;
    size_t jdk_at = jdk_prefix(text);
    struct span jdk = span_of(text.ptr + jdk_at, 0);
    while (jdk_at > 0 && jdk_at + jdk.len < text.len && text.ptr[jdk_at + jdk.len] != '\n')
        jdk.len++;
    ptrdiff_t server = span_find(jdk, SPAN_LITERAL("/server/libjvm.so"));
    jdk.len = server > 0 ? (size_t)server : 0;
    rest = text;
    while (span_next_line(&rest, &line, &terminated)) {
        struct proc_map map;
        char name[4096];
        if (proc_map_parse(&map, line) != PARSE_OK || !map.executable || map.path.len == 0 ||
            map.path.ptr[0] != '/' || (jdk.len > 0 && span_starts_with(map.path, jdk)))
            continue;
        span_copy(map.path, name, sizeof name);
        if (strcmp(name, last) == 0)
            continue;
        memcpy(last, name, sizeof last);
        if (exports_agent(target, rooted_inner(target->root, name)))
            dossier_add_agent(dossier, name);
    }
    free((void *)(uintptr_t)text.ptr);
}
