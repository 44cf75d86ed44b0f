#include "nmtwatch/watch/tap.h"

#include "analyzers/classes/census.h"
#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/privileged.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TAP_FOLDER        "/tmp"
#define TAP_PREFIX        TAP_FOLDER "/nmtwatch-tap-"
#define TAP_READ_MAX      (4 << 20)
#define TAP_BUFFER        65536
/* The JVM rotates it at TAP_FILE_BYTES; one that is much larger is not its log. */
#define TAP_LOG_MAX_BYTES (INT64_C(4) * TAP_FILE_BYTES)

#define GUARD_RETRY_MS     1000
#define GUARD_RETRY_MAX_MS 60000

static const char ALL_IS_WELL = 'w';

void tap_on_command(const struct tap *tap, char *out, size_t size)
{
    snprintf(out, size,
             "VM.log output=file=%s what=class+load=info,class+unload=info "
             "decorators=uptime,level,tags output_options=filecount=1,filesize=%d",
             tap->file, TAP_FILE_BYTES);
}

void tap_off_command(const struct tap *tap, char *out, size_t size)
{
    snprintf(out, size, "VM.log output=file=%s what=all=off", tap->file);
}

/* /tmp/nmtwatch-tap-<nspid>-<seconds since the epoch>-<random>.log */
enum tap_origin tap_origin(struct span file)
{
    struct span rest = file;
    int64_t nspid, made_s;
    if (!span_take(&rest, SPAN_LITERAL(TAP_PREFIX)) || !span_take_i64(&rest, &nspid) ||
        !span_take(&rest, SPAN_LITERAL("-")) || !span_take_i64(&rest, &made_s) ||
        span_find(rest, SPAN_LITERAL("/")) >= 0)
        return TAP_FOREIGN;
    return time(NULL) - made_s > TAP_LEFTOVER_S ? TAP_LEFTOVER : TAP_IN_USE;
}

/* Switching off a log that is off already opens it once more and so rotates what is there: up to
 * HotSpot's default of five archived files. */
static void remove_files(const struct target *target, const char *path)
{
    char rotated[296];
    rooted_unlink(target, path);
    for (int i = 0; i < 5; i++) {
        snprintf(rotated, sizeof rotated, "%s.%d", path, i);
        rooted_unlink(target, rotated);
    }
}

/* Its /tmp may be a link: it is the target's, not the one under its root, that is looked into. */
static bool path_there(const struct target *target, const char *file, char *path, size_t size)
{
    return (size_t)snprintf(path, size, "%s%s", rooted_below(target, target->tmp),
                            file + strlen(TAP_FOLDER)) < size;
}

void tap_remove_leftover(const struct target *target, const char *file)
{
    char path[288];
    if (privileged_apart())
        privileged_do(PRIVILEGED_TAP_REMOVE, target->pid, target->start_time_ticks, file);
    else if (path_there(target, file, path, sizeof path))
        remove_files(target, path);
}

