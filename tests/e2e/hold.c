/* hold MODE FOLDER UID SECONDS: a process of UID that holds who reads it, by a file system of its own (FUSE).
 *   memory   its libjvm.so is a file that is never delivered
 *   lock     ... and a thread of it faults on that file with the lock of its memory held, for which another one waits
 *   tmp      its /tmp is that file system, and no name in it is ever found
 *   overlay  its libjvm.so is in an overlay whose lower folder is that file system
 *   fault    its libjvm.so is memory whose pages it has to deliver itself (userfaultfd), and does not
 *   socket   its attach socket hangs up, so that nmtwatch asks as its user, and is covered by such a file again and again
 * Prints "ready"; "refused: ..." where the kernel does not let it. Its end lets everybody go. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define FILE_BYTES (1 << 20)
#define FILE_NODE  2

static const char *mode;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void refused(const char *what)
{
    printf("refused: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void answer(int device, uint64_t unique, int error, const void *bytes, size_t size)
{
    char message[512];
    struct fuse_out_header head = {sizeof head + (uint32_t)size, error, unique};
    memcpy(message, &head, sizeof head);
    if (size > 0)
        memcpy(message + sizeof head, bytes, size);
    if (write(device, message, head.len) < 0) {
        /* who asked has gone */
    }
}

static struct fuse_attr attributes(uint64_t node)
{
    return (struct fuse_attr){.ino = node,
                              .nlink = 1,
                              .mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0777,
                              .size = node == FILE_NODE ? FILE_BYTES : 0,
                              .blksize = 4096};
}

/* The file system, which ends with its user. What is withheld gets no answer. */
static void deliver(int device, uid_t user)
{
    static char request[1 << 18];
    int reads = 0, looks = 0;
    if (setresuid(user, user, user) != 0)
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        if (read(device, request, sizeof request) < 0) {
            if (errno == ENODEV)
                _exit(0);
            continue;
        }
        const struct fuse_in_header *head = (void *)request;
        struct fuse_init_out begin = {.major = 7, .minor = 31, .max_write = 4096};
        struct fuse_attr_out shown = {.attr_valid = 1000, .attr = attributes(head->nodeid)};
        struct fuse_entry_out entry = {.nodeid = FILE_NODE,
                                       .entry_valid = 1000,
                                       .attr_valid = is("socket") ? 0 : 1000,
                                       .attr = attributes(2)};
        struct fuse_open_out opened = {.fh = 1};
        switch (head->opcode) {
        case FUSE_INIT:
            answer(device, head->unique, 0, &begin, sizeof begin);
            break;
        case FUSE_GETATTR: /* of the file that covers a socket: once, for the mount */
            if (is("socket") && head->nodeid == FILE_NODE && looks++ > 0)
                break;
            answer(device, head->unique, 0, &shown, sizeof shown);
            break;
        case FUSE_LOOKUP:
            if (!is("tmp"))
                answer(device, head->unique, 0, &entry, sizeof entry);
            break;
        case FUSE_OPEN:
        case FUSE_OPENDIR:
            answer(device, head->unique, 0, &opened, sizeof opened);
            break;
        case FUSE_READ: /* after an error the kernel asks again without giving the lock back */
            if (is("lock") && reads++ == 0)
                answer(device, head->unique, -EIO, NULL, 0);
            break;
        case FUSE_STATFS:
            answer(device, head->unique, 0, &(struct fuse_statfs_out){.st.namelen = 255},
                   sizeof(struct fuse_statfs_out));
            break;
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
            break;
        case FUSE_FLUSH:
        case FUSE_RELEASE:
        case FUSE_ACCESS:
            answer(device, head->unique, 0, NULL, 0);
            break;
        default:
            answer(device, head->unique, -ENOSYS, NULL, 0);
        }
    }
}

static volatile char *page;

static void *fault(void *unused)
{
    (void)*page;
    return unused;
}

static void *want(void *unused)
{
    sleep(1);
    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return unused;
}

