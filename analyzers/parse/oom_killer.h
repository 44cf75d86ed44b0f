/*
 * oom_killer: what the kernel's log says when it has killed a process for memory, from dmesg,
 * syslog, journald or a ticket; and what Docker and Kubernetes say of it ("OOMKilled").
 *
 *   java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
 *   memory: usage 2097152kB, limit 2097152kB, failcnt 411
 *   Memory cgroup out of memory: Killed process 71 (java) total-vm:7036484kB, anon-rss:2057028kB, ...
 *
 * Any line of it may be missing and anything may stand in front of one. The last kill counts.
 * Plain data, -1 for what is not said. Any thread.
 */
#ifndef ANALYZERS_PARSE_OOM_KILLER_H
#define ANALYZERS_PARSE_OOM_KILLER_H

#include "analyzers/parse/span.h"

struct oom_killer {
    int64_t reports;   /* of the killer being invoked, or of a kill */
    bool killed;       /* it is said who was killed */
    bool container;    /* the limit of a cgroup, not the memory of the host */
    bool orchestrator; /* "OOMKilled", without figures */
    int64_t pid;
    int64_t total_vm_bytes, anon_rss_bytes, file_rss_bytes, shmem_rss_bytes;
    int64_t usage_bytes, limit_bytes; /* of the cgroup */
    int64_t order;                    /* the kernel wanted 2^order pages in one piece */
    int64_t host_free_swap_bytes, host_total_swap_bytes;
    char name[32];    /* of who was killed, or asked for the memory */
    char invoker[32]; /* thread that asked: "C2 CompilerThre" */
    char cgroup[160]; /* whose limit it was */
    char largest[32]; /* in the table of processes: who held most, when it is another */
    int64_t largest_bytes;
    int64_t largest_pid;
};

bool oom_killer_is_line(struct span line);
void oom_killer_read(struct oom_killer *report, struct span text);

#endif
