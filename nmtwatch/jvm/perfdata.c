#include "nmtwatch/jvm/perfdata.h"

#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/privileged.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Which counters make which value of a sample; several of one field are added up. */
static const struct {
    enum sample_field field;
    bool required; /* without this one the field is missing, however many others there are */
    const char *name;
} counter_rows[] = {
    {SAMPLE_CLASSES_LOADED, true, "java.cls.loadedClasses"},
    {SAMPLE_CLASSES_LOADED, false, "java.cls.sharedLoadedClasses"},
    {SAMPLE_CLASSES_UNLOADED, true, "java.cls.unloadedClasses"},
    {SAMPLE_CLASSES_UNLOADED, false, "java.cls.sharedUnloadedClasses"},
    {SAMPLE_GC_YOUNG, true, "sun.gc.collector.0.invocations"},
    {SAMPLE_GC_OLD, true, "sun.gc.collector.1.invocations"},
    {SAMPLE_GC_OLD, false, "sun.gc.collector.2.invocations"},
    {SAMPLE_GC_OLD, false, "sun.gc.collector.3.invocations"},
    /* The old generation is the heap of collectors without a young one (ZGC, Shenandoah). */
    {SAMPLE_HEAP_USED_BYTES, true, "sun.gc.generation.1.space.0.used"},
    {SAMPLE_HEAP_USED_BYTES, false, "sun.gc.generation.0.space.0.used"},
    {SAMPLE_HEAP_USED_BYTES, false, "sun.gc.generation.0.space.1.used"},
    {SAMPLE_HEAP_USED_BYTES, false, "sun.gc.generation.0.space.2.used"},
    {SAMPLE_HEAP_USED_BYTES, false, "sun.gc.generation.1.space.1.used"},
    {SAMPLE_HEAP_USED_BYTES, false, "sun.gc.generation.1.space.2.used"},
    {SAMPLE_HEAP_COMMITTED_BYTES, true, "sun.gc.generation.1.space.0.capacity"},
    {SAMPLE_HEAP_COMMITTED_BYTES, false, "sun.gc.generation.0.space.0.capacity"},
    {SAMPLE_HEAP_COMMITTED_BYTES, false, "sun.gc.generation.0.space.1.capacity"},
    {SAMPLE_HEAP_COMMITTED_BYTES, false, "sun.gc.generation.0.space.2.capacity"},
    {SAMPLE_HEAP_COMMITTED_BYTES, false, "sun.gc.generation.1.space.1.capacity"},
    {SAMPLE_HEAP_COMMITTED_BYTES, false, "sun.gc.generation.1.space.2.capacity"},
};
#define COUNTERS (sizeof counter_rows / sizeof counter_rows[0])

struct perfdata {
    int fd;               /* -1: a worker has it */
    struct target target; /* for the worker */
    size_t size;
    bool found[COUNTERS];
    struct hsperfdata_entry entries[COUNTERS];
    struct hsperfdata view;
    unsigned char image[]; /* size bytes */
};

static ssize_t read_from(const struct perfdata *perfdata, size_t from, size_t size)
{
    unsigned char *into = (unsigned char *)(uintptr_t)perfdata->image + from;
    if (perfdata->fd >= 0)
        return pread(perfdata->fd, into, size, (off_t)from);
    return privileged_read(PRIVILEGED_PERFDATA, &perfdata->target, (int64_t)from, into, size, NULL);
}

