#include "nmtwatch/jvm/memory_limit.h"

#include "nmtwatch/jvm/proc.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Version 1 writes "no limit" as the largest number of whole pages. */
#define NO_LIMIT (INT64_C(1) << 60)

static int64_t read_limit(const char *path)
{
    char text[32];
    int64_t bytes = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    struct span number = span_of(text, length > 0 ? (size_t)length : 0);
    if (!span_take_i64(&number, &bytes) || bytes < 0 || bytes >= NO_LIMIT)
        return -1; /* "max" */
    return bytes;
}

/* The smallest of a group and of those around it. */
static int64_t smallest(const char *root, struct span group, const char *file)
{
    char path[PATH_MAX];
    int64_t least = -1;
    size_t length = group.len;
    if (span_find(group, SPAN_LITERAL("/..")) >= 0)
        return -1; /* outside of our namespace: another one's folder would be read */
    for (;;) {
        while (length > 0 && group.ptr[length - 1] == '/')
            length--;
        int wanted = snprintf(path, sizeof path, "%s%.*s/%s", root, (int)length, group.ptr, file);
        int64_t bytes = wanted > 0 && (size_t)wanted < sizeof path ? read_limit(path) : -1;
        if (bytes >= 0 && (least < 0 || bytes < least))
            least = bytes;
        if (length == 0)
            return least;
        while (length > 0 && group.ptr[length - 1] != '/')
            length--;
    }
}

static bool has_memory(struct span controllers)
{
    static const struct span NAME = SPAN_LITERAL("memory");
    for (size_t at = 0; at <= controllers.len;) {
        size_t end = at;
        while (end < controllers.len && controllers.ptr[end] != ',')
            end++;
        if (end - at == NAME.len && memcmp(controllers.ptr + at, NAME.ptr, NAME.len) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

/* Lines "number:controllers:path"; no controllers for version 2. */
int64_t memory_limit_of(struct span cgroup, const char *folder)
{
    char root[PATH_MAX];
    struct span line;
    bool terminated;
    int64_t least = -1;
    while (span_next_line(&cgroup, &line, &terminated)) {
        const char *first = line.len > 0 ? memchr(line.ptr, ':', line.len) : NULL;
        if (first == NULL)
            continue;
        size_t left = line.len - (size_t)(first + 1 - line.ptr);
        const char *second = memchr(first + 1, ':', left);
        if (second == NULL)
            continue;
        struct span controllers = span_of(first + 1, (size_t)(second - first - 1));
        struct span group = span_of(second + 1, left - controllers.len - 1);
        bool unified = controllers.len == 0;
        if (!unified && !has_memory(controllers))
            continue;
        snprintf(root, sizeof root, "%s%s", folder, unified ? "" : "/memory");
        int64_t bytes = smallest(root, group, unified ? "memory.max" : "memory.limit_in_bytes");
        if (bytes >= 0 && (least < 0 || bytes < least))
            least = bytes;
    }
    return least;
}

int64_t memory_limit(pid_t pid)
{
    struct span text = proc_read(pid, "cgroup");
    if (text.ptr == NULL)
        return -1;
    int64_t bytes = memory_limit_of(text, "/sys/fs/cgroup");
    free((void *)(uintptr_t)text.ptr);
    return bytes;
}
