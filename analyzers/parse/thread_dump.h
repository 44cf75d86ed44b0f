/*
 * thread_dump: the threads of a dump by the pattern of their names: jstack, Thread.print, a console's list.
 *
 *   "pool-12567-thread-3" #9252 prio=5 os_prio=0 tid=0x00007f2e64a72000 nid=0x75ce waiting on condition [...]
 *      java.lang.Thread.State: WAITING (parking)
 *           at java.lang.Object.wait(Native Method)
 *   "http-nio-8080-exec-1" Id=27 WAITING on ...
 *
 * Digits of a name are '#'. Of pools that have no name of their own the largest number is how many were made.
 * Plain data, bounded: patterns that find no room are counted. Any thread.
 */
#pragma once

#include "floor/base/span.h"

#define THREAD_STEMS_MAX 64

struct thread_stem {
    char name[64];
    int64_t threads;
    char place[96]; /* the first frame outside of the JDK, of the first thread that has one */
};

struct thread_dump {
    int64_t threads, other_threads;
    int64_t pools; /* the largest N of "pool-N-thread-M"; 0: none */
    int64_t deadlocks;
    int stem_count;
    struct thread_stem stem[THREAD_STEMS_MAX]; /* most threads first */
};

bool thread_dump_is_head(struct span line);   /* "Full thread dump ..." */
bool thread_dump_is_thread(struct span line); /* the first line of a thread */
void thread_dump_read(struct thread_dump *dump, struct span text);
