/* privileged: what is done for this process by another one.
 *
 * Everything that reads a target (its files, its memory, those files of /proc that the kernel reads out of its
 * memory) is done by a **worker**: a process for the JVMs of one owner (worker/worker.h), with a deadline for each
 * request, which nobody waits for. A worker that is late is killed and left behind; its target, and for a shorter time
 * all targets of that owner, are passed by: they are answered with FAILURE_HELD or ETIMEDOUT at once. So an owner can
 * stop the watching of nobody else.
 *
 *   nmtwatch VERB --- request ---> worker of uid 1001      serve in two processes: the service gets the socket of a
 *                 --- request ---> worker of uid 1002      worker from its helper (serve/helper.h), who forks it
 *
 * With a helper the calling process has no rights, and nothing of what it says is believed: helper and worker look at
 * every argument as if a stranger had sent it, do the one thing that was requested, and answer with numbers, bytes or a
 * descriptor. The names of files are theirs, never the caller's.
 *
 * privileged_apart is false in a worker, and in a program that has called neither privileged_workers nor
 * privileged_helper (a unit test): it does these things itself.
 *
 * Each call but privileged_connect and privileged_observe waits for its answer, until the deadline at most. A helper
 * that has gone ends this process. One thread (the loop's). Errors are an errno. */
#pragma once

#include "nmtwatch/jvm/syscall_filter.h"
#include "nmtwatch/jvm/target.h"

#include <stdint.h>
#include <stdio.h>

#define PRIVILEGED_TEXT_MAX    4096
#define PRIVILEGED_BYTES_MAX   65536 /* in one answer */
#define PRIVILEGED_FIGURES_MAX 8192  /* of the agent's */

enum privileged_kind {
    /* Of a worker. */
    PRIVILEGED_LOOK,   /* target_open; the answer is the target */
    PRIVILEGED_PROC,   /* /proc/PID/text, as a copy; of any process */
    PRIVILEGED_FILTER, /* its system call filter; the answer is what is known of it */
    PRIVILEGED_PERFDATA, /* a part of its hsperfdata file; `size` of the answer is the whole. Behind its last byte the
                            figures of the agent, which a watch reads next */
    PRIVILEGED_FIGURES,         /* the file in which the agent publishes its totals */
    PRIVILEGED_LOAD_LOG_BEGIN,  /* a guard for a class-load log; the answer is the pipe to it */
    PRIVILEGED_LOAD_LOG_OPEN,   /* that log, for reading by the worker */
    PRIVILEGED_LOAD_LOG_READ,   /* ... what comes next in it; no byte: nothing new */
    PRIVILEGED_LOAD_LOG_REMOVE, /* ... removed */
    PRIVILEGED_TIDY,            /* agent_leftovers_remove; pid 0: in the host's /tmp */
    PRIVILEGED_CONNECT,         /* connect, send this request, hand the answering socket over */
    PRIVILEGED_OBSERVE, /* observe it in a child (observe/observe_child.h), hand its socket over */
    /* Of the helper. */
    PRIVILEGED_WORKER, /* a new worker for an owner; the answer is its socket */
    PRIVILEGED_EXE,    /* which program a process runs */
    PRIVILEGED_CONFIG, /* the configuration, read by the helper */
    PRIVILEGED_SECRET, /* a file that the configuration names: passwords, certificate, key */
    PRIVILEGED_NOTIFY, /* a message to systemd, which listens to the helper only */
    PRIVILEGED_KINDS,
};

/* As it is sent, with `length` bytes of text; CONNECT and OBSERVE bring the socket to answer on. */
struct privileged_request {
    uint32_t kind;
    int32_t pid;
    uint64_t start_time_ticks; /* 0 for LOOK and PROC */
    uint32_t owner;            /* WORKER */
    int32_t milliseconds;      /* CONNECT: time for it */
    int32_t as_owner;          /* CONNECT: with the ids of the JVM's user */
    uint32_t length;
    int64_t from;  /* PERFDATA: the first byte */
    uint32_t size; /* PERFDATA, FIGURES, LOAD_LOG_READ: bytes at most */
    char text[PRIVILEGED_TEXT_MAX];
};

/* The answer to CONNECT. */
struct privileged_connected {
    struct failure failure;
    int64_t sent_us; /* CLOCK_MONOTONIC, before the request went out */
};

