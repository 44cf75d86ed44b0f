/*
 * thread_state: what a thread was doing when it was interrupted: running, in native code, or what it
 * waited for.
 *
 * Everything is read from HotSpot's own structures, nothing from the Java heap, where a collector may have
 * moved the java.lang.Thread that has the state as well. In Java and in native code the JavaThread says
 * so; which monitor it wants to enter, or waits in, stands there too. A thread that is blocked in the VM
 * otherwise is parked or asleep when the last Java frame is of Unsafe or Thread. Whether there is a time
 * limit is seen from the system call that was interrupted. Of a virtual thread it is the state of its
 * carrier.
 *
 * Signal context; every load guarded.
 */
#pragma once

#include "floor/hotspot/frame.h"
#include "agent/hotspot/registers.h"

#include <stdint.h>

/* thread: the JavaThread * of the calling thread; registers: as they were when it was interrupted.
 * THREAD_RUNNABLE also where it waits for something that has no name of its own: a lock of the VM,
 * a safepoint, the initialization of a class. */
enum thread_state thread_state(uintptr_t thread, const struct registers *registers);
