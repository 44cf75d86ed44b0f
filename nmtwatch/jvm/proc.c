#include "nmtwatch/jvm/proc.h"

#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/process/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* --- limits of control groups ------------------------------------------------------------------ */

/* Version 1 writes "no limit" as the largest number of whole pages. */
#define NO_LIMIT (INT64_C(1) << 60)

/* The names in version 1 and in version 2. */
static const struct controller {
    struct span name;
    const char *limit[2], *used[2];
} memory = {SPAN_LITERAL("memory"),
            {"memory.limit_in_bytes", "memory.max"},
            {"memory.usage_in_bytes", "memory.current"}},
  pids = {SPAN_LITERAL("pids"), {"pids.max", "pids.max"}, {"pids.current", "pids.current"}};

static size_t read_file(const char *folder, const char *name, char *text, size_t size)
{
    char path[PATH_MAX];
    int wanted = snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = wanted > 0 && (size_t)wanted < sizeof path
                 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
                 : -1;
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, size);
    close(fd);
    return length > 0 ? (size_t)length : 0;
}

static int64_t read_limit(const char *folder, const char *name)
{
    char text[32];
    int64_t number = -1;
    struct span left = span_of(text, read_file(folder, name, text, sizeof text));
    if (!span_take_i64(&left, &number) || number < 0 || number >= NO_LIMIT)
        return -1; /* "max" */
    return number;
}

/* The cache of files in a group, which the kernel gives back before it ends a process. */
static int64_t file_cache(const char *folder)
{
    static const struct span keys[] = {
        SPAN_LITERAL("total_inactive_file "), SPAN_LITERAL("total_active_file "),
        SPAN_LITERAL("inactive_file "), SPAN_LITERAL("active_file ")};
    char text[8192];
    struct span rest = span_of(text, read_file(folder, "memory.stat", text, sizeof text)), line;
    int64_t sum[4] = {0};
    while (span_take_line(&rest, &line))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (span_starts_with(line, keys[i])) {
                struct span number = span_of(line.ptr + keys[i].len, line.len - keys[i].len);
                span_take_i64(&number, &sum[i]);
            }
    return sum[0] + sum[1] > 0 ? sum[0] + sum[1] : sum[2] + sum[3];
}

/* The limit of one group, or what is left of it; -1: there is no limit. */
static int64_t of_group(const char *folder, const struct controller *of, bool unified, bool left)
{
    int64_t limit = read_limit(folder, of->limit[unified]);
    if (limit < 0 || !left)
        return limit;
    int64_t used = read_limit(folder, of->used[unified]);
    if (used < 0)
        return -1;
    if (of == &memory && limit - used < ROOM_LOOKED_AT_BYTES)
        used -= file_cache(folder);
    return limit > used ? limit - used : 0;
}

/* The smallest of a group and of those around it. */
static int64_t smallest(const char *root, struct span group, const struct controller *of,
                        bool unified, bool left)
{
    char path[PATH_MAX];
    int64_t least = -1;
    size_t length = group.len;
    if (span_find(group, SPAN_LITERAL("/..")) >= 0)
        return -1; /* outside of our namespace: another one's folder would be read */
    for (;;) {
        while (length > 0 && group.ptr[length - 1] == '/')
            length--;
        int wanted = snprintf(path, sizeof path, "%s%.*s", root, (int)length, group.ptr);
        int64_t found =
            wanted > 0 && (size_t)wanted < sizeof path ? of_group(path, of, unified, left) : -1;
        if (found >= 0 && (least < 0 || found < least))
            least = found;
        if (length == 0)
            return least;
        while (length > 0 && group.ptr[length - 1] != '/')
            length--;
    }
}

