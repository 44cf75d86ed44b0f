/*
 * deny: runs a program under a seccomp filter that refuses what container engines have been
 * refusing: calls newer than their list, and those that look into other processes.
 *
 *   deny PROGRAM [ARGUMENT...]
 *
 * Compiled with -DONLY='"FILE"' it refuses everything but the calls of FILE (SYS_name, a line each), with
 * EPERM, as systemd does for a unit with SystemCallFilter= (security_unit_test.sh makes the file of it).
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(call, error)                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

#ifdef ONLY
static const unsigned only[] = {
#include ONLY
};
#define ONLY_COUNT (sizeof only / sizeof only[0])
static struct sock_filter rules[2 * ONLY_COUNT + 2];

static void make_rules(void)
{
    struct sock_filter *at = rules;
    *at++ = (struct sock_filter)LOAD(nr);
    for (size_t i = 0; i < ONLY_COUNT; i++) {
        *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, only[i], 0, 1);
        *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    *at = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}
#else
static struct sock_filter rules[] = {
    LOAD(nr),
    REFUSE(openat2, EPERM),
    REFUSE(pidfd_open, EPERM),
    REFUSE(pidfd_send_signal, EPERM),
    REFUSE(close_range, EPERM),
    REFUSE(perf_event_open, EPERM),
    REFUSE(process_vm_readv, EPERM),
    REFUSE(ptrace, EPERM),
    REFUSE(clone3, ENOSYS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static void make_rules(void)
{
}
#endif

int main(int argc, char **argv)
{
    make_rules();
    struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        fprintf(stderr, "deny: %s\n", argc < 2 ? "which program?" : strerror(errno));
        return 1;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "deny: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
