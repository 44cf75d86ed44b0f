/* privileged: what needs root, asked of the helper process when serve runs as two (serve/helper.h).
 *
 * Without a helper privileged_apart is false and everybody does these things himself. With one the
 * calling process has no rights: it sends a request of a fixed form, the helper looks at every
 * argument as if a stranger had sent it, does the one thing that was asked for, and answers with
 * numbers or with a descriptor. The names of files are the helper's, never the caller's.
 *
 * Each call but privileged_connect waits for its answer. A helper that has gone ends this process.
 * One thread (the loop's). Errors are an errno. */
#pragma once

#include "nmtwatch/jvm/syscall_filter.h"
#include "nmtwatch/jvm/target.h"

#include <stdint.h>
#include <stdio.h>

#define PRIVILEGED_TEXT_MAX 4096

enum privileged_kind {
    PRIVILEGED_LOOK,            /* target_open; the answer is the target */
    PRIVILEGED_EXE,             /* which program a process runs: device and inode */
    PRIVILEGED_ENVIRON,         /* the rest is about a JVM that PRIVILEGED_LOOK has shown: */
    PRIVILEGED_FILTER,          /* its system call filter; the answer is what is known of it */
    PRIVILEGED_PERFDATA,        /* its hsperfdata file */
    PRIVILEGED_FIGURES,         /* the file in which the agent publishes its totals */
    PRIVILEGED_LOAD_LOG_BEGIN,  /* a guard for a class-load log; the answer is the pipe to it */
    PRIVILEGED_LOAD_LOG_OPEN,   /* that log, for reading */
    PRIVILEGED_LOAD_LOG_REMOVE, /* ... removed */
    PRIVILEGED_TIDY,            /* agent_leftovers_remove */
    PRIVILEGED_CONNECT,         /* connect, send this request, hand the answering socket over */
    PRIVILEGED_OBSERVE, /* observe it in a child (observe/observe_child.h), hand its socket over */
    PRIVILEGED_CONFIG,  /* the configuration, read by the helper */
    PRIVILEGED_SECRET,  /* a file that the configuration names: passwords, certificate, key */
    PRIVILEGED_NOTIFY,  /* a message to systemd, which listens to the helper only */
    PRIVILEGED_KINDS,
};

/* As it is sent, with `length` bytes of text; CONNECT and OBSERVE bring the socket to answer on. */
struct privileged_request {
    uint32_t kind;
    int32_t pid;
    uint64_t start_time_ticks;
    int32_t milliseconds; /* CONNECT: time for it */
    int32_t as_owner;     /* CONNECT: with the ids of the JVM's user */
    uint32_t length;
    char text[PRIVILEGED_TEXT_MAX];
};

struct privileged_answer {
    int32_t error; /* errno; 0: done */
    struct failure failure;
    struct target target;   /* LOOK */
    uint64_t device, inode; /* EXE */
    struct syscall_filter filter;
    char sentence[512];     /* CONFIG: what is wrong with it */
};

/* From now on there is a helper at the other end of fd (SOCK_SEQPACKET). */
void privileged_begin(int fd);
bool privileged_apart(void);

enum failure_kind privileged_look(struct target *target, pid_t pid, struct failure *failure);
void privileged_filter(const struct target *target, struct syscall_filter *filter);
/* False with errno. */
bool privileged_exe(pid_t pid, uint64_t *device, uint64_t *inode);
/* A descriptor, or -1 with errno. kind: ENVIRON, PERFDATA, FIGURES; for LOAD_LOG_* text is the name of
 * the log. ENVIRON needs no start time. */
int privileged_open(enum privileged_kind kind, pid_t pid, uint64_t start_time_ticks,
                    const char *text);
/* LOAD_LOG_REMOVE, TIDY, NOTIFY. */
bool privileged_do(enum privileged_kind kind, pid_t pid, uint64_t start_time_ticks,
                   const char *text);
/* The socket on which the answer comes: a struct failure, and with FAILURE_NONE the JVM's socket,
 * to which the request has been sent. Closing it gives up. -1 with errno. */
int privileged_connect(const struct target *target, bool as_owner, int64_t milliseconds,
                       const char *request, size_t length);
/* The socket on which the observing child answers; closing it ends the child. request: a struct
 * observe_request. -1 with errno. */
int privileged_observe(const struct target *target, const void *request, size_t size);
/* The whole of the configuration as the helper has it. False with a sentence. */
bool privileged_config(void *options, size_t size, char *error, size_t error_size);
/* fopen(path, "re"), by the helper where there is one. */
FILE *privileged_fopen(const char *path);

/* Both ends: one message, with a descriptor or without (-1). Received ones are closed on exec. */
bool privileged_send(int socket_fd, const void *bytes, size_t length, int fd, int flags);
/* Bytes got, 0 at the end, -1 with errno. *fd is -1 when none came. */
ssize_t privileged_receive(int socket_fd, void *bytes, size_t size, int *fd, int flags);
