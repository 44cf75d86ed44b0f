#include "nmtwatch/watch/load_log.h"

#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/process/left_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOAD_LOG_FOLDER          "/tmp"
#define LOAD_LOG_PREFIX          LOAD_LOG_FOLDER "/nmtwatch-tap-"
#define LOAD_LOG_READ_MAX        (4 << 20)
#define LOAD_LOG_BUFFER          65536
/* The JVM rotates it at LOAD_LOG_FILE_BYTES; one that is much larger is not its log. */
#define LOAD_LOG_REPLY_MAX_BYTES (INT64_C(4) * LOAD_LOG_FILE_BYTES)

#define GUARD_RETRY_MS     1000
#define GUARD_RETRY_MAX_MS 60000

static const char ALL_IS_WELL = 'w';

void load_log_on_command(const struct load_log *load_log, char *out, size_t size)
{
    snprintf(out, size,
             "VM.log output=file=%s what=class+load=info,class+unload=info "
             "decorators=uptime,level,tags output_options=filecount=1,filesize=%d",
             load_log->file, LOAD_LOG_FILE_BYTES);
}

void load_log_off_command(const struct load_log *load_log, char *out, size_t size)
{
    snprintf(out, size, "VM.log output=file=%s what=all=off", load_log->file);
}

/* /tmp/nmtwatch-tap-<nspid>-<seconds since the epoch>-<random>.log */
enum load_log_origin load_log_origin(struct span file)
{
    struct span rest = file;
    int64_t nspid, made_s;
    if (!span_take(&rest, SPAN_LITERAL(LOAD_LOG_PREFIX)) || !span_take_i64(&rest, &nspid) ||
        !span_take(&rest, SPAN_LITERAL("-")) || !span_take_i64(&rest, &made_s) ||
        span_find(rest, SPAN_LITERAL("/")) >= 0)
        return LOAD_LOG_FOREIGN;
    return time(NULL) - made_s > LOAD_LOG_LEFTOVER_S ? LOAD_LOG_LEFTOVER : LOAD_LOG_IN_USE;
}

/* Switching off a log that is off already opens it once more and so rotates what is there: up to
 * HotSpot's default of five archived files. */
static void remove_files(const struct target *target, int folder_fd, const char *path)
{
    struct as_target self;
    struct stat status;
    char name[296];
    if (folder_fd < 0 || !as_target_begin(&self, target->uid, target->gid))
        return;
    for (int i = -1; i < 5; i++) {
        int length = snprintf(name, sizeof name, "%s", strrchr(path, '/') + 1);
        if (i >= 0)
            snprintf(name + length, sizeof name - (size_t)length, ".%d", i);
        if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && status.st_uid == target->uid)
            unlinkat(folder_fd, name, 0);
    }
    as_target_end(&self);
}

/* The folder of a path below the target's root, found with its rights where they can be had. */
static int open_folder(const struct target *target, const char *path)
{
    struct as_target self;
    char folder[288];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    as_target_begin(&self, target->uid, target->gid);
    int fd = rooted_folder(target->root, folder[0] != '\0' ? folder : "/", O_PATH);
    as_target_end(&self);
    return fd;
}

/* Its /tmp may be a link: it is the target's, not the one under its root, that is looked into. */
static bool path_there(const struct target *target, const char *file, char *path, size_t size)
{
    return (size_t)snprintf(path, size, "%s%s", rooted_below(target, target->tmp),
                            file + strlen(LOAD_LOG_FOLDER)) < size;
}

void load_log_remove_leftover(const struct target *target, const char *file)
{
    char path[288];
    if (privileged_apart())
        privileged_do(PRIVILEGED_LOAD_LOG_REMOVE, target, file);
    else if (path_there(target, file, path, sizeof path)) {
        int folder_fd = open_folder(target, path);
        remove_files(target, folder_fd, path);
        if (folder_fd >= 0)
            close(folder_fd);
    }
}

