/* perf_events: samples of the threads of another process by perf_event_open(2), with registers and a
 * copy of the stack: the CPU's clock, page faults. (Places in code: uprobes.h. An inherited uprobe
 * event makes the process unable to start threads: the kernel reads the event's path again, from that
 * process's memory, and pthread_create fails with EFAULT. Measured on Linux 6.18.)
 *
 * The event is opened for each thread and each CPU and is inherited by threads that come later.
 * Samples of a CPU share a ring; what finds no room there is counted by the kernel as lost, and hits are
 * counted by the kernel as well: so a count is exact where a sample is not.
 *
 *   perf_events_open -> perf_events_drain ... -> perf_events_count -> perf_events_close
 *
 * Nothing is written into the process. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum perf_what { PERF_CPU_TIME, PERF_PAGE_FAULTS };

struct perf_want {
    enum perf_what what;
    uint64_t period;      /* ns of CPU time, or faults, for a sample */
    uint32_t stack_bytes; /* to copy, a multiple of 8; 0: no stack */
};
#define PERF_STACK_BYTES 32768

#define OBJECT_WORDS 3

struct perf_sample {
    int place;                 /* index in those of uprobes.h; 0 */
    uint64_t address;          /* PERF_PAGE_FAULTS: that was touched */
    pid_t tid;                 /* PERF_CPU_TIME, PERF_PAGE_FAULTS: the thread */
    uint64_t weight;           /* what it stands for: the event's period */
    const uint64_t *object;    /* OBJECT_WORDS, of uprobe_place.object; else NULL */
    uint64_t lost;             /* samples of this CPU that found no room since the one before */
    const uint64_t *registers; /* this_machine.registers; NULL: it has no user space */
    const void *stack;         /* from registers[this_machine.sp] */
    size_t stack_bytes;
};

struct perf_events;

/* NULL with a sentence that names what is missing and what grants it. */
struct perf_events *perf_events_open(pid_t pid, const struct perf_want *want, char *error,
                                     size_t error_size);
/* The number in a file of the kernel's; -1: none. */
int perf_kernel_number(const char *path);
/* Calls take for each sample that waits; what it points to is valid during the call. The number taken. */
size_t perf_events_drain(struct perf_events *events,
                         void (*take)(void *context, const struct perf_sample *sample),
                         void *context);
/* Hits of an event so far (ns of CPU time for PERF_CPU_TIME), by the kernel's count. */
uint64_t perf_events_count(const struct perf_events *events);
/* Whether what the kernel does for the process is not seen, for want of rights. */
bool perf_events_user_only(const struct perf_events *events);
/* Samples that found no room in a ring. */
uint64_t perf_events_lost(const struct perf_events *events);
void perf_events_close(struct perf_events *events);
