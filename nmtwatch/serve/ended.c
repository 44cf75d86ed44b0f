#include "nmtwatch/serve/ended.h"

#include "nmtwatch/jvm/proc.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The number behind "oom_kill " at the beginning of a line; -1: there is none. */
static int64_t kills_in(const char *path)
{
    char line[128];
    long long kills = -1;
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL && kills < 0)
        if (sscanf(line, "oom_kill %lld", &kills) != 1)
            kills = -1;
    if (file != NULL)
        fclose(file);
    return kills;
}

static void count_kills(const struct ending *ending, int64_t kills[OOM_COUNTERS])
{
    const char *file = ending->unified ? "memory.events" : "memory.oom_control";
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", ending->group, file);
    kills[OOM_OF_GROUP] = ending->group[0] != '\0' ? kills_in(path) : -1;
    snprintf(path, sizeof path, "%s", ending->group);
    char *slash = strrchr(path, '/');
    snprintf(slash != NULL ? slash : path, 32, "/%s", file);
    kills[OOM_ABOVE] = slash != NULL ? kills_in(path) : -1;
    kills[OOM_OF_HOST] = kills_in("/proc/vmstat");
}

/* "4:memory:/a/b" of version 1, else "0::/a/b". */
static void find_group(struct ending *ending, struct span text)
{
    struct span line;
    while (span_take_line(&text, &line)) {
        ptrdiff_t at = span_find(line, SPAN_LITERAL(":memory:"));
        ending->unified = span_take(&line, SPAN_LITERAL("0::"));
        if ((at < 0 && (!ending->unified || ending->group[0] != '\0')) ||
            span_find(line, SPAN_LITERAL("/..")) >= 0)
            continue;
        size_t skip = at >= 0 ? (size_t)at + 8 : 0;
        snprintf(ending->group, sizeof ending->group, "/sys/fs/cgroup%s%.*s",
                 at >= 0 ? "/memory" : "", (int)(line.len - skip), line.ptr + skip);
        if (at >= 0)
            return;
    }
    ending->unified = true;
}

void ending_open(struct ending *ending, const struct target *target)
{
    *ending = (struct ending){.process_fd = (int)syscall(SYS_pidfd_open, target->pid, 0)};
    struct span cgroup = proc_read(target->pid, "cgroup");
    if (cgroup.ptr != NULL)
        find_group(ending, cgroup);
    free((void *)cgroup.ptr);
    ending_look(ending);
}

void ending_look(struct ending *ending)
{
    count_kills(ending, ending->kills);
}

bool ending_describe(const struct ending *ending, const struct target *target, char *out,
                     size_t size)
{
    static const char *const places[OOM_COUNTERS] = {
        [OOM_OF_GROUP] = "the memory limit of its control group was reached",
        [OOM_ABOVE] = "a memory limit of the control group above was reached",
        [OOM_OF_HOST] = "the host was out of memory",
    };
    int status = 0;
    int64_t now[OOM_COUNTERS];
    bool known =
        proc_exit_status(ending->process_fd, target->pid, target->start_time_ticks, &status);
    bool killed = !known || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    count_kills(ending, now);
    for (int i = 0; i < OOM_COUNTERS && killed; i++)
        if (ending->kills[i] >= 0 && now[i] > ending->kills[i]) {
            snprintf(out, size, "%s by the kernel's out-of-memory killer: %s",
                     known && i == OOM_OF_GROUP ? "killed" : "probably killed", places[i]);
            return true;
        }
    if (!known)
        snprintf(out, size, "ended; how is not known (Linux tells it from 6.15 on)");
    else if (WIFSIGNALED(status))
        snprintf(out, size, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, size, "exit status %d", WEXITSTATUS(status));
    return false;
}

void ending_close(struct ending *ending)
{
    if (ending->process_fd >= 0)
        close(ending->process_fd);
    ending->process_fd = -1;
}
