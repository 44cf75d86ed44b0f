/* attach_connect: from a target to a connected attach socket, in steps that never block.
 *
 *   look at the socket -> connect -> OPEN
 *      absent: create .attach_pid, send SIGQUIT (once), wait for the socket, connect
 *
 * Before anything is sent, what is there is distrusted: the socket has to be a socket of the
 * target's user (or root), listened on by the target itself (containers that share a /tmp may have
 * a JVM of the same number each), the process has to be the one that was looked at, and SIGQUIT has
 * to have a handler: without one it kills. With -XX:+DisableAttachMechanism it would print a full
 * thread dump into the application's log, so it is not sent then either.
 *
 * The .attach_pid file is made with the rights of the target's user (as_target.h) and removed when the
 * attempt ends. The empty file of a process that was killed during an attempt, which takes 1 to 11 ms,
 * stays; the next attempt uses and removes it.
 *
 * All of it happens in the target's /tmp, which is opened once an attempt (rooted.h): a container
 * may have made it a link. A /tmp that the JVM cannot write to is said to be that, without a signal
 * where it can be known beforehand.
 *
 * HotSpot compares the peer's uid and gid with its own (root passes from JDK 11 on, but a root of
 * another user namespace does not). as_owner therefore connects in a child that takes the target's
 * ids and hands the connected descriptor back: our own ids never change. A process that is not root
 * but has the capabilities (a unit's helper) always connects so, and root does where the socket's mode keeps it
 * out (a container without CAP_DAC_OVERRIDE).
 *
 * Used by attach.c; connect_obstacle by `doctor` as well. One thread. */
#pragma once

#include "nmtwatch/jvm/target.h"

/* Between two connections to a JVM of which the first one failed, whatever the reason: ten a second at most. A full
 * backlog (5 in HotSpot) drains at the pace of whole commands. */
#define CONNECT_RETRY_MS 100

enum connect_state { CONNECT_BUSY, CONNECT_OPEN, CONNECT_FAILED };

struct attach_connect {
    const struct target *target;
    int process_fd; /* pidfd: names the process beyond reuse of its number; -1 on old kernels */

    enum connect_stage {
        CONNECT_LOOK,
        CONNECT_AWAIT_CHILD,
        CONNECT_AWAIT_HELPER,
    } stage;
    bool as_owner;
    bool owner_only; /* the socket is closed to us, so that we connect as its owner from now on */
    const char *request; /* what a helper sends when it has connected (privileged.h) */
    size_t request_len;
    int64_t sent_us; /* when a helper sent it; 0: it did not (monotonic clock) */
    bool signalled;  /* SIGQUIT was sent, at most once until connect_begin */
    int64_t signalled_ms;
    int tmp_fd;          /* the target's /tmp during an attempt; -1: not opened */
    bool triggered;      /* our .attach_pid file is in tmp_fd */
    int64_t deadline_ms; /* monotonic clock */
    int64_t retry_ms;    /* when to look again */
    pid_t child;         /* 0: none */
    int child_fd;        /* our end of the pair the child answers on */
    int fd;              /* the connected socket when CONNECT_OPEN; the caller takes it */
    struct failure failure;
};

/* The obstacle to asking a JVM that has no attach socket yet, found without a signal to it.
 * detail: for the sentence, or NULL. */
enum failure_kind connect_obstacle(const struct target *target, const char **detail);
/* Whether we are another user than the target's, and may become that one. */
bool connect_may_become_owner(const struct target *target);
/* target has to outlive it. */
void connect_init(struct attach_connect *attempt, const struct target *target);
/* Starts over; deadline_ms on the monotonic clock. */
void connect_begin(struct attach_connect *attempt, bool as_owner, int64_t deadline_ms);
/* What will be sent: a helper does it itself, and sent_us tells when, after CONNECT_OPEN. It has to
 * outlive the attempt. Before connect_begin. */
void connect_request(struct attach_connect *attempt, const char *request, size_t length);
enum connect_state connect_step(struct attach_connect *attempt, int64_t now_ms);
/* Descriptor to wait for, -1: only for the clock. */
int connect_fd(const struct attach_connect *attempt);
/* False when the process ended or another one has its number. */
bool connect_process_alive(const struct attach_connect *attempt);
/* Gives up what is under way: child, trigger file, descriptors. */
void connect_cancel(struct attach_connect *attempt);
void connect_destroy(struct attach_connect *attempt);
