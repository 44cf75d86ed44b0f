/*
 * fake_jvm: a process that looks like a HotSpot JVM from outside and misbehaves on demand.
 *
 * From /proc it maps a libjvm.so and catches SIGQUIT; it has an hsperfdata file; it opens its
 * attach socket at once or, like the real one, on SIGQUIT beside a .attach_pid file (without one it
 * prints a thread dump). Requests are read as strictly as HotSpot reads them: one at a time, three
 * arguments or it waits forever, foreign credentials are hung up on.
 *
 * What it answers is --answer; how the answer gets damaged on its way are the options after it, and
 * they combine. Numbers evolve: --rate classes a second, --internal bytes a second, both on a clock
 * that --speed makes faster. The class-load tap of VM.log works.
 *
 * Prints "ready PID" when it can be attached to, and "thread dump" when it was made to print one.
 * Ends on SIGTERM, with its parent, or after --for seconds, and leaves nothing behind; SIGKILL
 * leaves a stale socket, as it does in life.
 */
#include "tests/sim/fake_jvm.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct fake_options opt = {
    .answer = "ok",
    .socket = "signal",
    .args = "-XX:NativeMemoryTracking=summary",
    .class_stem = "Script",
    .main = "com.example.Fake --port 8080",
    .jdk = 17,
    .speed = 1,
    .prefix = -1,
    .flip = -1,
    .seconds = 60,
};

static char socket_path[64], perf_path[96];
static volatile sig_atomic_t quit_seen, end_seen;

_Noreturn void die(const char *what)
{
    fprintf(stderr, "fake_jvm: %s: %s\n", what, strerror(errno));
    _exit(70);
}

/* --- the attach listener ---------------------------------------------------------------------- */

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        bytes += n;
        len -= (size_t)n;
    }
}

static void answer(int fd, char *operation, char *argument)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    compose(out, operation, argument);
    fclose(out);
    if (opt.prefix >= 0 && (size_t)opt.prefix < len)
        len = (size_t)opt.prefix;
    if (opt.flip >= 0 && (size_t)opt.flip / 8 < len)
        text[opt.flip / 8] ^= (char)(1 << opt.flip % 8);
    opt.prefix += opt.step && opt.prefix >= 0;
    opt.flip += opt.step && opt.flip >= 0;
    if (opt.delay_ms > 0)
        for (size_t i = 0; i < len; i++) {
            write_all(fd, text + i, 1);
            usleep((useconds_t)opt.delay_ms * 1000);
        }
    else
        write_all(fd, text, len);
    free(text);

    char *padding = opt.pad_mb > 0 ? calloc(1, 1 << 20) : NULL;
    for (long i = 0; padding != NULL && i < opt.pad_mb; i++)
        write_all(fd, padding, 1 << 20);
    free(padding);
    if (opt.hold_s > 0) /* the reply has no end yet */
        sleep((unsigned)opt.hold_s);
}

/* Reads bytes until so many NULs have come; false when the peer left or sent more than fits. */
static bool read_strings(int fd, char *into, size_t size, int count)
{
    for (size_t len = 0; len < size; len++) {
        if (read(fd, into + len, 1) != 1)
            return false;
        if (into[len] == '\0' && --count == 0)
            return true;
    }
    return false;
}

static void serve(int fd)
{
    static char request[257 * 1024];
    struct ucred peer;
    socklen_t size = sizeof peer;
    bool root_passes = opt.jdk >= 11;
    if (strcmp(opt.answer, "reject") == 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        (!(root_passes && peer.uid == 0) && (peer.uid != geteuid() || peer.gid != getegid())))
        return;

    if (!read_strings(fd, request, 4, 1))
        return;
    char *operation = request + 2, *argument;
    if (strcmp(request, "1") == 0) {
        if (!read_strings(fd, operation, 16 + 3 * 1024 + 4, 4))
            return;
        argument = operation + strlen(operation) + 1;
        if (strlen(operation) > (opt.jdk >= 24 ? 64 : 16) || strlen(argument) > 1024)
            return;
    } else if (strcmp(request, "2") == 0 && opt.jdk >= 24) {
        if (!read_strings(fd, operation, 16, 1))
            return;
        long len = strtol(operation, NULL, 10);
        if (len <= 0 || len > 256 * 1024 ||
            recv(fd, operation, (size_t)len, MSG_WAITALL) != (ssize_t)len ||
            operation[len - 1] != '\0')
            return;
        argument = operation + strlen(operation) + 1;
    } else {
        write_all(fd, "101\n", 4);
        return;
    }
    if (strcmp(opt.answer, "silent") == 0)
        while (true)
            pause();
    answer(fd, operation, argument);
}

