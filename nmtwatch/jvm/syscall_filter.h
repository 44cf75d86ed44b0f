/* syscall_filter: whether the system call filter (seccomp) of a JVM ends it when it is asked a question.
 *
 * A filter whose action is "kill" ends the JVM with SIGSYS at the first call that is not on its list, and
 * VM.native_memory makes such a call (mincore) where systemd's @system-service is the list. So the filter is known
 * before anything is asked. The sources, in this order:
 *
 *   /proc/PID/status     Seccomp: 0, there is none; 1, strict: each call but read, write and exit kills
 *   the unit's files     by the control group, for a service of this machine's systemd, where they decide it
 *   the kernel           PTRACE_SECCOMP_GET_FILTER: the programs themselves. The first thread of the JVM, which
 *                        waits for the others to end, stands still for the time; stopped_us says for how long.
 *                        Needs CAP_SYS_ADMIN, and that this process has no filter itself
 *   the runtime          by the control group: the default profiles of docker, containerd, CRI-O and podman refuse
 *                        with an error; so do those of systemd-nspawn and LXC, for a service in such a container that
 *                        has no filter more than its systemd
 *
 * Where all of them say nothing each call may kill. A filter cannot be taken back, only added to, so an answer
 * holds until the number of filters (Seccomp_filters:) changes; it is kept for so long.
 *
 * The kernel is asked in a child that is given up after 300 ms. One thread. */
#pragma once

#include "nmtwatch/jvm/target.h"

#include <linux/filter.h>

enum filter_call {
#define CALL(name, in_system_service) FILTER_CALL_##name,
#include "nmtwatch/jvm/filter_calls.def"
#undef CALL
    FILTER_CALL_COUNT
};

/* In the order of their harm. An error is what the call returns; notify, trace and log count as the harmless one
 * that they are to the process. */
enum filter_verdict { FILTER_ALLOWS, FILTER_ERRNO, FILTER_KILLS };

enum filter_source {
    FILTER_NONE,    /* there is no filter */
    FILTER_STRICT,  /* mode 1 */
    FILTER_UNIT,    /* the files of its unit */
    FILTER_KERNEL,  /* read */
    FILTER_RUNTIME, /* a container runtime is assumed to use its default profile */
    FILTER_UNKNOWN,
};

struct syscall_filter {
    enum filter_source source;
    int filters; /* Seccomp_filters of status; -1: not said (before Linux 5.9) */
    uint8_t verdict[FILTER_CALL_COUNT];
    int32_t stopped_us; /* KERNEL: how long the thread stood still */
    char name[64];      /* of the unit, of the runtime, or why it is not known */
};

/* Looks; nothing is asked of the JVM. */
void syscall_filter_look(const struct target *target, struct syscall_filter *filter);
/* Nothing could be looked at: each call may kill. */
void syscall_filter_unknown(struct syscall_filter *filter, const char *why);
/* The same, kept: looked at again when there are more filters. The pointer is valid until the next call. */
const struct syscall_filter *syscall_filter_of(const struct target *target);

/* The first call that this question leads to and that kills; NULL: there is none. jdk_major 0: not known. */
const char *syscall_filter_kills(const struct syscall_filter *filter, int jdk_major,
                                 const char *question);
enum filter_verdict syscall_filter_verdict(const struct syscall_filter *filter,
                                           enum filter_call call);
/* "its filter, read from the kernel (its first thread stood still for 21 us)" */
void syscall_filter_words(const struct syscall_filter *filter, char *out, size_t size);

/* filter_sibling: JVMs of the same user with the same command line, or of the same unit or container. After one was
 * killed (SIGSYS) by a question the others are not asked it, as long as this process lives, and the next one that
 * recalls what is kept: a line for each. */
struct filter_sibling {
    uint64_t command_line, group; /* hashes; 0: not known */
};
/* Reads it once: a family that is known stays. */
void filter_sibling_of(const struct target *target, struct filter_sibling *family);
void filter_sibling_killed(const struct filter_sibling *family, const char *question);
bool filter_sibling_was_killed(const struct filter_sibling *family, const char *question);
#define FILTER_SIBLINGS_TEXT 8192
/* How many lines. */
int filter_siblings_keep(char text[FILTER_SIBLINGS_TEXT]);
void filter_siblings_recall(const char *text);

/* `nmt_under_seccomp`: from now on a question that kills, or may kill, is asked all the same. */
void syscall_filter_ask_anyway(bool anyway);
bool syscall_filter_asked_anyway(void);

/* What a filter program does with a call; what depends on the call's arguments is taken as its worst. */
enum filter_verdict syscall_filter_evaluate(const struct sock_filter *program, size_t length,
                                            int number);
/* What the texts of a unit's files say, fragment first. False when they do not decide it. */
bool syscall_filter_of_unit(struct span text, struct syscall_filter *filter);
