#include "nmtwatch/observe/heap_sampler.h"

#include "analyzers/model/texts.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "nmtwatch/observe/elf_file.h"
#include "nmtwatch/observe/remote.h"
#include "nmtwatch/observe/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAG     "_ZN11JvmtiExport33_should_post_sampled_object_allocE"
#define INTERVAL "_ZN17ThreadHeapSampler18_sampling_intervalE"
#define EVENTS   "_ZN20JvmtiEventController31_universal_global_event_enabledE"
/* JDK 11: the sampler needs tables that an agent's request makes. */
#define NOT_YET  "_ZN17ThreadHeapSampler8_enabledE"

/* JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, counted from HotSpot's first one: three of its own are before JVMTI's
 * since there are virtual threads, one until then. */
#define EVENT_BIT(jdk) (86 - (50 - ((jdk) >= 19 ? 3 : 1)))

struct heap_sampler {
    int memory, watcher; /* the target's; the pipe to our watcher. -1 */
    uintptr_t flag, interval, events;
    uint64_t event;                  /* its bit among JVMTI's */
    int32_t first_interval, written; /* HotSpot's own; ours, 0: none */
};

/* --- five bytes: also in the watcher, where only what is safe after fork(2) may be called ------- */

struct state {
    bool flag, agent;
    int32_t interval;
};

static bool get(int memory, uintptr_t address, void *out, size_t size)
{
    return pread(memory, out, size, (off_t)address) == (ssize_t)size;
}

static bool put(int memory, uintptr_t address, const void *value, size_t size)
{
    return pwrite(memory, value, size, (off_t)address) == (ssize_t)size;
}

/* False: the program is no more, or the values are none. */
static bool look(const struct heap_sampler *sampler, struct state *state)
{
    uint8_t flag;
    uint64_t events;
    if (!get(sampler->memory, sampler->flag, &flag, sizeof flag) || flag > 1 ||
        !get(sampler->memory, sampler->interval, &state->interval, sizeof state->interval) ||
        state->interval < 0 || !get(sampler->memory, sampler->events, &events, sizeof events))
        return false;
    state->flag = flag == 1;
    state->agent = (events & sampler->event) != 0;
    return true;
}

/* True: something was restored. */
static bool restore(const struct heap_sampler *sampler)
{
    struct state state;
    if (!look(sampler, &state))
        return false;
    bool ours = state.flag && !state.agent;
    /* Where JVMTI has taken the flag over or away the interval may still be ours. */
    if ((ours || (sampler->written != 0 && state.interval == sampler->written)) &&
        !put(sampler->memory, sampler->interval, &sampler->first_interval,
             sizeof sampler->first_interval))
        return false;
    if (!ours)
        return false;
    uint8_t off = 0, on = 1;
    bool good = put(sampler->memory, sampler->flag, &off, sizeof off);
    /* An agent may have asked for it in this moment. */
    if (look(sampler, &state) && state.agent && !state.flag)
        put(sampler->memory, sampler->flag, &on, sizeof on);
    return good;
}

/* --- the watcher ------------------------------------------------------------------------------ */

static void close_from_to(int first, int last)
{
    if (first > last || close_range((unsigned)first, (unsigned)last, 0) == 0)
        return;
    for (int fd = first; fd <= last && fd < 65536; fd++)
        close(fd);
}

/* Never returns. Descriptors of the parent (probes, its output) must be closed with the parent. */
_Noreturn static void watch(const struct heap_sampler *sampler, int parent)
{
    int low = parent < sampler->memory ? parent : sampler->memory;
    int high = parent < sampler->memory ? sampler->memory : parent;
    sigset_t all;
    char told;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    setsid();
    close_from_to(0, low - 1);
    close_from_to(low + 1, high - 1);
    close_from_to(high + 1, INT32_MAX);
    prctl(PR_SET_NAME, "nmtwatch-undo");
    if (chdir("/") != 0 || read(parent, &told, sizeof told) != sizeof told)
        restore(sampler);
    _exit(0);
}

static bool start_watcher(struct heap_sampler *sampler, char *error, size_t error_size)
{
    int ends[2], status = 1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return text_error(error, error_size, "a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        pid_t watcher = fork();
        if (watcher == 0)
            watch(sampler, ends[0]);
        _exit(watcher > 0 ? 0 : 1);
    }
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child < 0 || status != 0) {
        close(ends[1]);
        return text_error(error, error_size,
                          "no process could be started that restores the heap sampler "
                          "if this one is killed: nothing was written");
    }
    sampler->watcher = ends[1];
    return true;
}

/* --- open, on, close -------------------------------------------------------------------------- */

static bool find(const struct elf_file *file, const char *name, size_t size, uintptr_t *out,
                 char *error, size_t error_size)
{
    uint64_t address;
    if (!elf_file_data(file, name, size, &address))
        return text_error(error, error_size,
                          "this JDK's libjvm has no variable %s of %zu bytes (it is stripped)",
                          name, size);
    *out = remote_jvm()->bias + address;
    return true;
}

/* The interval before any change. */
static bool read_first(struct heap_sampler *sampler, const struct elf_file *file)
{
    uint64_t offset;
    int fd = remote_library_file(remote_jvm());
    bool good = fd >= 0 &&
                elf_file_value_offset(file, sampler->interval - remote_jvm()->bias,
                                      sizeof sampler->first_interval, &offset) &&
                pread(fd, &sampler->first_interval, sizeof sampler->first_interval,
                      (off_t)offset) == (ssize_t)sizeof sampler->first_interval &&
                sampler->first_interval > 0;
    if (fd >= 0)
        close(fd);
    return good;
}