/* Until the JVM has said yes: one that is stopped now goes on one day, with the log still on. */
static void switch_off(const struct tap *tap, const struct target *target)
{
    struct attach_limits limits = {.timeout_ms = 10000, .reply_max_bytes = 1 << 20};
    struct attach *attach = attach_create(target, &limits);
    if (attach == NULL)
        return;
    char command[256];
    struct span reply;
    struct failure failure;
    tap_off_command(tap, command, sizeof command);
    for (int wait_ms = GUARD_RETRY_MS; target_still_same(target); wait_ms *= 2) {
        /* A request that nobody has read yet is carried out all the same: do not pile them up. */
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
static void guard(const struct tap *tap, const struct target *target, int pipe_fd)
{
    struct pollfd waiting = {.fd = pipe_fd, .events = POLLIN};
    char byte = 0;
    int ready;
    do {
        ready = poll(&waiting, 1, TAP_GUARD_S * 1000);
    } while (ready < 0 && errno == EINTR);
    if (ready > 0 && read(pipe_fd, &byte, 1) == 1 && byte == ALL_IS_WELL)
        return;
    switch_off(tap, target);
    remove_files(target, tap->path);
}

static int start_guard(struct tap *tap, const struct target *target)
{
    int ends[2];
    if (privileged_apart()) {
        tap->guard_pipe =
            privileged_open(PRIVILEGED_TAP_BEGIN, target->pid, target->start_time_ticks, tap->file);
        return tap->guard_pipe >= 0 ? 0 : -1;
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
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
        close_range(1, ~0U, 0);
        open("/dev/null", O_WRONLY);
        open("/dev/null", O_WRONLY);
        guard(tap, target, fd);
        _exit(0);
    }
    close(ends[0]);
    tap->guard_pipe = ends[1];
    tap->guard_pid = pid;
    return 0;
}

static int open_log(const struct tap *tap)
{
    if (privileged_apart())
        return privileged_open(PRIVILEGED_TAP_LOG, tap->target.pid, tap->target.start_time_ticks,
                               tap->file);
    return rooted_read(&tap->target, tap->path, ROOTED_OWN | ROOTED_NO_LINK, TAP_LOG_MAX_BYTES,
                       NULL);
}

bool tap_name_is_for(const struct target *target, const char *file)
{
    char beginning[64];
    int length = snprintf(beginning, sizeof beginning, TAP_PREFIX "%d-", (int)target->nspid);
    const char *rest = file + length;
    if (strncmp(file, beginning, (size_t)length) != 0)
        return false;
    size_t seconds = strspn(rest, "0123456789");
    size_t random = rest[seconds] == '-' ? strspn(rest + seconds + 1, "0123456789abcdef") : 0;
    return seconds > 0 && seconds <= 12 && random == 8 &&
           strcmp(rest + seconds + 1 + random, ".log") == 0;
}

/* The same for whoever asks a helper: it watches over a log that somebody else reads. */
static bool tap_of(struct tap *tap, const struct target *target, const char *file)
{
    *tap = (struct tap){.fd = -1, .guard_pipe = -1, .target = *target};
    snprintf(tap->file, sizeof tap->file, "%s", file);
    if (tap_name_is_for(target, file) && path_there(target, file, tap->path, sizeof tap->path))
        return true;
    errno = EINVAL;
    return false;
}

int tap_guard(const struct target *target, const char *file, pid_t *guard_pid)
{
    struct tap tap;
    if (!tap_of(&tap, target, file) || start_guard(&tap, target) != 0)
        return -1;
    *guard_pid = tap.guard_pid;
    return tap.guard_pipe;
}

int tap_log(const struct target *target, const char *file)
{
    struct tap tap;
    return tap_of(&tap, target, file) ? open_log(&tap) : -1;
}

int tap_prepare(struct tap *tap, const struct target *target)
{
    memset(tap, 0, sizeof *tap);
    tap->fd = tap->guard_pipe = -1;
    unsigned random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return -1;
    snprintf(tap->file, sizeof tap->file, TAP_PREFIX "%d-%lld-%08x.log", (int)target->nspid,
             (long long)time(NULL), random);
    if (!path_there(target, tap->file, tap->path, sizeof tap->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    tap->target = *target;
    tap->carry = malloc(TAP_BUFFER);
    if (tap->carry == NULL)
        return -1;
    if (start_guard(tap, target) != 0) {
        int saved = errno;
        free(tap->carry);
        tap->carry = NULL;
        errno = saved;
        return -1;
    }
    return 0;
}

int tap_opened(struct tap *tap)
{
    int fd = open_log(tap);
    if (fd < 0)
        return -1;
    tap->fd = fd;
    return 0;
}

/* The JVM has rotated the log: the rest of the old file was read, go on with the new one. */
static bool follow_rotation(struct tap *tap)
{
    struct stat ours, current;
    int fd = open_log(tap);
    if (fd < 0)
        return false;
    if (fstat(tap->fd, &ours) != 0 || fstat(fd, &current) != 0 || ours.st_ino == current.st_ino) {
        close(fd);
        return false;
    }
    close(tap->fd);
    tap->fd = fd;
    return true;
}

int64_t tap_read(struct tap *tap, struct census *census)
{
    int64_t total = 0;
    while (total < TAP_READ_MAX) {
        ssize_t got = read(tap->fd, tap->carry + tap->carry_len, TAP_BUFFER - tap->carry_len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0) {
            if (!follow_rotation(tap))
                break;
            continue;
        }
        total += got;
        struct span text = span_of(tap->carry, tap->carry_len + (size_t)got);
        census_add_log(census, &text);
        if (text.len == TAP_BUFFER) { /* no line is that long: skip it, and say so */
            tap->lost_bytes += (int64_t)text.len;
            text.len = 0;
        }
        memmove(tap->carry, text.ptr, text.len);
        tap->carry_len = text.len;
    }
    tap->bytes += total;
    return total;
}

void tap_closed(struct tap *tap, bool off)
{
    if (tap->fd >= 0)
        close(tap->fd);
    if (tap->guard_pipe >= 0 && off) {
        ssize_t ignored = write(tap->guard_pipe, &ALL_IS_WELL, 1);
        (void)ignored;
        tap_remove_leftover(&tap->target, tap->file);
    }
    if (tap->guard_pipe >= 0) {
        close(tap->guard_pipe);
        if (off && tap->guard_pid > 0) { /* a late one may be at work on what is done by now */
            kill(tap->guard_pid, SIGKILL);
            waitpid(tap->guard_pid, NULL, 0);
        }
    }
    free(tap->carry);
    memset(tap, 0, sizeof *tap);
    tap->fd = tap->guard_pipe = -1;
}