static void *listener_main(void *argument)
{
    int listener = (int)(intptr_t)argument;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        serve(fd);
        shutdown(fd, SHUT_RDWR);
        close(fd);
    }
    return NULL;
}

/* Bound elsewhere and renamed when it listens, as HotSpot does: nobody meets it half open. */
static void open_socket(bool listening)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s.tmp", socket_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    umask(077);
    unlink(address.sun_path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        (listening && listen(fd, 5) != 0) || rename(address.sun_path, socket_path) != 0)
        die(socket_path);
    if (!listening) {
        close(fd);
        return;
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, listener_main, (void *)(intptr_t)fd) != 0)
        die("listener");
    pthread_detach(thread);
}

static bool may_attach(void)
{
    const char *const folders[] = {".", "/tmp"};
    for (int i = 0; i < 2; i++) {
        char path[64];
        struct stat status;
        snprintf(path, sizeof path, "%s/.attach_pid%d", folders[i], (int)getpid());
        if (stat(path, &status) == 0)
            return status.st_uid == geteuid() || status.st_uid == 0;
    }
    return false;
}

static void on_sigquit(void)
{
    bool disabled = strstr(opt.args, "+DisableAttachMechanism") != NULL;
    if (!disabled && may_attach())
        strcmp(opt.socket, "none") == 0 ? (void)0 : open_socket(true);
    else
        printf("thread dump\n");
}

/* --- hsperfdata ------------------------------------------------------------------------------- */

static unsigned char *perf_image;
static size_t perf_used = 32;
static size_t loaded_at, unloaded_at;

static size_t perf_entry(const char *name, char type, const void *data, size_t len)
{
    size_t name_len = strlen(name) + 1, data_at = (20 + name_len + 7) & ~(size_t)7;
    size_t entry_len = (data_at + len + 7) & ~(size_t)7;
    int32_t header[5] = {(int32_t)entry_len, 20, type == 'B' ? (int32_t)len : 0, 0,
                         (int32_t)data_at};
    unsigned char *at = perf_image + perf_used;
    memcpy(at, header, sizeof header);
    at[12] = (unsigned char)type;
    memcpy(at + 20, name, name_len);
    memcpy(at + data_at, data, len);
    perf_used += entry_len;
    ++*(int32_t *)(void *)(perf_image + 28);
    return perf_used - entry_len + data_at;
}

static void perf_text(const char *name, const char *text)
{
    perf_entry(name, 'B', text, strlen(text) + 1);
}

static void perf_open(void)
{
    char folder[64], version[32], specification[16];
    int64_t zero = 0, eden = 3 << 20, eden_capacity = 16 << 20, old = 9 << 20,
            old_capacity = 48 << 20;
    snprintf(folder, sizeof folder, "/tmp/hsperfdata_%u", (unsigned)geteuid());
    mkdir(folder, 0755);
    snprintf(perf_path, sizeof perf_path, "%s/%d", folder, (int)getpid());
    int fd = open(perf_path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 32768) != 0)
        die(perf_path);
    perf_image = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (perf_image == MAP_FAILED)
        die("mmap");
    memcpy(perf_image, "\xca\xfe\xc0\xc0\x01\x02", 6);
    *(int32_t *)(void *)(perf_image + 24) = 32;
    snprintf(specification, sizeof specification, opt.jdk > 8 ? "%ld" : "1.%ld", opt.jdk);
    snprintf(version, sizeof version, "%ld.0.0-fake", opt.jdk);
    perf_text("java.property.java.vm.specification.version", specification);
    perf_text("java.property.java.vm.version", version);
    perf_text("java.rt.vmArgs", opt.args);
    perf_text("sun.rt.javaCommand", opt.main);
    loaded_at = perf_entry("java.cls.loadedClasses", 'J', &zero, 8);
    unloaded_at = perf_entry("java.cls.unloadedClasses", 'J', &zero, 8);
    perf_entry("java.cls.sharedLoadedClasses", 'J', &zero, 8);
    perf_entry("sun.gc.generation.0.space.0.used", 'J', &eden, 8);
    perf_entry("sun.gc.generation.0.space.0.capacity", 'J', &eden_capacity, 8);
    perf_entry("sun.gc.generation.1.space.0.used", 'J', &old, 8);
    perf_entry("sun.gc.generation.1.space.0.capacity", 'J', &old_capacity, 8);
    *(int32_t *)(void *)(perf_image + 8) = (int32_t)perf_used;
    perf_image[7] = 1; /* accessible */
}

static void perf_tick(void)
{
    int64_t loaded = classes_loaded();
    if (perf_image != NULL)
        memcpy(perf_image + loaded_at, &loaded, sizeof loaded);
}