/* Between the check of the process and the opening of its memory it may have started a program that has more
 * rights than its user (setuid). Such a program's files in /proc are root's. Another program would need the
 * JVM's code at the same address to be taken for it. */
static bool is_the_jvm(const struct heap_sampler *sampler, const struct target *target)
{
    char path[48];
    struct stat status;
    Elf64_Ehdr before, now;
    snprintf(path, sizeof path, "/proc/%d", (int)target->pid);
    return stat(path, &status) == 0 && status.st_uid == target->uid && remote_still_same() &&
           load_bytes(remote_jvm()->low, &before, sizeof before) &&
           get(sampler->memory, remote_jvm()->low, &now, sizeof now) &&
           memcmp(&before, &now, sizeof now) == 0;
}

static bool find_all(struct heap_sampler *sampler, const struct target *target, char *error,
                     size_t error_size)
{
    char path[48];
    uint64_t unused;
    struct state state;
    const struct elf_file *file = stacks_jvm_file(error, error_size);
    if (file == NULL || !find(file, FLAG, sizeof(uint8_t), &sampler->flag, error, error_size) ||
        !find(file, INTERVAL, sizeof(int32_t), &sampler->interval, error, error_size) ||
        !find(file, EVENTS, sizeof(uint64_t), &sampler->events, error, error_size))
        return false;
    if (elf_file_data(file, NOT_YET, sizeof(int32_t), &unused))
        return text_error(
            error, error_size,
            "the heap sampler of JDK %d has to be set up by an agent: needs JDK 17 or later",
            layout.jdk_major);
    sampler->event = UINT64_C(1) << EVENT_BIT(layout.jdk_major);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)target->pid);
    sampler->memory = open(path, O_RDWR | O_CLOEXEC);
    if (sampler->memory < 0)
        return text_error(
            error, error_size,
            "its memory cannot be written: %s (needs its user's rights, or CAP_SYS_PTRACE)",
            strerror(errno));
    if (!is_the_jvm(sampler, target))
        return text_error(error, error_size,
                          "it is no longer the JVM of its user: nothing is written");
    if (!read_first(sampler, file) || !look(sampler, &state))
        return text_error(
            error, error_size,
            "the heap sampler's flag and interval have unexpected values: nothing is written");
    return true;
}

struct heap_sampler *heap_sampler_open(const struct target *target, char *error, size_t error_size)
{
    struct heap_sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    sampler->memory = sampler->watcher = -1;
    if (find_all(sampler, target, error, error_size))
        return sampler;
    heap_sampler_close(sampler);
    return NULL;
}

bool heap_sampler_on(struct heap_sampler *sampler, int64_t every_bytes, char *error,
                     size_t error_size)
{
    struct state state;
    uint8_t on = 1;
    if (!look(sampler, &state))
        snprintf(error, error_size, "the process has ended");
    else if (state.agent)
        snprintf(error, error_size,
                 "an agent uses the heap sampler (JVMTI's SampledObjectAlloc is "
                 "on): nothing is written");
    else if (state.flag)
        snprintf(error, error_size,
                 "the heap sampler is on already, from outside: by another "
                 "observe, or by one that was killed (observe --repair)");
    else if (state.interval != sampler->first_interval)
        snprintf(error, error_size,
                 "an agent has set the heap sampler's interval (%d bytes): nothing is written",
                 (int)state.interval);
    else if (start_watcher(sampler, error, error_size)) {
        sampler->written = (int32_t)every_bytes;
        if (put(sampler->memory, sampler->flag, &on, sizeof on) &&
            put(sampler->memory, sampler->interval, &sampler->written, sizeof sampler->written))
            return true;
        snprintf(error, error_size, "its memory cannot be written: %s", strerror(errno));
    }
    return false;
}

int64_t heap_sampler_first_interval(const struct heap_sampler *sampler)
{
    return sampler->first_interval;
}

bool heap_sampler_is_on(const struct heap_sampler *sampler)
{
    struct state state;
    return look(sampler, &state) && state.flag;
}

void heap_sampler_close(struct heap_sampler *sampler)
{
    if (sampler == NULL)
        return;
    if (sampler->watcher >= 0) {
        restore(sampler);
        /* It may have been killed. */
        struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
        sigaction(SIGPIPE, &ignore, &before);
        if (write(sampler->watcher, "", 1) < 0)
            errno = 0;
        sigaction(SIGPIPE, &before, NULL);
        close(sampler->watcher);
    }
    if (sampler->memory >= 0)
        close(sampler->memory);
    free(sampler);
}

bool heap_sampler_repair(const struct target *target, char *done, size_t done_size, char *error,
                         size_t error_size)
{
    struct heap_sampler *sampler = NULL;
    if (remote_open(target, error, error_size) && stacks_open(error, error_size))
        sampler = heap_sampler_open(target, error, error_size);
    bool good = sampler != NULL;
    if (good && restore(sampler))
        snprintf(done, done_size, "the heap sampler is off again, its interval %d bytes",
                 (int)sampler->first_interval);
    else
        snprintf(done, done_size, "nothing to repair");
    heap_sampler_close(sampler);
    stacks_close();
    remote_close();
    return good;
}
