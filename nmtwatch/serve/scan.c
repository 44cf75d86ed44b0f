#include "nmtwatch/serve/scan.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/process/clock.h"
#include "analyzers/parse/proc_text.h"
#include "nmtwatch/jvm/accountable.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/privileged.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define YOUNG_MS      30000
#define LOOK_AGAIN_MS 300000
#define GLANCES       512 /* a step: two system calls each */

enum kind { KIND_NEW, KIND_OTHER, KIND_UNREADABLE, KIND_HELD, KIND_TAKEN, KIND_REFUSED, KIND_FULL };

struct process {
    pid_t pid;
    enum kind kind;
    uint64_t program; /* which one it runs; 0: not known */
    int64_t first_ms; /* seen with this program since */
    int64_t close_ms; /* of the last examination */
};

/* A process whose maps have to be read. */
struct wanted {
    int at; /* in `now` */
    uid_t user;
    int64_t close_ms; /* those who have waited longest first */
};

/* One user's part of the scan: wanted[from..to). */
struct turn {
    int from, to;
    int64_t spent_us;
};

struct scan {
    struct process *known; /* by pid */
    int known_count;
    struct process *now; /* the scan under way: those that are done, by pid */
    int now_count;
    pid_t *pids; /* all of this scan; done ones first */
    int pid_count, pid_at;
    size_t pid_capacity, turn_capacity;
    bool under_way;
    struct wanted *wanted; /* by user once all are listed */
    int wanted_count;
    struct turn *turns;
    int turn_count, turn_at;
    int64_t user_budget_us;
    struct scan_counts counts;
};

struct scan *scan_create(void)
{
    struct scan *scan = calloc(1, sizeof *scan);
    if (scan != NULL)
        scan->user_budget_us = INT64_MAX;
    return scan;
}

void scan_set_user_budget(struct scan *scan, int64_t ms)
{
    scan->user_budget_us = ms * 1000;
}

struct scan_counts scan_counts(const struct scan *scan)
{
    return scan->counts;
}

static int64_t cpu_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

/* --- the list of processes -------------------------------------------------------------------- */

static int by_pid(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return (left > right) - (left < right);
}

static bool list_pids(struct scan *scan)
{
    DIR *proc = opendir("/proc");
    scan->pid_count = scan->pid_at = 0;
    if (proc == NULL)
        return false;
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid())
            continue;
        if (!array_room(&scan->pids, &scan->pid_capacity, (size_t)scan->pid_count + 1,
                        sizeof *scan->pids))
            break;
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
        struct wanted *wanted = reallocarray(scan->wanted, (size_t)scan->pid_count, sizeof *wanted);
        if (wanted != NULL)
            scan->wanted = wanted;
        if (room != NULL && wanted != NULL) {
            scan->now = room;
            scan->now_count = scan->wanted_count = scan->turn_count = scan->turn_at = 0;
            scan->under_way = true;
        } else {
            free(room);
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

/* Examines its maps: is it a JVM, and is it wanted? */
static void examine(struct process *process, int64_t now_ms, scan_found_fn *found, void *context)
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
    case FAILURE_HELD: /* again at the next scan: what is passed by costs nothing */
        process->kind = KIND_HELD;
        return;
    default:
        process->kind = KIND_OTHER;
        return;
    }
    /* A socket of the right name without libjvm.so: nothing to be asked without being named. */
    enum scan_answer answer = target.libjvm_mapped ? found(context, &target) : SCAN_REFUSED;
    process->kind = answer == SCAN_TAKEN     ? KIND_TAKEN
                    : answer == SCAN_REFUSED ? KIND_REFUSED
                    : answer == SCAN_FULL    ? KIND_FULL
                                             : KIND_NEW;
    if (answer != SCAN_TAKEN)
        target_close(&target);
}

static bool needs_examination(const struct process *process, int64_t now_ms)
{
    return process->kind == KIND_NEW || process->kind == KIND_HELD ||
           now_ms - process->close_ms >= LOOK_AGAIN_MS ||
           (process->kind == KIND_OTHER && now_ms - process->first_ms < YOUNG_MS);
}

/* What is remembered of it, or what is seen without its maps. False when it has gone. */
static bool glance(struct scan *scan, pid_t pid, int64_t now_ms, struct process *process)
{
    uint64_t program = 0; /* none: a thread of the kernel, or another user's process */
    const struct process *before = find(scan->known, scan->known_count, pid);
    *process = before != NULL ? *before : (struct process){.pid = pid, .first_ms = now_ms};
    if (process->kind == KIND_TAKEN)
        return true;
    if (!privileged_exe(pid, &program) && errno == ESRCH)
        return false;
    if (program != process->program) {
        process->program = program;
        process->first_ms = now_ms;
        process->kind = KIND_NEW;
    }
    return true;
}