/* Accepts and hangs up. */
static void *hang_up(void *listening)
{
    for (;;) {
        int fd = accept((int)(intptr_t)listening, NULL, NULL);
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

/* With root's rights: puts the file over the socket and takes it away. */
static void cover(const char *file, const char *name)
{
    const pid_t parent = getppid(); /* its end is no signal here: it has fewer rights */
    while (access(name, F_OK) != 0 && getppid() == parent)
        usleep(1000);
    while (getppid() == parent) {
        usleep((useconds_t)(rand() % 1500));
        mount(file, name, NULL, MS_BIND, NULL);
        usleep((useconds_t)(rand() % 1500));
        umount2(name, MNT_DETACH);
    }
}

static void listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pthread_t thread;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 5) != 0)
        refused("a socket");
    chmod(name, 0600);
    pthread_create(&thread, NULL, hang_up, (void *)(intptr_t)fd);
}

/* Its pages are not there, and who wants one waits for us. */
static void never_deliver(void *low)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)low, FILE_BYTES},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &range) != 0)
        refused("userfaultfd");
}

static void ignore(int number)
{
    (void)number;
}

int main(int count, char **argument)
{
    char path[4096];
    pthread_t thread;
    if (count != 5)
        return 64;
    setvbuf(stdout, NULL, _IOLBF, 0);
    mode = argument[1];
    const char *folder = argument[2];
    uid_t user = (uid_t)atoi(argument[3]);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        refused("a mount namespace");
    char options[200], held[4096 - 16], name[32];
    snprintf(held, sizeof held, "%s%s", folder, is("overlay") || is("socket") ? "/held" : "");
    snprintf(name, sizeof name, "/tmp/.java_pid%d", (int)getpid());
    if (is("fault") && mount("fault", folder, "tmpfs", 0, "mode=755") != 0)
        refused("a tmpfs");
    mkdir(held, 0755);
    snprintf(path, sizeof path, "%s/none", folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/libjvm.so", folder);
    int file = open(path, O_RDWR | O_CREAT, 0755), device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (file < 0 || ftruncate(file, FILE_BYTES) != 0 || device < 0)
        refused("/dev/fuse");
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other%s",
             device, is("socket") ? ",default_permissions" : "");
    if (!is("fault") &&
        mount("hold", is("tmp") ? "/tmp" : held, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
        refused("a mount of fuse");
    pid_t daemon = is("fault") ? 0 : fork();
    if (daemon == 0 && !is("fault"))
        deliver(device, user);
    close(device);
    snprintf(options, sizeof options, "lowerdir=%.80s:%.80s/none", held, folder);
    if (is("overlay") && mount("overlay", folder, "overlay", MS_RDONLY, options) != 0)
        refused("an overlay");
    if (is("socket")) {
        snprintf(path, sizeof path, "%s/file", held);
        snprintf(options, sizeof options, "/proc/self/fd/%d", open(path, O_PATH | O_CLOEXEC));
        if (mount("tmp", "/tmp", "tmpfs", 0, "mode=1777") != 0)
            refused("a tmpfs");
        if (fork() == 0) {
            cover(options, name);
            _exit(0);
        }
    }
    if (!is("tmp") && !is("socket"))
        file = open(path, O_RDONLY);
    page = mmap(NULL, FILE_BYTES, PROT_READ | PROT_EXEC, is("fault") ? MAP_SHARED : MAP_PRIVATE,
                file, 0);
    if (page == MAP_FAILED)
        refused("mmap");
    if (is("fault"))
        never_deliver((void *)(uintptr_t)page);
    if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0)
        refused("setresuid");
    prctl(PR_SET_DUMPABLE, 1);
    if (is("socket"))
        listen_at(name);
    madvise((void *)(uintptr_t)page, FILE_BYTES, MADV_RANDOM);
    signal(SIGQUIT, ignore);
    if (is("lock")) {
        pthread_create(&thread, NULL, want, NULL);
        pthread_create(&thread, NULL, fault, NULL);
        sleep(2);
    }
    if (write(STDOUT_FILENO, "ready\n", 6) <
        0) /* without memory, which would have to be asked for */
        return 1;
    for (unsigned left = (unsigned)atoi(argument[4]); left > 0;) /* a signal ends a sleep */
        left = sleep(left);
    if (daemon > 0)
        kill(daemon, SIGKILL);
    return 0;
}
