/*
 * filtered: runs a program under a system call filter.
 *
 *   filtered learn FILE PROGRAM [ARGUMENT...]                writes the numbers of the calls that the program and its
 *                                                            threads make, at its end
 *   filtered only FILE ACTION EXTRA PROGRAM [ARGUMENT...]    all other calls: ACTION, kill or errno
 *   filtered without CALLS ACTION PROGRAM [ARGUMENT...]      these calls; "runtime" is a name for those that the default
 *                                                            profiles of container runtimes refuse
 *
 * CALLS and EXTRA are names with commas between, or "-".
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 600

static const struct {
    const char *name;
    int number;
} names[] = {
    {"bind", SYS_bind},
    {"mincore", SYS_mincore},
    {"perf_event_open", SYS_perf_event_open},
    {"rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo},
    {"setitimer", SYS_setitimer},
    {"getitimer", SYS_getitimer},
    {"timer_create", SYS_timer_create},
    {"timer_delete", SYS_timer_delete},
    {"timer_settime", SYS_timer_settime},
};

/* What docker documents as blocked by its default profile, which containerd, CRI-O and so RuntimeDefault of Kubernetes
 * share, and io_uring, which newer ones refuse. */
static const int refused_by_runtimes[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_finit_module,
    SYS_get_mempolicy,
    SYS_init_module,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mbind,
    SYS_mount,
    SYS_move_pages,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_set_mempolicy,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
};

static unsigned char seen[CALLS_MAX];

static int number_of(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].number;
    fprintf(stderr, "filtered: '%s' is not in its table\n", name);
    exit(64);
}

static void take_names(char *list)
{
    for (char *name = strcmp(list, "-") == 0 ? NULL : strtok(list, ","); name != NULL;
         name = strtok(NULL, ",")) {
        bool runtime = strcmp(name, "runtime") == 0;
        for (size_t i = 0; runtime && i < sizeof refused_by_runtimes / sizeof *refused_by_runtimes;
             i++)
            seen[refused_by_runtimes[i]] = 1;
        if (!runtime)
            seen[number_of(name)] = 1;
    }
}

static int learn(const char *path, char **argv)
{
    pid_t first = fork(), tid;
    int status, code = 74;
    if (first == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        execvp(argv[0], argv);
        _exit(127);
    }
    waitpid(first, &status, 0);
    ptrace(PTRACE_SETOPTIONS, first, NULL,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
               PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, first, NULL, NULL);
    while ((tid = waitpid(-1, &status, __WALL)) > 0) {
        struct __ptrace_syscall_info info;
        if (!WIFSTOPPED(status)) {
            if (tid == first)
                code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) > 0 &&
                info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr < CALLS_MAX)
                seen[info.entry.nr] = 1;
            signal = 0;
        } else if (signal == SIGTRAP || signal == SIGSTOP) { /* a new thread, an exec */
            signal = 0;
        }
        ptrace(PTRACE_SYSCALL, tid, NULL, signal);
    }
    FILE *out = fopen(path, "w");
    for (int i = 0; out != NULL && i < CALLS_MAX; i++)
        if (seen[i])
            fprintf(out, "%d\n", i);
    return out != NULL && fclose(out) == 0 ? code : 74;
}

/* listed: what the calls of the list get; other: all others. */
static int run(unsigned listed, unsigned other, char **argv)
{
    static struct sock_filter rules[2 * CALLS_MAX + 2];
    struct sock_filter *at = rules;
    *at++ =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < CALLS_MAX; i++)
        if (seen[i]) {
            *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, i, 0, 1);
            *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
        }
    *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
    struct sock_fprog program = {(unsigned short)(at - rules), rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("filtered");
        return 74;
    }
    execvp(argv[0], argv);
    return 127;
}

static unsigned action(const char *name)
{
    return strcmp(name, "kill") == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "learn") == 0)
        return learn(argv[2], argv + 3);
    if (argc >= 6 && strcmp(argv[1], "only") == 0) {
        FILE *in = fopen(argv[2], "r");
        for (int number; in != NULL && fscanf(in, "%d", &number) == 1;)
            seen[number] = 1;
        if (in == NULL)
            return 74;
        fclose(in);
        seen[SYS_execve] = seen[SYS_prctl] = 1;
        take_names(argv[4]);
        return run(SECCOMP_RET_ALLOW, action(argv[3]), argv + 5);
    }
    if (argc >= 5 && strcmp(argv[1], "without") == 0) {
        take_names(argv[2]);
        return run(action(argv[3]), SECCOMP_RET_ALLOW, argv + 4);
    }
    return 64;
}
