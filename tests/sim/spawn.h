/*
 * spawn: starts and ends fake JVMs from a test. fake_jvm lies in the build directory, four folders
 * above the test's own executable.
 *
 *   struct fake fake = fake_start("--answer", "silent", NULL);  ...  fake_end(&fake);
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct fake {
    pid_t pid;
    pid_t child; /* the same, but for --pid: then that one's parent */
    FILE *out;   /* what it prints */
};

#define FAKE_ARGS_MAX 24

/* uid 0: as we are; else with that uid and gid (needs root). args end with NULL. */
static inline struct fake fake_start_as(uid_t uid, const char *const *args)
{
    char path[4096] = "";
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 16);
    for (int up = 0; up < 4 && len > 0; up++) {
        path[len] = '\0';
        char *slash = strrchr(path, '/');
        len = slash != NULL ? slash - path : 0;
    }
    snprintf(path + len, sizeof path - (size_t)len, "/fake_jvm");

    const char *argv[FAKE_ARGS_MAX + 1] = {path};
    for (int i = 0; i < FAKE_ARGS_MAX - 1 && args[i] != NULL; i++)
        argv[i + 1] = args[i];
    struct fake fake = {0};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fake;
    fake.child = fork();
    if (fake.child == 0) {
        /* Opened as who we are: the other user may not be let into the folder we are in. */
        int program = open(path, O_PATH | O_CLOEXEC);
        dup2(ends[1], STDOUT_FILENO);
        if (uid == 0 || (setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0))
            fexecve(program, (char *const *)argv, environ);
        _exit(71);
    }
    close(ends[1]);
    fake.out = fdopen(ends[0], "re");
    char line[128];
    if (fgets(line, sizeof line, fake.out) == NULL || sscanf(line, "ready %d", &fake.pid) != 1) {
        fprintf(stderr, "no fake JVM from %s\n", path);
        exit(1);
    }
    return fake;
}

#define fake_start(...) fake_start_as(0, (const char *const[]){__VA_ARGS__, NULL})

/* Ends it and returns whether it ever was made to print a thread dump. */
static inline bool fake_end(struct fake *fake)
{
    char line[128];
    bool dumped = false;
    kill(fake->pid, SIGCONT);
    kill(fake->pid, SIGTERM);
    while (fgets(line, sizeof line, fake->out) != NULL)
        dumped = dumped || strncmp(line, "thread dump", 11) == 0;
    fclose(fake->out);
    waitpid(fake->child, NULL, 0);
    return dumped;
}

/* Returns when it stands still. */
static inline void fake_stop(struct fake *fake)
{
    kill(fake->pid, SIGSTOP);
    waitpid(fake->child, NULL, WUNTRACED);
}

/* As the kernel's OOM killer ends a JVM: what it leaves in /tmp stays. */
static inline void fake_kill(struct fake *fake)
{
    kill(fake->pid, SIGKILL);
    waitpid(fake->child, NULL, 0);
}
