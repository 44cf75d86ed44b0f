/*
 * oom_lines: what a JVM says on its console or in its log about memory: OutOfMemoryError of each
 * kind, threads that could not be started, memory the system refused, and how Metaspace and heap
 * went in GC logs of all ages.
 *
 *   java.lang.OutOfMemoryError: Metaspace
 *   OpenJDK ... warning: INFO: os::commit_memory(0x00007f4a, 12288, 0) failed; error='Cannot ...
 *   [warning][os,thread] Failed to start thread "Unknown thread" - pthread_create failed (EAGAIN) ...
 *   [12.3s][info][gc,metaspace] GC(7) Metaspace: 34049K(34992K)->34049K(34992K) NonClass: ...
 *
 * The last kind of error in the text is the one the process ended with; each is counted. Plain data.
 * Any thread.
 */
#pragma once

#include "floor/base/span.h"

enum oom_line {
    OOM_LINE_NONE,
    OOM_LINE_HEAP,
    OOM_LINE_GC_OVERHEAD,
    OOM_LINE_METASPACE,
    OOM_LINE_CLASS_SPACE,
    OOM_LINE_PERMGEN,
    OOM_LINE_DIRECT,
    OOM_LINE_ARRAY_SIZE,
    OOM_LINE_THREAD,
    OOM_LINE_MAP_FAILED,
    OOM_LINE_REQUEST, /* "request 32756 bytes for ChunkPool::allocate. Out of swap space?" */
    OOM_LINE_COMMIT,  /* os::commit_memory failed: Linux, or another reason of Windows */
    OOM_LINE_PAGE_FILE,
    OOM_LINE_RESERVE, /* "Could not reserve enough space for 2097152KB object heap" */
    OOM_LINE_KIND_COUNT,
};

struct oom_lines {
    int64_t lines[OOM_LINE_KIND_COUNT];
    enum oom_line first, last;
    int64_t request_bytes; /* of the last line that says so; -1 */
    int64_t direct_used_bytes, direct_limit_bytes;
    int64_t threads_limit; /* "max user processes", "Max processes"; -1 */
    char words[200];       /* the first line of the last kind */
    char thread[64];       /* of the threads that could not be started, digits as '#' */
    bool netty;            /* it was Netty's own counter */

    int64_t metaspace_lines;
    int64_t metaspace_first_bytes, metaspace_last_bytes; /* used; -1 */
    int64_t metaspace_committed_bytes, metaspace_reserved_bytes;
    int64_t full_gc_lines; /* full collections that left the heap as full as it was */
    int64_t heap_after_bytes, heap_size_bytes; /* of the last of them */
};

enum oom_line oom_line_kind(struct span line);
/* "GC(7) Metaspace: 34049K(34992K)->34049K(34992K)", "[Metaspace: 20679K->20679K(1067008K)]", and
 * full collections up to JDK 8. */
bool oom_line_is_gc(struct span line);
/* A text in pieces, each of complete lines; or all of it. */
void oom_lines_begin(struct oom_lines *lines);
void oom_lines_feed(struct oom_lines *lines, struct span text);
void oom_lines_read(struct oom_lines *lines, struct span text);

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
struct oom_killer {
    int64_t reports;   /* of the killer being invoked, or of a kill */
    bool killed;       /* it is said who was killed */
    bool container;    /* the limit of a cgroup, not the memory of the host */
    bool host;         /* the memory of the host; neither: the text does not say */
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
