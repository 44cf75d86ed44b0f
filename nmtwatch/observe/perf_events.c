#include "nmtwatch/observe/perf_events.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/machine/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPUS_MAX       1024
#define RINGS_BYTES    (32u << 20) /* of all CPUs together */
#define RING_BYTES_MAX (16u << 20)
#define RING_BYTES_MIN (256u << 10)
#define RECORD_MAX     65536

struct ring {
    int cpu, fd; /* of the event that owns it; -1: none yet */
    void *map;
    size_t bytes;  /* of its data */
    uint64_t lost; /* since its last sample */
};

struct perf_events {
    bool stacks; /* are copied */
    struct ring *ring;
    int rings;
    size_t ring_bytes, page_bytes;
    int *opened;
    size_t opened_count, opened_room;
    pid_t pid;
    uint64_t lost;
    bool user_only;
    uint8_t *record; /* RECORD_MAX: one that goes around the ring's end */
};

static uint64_t register_mask(void)
{
    uint64_t mask = 0;
    for (int i = 0; i < this_machine.registers; i++)
        mask |= UINT64_C(1) << this_machine.perf[i];
    return mask;
}

/* The number in a file of sysfs; -1: none. */
int perf_kernel_number(const char *path)
{
    int number = -1;
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &number) != 1)
            number = -1;
        fclose(file);
    }
    return number;
}

static void fill(const struct perf_want *want, struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){
        .size = sizeof *attr,
        .sample_period = want->period,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD |
                       PERF_SAMPLE_REGS_USER |
                       (want->stack_bytes > 0 ? (uint64_t)PERF_SAMPLE_STACK_USER : 0),
        .sample_regs_user = register_mask(),
        .sample_stack_user = want->stack_bytes,
        .disabled = 1,
        .inherit = 1,
        .inherit_thread = 1, /* not by the processes it starts; Linux 5.13 */
        .exclude_hv = 1,
        .type = PERF_TYPE_SOFTWARE,
        .config =
            want->what == PERF_CPU_TIME ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_PAGE_FAULTS_MIN,
        .watermark = 1,
        .wakeup_watermark = 65536,
    };
}

static bool refuse(int reason, char *error, size_t error_size)
{
    int paranoid = perf_kernel_number("/proc/sys/kernel/perf_event_paranoid");
    if (reason == EACCES || reason == EPERM)
        return text_error(error, error_size,
                          "perf_event_open is not permitted: needs root or CAP_PERFMON "
                          "(kernel.perf_event_paranoid is %d)",
                          paranoid);
    if (reason == EMFILE)
        return text_error(error, error_size,
                          "perf_event_open: too many threads and CPUs for the limit of "
                          "open files (ulimit -n)");
    return text_error(error, error_size, "perf_event_open: %s", strerror(reason));
}

static bool map_ring(struct perf_events *events, struct ring *ring, int fd)
{
    for (size_t bytes = events->ring_bytes; bytes >= RING_BYTES_MIN / 2; bytes /= 2) {
        void *map =
            mmap(NULL, bytes + events->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            ring->map = map;
            ring->fd = fd;
            ring->bytes = bytes;
            return true;
        }
    }
    return false;
}

static bool open_one(struct perf_events *events, struct ring *ring, pid_t thread,
                     struct perf_event_attr *attr, char *error, size_t error_size)
{
    int fd = (int)syscall(SYS_perf_event_open, attr, thread, ring->cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno == ESRCH || refuse(errno, error, error_size); /* the thread has ended */
    if (!array_room(&events->opened, &events->opened_room, events->opened_count + 1,
                    sizeof *events->opened)) {
        close(fd);
        return refuse(ENOMEM, error, error_size);
    }
    events->opened[events->opened_count++] = fd;
    bool good = (ring->fd >= 0 ? ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0
                               : map_ring(events, ring, fd)) &&
                ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
    return good || refuse(errno, error, error_size);
}

/* Those that are listed at first. A thread that one of them starts later inherits its events; what is
 * started while the list is gone through, by a thread that has none yet, is missed: opening it as well
 * could count one twice. */
static bool open_threads(struct perf_events *events, pid_t pid, struct perf_event_attr *attr,
                         char *error, size_t error_size)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    struct dirent **entry;
    int count = scandir(path, &entry, NULL, NULL);
    if (count < 0)
        return text_error(error, error_size, "%s: %s", path, strerror(errno));
    bool good = true;
    for (int i = 0; i < count; i++) {
        pid_t thread = (pid_t)atoi(entry[i]->d_name);
        for (int ring = 0; good && thread > 0 && ring < events->rings; ring++)
            good = open_one(events, &events->ring[ring], thread, attr, error, error_size);
        free(entry[i]);
    }
    free(entry);
    return good;
}

