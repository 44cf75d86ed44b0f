/* room: whether the limits of a JVM leave it what a question takes.
 *
 * HotSpot ends the JVM (vm_exit_during_initialization) when the thread "Attach Listener" cannot be created, which the
 * first SIGQUIT asks for; and in a control group whose memory is used up the kernel ends it. So the limits are looked
 * at before a JVM is asked. A frozen JVM would get the signal later, without its trigger file, and print a thread dump.
 * Reads /proc and /sys/fs/cgroup only. Any thread. */
#pragma once

#include "nmtwatch/jvm/target.h"

/* Which limit keeps it from one thread more, in words that are static; NULL: none is seen. */
const char *room_for_thread(const struct target *target);
/* Which limit this question could go beyond; NULL: none is seen. */
const char *room_for_question(const struct target *target, const char *question, char *words,
                              size_t size);
/* Whether its control group is frozen (both versions of control groups). */
bool room_is_frozen(pid_t pid);