static void count_kinds(struct scan *scan)
{
    scan->counts.processes = scan->now_count;
    scan->counts.unreadable = scan->counts.held = scan->counts.refused = scan->counts.full = 0;
    for (int i = 0; i < scan->now_count; i++) {
        scan->counts.unreadable += scan->now[i].kind == KIND_UNREADABLE;
        scan->counts.held += scan->now[i].kind == KIND_HELD;
        scan->counts.refused += scan->now[i].kind == KIND_REFUSED;
        scan->counts.full += scan->now[i].kind == KIND_FULL;
    }
}

static uid_t user_of(pid_t pid)
{
    return accountable_uid(pid, proc_user(pid));
}

static int by_user(const void *a, const void *b)
{
    const struct wanted *left = a, *right = b;
    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    if (left->close_ms != right->close_ms)
        return left->close_ms < right->close_ms ? -1 : 1;
    return (left->at > right->at) - (left->at < right->at);
}

static bool share_out(struct scan *scan)
{
    struct wanted *wanted = scan->wanted;
    qsort(wanted, (size_t)scan->wanted_count, sizeof *wanted, by_user);
    for (int from = 0, to; from < scan->wanted_count; from = to) {
        for (to = from + 1; to < scan->wanted_count && wanted[to].user == wanted[from].user;)
            to++;
        if (!array_room(&scan->turns, &scan->turn_capacity, (size_t)scan->turn_count + 1,
                        sizeof *scan->turns))
            return false;
        scan->turns[scan->turn_count++] = (struct turn){.from = from, .to = to};
    }
    return true;
}

/* All processes at a glance, some at a time. True when that is done. */
static bool glance_on(struct scan *scan, int64_t now_ms)
{
    for (int glances = 0; scan->pid_at < scan->pid_count && glances < GLANCES; glances++) {
        struct process *process = &scan->now[scan->now_count];
        if (!glance(scan, scan->pids[scan->pid_at++], now_ms, process))
            continue;
        if (process->kind != KIND_TAKEN && needs_examination(process, now_ms))
            scan->wanted[scan->wanted_count++] = (struct wanted){.at = scan->now_count,
                                                                 .user = user_of(process->pid),
                                                                 .close_ms = process->close_ms};
        scan->now_count++;
    }
    return scan->pid_at == scan->pid_count;
}

/* Whose turn it is; NULL when everybody has had his. */
static struct turn *next_turn(struct scan *scan)
{
    for (int tries = 0; tries < scan->turn_count; tries++) {
        struct turn *turn = &scan->turns[scan->turn_at];
        scan->turn_at = (scan->turn_at + 1) % scan->turn_count;
        if (turn->from < turn->to && turn->spent_us < scan->user_budget_us)
            return turn;
    }
    return NULL;
}

/* True when no user is left to take a turn. */
static bool scan_on(struct scan *scan, int64_t now_ms, scan_found_fn *found, void *context)
{
    int64_t began_us = clock_us(CLOCK_MONOTONIC), before_us = began_us;
    for (int examined = 0; examined < SCAN_STEP && before_us - began_us < SCAN_STEP_US;
         examined++) {
        struct turn *turn = next_turn(scan);
        if (turn == NULL)
            return true;
        examine(&scan->now[scan->wanted[turn->from++].at], now_ms, found, context);
        int64_t after_us = clock_us(CLOCK_MONOTONIC);
        turn->spent_us += after_us - before_us;
        before_us = after_us;
    }
    return false;
}

static void end_scan(struct scan *scan)
{
    for (int i = 0; i < scan->turn_count; i++)
        scan->counts.postponed += scan->turns[i].to - scan->turns[i].from;
    count_kinds(scan);
    free(scan->known);
    scan->known = scan->now;
    scan->known_count = scan->now_count;
    scan->now = NULL;
    scan->now_count = 0;
    scan->under_way = false;
    scan->counts.scans++;
}

bool scan_step(struct scan *scan, int64_t now_ms, scan_found_fn *found, void *context)
{
    if (!scan->under_way)
        return true;
    int64_t before_us = cpu_us();
    bool listed = scan->pid_at == scan->pid_count;
    if (!listed && glance_on(scan, now_ms))
        listed = share_out(scan) || scan->turn_count > 0;
    if (listed && scan_on(scan, now_ms, found, context))
        end_scan(scan);
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

static void forget_all(struct scan *scan, enum kind kind)
{
    for (int i = 0; i < scan->known_count; i++)
        if (scan->known[i].kind == kind)
            forget(&scan->known[i]);
    for (int i = 0; i < scan->now_count; i++)
        if (scan->now[i].kind == kind)
            forget(&scan->now[i]);
}

void scan_forget_refused(struct scan *scan)
{
    forget_all(scan, KIND_REFUSED);
}

void scan_forget_full(struct scan *scan)
{
    forget_all(scan, KIND_FULL);
}

void scan_destroy(struct scan *scan)
{
    if (scan == NULL)
        return;
    free(scan->known);
    free(scan->now);
    free(scan->pids);
    free(scan->wanted);
    free(scan->turns);
    free(scan);
}
