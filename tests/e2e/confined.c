/*
 * confined: a process that stops others as a debugger does, and programs that may write in one place only.
 *
 *   confined trace PID                          stops each thread of it and holds it, until this ends; prints "ready"
 *   confined landlock FOLDER PROGRAM [ARG...]   the program may write below FOLDER only (Landlock)
 *
 * As a library (-DLIBRARY, -shared) for LD_PRELOAD: SIGUSR1 makes the process another program, `sleep 600`.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#ifdef LIBRARY

static void become_another(int number)
{
    (void)number;
    execl("/bin/sleep", "sleep", "600", (char *)NULL);
}

__attribute__((constructor)) static void begin(void)
{
    signal(SIGUSR1, become_another);
}

#else

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int trace(const char *pid)
{
    char path[64];
    int status, threads = 0;
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        pid_t thread = atoi(entry->d_name);
        if (thread > 0 && ptrace(PTRACE_SEIZE, thread, NULL, NULL) == 0 &&
            ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0 &&
            waitpid(thread, &status, __WALL) == thread)
            threads++;
    }
    puts(threads > 0 ? "ready" : "refused");
    fflush(stdout);
    for (;;)
        pause();
}

static int landlock(const char *folder, char **argv)
{
    const __u64 writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                         LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_DIR |
                         LANDLOCK_ACCESS_FS_REMOVE_FILE;
    struct landlock_ruleset_attr handled = {.handled_access_fs = writes};
    struct landlock_path_beneath_attr below = {.allowed_access = writes};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    below.parent_fd = open(folder, O_PATH | O_CLOEXEC);
    if (rules < 0 || below.parent_fd < 0 ||
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_landlock_restrict_self, rules, 0) != 0) {
        printf("refused: landlock: %s\n", strerror(errno));
        return 77;
    }
    execvp(argv[0], argv);
    return 127;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "trace") == 0)
        return trace(argv[2]);
    if (argc >= 4 && strcmp(argv[1], "landlock") == 0)
        return landlock(argv[2], argv + 3);
    return 64;
}

#endif