/* The whole file again: 32 KiB, 7 us. A shorter read means that it was cut. */
static bool refresh(struct perfdata *perfdata)
{
    size_t got = 0;
    while (got < perfdata->size) {
        ssize_t n = read_from(perfdata, got, perfdata->size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

static struct perfdata *read_image(const struct target *target, int fd, int64_t size, int *error)
{
    if (size < 32) {
        *error = EAGAIN; /* just created */
        return NULL;
    }
    struct perfdata *perfdata = calloc(1, sizeof *perfdata + (size_t)size);
    if (perfdata == NULL) {
        *error = ENOMEM;
        return NULL;
    }
    perfdata->fd = fd;
    perfdata->target = *target;
    perfdata->size = (size_t)size;
    enum parse_result result = PARSE_INCOMPLETE;
    if (refresh(perfdata))
        result = hsperfdata_open(&perfdata->view, perfdata->image, perfdata->size);
    if (result == PARSE_OK)
        return perfdata;
    *error = result == PARSE_INCOMPLETE ? EAGAIN : EINVAL;
    free(perfdata);
    return NULL;
}

/* How large it is; *fd: -1 where a worker has it. -1 with errno. */
static int64_t open_file(const struct target *target, int *fd)
{
    struct stat status;
    int64_t size;
    char none;
    *fd = -1;
    if (privileged_apart()) {
        if (privileged_read(PRIVILEGED_PERFDATA, target, 0, &none, 1, &size) < 0)
            return -1;
    } else {
        *fd = perfdata_file(target, &status);
        if (*fd < 0)
            return -1;
        size = status.st_size;
    }
    errno = EFBIG;
    return size <= PERFDATA_MAX_BYTES ? size : -1;
}

int perfdata_file(const struct target *target, struct stat *status)
{
    return rooted_read(target, rooted_below(target, target->perfdata), ROOTED_OWN | ROOTED_NO_LINK,
                       PERFDATA_MAX_BYTES, status);
}

struct perfdata *perfdata_open(const struct target *target)
{
    int fd, error = 0;
    if (target->perfdata[0] == '\0') {
        errno = ENOENT;
        return NULL;
    }
    int64_t size = open_file(target, &fd);
    if (size < 0) {
        errno = errno == ELOOP || errno == EACCES ? EPERM : errno == EFBIG ? EINVAL : errno;
        return NULL;
    }
    struct perfdata *perfdata = read_image(target, fd, size, &error);
    if (perfdata == NULL) {
        if (fd >= 0)
            close(fd);
        errno = error;
        return NULL;
    }
    for (size_t i = 0; i < COUNTERS; i++)
        perfdata->found[i] = hsperfdata_find(&perfdata->view, span_from_cstr(counter_rows[i].name),
                                             &perfdata->entries[i]);
    return perfdata;
}

bool perfdata_sample(struct perfdata *perfdata, struct sample *sample)
{
    if (!refresh(perfdata))
        return false;
    for (size_t i = 0; i < COUNTERS; i++) {
        enum sample_field field = counter_rows[i].field;
        int64_t value, sum = 0;
        if (!perfdata->found[i] ||
            !hsperfdata_number(&perfdata->view, &perfdata->entries[i], &value) || value < 0)
            continue;
        if (counter_rows[i].required)
            sample_set(sample, field, value);
        else if (sample_get(sample, field, &sum) && !__builtin_add_overflow(sum, value, &sum))
            sample_set(sample, field, sum);
    }
    /* Before the first GC some collectors have counted nothing: not known, not zero. */
    int64_t used;
    if (sample_get(sample, SAMPLE_HEAP_USED_BYTES, &used) && used == 0)
        sample->present &= ~(UINT64_C(1) << SAMPLE_HEAP_USED_BYTES);
    return true;
}

bool perfdata_string(struct perfdata *perfdata, const char *name, char *out, size_t size)
{
    struct hsperfdata_entry entry;
    struct span value;
    if (!hsperfdata_find(&perfdata->view, span_from_cstr(name), &entry) ||
        !hsperfdata_string(&perfdata->view, &entry, &value))
        return false;
    span_copy(value, out, size);
    return true;
}

bool perfdata_number(struct perfdata *perfdata, const char *name, int64_t *value)
{
    struct hsperfdata_entry entry;
    return hsperfdata_find(&perfdata->view, span_from_cstr(name), &entry) &&
           hsperfdata_number(&perfdata->view, &entry, value);
}

void perfdata_close(struct perfdata *perfdata)
{
    if (perfdata == NULL)
        return;
    if (perfdata->fd >= 0)
        close(perfdata->fd);
    free(perfdata);
}

void sample_unasked(const struct target *target, struct sample *sample)
{
    struct proc proc;
    struct perfdata *perfdata = perfdata_open(target);
    if (proc_open(&proc, target) == 0) {
        proc_sample(&proc, sample);
        proc_close(&proc);
    }
    if (perfdata == NULL)
        return;
    perfdata_sample(perfdata, sample);
    perfdata_close(perfdata);
}
