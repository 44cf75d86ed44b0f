/* proc: what the kernel knows of a target, at no cost to it (fields of struct sample).
 *
 *   proc_open -> proc_sample ... -> proc_close
 *
 * Keeps /proc/PID/stat, statm and status open: a poll is three pread calls. One thread. */
#pragma once

#include "analyzers/parse/proc_text.h"
#include "nmtwatch/jvm/target.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct proc {
    int stat_fd, statm_fd, status_fd;
    uint64_t start_time_ticks;
    struct thread_delay *delays; /* of its threads, ascending; NULL: not being measured */
    int delay_count;
    int64_t delays_ms, delays_cpu_ms, starved_ms;
};

/* 0, or -1 with errno. */
int proc_open(struct proc *proc, const struct target *target);
/* Sets RSS_BYTES and its parts, THREADS, CPU_MS, UPTIME_MS. False when the process is gone or another one. */
bool proc_sample(struct proc *proc, struct sample *sample);
/* For how long the process could not go on because others had the CPUs: what the thread that waited longest has waited
 * for one, less the CPU time that others of its threads had meanwhile. Summed over the calls; sets STARVED_MS. Some
 * 5 us a thread, of 512 at most. wanted false: the next call begins anew. */
void proc_starved(struct proc *proc, pid_t pid, bool wanted, struct sample *sample);
void proc_close(struct proc *proc);

/* The whole of /proc/PID/name, of at most so many bytes; the caller frees text.ptr. On failure ptr is NULL and
 * errno says why. */
struct span proc_read_most(pid_t pid, const char *name, size_t most);
static inline struct span proc_read(pid_t pid, const char *name)
{
    return proc_read_most(pid, name, (size_t)8 << 20);
}
/* /proc/PID/stat of a process that has not ended, without its comm. */
bool proc_stat_read(pid_t pid, struct proc_stat *stat);
/* The user as whom it acts (the owner of its folder in /proc is root for a process that forbids dumps); -1: it has
 * gone, or is hidden. */
uid_t proc_user(pid_t pid);
/* Which program it runs: the same number for the same one. False with errno: a thread of the kernel, or another
 * user's process. */
bool proc_program(pid_t pid, uint64_t *program);
/* Whether the process that started so many ticks after boot has not ended. */
bool proc_is_alive(pid_t pid, uint64_t start_time_ticks);
/* The wait status of a process that has ended, from its zombie or from the pidfd that was opened before (Linux 6.15).
 * False while it is not known. */
bool proc_exit_status(int process_fd, pid_t pid, uint64_t start_time_ticks, int *status);
/* How long a process that started so many ticks after boot has lived by now. */
int64_t proc_uptime_ms(uint64_t start_time_ticks);

/* What a process has mapped, row by row: proc_maps_open -> _next ... -> _close. */
struct proc_maps {
    FILE *file;
    char *line;
    size_t room;
};
/* False with errno. */
bool proc_maps_open(struct proc_maps *maps, pid_t pid);
/* The next mapping of a file whose path holds `part`; "": each mapping. map->path: until the next call. */
bool proc_maps_next(struct proc_maps *maps, const char *part, struct proc_map *map);
/* False with errno: reading had failed. */
bool proc_maps_close(struct proc_maps *maps);

/* memory_limit: how much memory the control group of a process may take.
 *
 * The smallest limit on the way up from its group counts: version 2 (memory.max) and version 1
 * (memory.limit_in_bytes). The path in /proc/PID/cgroup is as our own namespace of control groups
 * sees it. Setup context; any thread. */
/* Bytes, -1: none, or it cannot be read. */
int64_t memory_limit(pid_t pid);
/* The same for the text of a cgroup file and another folder than /sys/fs/cgroup, for tests. */
int64_t memory_limit_of(struct span cgroup, const char *folder);
/* What is left of the tightest limit: of memory (the cache of files counts as free), and of processes and threads. */
#define ROOM_LOOKED_AT_BYTES                                                                       \
    ((int64_t)64 << 20) /* with more than this left the cache is not looked at */
int64_t memory_room(pid_t pid);
int64_t memory_room_of(struct span cgroup, const char *folder);
int64_t pids_room(pid_t pid);
int64_t pids_room_of(struct span cgroup, const char *folder);
