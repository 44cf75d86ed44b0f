#include "nmtwatch/jvm/room.h"

#include "nmtwatch/jvm/proc.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The thread of the attach listener, and one that the JVM may create meanwhile. */
#define THREADS_NEEDED         2
/* A stack of HotSpot's default size is 1 MB; glibc may reserve an arena beside it, and does without when it cannot. */
#define ADDRESSES_NEEDED_BYTES ((int64_t)16 << 20)

/* The connection that the listener accepts, a file of the answer, and what the application opens meanwhile. */
#define DESCRIPTORS_NEEDED 8

/* Resident memory, measured in a memory group (JDK 17 and 25, 2026-11-24): attach and an NMT summary 0.1 to 0.3 MB, a
 * heap dump of a small heap 1.1 to 2.3 MB, the agent's load and 2 s of sampling 0.8 MB. */
static const struct need {
    const char *beginning;
    int64_t bytes;
} needs[] = {
    {"load", (int64_t)8 << 20},
    {"GC.heap_dump", (int64_t)8 << 20},
    {"GC.class_histogram", (int64_t)4 << 20},
    {"", (int64_t)2 << 20},
};

/* The number behind a key at the beginning of a line; -1: there is none ("unlimited"). */
static int64_t number_of(struct span text, const char *key)
{
    struct span line;
    int64_t number = -1;
    while (span_take_line(&text, &line))
        if (span_starts_with(line, span_from_cstr(key))) {
            struct span rest = span_trim(span_of(line.ptr + strlen(key), line.len - strlen(key)));
            return span_take_i64(&rest, &number) ? number : -1;
        }
    return -1;
}

/* Threads of all processes whose real user it is, as far as /proc shows them. */
static int64_t threads_of_user(int64_t uid)
{
    DIR *folder = opendir("/proc");
    int64_t threads = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct span text;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        text = proc_read((pid_t)strtol(entry->d_name, NULL, 10), "status");
        if (text.ptr != NULL && number_of(text, "Uid:") == uid && number_of(text, "Threads:") > 0)
            threads += number_of(text, "Threads:");
        free((void *)text.ptr);
    }
    if (folder != NULL)
        closedir(folder);
    return threads;
}

/* Root, and a process with CAP_SYS_RESOURCE or CAP_SYS_ADMIN, is not bound by RLIMIT_NPROC. */
static bool bound_by_processes(struct span status)
{
    ptrdiff_t at = span_find(status, SPAN_LITERAL("\nCapEff:"));
    uint64_t effective =
        at >= 0 && status.len > (size_t)at + 9 ? strtoull(status.ptr + at + 9, NULL, 16) : 0;
    const uint64_t free_of_it = UINT64_C(1) << 24 | UINT64_C(1) << 21;
    return number_of(status, "Uid:") > 0 && (effective & free_of_it) == 0;
}

/* How many the process has open; from Linux 6.2 on without counting. -1: that cannot be seen. */
static int64_t descriptors(pid_t pid)
{
    char path[32];
    struct stat status;
    int64_t count = -2; /* "." and ".." */
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    if (stat(path, &status) == 0 && status.st_size > 0)
        return status.st_size;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return -1;
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* Seen on JDK 17 and 25: where the listener's accept() fails its thread ends, and nobody can attach any more. */
static const char *no_descriptor(pid_t pid, struct span limits)
{
    int64_t most = limits.ptr != NULL ? number_of(limits, "Max open files") : -1;
    return most >= 0 && descriptors(pid) > most - DESCRIPTORS_NEEDED
               ? "RLIMIT_NOFILE leaves it no descriptor, and HotSpot's attach listener ends when "
                 "it gets none"
               : NULL;
}

#define NO_THREAD(limit) limit " leaves it no thread, and HotSpot ends when attach gets none"

const char *room_for_thread(const struct target *target)
{
    struct span limits = proc_read(target->pid, "limits"),
                status = proc_read(target->pid, "status");
    int64_t pids = pids_room(target->pid);
    const char *what = NULL;
    if (pids >= 0 && pids < THREADS_NEEDED)
        what = NO_THREAD("pids.max of its control group");
    if (what == NULL)
        what = no_descriptor(target->pid, limits);
    if (what == NULL && limits.ptr != NULL && status.ptr != NULL) {
        int64_t addresses = number_of(limits, "Max address space");
        int64_t processes = number_of(limits, "Max processes");
        int64_t size_kb = number_of(status, "VmSize:");
        if (addresses >= 0 && size_kb >= 0 && addresses - size_kb * 1024 < ADDRESSES_NEEDED_BYTES)
            what = NO_THREAD("RLIMIT_AS");
        else if (processes >= 0 && bound_by_processes(status) &&
                 processes - threads_of_user(number_of(status, "Uid:")) < THREADS_NEEDED)
            what = NO_THREAD("RLIMIT_NPROC of its user");
    }
    free((void *)limits.ptr);
    free((void *)status.ptr);
    return what;
}

const char *room_for_question(const struct target *target, const char *question, char *words,
                              size_t size)
{
    struct span limits = proc_read(target->pid, "limits");
    const char *what = no_descriptor(target->pid, limits);
    int64_t left = memory_room(target->pid);
    free((void *)limits.ptr);
    if (what != NULL) {
        snprintf(words, size, "%s", what);
        return words;
    }
    for (size_t i = 0; left >= 0 && i < sizeof needs / sizeof *needs; i++) {
        if (strncmp(question, needs[i].beginning, strlen(needs[i].beginning)) != 0)
            continue;
        if (left >= needs[i].bytes)
            return NULL;
        snprintf(words, size,
                 "its control group has %" PRId64 " KB of memory left, and this may take %" PRId64
                 " KB",
                 left / 1024, needs[i].bytes / 1024);
        return words;
    }
    return NULL;
}

static bool file_says(const char *group, size_t length, const char *root, const char *name,
                      const char *part)
{
    char path[PATH_MAX], text[128] = "";
    int wanted = snprintf(path, sizeof path, "%s%.*s/%s", root, (int)length, group, name);
    FILE *file = wanted > 0 && (size_t)wanted < sizeof path ? fopen(path, "re") : NULL;
    size_t got = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[got] = '\0';
    return strstr(text, part) != NULL;
}

bool room_is_frozen(pid_t pid)
{
    struct span text = proc_read(pid, "cgroup"), rest = text, line;
    bool frozen = false;
    while (text.ptr != NULL && span_take_line(&rest, &line)) {
        ptrdiff_t old = span_find(line, SPAN_LITERAL(":freezer:"));
        size_t skip = old >= 0 ? (size_t)old + 9 : 3;
        if (span_find(line, SPAN_LITERAL("/..")) >= 0)
            continue;
        if (old >= 0)
            frozen = frozen || file_says(line.ptr + skip, line.len - skip, "/sys/fs/cgroup/freezer",
                                         "freezer.state", "FR");
        else if (span_starts_with(line, SPAN_LITERAL("0::")))
            frozen = frozen ||
                     file_says(line.ptr + skip, line.len - skip, "/sys/fs/cgroup", "cgroup.events",
                               "frozen 1") ||
                     file_says(line.ptr + skip, line.len - skip, "/sys/fs/cgroup/unified",
                               "cgroup.events", "frozen 1");
    }
    free((void *)text.ptr);
    return frozen;
}