/* Until the JVM has said yes: one that is stopped now goes on one day, with the log still on. */
static void switch_off(const struct load_log *load_log, const struct target *target)
{
    struct attach_limits limits = {.timeout_ms = 10000, .reply_max_bytes = 1 << 20};
    struct attach *attach = attach_create(target, &limits);
    if (attach == NULL)
        return;
    char command[256];
    struct span reply;
    struct failure failure;
    load_log_off_command(load_log, command, sizeof command);
    for (int wait_ms = GUARD_RETRY_MS; target_still_same(target); wait_ms *= 2) {
        /* A request that was not read yet is carried out all the same: do not pile them up. */
        if (!target_state_now(target).stopped &&
            attach_run(attach, command, &reply, &failure) != FAILURE_NO_ANSWER)
            break;
        if (wait_ms > GUARD_RETRY_MAX_MS)
            wait_ms = GUARD_RETRY_MAX_MS;
        poll(NULL, 0, wait_ms);
    }
    attach_destroy(attach);
}

/* The guard's whole life: sleep until the watcher is done, dies, or is late. */
static void guard(const struct load_log *load_log, const struct target *target, int pipe_fd)
{
    struct pollfd waiting = {.fd = pipe_fd, .events = POLLIN};
    char byte = 0;
    int ready;
    do {
        ready = poll(&waiting, 1, LOAD_LOG_GUARD_S * 1000);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0 || read(pipe_fd, &byte, 1) != 1 || byte != ALL_IS_WELL)
        switch_off(load_log, target);
    remove_files(target, load_log->folder_fd, load_log->path);
}

static int start_guard(struct load_log *load_log, const struct target *target)
{
    int ends[2];
    if (privileged_apart()) {
        load_log->guard_pipe = privileged_open(PRIVILEGED_LOAD_LOG_BEGIN, target, load_log->file);
        return load_log->guard_pipe >= 0 ? 0 : -1;
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    load_log->folder_fd = open_folder(target, load_log->path);
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        if (load_log->folder_fd >= 0)
            close(load_log->folder_fd);
        load_log->folder_fd = -1;
        return -1;
    }
    if (pid == 0) {
        /* Out of the watcher's session: Ctrl-C and a hang-up are not for the guard. Nothing of the
         * watcher's stays open, above all no connection to the JVM. */
        setsid();
        prctl(PR_SET_NAME, "nmtwatch-guard");
        signal(SIGTERM, SIG_DFL);
        signal(SIGINT, SIG_IGN);
        int fd = dup2(ends[0], 0);
        if (load_log->folder_fd >= 0)
            load_log->folder_fd = dup2(load_log->folder_fd, 3);
        close_range(1, 2, 0);
        close_range(load_log->folder_fd >= 0 ? 4 : 3, ~0U, 0);
        open("/dev/null", O_WRONLY);
        open("/dev/null", O_WRONLY);
        guard(load_log, target, fd);
        _exit(0);
    }
    close(ends[0]);
    load_log->guard_pipe = ends[1];
    load_log->guard_pid = pid;
    return 0;
}

static int open_log(const struct load_log *load_log)
{
    return rooted_read(&load_log->target, load_log->path, ROOTED_OWN | ROOTED_NO_LINK,
                       LOAD_LOG_REPLY_MAX_BYTES, NULL);
}

bool load_log_name_is_for(const struct target *target, const char *file)
{
    char beginning[64];
    int length = snprintf(beginning, sizeof beginning, LOAD_LOG_PREFIX "%d-", (int)target->nspid);
    const char *rest = file + length;
    if (strncmp(file, beginning, (size_t)length) != 0)
        return false;
    size_t seconds = strspn(rest, "0123456789");
    size_t random = rest[seconds] == '-' ? strspn(rest + seconds + 1, "0123456789abcdef") : 0;
    return seconds > 0 && seconds <= 12 && random == 8 &&
           strcmp(rest + seconds + 1 + random, ".log") == 0;
}

/* The same for a caller that asks a helper: it guards a log that another process reads. */
static bool load_log_of(struct load_log *load_log, const struct target *target, const char *file)
{
    *load_log = (struct load_log){.fd = -1, .folder_fd = -1, .guard_pipe = -1, .target = *target};
    snprintf(load_log->file, sizeof load_log->file, "%s", file);
    if (load_log_name_is_for(target, file) &&
        path_there(target, file, load_log->path, sizeof load_log->path))
        return true;
    errno = EINVAL;
    return false;
}

int load_log_guard(const struct target *target, const char *file, pid_t *guard_pid)
{
    struct load_log load_log;
    if (!load_log_of(&load_log, target, file) || start_guard(&load_log, target) != 0)
        return -1;
    if (load_log.folder_fd >= 0)
        close(load_log.folder_fd); /* the guard has it */
    *guard_pid = load_log.guard_pid;
    return load_log.guard_pipe;
}