/* Features that this kernel lacks, and those that it does not permit: without rights its own part of a
 * process is not to be seen (perf_event_paranoid 2). */
static void fit_to_kernel(struct perf_events *events, pid_t pid, struct perf_event_attr *attr)
{
    int fd = (int)syscall(SYS_perf_event_open, attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == EINVAL) {
        attr->inherit_thread = 0;
        fd = (int)syscall(SYS_perf_event_open, attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    events->user_only = fd < 0 && (errno == EACCES || errno == EPERM);
    if (fd >= 0)
        close(fd);
    attr->exclude_kernel = events->user_only;
}

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* "0-3,8" */
static int list_cpus(struct ring *rings, int max)
{
    char text[4096] = "0";
    int count = 0;
    FILE *file = fopen("/sys/devices/system/cpu/online", "re");
    if (file != NULL) {
        if (fgets(text, sizeof text, file) == NULL)
            strcpy(text, "0");
        fclose(file);
    }
    for (char *at = text; *at >= '0' && *at <= '9';) {
        long first = strtol(at, &at, 10), last = *at == '-' ? strtol(at + 1, &at, 10) : first;
        for (long cpu = first; cpu <= last && count < max; cpu++)
            rings[count++] = (struct ring){.cpu = (int)cpu, .fd = -1};
        at += *at == ',';
    }
    if (count == 0)
        rings[count++] = (struct ring){.cpu = 0, .fd = -1};
    return count;
}

struct perf_events *perf_events_open(pid_t pid, const struct perf_want *want, char *error,
                                     size_t error_size)
{
    struct perf_event_attr attr;
    struct perf_events *events = calloc(1, sizeof *events);
    struct ring *rings = calloc(CPUS_MAX, sizeof *rings);
    uint8_t *record = malloc(RECORD_MAX);
    if (events == NULL || rings == NULL || record == NULL) {
        free(events);
        free(rings);
        free(record);
        refuse(ENOMEM, error, error_size);
        return NULL;
    }
    events->pid = pid;
    events->stacks = want->stack_bytes > 0;
    events->ring = rings;
    events->rings = list_cpus(rings, CPUS_MAX);
    events->page_bytes = machine_page_bytes();
    events->record = record;
    size_t each = RINGS_BYTES / (size_t)events->rings;
    for (events->ring_bytes = RING_BYTES_MAX;
         events->ring_bytes > each && events->ring_bytes > RING_BYTES_MIN;)
        events->ring_bytes /= 2;
    raise_file_limit();
    fill(want, &attr);
    fit_to_kernel(events, pid, &attr);
    if (open_threads(events, pid, &attr, error, error_size)) {
        if (events->opened_count > 0)
            return events;
        snprintf(error, error_size, "the process has ended");
    }
    perf_events_close(events);
    return NULL;
}

/* --- records ---------------------------------------------------------------------------------- */

struct reading {
    const uint8_t *at, *end;
};

static uint64_t take_u64(struct reading *reading)
{
    uint64_t value = 0;
    if (reading->end - reading->at >= (ptrdiff_t)sizeof value) {
        memcpy(&value, reading->at, sizeof value);
        reading->at += sizeof value;
    } else {
        reading->at = reading->end;
    }
    return value;
}

static bool read_sample(const struct perf_events *events, const uint8_t *record, size_t size,
                        struct perf_sample *sample, uint64_t *registers)
{
    struct reading reading = {record, record + size};
    *sample = (struct perf_sample){0};
    /* A process that it started has other memory. */
    uint64_t pid_tid = take_u64(&reading);
    if ((pid_t)(uint32_t)pid_tid != events->pid)
        return false;
    sample->tid = (pid_t)(pid_tid >> 32);
    sample->address = take_u64(&reading);
    sample->weight = take_u64(&reading);
    if (take_u64(&reading) != PERF_SAMPLE_REGS_ABI_64) /* none: the thread is the kernel's */
        return true;
    /* In the order of their bits. */
    uint64_t mask = register_mask(), all[64] = {0};
    for (int bit = 0; bit < 64; bit++)
        if ((mask >> bit & 1) != 0)
            all[bit] = take_u64(&reading);
    for (int i = 0; i < this_machine.registers; i++)
        registers[i] = all[this_machine.perf[i]];
    sample->registers = registers;
    if (events->stacks) {
        uint64_t room = take_u64(&reading);
        if (room > 0 && room + 8 <= (uint64_t)(reading.end - reading.at)) {
            uint64_t copied;
            sample->stack = reading.at;
            memcpy(&copied, reading.at + room, sizeof copied);
            sample->stack_bytes = copied < room ? copied : room;
        }
    }
    return true;
}

/* A record as one piece. */
static const uint8_t *whole(struct perf_events *events, const struct ring *ring, uint64_t at,
                            size_t size)
{
    const uint8_t *data = (const uint8_t *)ring->map + events->page_bytes;
    size_t offset = at % ring->bytes, first = ring->bytes - offset;
    if (size <= first)
        return data + offset;
    memcpy(events->record, data + offset, first);
    memcpy(events->record + first, data, size - first);
    return events->record;
}

static size_t drain_ring(struct perf_events *events, struct ring *ring,
                         void (*take)(void *context, const struct perf_sample *sample),
                         void *context)
{
    struct perf_event_mmap_page *page = ring->map;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
    size_t taken = 0;
    while (tail < head) {
        struct perf_event_header header;
        memcpy(&header, whole(events, ring, tail, sizeof header), sizeof header);
        if (header.size < sizeof header || header.size > head - tail)
            break;
        const uint8_t *record = whole(events, ring, tail, header.size) + sizeof header;
        size_t bytes = header.size - sizeof header;
        if (header.type == PERF_RECORD_SAMPLE) {
            struct perf_sample sample;
            uint64_t registers[MACHINE_REGISTERS_MAX];
            if (read_sample(events, record, bytes, &sample, registers)) {
                sample.lost = ring->lost;
                ring->lost = 0;
                take(context, &sample);
                taken++;
            }
        } else if (header.type == PERF_RECORD_LOST && bytes >= 16) {
            uint64_t lost;
            memcpy(&lost, record + 8, sizeof lost);
            events->lost += lost;
            ring->lost += lost;
        }
        tail += header.size;
        __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    }
    return taken;
}

size_t perf_events_drain(struct perf_events *events,
                         void (*take)(void *context, const struct perf_sample *sample),
                         void *context)
{
    size_t taken = 0;
    for (int i = 0; i < events->rings; i++)
        if (events->ring[i].map != NULL)
            taken += drain_ring(events, &events->ring[i], take, context);
    return taken;
}

uint64_t perf_events_count(const struct perf_events *events)
{
    uint64_t sum = 0, value;
    for (size_t i = 0; i < events->opened_count; i++)
        if (read(events->opened[i], &value, sizeof value) == sizeof value)
            sum += value;
    return sum;
}

bool perf_events_user_only(const struct perf_events *events)
{
    return events->user_only;
}

uint64_t perf_events_lost(const struct perf_events *events)
{
    return events->lost;
}

void perf_events_close(struct perf_events *events)
{
    if (events == NULL)
        return;
    for (int i = 0; i < events->rings; i++)
        if (events->ring[i].map != NULL)
            munmap(events->ring[i].map, events->ring[i].bytes + events->page_bytes);
    for (size_t i = 0; i < events->opened_count; i++)
        close(events->opened[i]);
    free(events->opened);
    free(events->ring);
    free(events->record);
    free(events);
}
