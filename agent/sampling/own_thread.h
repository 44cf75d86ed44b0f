/* own_thread: a thread of the agent's.
 *
 * No signal that is sent to the process is for it. What its own code faults with is not blocked: while it is attached,
 * the JVM reads with loads that may fault (os::get_native_stack, with NMT detail), and a fault whose signal is blocked
 * ends the process. The JVM allows these signals itself only after that.
 *
 * Any thread. */
#pragma once

#include <pthread.h>

/* As pthread_create does: 0, or what failed. */
int own_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
