#include "nmtwatch/serve/scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define YOUNG_MS      30000
#define LOOK_AGAIN_MS 300000

enum kind { KIND_NEW, KIND_OTHER, KIND_UNREADABLE, KIND_TAKEN, KIND_REFUSED };

struct process {
    pid_t pid;
    enum kind kind;
    dev_t exe_device; /* with the inode: which program it runs; 0: not known */
    ino_t exe_inode;
    int64_t first_ms; /* seen with this program since */
    int64_t close_ms; /* of the last close look */
};

struct scan {
    struct process *known; /* by pid */
    int known_count;
    struct process *now; /* the look under way: those that are done, by pid */
    int now_count;
    pid_t *pids; /* all of this look; done ones first */
    int pid_count, pid_at;
    bool under_way;
    struct scan_counts counts;
};

struct scan *scan_create(void)
{
    return calloc(1, sizeof(struct scan));
}

bool scan_is_under_way(const struct scan *scan)
{
    return scan->under_way;
}

struct scan_counts scan_counts(const struct scan *scan)
{
    return scan->counts;
}

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* --- the list of processes -------------------------------------------------------------------- */

static int by_pid(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return (left > right) - (left < right);
}

static bool list_pids(struct scan *scan)
{
    int capacity = 0;
    DIR *proc = opendir("/proc");
    scan->pid_count = scan->pid_at = 0;
    if (proc == NULL)
        return false;
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid())
            continue;
        if (scan->pid_count == capacity) {
            capacity = capacity == 0 ? 256 : capacity * 2;
            pid_t *more = reallocarray(scan->pids, (size_t)capacity, sizeof *more);
            if (more == NULL)
                break;
            scan->pids = more;
        }
        scan->pids[scan->pid_count++] = pid;
    }
    closedir(proc);
    if (scan->pid_count > 1)
        qsort(scan->pids, (size_t)scan->pid_count, sizeof *scan->pids, by_pid);
    return scan->pid_count > 0;
}

void scan_begin(struct scan *scan, int64_t now_ms)
{
    (void)now_ms;
    if (scan->under_way)
        return;
    int64_t before_us = cpu_us();
    if (list_pids(scan)) {
        struct process *room = calloc((size_t)scan->pid_count, sizeof *room);
        if (room != NULL) {
            scan->now = room;
            scan->now_count = 0;
            scan->under_way = true;
        }
    }
    scan->counts.cpu_us += cpu_us() - before_us;
}

static int by_process_pid(const void *a, const void *b)
{
    const struct process *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static struct process *find(struct process *list, int count, pid_t pid)
{
    struct process key = {.pid = pid};
    return count == 0 ? NULL : bsearch(&key, list, (size_t)count, sizeof key, by_process_pid);
}

/* --- one process ------------------------------------------------------------------------------ */

/* A close look: is it a JVM, and is it wanted? */
static void look_closely(struct process *process, int64_t now_ms, scan_found_fn *found,
                         void *context)
{
    struct target target;
    struct failure failure;
    process->close_ms = now_ms;
    switch (target_open(&target, process->pid, &failure)) {
    case FAILURE_NONE:
        break;
    case FAILURE_PERMISSION:
        process->kind = KIND_UNREADABLE;
        return;
    default:
        process->kind = KIND_OTHER;
        return;
    }
    /* A socket of the right name without libjvm.so: nothing to be asked without being named. */
    enum scan_answer answer = target.libjvm_mapped ? found(context, &target) : SCAN_REFUSED;
    process->kind = answer == SCAN_TAKEN     ? KIND_TAKEN
                    : answer == SCAN_REFUSED ? KIND_REFUSED
                                             : KIND_NEW;
    if (answer != SCAN_TAKEN)
        target_close(&target);
}

static bool needs_close_look(const struct process *process, int64_t now_ms)
{
    return process->kind == KIND_NEW || now_ms - process->close_ms >= LOOK_AGAIN_MS ||
           (process->kind == KIND_OTHER && now_ms - process->first_ms < YOUNG_MS);
}

/* What is remembered of it, or what can be told at a glance. False when it has gone. */
static bool glance(struct scan *scan, pid_t pid, int64_t now_ms, struct process *process)
{
    char path[32];
    struct stat exe;
    const struct process *before = find(scan->known, scan->known_count, pid);
    *process = before != NULL ? *before : (struct process){.pid = pid, .first_ms = now_ms};
    if (process->kind == KIND_TAKEN)
        return true;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (stat(path, &exe) != 0) {
        if (errno == ESRCH)
            return false;
        exe.st_dev = 0; /* a thread of the kernel, or somebody else's process */
        exe.st_ino = 0;
    }
    if (exe.st_dev != process->exe_device || exe.st_ino != process->exe_inode) {
        process->exe_device = exe.st_dev;
        process->exe_inode = exe.st_ino;
        process->first_ms = now_ms;
        process->kind = KIND_NEW;
    }
    return true;
}

static void count_kinds(struct scan *scan)
{
    scan->counts.processes = scan->now_count;
    scan->counts.unreadable = scan->counts.refused = 0;
    for (int i = 0; i < scan->now_count; i++) {
        scan->counts.unreadable += scan->now[i].kind == KIND_UNREADABLE;
        scan->counts.refused += scan->now[i].kind == KIND_REFUSED;
    }
}

bool scan_step(struct scan *scan, int64_t now_ms, scan_found_fn *found, void *context)
{
    if (!scan->under_way)
        return true;
    int64_t before_us = cpu_us();
    int close_looks = 0;
    while (scan->pid_at < scan->pid_count && close_looks < SCAN_STEP) {
        struct process process;
        if (!glance(scan, scan->pids[scan->pid_at++], now_ms, &process))
            continue;
        if (process.kind != KIND_TAKEN && needs_close_look(&process, now_ms)) {
            look_closely(&process, now_ms, found, context);
            close_looks++;
        }
        scan->now[scan->now_count++] = process;
    }
    if (scan->pid_at == scan->pid_count) {
        count_kinds(scan);
        free(scan->known);
        scan->known = scan->now;
        scan->known_count = scan->now_count;
        scan->now = NULL;
        scan->now_count = 0;
        scan->under_way = false;
        scan->counts.looks++;
    }
    scan->counts.cpu_us += cpu_us() - before_us;
    return !scan->under_way;
}

static void forget(struct process *process)
{
    if (process != NULL) {
        process->kind = KIND_NEW;
        process->close_ms = 0;
    }
}

void scan_forget(struct scan *scan, pid_t pid)
{
    forget(find(scan->known, scan->known_count, pid));
    forget(find(scan->now, scan->now_count, pid));
}

static void forget_refused(struct process *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (list[i].kind == KIND_REFUSED)
            forget(&list[i]);
    }
}

void scan_forget_refused(struct scan *scan)
{
    forget_refused(scan->known, scan->known_count);
    forget_refused(scan->now, scan->now_count);
}

void scan_destroy(struct scan *scan)
{
    if (scan == NULL)
        return;
    free(scan->known);
    free(scan->now);
    free(scan->pids);
    free(scan);
}