bool load_log_open(struct load_log *load_log, const struct target *target, const char *file)
{
    if (!load_log_of(load_log, target, file))
        return false;
    load_log->fd = open_log(load_log);
    return load_log->fd >= 0;
}

int load_log_prepare(struct load_log *load_log, const struct target *target)
{
    memset(load_log, 0, sizeof *load_log);
    load_log->fd = load_log->folder_fd = load_log->guard_pipe = -1;
    unsigned random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return -1;
    snprintf(load_log->file, sizeof load_log->file, LOAD_LOG_PREFIX "%d-%lld-%08x.log",
             (int)target->nspid, (long long)time(NULL), random);
    if (!path_there(target, load_log->file, load_log->path, sizeof load_log->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    load_log->target = *target;
    load_log->carry = malloc(LOAD_LOG_BUFFER);
    if (load_log->carry == NULL)
        return -1;
    if (start_guard(load_log, target) != 0) {
        int saved = errno;
        free(load_log->carry);
        load_log->carry = NULL;
        errno = saved;
        return -1;
    }
    return 0;
}

int load_log_opened(struct load_log *load_log)
{
    if (privileged_apart())
        return privileged_do(PRIVILEGED_LOAD_LOG_OPEN, &load_log->target, load_log->file) ? 0 : -1;
    load_log->fd = open_log(load_log);
    return load_log->fd >= 0 ? 0 : -1;
}

/* The JVM has rotated the log: the rest of the old file was read, go on with the new one. */
static bool follow_rotation(struct load_log *load_log)
{
    struct stat ours, current;
    int fd = open_log(load_log);
    if (fd < 0)
        return false;
    if (fstat(load_log->fd, &ours) != 0 || fstat(fd, &current) != 0 ||
        ours.st_ino == current.st_ino) {
        close(fd);
        return false;
    }
    close(load_log->fd);
    load_log->fd = fd;
    return true;
}

ssize_t load_log_next(struct load_log *load_log, void *bytes, size_t size)
{
    for (;;) {
        ssize_t got = read(load_log->fd, bytes, size);
        if (got > 0 || (got < 0 && errno != EINTR))
            return got;
        if (got == 0 && !follow_rotation(load_log))
            return 0;
    }
}

int64_t load_log_read(struct load_log *load_log, struct census *census)
{
    int64_t total = 0;
    while (total < LOAD_LOG_READ_MAX) {
        char *rest = load_log->carry + load_log->carry_len;
        size_t room = LOAD_LOG_BUFFER - load_log->carry_len;
        ssize_t got = privileged_apart() ? privileged_read(PRIVILEGED_LOAD_LOG_READ,
                                                           &load_log->target, 0, rest, room, NULL)
                                         : load_log_next(load_log, rest, room);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        total += got;
        struct span text = span_of(load_log->carry, load_log->carry_len + (size_t)got);
        census_add_log(census, &text);
        if (text.len == LOAD_LOG_BUFFER) { /* no line is that long: skip it, and say so */
            load_log->lost_bytes += (int64_t)text.len;
            text.len = 0;
        }
        memmove(load_log->carry, text.ptr, text.len);
        load_log->carry_len = text.len;
    }
    load_log->bytes += total;
    return total;
}

void load_log_closed(struct load_log *load_log, bool off)
{
    if (load_log->fd >= 0)
        close(load_log->fd);
    if (load_log->guard_pipe >= 0 && off) {
        ssize_t ignored = write(load_log->guard_pipe, &ALL_IS_WELL, 1);
        (void)ignored;
        if (load_log->folder_fd >= 0)
            remove_files(&load_log->target, load_log->folder_fd, load_log->path);
        else
            load_log_remove_leftover(&load_log->target, load_log->file);
    }
    if (load_log->folder_fd >= 0)
        close(load_log->folder_fd);
    if (load_log->guard_pipe >= 0) {
        close(load_log->guard_pipe);
        if (off) /* a late one may be at work on what is done by now */
            left_behind(load_log->guard_pid);
    }
    free(load_log->carry);
    memset(load_log, 0, sizeof *load_log);
    load_log->fd = load_log->folder_fd = load_log->guard_pipe = -1;
}