static bool has_controller(struct span controllers, struct span name)
{
    for (size_t at = 0; at <= controllers.len;) {
        size_t end = at;
        while (end < controllers.len && controllers.ptr[end] != ',')
            end++;
        if (end - at == name.len && memcmp(controllers.ptr + at, name.ptr, name.len) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

/* Lines "number:controllers:path"; no controllers for version 2. */
static int64_t of_groups(struct span cgroup, const char *folder, const struct controller *of,
                         bool left_of_it)
{
    char root[PATH_MAX];
    struct span line;
    int64_t least = -1;
    while (span_take_line(&cgroup, &line)) {
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
        if (!unified && !has_controller(controllers, of->name))
            continue;
        snprintf(root, sizeof root, "%s%s%.*s", folder, unified ? "" : "/",
                 unified ? 0 : (int)of->name.len, of->name.ptr);
        int64_t found = smallest(root, group, of, unified, left_of_it);
        if (found >= 0 && (least < 0 || found < least))
            least = found;
    }
    return least;
}

int64_t memory_limit_of(struct span cgroup, const char *folder)
{
    return of_groups(cgroup, folder, &memory, false);
}

int64_t memory_room_of(struct span cgroup, const char *folder)
{
    return of_groups(cgroup, folder, &memory, true);
}

int64_t pids_room_of(struct span cgroup, const char *folder)
{
    return of_groups(cgroup, folder, &pids, true);
}

static int64_t of_process(pid_t pid, int64_t of(struct span cgroup, const char *folder))
{
    struct span text = proc_read(pid, "cgroup");
    int64_t found = text.ptr != NULL ? of(text, "/sys/fs/cgroup") : -1;
    free((void *)(uintptr_t)text.ptr);
    return found;
}

int64_t memory_limit(pid_t pid)
{
    return of_process(pid, memory_limit_of);
}

int64_t memory_room(pid_t pid)
{
    return of_process(pid, memory_room_of);
}

int64_t pids_room(pid_t pid)
{
    return of_process(pid, pids_room_of);
}

static int open_proc_file(pid_t pid, const char *name)
{
    char path[64];
    if (privileged_apart() && privileged_proc_may_wait(name))
        return privileged_proc(pid, name);
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

struct span proc_read_most(pid_t pid, const char *name, size_t most)
{
    const struct span none = {NULL, 0};
    int fd = open_proc_file(pid, name);
    if (fd < 0)
        return none;

    char *text = NULL;
    size_t len = 0, capacity = 0;
    int error = 0;
    for (;;) {
        if (len == capacity) {
            capacity = capacity == 0 ? 4096 : capacity * 2;
            char *bigger = capacity <= most ? realloc(text, capacity) : NULL;
            if (bigger == NULL) {
                error = ENOMEM;
                break;
            }
            text = bigger;
        }
        ssize_t n = read(fd, text + len, capacity - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            error = errno;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    close(fd);
    if (error == 0)
        return span_of(text, len);
    free(text);
    errno = error;
    return none;
}

bool proc_maps_open(struct proc_maps *maps, pid_t pid)
{
    int fd = open_proc_file(pid, "maps");
    *maps = (struct proc_maps){.file = fd >= 0 ? fdopen(fd, "re") : NULL};
    return maps->file != NULL;
}

bool proc_maps_next(struct proc_maps *maps, const char *part, struct proc_map *map)
{
    ssize_t length;
    while ((length = getline(&maps->line, &maps->room, maps->file)) > 0) {
        struct span row = span_trim(span_of(maps->line, (size_t)length));
        if (span_find(row, span_from_cstr(part)) >= 0 && proc_map_parse(map, row) == PARSE_OK)
            return true;
    }
    return false;
}

bool proc_maps_close(struct proc_maps *maps)
{
    bool good = !ferror(maps->file);
    int error = errno;
    free(maps->line);
    fclose(maps->file);
    errno = error;
    return good;
}

bool proc_stat_read(pid_t pid, struct proc_stat *stat)
{
    struct span text = proc_read(pid, "stat");
    bool good = text.ptr != NULL && proc_stat_parse(stat, text) == PARSE_OK && stat->state != 'Z' &&
                stat->state != 'X';
    stat->comm = span_of("", 0); /* the text ends here */
    free((void *)text.ptr);
    return good;
}

uid_t proc_user(pid_t pid)
{
    struct proc_status status;
    struct span text = proc_read(pid, "status");
    uid_t user = (uid_t)-1;
    if (text.ptr != NULL && proc_status_parse(&status, text) == PARSE_OK)
        user = (uid_t)status.effective_uid;
    free((void *)text.ptr);
    return user;
}

/* By the name that the kernel keeps: to look at the file itself may take as long as its file system likes. */
bool proc_program(pid_t pid, uint64_t *program)
{
    char path[32], name[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(path, name, sizeof name);
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (ssize_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
    *program = length > 0 ? hash : 0;
    return length > 0;
}

bool proc_is_alive(pid_t pid, uint64_t start_time_ticks)
{
    struct proc_stat stat;
    return proc_stat_read(pid, &stat) && stat.start_time_ticks == start_time_ticks;
}

/* As the kernel has it; the C library's headers are older. */
struct exit_info {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};
#define GET_INFO  _IOWR(0xFF, 11, struct exit_info)
#define INFO_EXIT (UINT64_C(1) << 3)

/* The last field of the line, which is 0 for a reader without rights. */
static int zombie_status(pid_t pid, uint64_t start_time_ticks)
{
    struct span text = proc_read(pid, "stat");
    struct proc_stat stat;
    int64_t code = 0;
    if (text.ptr != NULL && proc_stat_parse(&stat, text) == PARSE_OK &&
        stat.start_time_ticks == start_time_ticks && (stat.state == 'Z' || stat.state == 'X')) {
        struct span line = span_trim(text);
        size_t at = line.len;
        while (at > 0 && line.ptr[at - 1] != ' ')
            at--;
        struct span last = span_of(line.ptr + at, line.len - at);
        span_take_unsigned(&last, &code);
    }
    free((void *)text.ptr);
    return (int)code;
}

bool proc_exit_status(int process_fd, pid_t pid, uint64_t start_time_ticks, int *status)
{
    struct exit_info info = {.mask = INFO_EXIT};
    *status = 0;
    if (process_fd >= 0 && ioctl(process_fd, GET_INFO, &info) == 0 &&
        (info.mask & INFO_EXIT) != 0) {
        *status = info.exit_code;
        return true;
    }
    *status = zombie_status(pid, start_time_ticks);
    return *status != 0;
}

int64_t proc_uptime_ms(uint64_t start_time_ticks)
{
    int64_t now_ms = clock_ms(CLOCK_BOOTTIME); /* as field 22: suspended time included */
    int64_t started_ms = (int64_t)(start_time_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
    return now_ms > started_ms ? now_ms - started_ms : 0;
}

int proc_open(struct proc *proc, const struct target *target)
{
    *proc = (struct proc){.start_time_ticks = target->start_time_ticks};
    proc->stat_fd = open_proc_file(target->pid, "stat");
    proc->statm_fd = open_proc_file(target->pid, "statm");
    proc->status_fd = open_proc_file(target->pid, "status");
    if (proc->stat_fd >= 0 && proc->statm_fd >= 0)
        return 0;
    int error = errno;
    proc_close(proc);
    errno = error;
    return -1;
}

/* Kernels before 4.5 do not print them. */
static void rss_parts(const struct proc *proc, struct sample *sample)
{
    static const struct {
        enum sample_field field;
        struct span mark;
    } PARTS[] = {{SAMPLE_RSS_ANON_BYTES, SPAN_INIT("\nRssAnon:\t")},
                 {SAMPLE_RSS_FILE_BYTES, SPAN_INIT("\nRssFile:\t")},
                 {SAMPLE_RSS_SHARED_BYTES, SPAN_INIT("\nRssShmem:\t")}};
    char text[4096];
    ssize_t len = pread(proc->status_fd, text, sizeof text, 0);
    for (size_t i = 0; len > 0 && i < sizeof PARTS / sizeof PARTS[0]; i++) {
        struct span line = span_trim(span_behind(span_of(text, (size_t)len), PARTS[i].mark));
        int64_t kilobytes;
        if (line.ptr != NULL && span_take_unsigned(&line, &kilobytes))
            sample_set(sample, PARTS[i].field, kilobytes * 1024);
    }
}

bool proc_sample(struct proc *proc, struct sample *sample)
{
    char text[1024];
    ssize_t len = pread(proc->stat_fd, text, sizeof text, 0);
    struct proc_stat stat;
    if (len <= 0 || proc_stat_parse(&stat, span_of(text, (size_t)len)) != PARSE_OK ||
        stat.start_time_ticks != proc->start_time_ticks || stat.state == 'Z' || stat.state == 'X')
        return false;
    sample_set(sample, SAMPLE_UPTIME_MS, proc_uptime_ms(stat.start_time_ticks));
    sample_set(sample, SAMPLE_THREADS, stat.threads);
    sample_set(sample, SAMPLE_CPU_MS,
               (stat.utime_ticks + stat.stime_ticks) * 1000 / sysconf(_SC_CLK_TCK));

    struct proc_statm statm;
    len = pread(proc->statm_fd, text, sizeof text, 0);
    if (len > 0 && proc_statm_parse(&statm, span_of(text, (size_t)len)) == PARSE_OK)
        sample_set(sample, SAMPLE_RSS_BYTES, statm.resident_pages * sysconf(_SC_PAGESIZE));
    rss_parts(proc, sample);
    return true;
}

#define DELAYS_MAX 512
struct thread_delay {
    int64_t tid, ns;
};

/* "CPU time, time on a run queue, time slices", in ns; -1: it has ended. */
static int64_t thread_delay(int tasks, const char *tid)
{
    char path[64], text[80];
    int64_t ran, waited;
    snprintf(path, sizeof path, "%.20s/schedstat", tid);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return sscanf(text, "%" SCNd64 " %" SCNd64, &ran, &waited) == 2 ? waited : -1;
}

/* What the thread that waited longest has waited since the last call; a new thread: since its start. */
static int64_t longest_delay_ns(struct proc *proc, DIR *tasks)
{
    struct thread_delay now[DELAYS_MAX];
    int count = 0, before = 0;
    int64_t longest_ns = 0;
    for (struct dirent *entry; count < DELAYS_MAX && (entry = readdir(tasks)) != NULL;) {
        int64_t ns = entry->d_name[0] != '.' ? thread_delay(dirfd(tasks), entry->d_name) : -1;
        int64_t tid = atoll(entry->d_name), then_ns = 0;
        if (ns < 0)
            continue;
        while (before < proc->delay_count && proc->delays[before].tid < tid)
            before++;
        if (before < proc->delay_count && proc->delays[before].tid == tid)
            then_ns = proc->delays[before].ns;
        longest_ns = ns - then_ns > longest_ns ? ns - then_ns : longest_ns;
        now[count++] = (struct thread_delay){tid, ns};
    }
    memcpy(proc->delays, now, (size_t)count * sizeof *now);
    proc->delay_count = count;
    return longest_ns;
}

void proc_starved(struct proc *proc, pid_t pid, bool wanted, struct sample *sample)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = wanted ? opendir(path) : NULL;
    bool first = proc->delays == NULL;
    if (first && tasks != NULL)
        proc->delays = calloc(DELAYS_MAX, sizeof *proc->delays);
    if (tasks == NULL || proc->delays == NULL) {
        free(proc->delays);
        proc->delays = NULL;
        proc->delay_count = 0;
        if (tasks != NULL)
            closedir(tasks);
        return;
    }
    int64_t delay_ms = longest_delay_ns(proc, tasks) / 1000000;
    closedir(tasks);
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC), cpu_ms = sample_value(sample, SAMPLE_CPU_MS);
    int64_t most_ms = now_ms - proc->delays_ms - (cpu_ms - proc->delays_cpu_ms);
    delay_ms = delay_ms < most_ms ? delay_ms : most_ms;
    if (!first && delay_ms > 0)
        proc->starved_ms += delay_ms;
    proc->delays_ms = now_ms;
    proc->delays_cpu_ms = cpu_ms;
    if (!first)
        sample_set(sample, SAMPLE_STARVED_MS, proc->starved_ms);
}

void proc_close(struct proc *proc)
{
    free(proc->delays);
    proc->delays = NULL;
    int *const fds[] = {&proc->stat_fd, &proc->statm_fd, &proc->status_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