/* --- the process ------------------------------------------------------------------------------ */

static void on_signal(int signal_number)
{
    if (signal_number == SIGQUIT)
        quit_seen = 1;
    else
        end_seen = 1;
}

/* The mapping keeps the file's name after the file is gone. */
static void map_libjvm(void)
{
    char folder[] = "/tmp/fake_jvm.XXXXXX", path[64];
    int fd = opt.libjvm != NULL ? open(opt.libjvm, O_RDONLY | O_CLOEXEC) : -1;
    if (opt.libjvm == NULL) {
        if (mkdtemp(folder) == NULL)
            die(folder);
        snprintf(path, sizeof path, "%s/libjvm.so", folder);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
        if (ftruncate(fd, 4096) != 0)
            die(path);
        unlink(path);
        rmdir(folder);
    }
    bool mapped =
        fd >= 0 && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED;
    if (!mapped)
        die("mapping libjvm.so");
    close(fd);
}

/* Becomes the process with this number, which has to be free: needs root in the pid namespace. */
static void take_pid(long wanted)
{
    for (int i = 0; i < 1000; i++) {
        int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
        if (fd < 0 || dprintf(fd, "%ld", wanted - 1) < 0)
            die("ns_last_pid");
        close(fd);
        pid_t child = fork();
        if (child == 0) {
            if (getpid() == (pid_t)wanted)
                return;
            _exit(1);
        }
        int status;
        if (child == (pid_t)wanted) {
            waitpid(child, &status, 0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 70);
        }
        waitpid(child, &status, 0);
    }
    die("taking the pid");
}

static void read_options(int argc, char **argv)
{
    const struct {
        const char *name;
        const char **text;
        long *number;
        bool *flag;
    } rows[] = {
        {"answer", &opt.answer, NULL, NULL},
        {"file", &opt.file, NULL, NULL},
        {"socket", &opt.socket, NULL, NULL},
        {"args", &opt.args, NULL, NULL},
        {"class-stem", &opt.class_stem, NULL, NULL},
        {"main", &opt.main, NULL, NULL},
        {"libjvm", &opt.libjvm, NULL, NULL},
        {"jdk", NULL, &opt.jdk, NULL},
        {"rate", NULL, &opt.rate, NULL},
        {"internal", NULL, &opt.internal, NULL},
        {"speed", NULL, &opt.speed, NULL},
        {"prefix", NULL, &opt.prefix, NULL},
        {"flip", NULL, &opt.flip, NULL},
        {"delay-ms", NULL, &opt.delay_ms, NULL},
        {"pad-mb", NULL, &opt.pad_mb, NULL},
        {"hold", NULL, &opt.hold_s, NULL},
        {"seed", NULL, &opt.seed, NULL},
        {"code", NULL, &opt.code, NULL},
        {"for", NULL, &opt.seconds, NULL},
        {"pid", NULL, &opt.pid, NULL},
        {"step", NULL, NULL, &opt.step},
        {"no-perfdata", NULL, NULL, &opt.no_perfdata},
        {"no-sigquit", NULL, NULL, &opt.no_sigquit},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    struct option names[ROWS + 1] = {0};
    for (int i = 0; i < ROWS; i++)
        names[i] = (struct option){rows[i].name, rows[i].flag == NULL, NULL, i};
    for (int row; (row = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (row == '?')
            exit(64);
        if (rows[row].text != NULL)
            *rows[row].text = optarg;
        else if (rows[row].number != NULL)
            *rows[row].number = strtol(optarg, NULL, 10);
        else
            *rows[row].flag = true;
    }
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (opt.pid > 0) {
        take_pid(opt.pid);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    }
    replies_begin();
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (!opt.no_sigquit)
        sigaction(SIGQUIT, &action, NULL);
    snprintf(socket_path, sizeof socket_path, "/tmp/.java_pid%d", (int)getpid());
    unlink(socket_path); /* of an earlier process with this pid, as HotSpot does */
    map_libjvm();
    if (!opt.no_perfdata)
        perf_open();
    if (strcmp(opt.socket, "now") == 0 || strcmp(opt.socket, "stale") == 0)
        open_socket(strcmp(opt.socket, "now") == 0);
    printf("ready %d\n", (int)getpid());

    while (!end_seen && running_s() < (double)opt.seconds) {
        if (quit_seen) {
            quit_seen = 0;
            on_sigquit();
        }
        perf_tick();
        tap_tick();
        usleep(20 * 1000);
    }
    unlink(socket_path);
    if (perf_image != NULL)
        unlink(perf_path);
    return 0;
}
