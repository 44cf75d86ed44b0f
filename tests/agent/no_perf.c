/*
 * no_perf [--no-posix] COMMAND [ARGUMENT...]: runs a command to which perf_event_open is refused,
 * as Docker's default seccomp profile does (EPERM); with --no-posix timer_create as well.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(verdict) BPF_STMT(BPF_RET | BPF_K, verdict)
/* The next statement when it is that number, else the one behind it. */
#define WHEN(number)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1)

int main(int argc, char **argv)
{
    int no_posix = argc > 1 && strcmp(argv[1], "--no-posix") == 0;
    char **command = argv + 1 + no_posix;
    struct sock_filter steps[] = {
        LOAD(nr),
        WHEN(SYS_perf_event_open),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        WHEN(SYS_timer_create),
        ANSWER(no_posix ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof steps / sizeof *steps, .filter = steps};
    if (*command == NULL) {
        fprintf(stderr, "usage: no_perf [--no-posix] COMMAND [ARGUMENT...]\n");
        return 2;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("no_perf: seccomp");
        return 125;
    }
    execvp(*command, command);
    perror(*command);
    return 127;
}