struct privileged_answer {
    int32_t error; /* errno; 0: done */
    struct failure failure;
    struct target target; /* LOOK */
    struct syscall_filter filter;
    uint64_t program;   /* EXE: equal for the same program */
    int32_t worker;     /* WORKER: its pid */
    int64_t size;       /* PERFDATA: of the file */
    int64_t cpu_us;     /* what the worker has used until now */
    int64_t own_bytes;  /* resident memory that it shares with no file; of at most 10 s ago */
    char sentence[512]; /* CONFIG: what is wrong with it */
    /* PERFDATA: how many of the bytes are the agent's figures; -1: it was not looked for them */
    int32_t figures;
    uint32_t length; /* of the bytes behind this struct */
};

/* Starts a worker for the JVMs of this owner. Our end of its socket (SOCK_SEQPACKET), or -1 with errno. *worker: its
 * pid. */
typedef int privileged_start_fn(uid_t owner, pid_t *worker);
/* From now on workers of this process's own do it. NULL: nobody does. */
void privileged_workers(privileged_start_fn *start);
/* From now on there is a helper at the other end of fd (SOCK_SEQPACKET), who starts the workers; -1: no more. */
void privileged_helper(int fd);
bool privileged_apart(void);

/* What the workers have cost, and how they fared. */
struct privileged_counts {
    int64_t cpu_us, own_bytes;
    int64_t late;    /* workers that were left behind for being late */
    int64_t died;    /* ... that ended by themselves, in the middle of a request */
    int workers;     /* there are now */
    int passed_by;   /* targets that are passed by now */
    int left_behind; /* processes that have not ended yet; of our own children */
};
struct privileged_counts privileged_counts(void);
/* Whether this target is passed by at this moment. */
bool privileged_passes_by(const struct target *target);

enum failure_kind privileged_look(struct target *target, pid_t pid, struct failure *failure);
void privileged_filter(const struct target *target, struct syscall_filter *filter);
/* Which program a process runs: equal for the same one. False with errno. Never blocks on the process. */
bool privileged_exe(pid_t pid, uint64_t *program);
/* Whether the kernel reads /proc/PID/name out of the process's memory, or under a lock that the process may hold. */
bool privileged_proc_may_wait(const char *name);
/* A copy of /proc/PID/name, for reading; -1 with errno. */
int privileged_proc(pid_t pid, const char *name);
/* Bytes got, -1 with errno. kind: PERFDATA, FIGURES, LOAD_LOG_READ. size_of_file may be NULL. At most
 * PRIVILEGED_BYTES_MAX a call. */
ssize_t privileged_read(enum privileged_kind kind, const struct target *target, int64_t from,
                        void *bytes, size_t size, int64_t *size_of_file);
/* A descriptor, or -1 with errno: LOAD_LOG_BEGIN; text is the name of the log. */
int privileged_open(enum privileged_kind kind, const struct target *target, const char *text);
/* TIDY; target NULL: in the host's /tmp. How many files were removed. */
int privileged_tidy(const struct target *target);
/* LOAD_LOG_OPEN, LOAD_LOG_REMOVE. */
bool privileged_do(enum privileged_kind kind, const struct target *target, const char *text);
/* The socket on which a struct privileged_connected comes, and with FAILURE_NONE the JVM's socket,
 * to which the request has been sent. Closing it gives up. -1 with errno. */
int privileged_connect(const struct target *target, bool as_owner, int64_t milliseconds,
                       const char *request, size_t length);
/* The socket on which the observing child answers; closing it ends the child. request: a struct
 * observe_request. -1 with errno. */
int privileged_observe(const struct target *target, const void *request, size_t size);

/* --- of the helper only ----------------------------------------------------------------------- */

bool privileged_notify(const char *message);
/* The whole of the configuration as the helper has it. False with a sentence. */
bool privileged_config(void *options, size_t size, char *error, size_t error_size);
/* fopen(path, "re"), by the helper where there is one. */
FILE *privileged_fopen(const char *path);
bool privileged_has_helper(void);

/* Both ends: one message of at most two parts, with a descriptor or without (-1). Received ones are closed on exec. */
bool privileged_send(int socket_fd, const void *bytes, size_t length, int fd, int flags);
bool privileged_send_both(int socket_fd, const void *head, size_t head_length, const void *bytes,
                          size_t length, int fd, int flags);
/* Bytes got, 0 at the end, -1 with errno. *fd is -1 when none came. */
ssize_t privileged_receive(int socket_fd, void *bytes, size_t size, int *fd, int flags);
ssize_t privileged_receive_both(int socket_fd, void *head, size_t head_size, void *bytes,
                                size_t size, int *fd, int flags);
