#include "nmtwatch/heap/holders_run.h"

#include "nmtwatch/jvm/proc.h"
#include "reports/text/units.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Measured: 720 MB of small objects are 1.05 GB of dump; names and classes take up to 32 MB. A full
 * GC and the writing took 1 s for 150 MB of dump on two cores with a slow disk. */
#define DUMP_PER_USED    1.5
#define DUMP_NAMES       (INT64_C(32) << 20)
#define DUMP_BYTES_PER_S (INT64_C(150) << 20)
#define DUMP_FIXED_MS    200

/* -parallel of GC.heap_dump. Each thread writes a segment; without the option there is one, of the
 * whole dump. Segments are appended to the dump one by one and removed: measured with JDK 25, 400 MB
 * of files at most for a dump of 204 MB. */
#define PARALLEL_JDK 22
#define THREADS_MAX  8

static int threads_of(const struct target *target)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (target->identity.jdk_major < PARALLEL_JDK || processors < 1)
        return 1;
    return processors < THREADS_MAX ? (int)processors : THREADS_MAX;
}

static int64_t number_with_unit(const char *text, size_t length)
{
    int64_t value = 0;
    size_t i = 0;
    for (; i < length && text[i] >= '0' && text[i] <= '9' && value < INT64_MAX / 20; i++)
        value = value * 10 + (text[i] - '0');
    if (i == 0 || i == length)
        return 0;
    return text[i] == 'K'   ? value << 10
           : text[i] == 'M' ? value << 20
           : text[i] == 'G' ? value << 30
                            : 0;
}

/* "used 4352K" and "20M used" of GC.heap_info; Metaspace is no heap. */
static int64_t used_of(struct span reply)
{
    int64_t sum = 0;
    for (size_t at = 0; at < reply.len;) {
        const char *line = reply.ptr + at;
        const char *end = memchr(line, '\n', reply.len - at);
        size_t length = end != NULL ? (size_t)(end - line) : reply.len - at;
        const char *used = memmem(line, length, "used", 4);
        at += length + 1;
        if (used == NULL || memmem(line, length, "etaspace", 8) != NULL ||
            memmem(line, length, "class space", 11) != NULL)
            continue;
        size_t left = length - (size_t)(used - line);
        int64_t bytes = left > 5 ? number_with_unit(used + 5, left - 5) : 0;
        if (bytes == 0 && used > line + 1) {
            const char *begin = used - 1;
            while (begin > line && begin[-1] != ' ' && begin[-1] != ',')
                begin--;
            bytes = number_with_unit(begin, (size_t)(used - begin));
        }
        sum += bytes;
    }
    return sum;
}

static int64_t resident(const struct target *target)
{
    struct proc proc;
    struct sample sample;
    int64_t bytes = 0;
    sample_clear(&sample);
    if (proc_open(&proc, target) != 0)
        return 0;
    if (proc_sample(&proc, &sample))
        sample_get(&sample, SAMPLE_RSS_BYTES, &bytes);
    proc_close(&proc);
    return bytes;
}

enum failure_kind heap_dump_predict(struct heap_dump *dump, const struct target *target,
                                    struct failure *failure)
{
    struct span reply;
    struct statfs folder;
    const struct attach_limits limits = {.until_asked = true};
    memset(dump, 0, sizeof *dump);
    dump->fd = -1;
    struct attach *attach = attach_create(target, &limits);
    if (attach == NULL)
        return failure_set(failure, FAILURE_SYSTEM, "nmtwatch", strerror(ENOMEM));
    enum failure_kind kind = attach_run(attach, "GC.heap_info", &reply, failure);
    if (kind == FAILURE_NONE)
        dump->used_bytes = used_of(reply);
    attach_destroy(attach);
    if (kind != FAILURE_NONE)
        return kind;
    if (dump->used_bytes == 0) /* JDK 8 does not have the command */
        dump->used_bytes = resident(target);
    dump->predicted_bytes = (int64_t)((double)dump->used_bytes * DUMP_PER_USED) + DUMP_NAMES;
    dump->predicted_room =
        dump->predicted_bytes * (target->identity.jdk_major >= PARALLEL_JDK ? 2 : 1);
    dump->threads = threads_of(target);
    dump->predicted_ms = dump->predicted_bytes * 1000 / DUMP_BYTES_PER_S + DUMP_FIXED_MS;
    if (!exchange_open(&dump->exchange, target))
        return failure_set(failure, FAILURE_SYSTEM, "a folder in the target's /tmp",
                           strerror(errno));
    dump->open = true;
    if (fstatfs(dump->exchange.folder_fd, &folder) == 0) {
        dump->free_bytes = (int64_t)folder.f_bavail * (int64_t)folder.f_bsize;
        dump->in_memory =
            folder.f_type == TMPFS_MAGIC || (unsigned long)folder.f_type == RAMFS_MAGIC;
    }
    return FAILURE_NONE;
}

bool heap_dump_fits(const struct heap_dump *dump, const struct target *target, char *sentence,
                    size_t size)
{
    if (dump->free_bytes < dump->predicted_room)
        return text_error(
            sentence, size, "%s for the dump predicted, %s free in the /tmp of the target",
            units_bytes(dump->predicted_room).text, units_bytes(dump->free_bytes).text);
    int64_t limit = dump->in_memory ? memory_limit(target->pid) : -1;
    if (limit >= 0 && resident(target) + dump->predicted_room > limit)
        return text_error(
            sentence, size,
            "its /tmp is memory: %s for the dump predicted, the control group has %s and the JVM "
            "takes %s",
            units_bytes(dump->predicted_room).text, units_bytes(limit).text,
            units_bytes(resident(target)).text);
    return true;
}

/* Who loaded what, while the objects are where the dump has them. */
static void ask_loaders(struct heap_dump *dump, struct attach *attach)
{
    struct failure failure;
    struct span reply;
    if (attach_run(attach, "VM.classloader_stats", &reply, &failure) != FAILURE_NONE)
        return;
    dump->pause_us += attach_elapsed_us(attach);
    dump->loader_stats = malloc(reply.len + 1);
    if (dump->loader_stats == NULL)
        return;
    memcpy(dump->loader_stats, reply.ptr, reply.len);
    dump->loader_stats_length = reply.len;
}

enum failure_kind heap_dump_take(struct heap_dump *dump, const struct target *target, bool gzip,
                                 struct failure *failure)
{
    char command[400], parallel[24] = "";
    struct span reply;
    struct stat status;
    int64_t patience_ms = dump->predicted_ms * 20 + 60000;
    const struct attach_limits limits = {.timeout_ms = patience_ms < INT32_MAX ? (int)patience_ms
                                                                               : INT32_MAX};
    if (dump->threads > 1)
        snprintf(parallel, sizeof parallel, "-parallel=%d ", dump->threads);
    snprintf(command, sizeof command, "GC.heap_dump %s%s%s/%s",
             gzip && target->identity.jdk_major >= 17 ? "-gz=1 " : "", parallel,
             dump->exchange.theirs, HEAP_DUMP_FILE);
    struct attach *attach = attach_create(target, &limits);
    if (attach == NULL)
        return failure_set(failure, FAILURE_SYSTEM, "nmtwatch", strerror(ENOMEM));
    enum failure_kind kind = attach_run(attach, command, &reply, failure);
    dump->pause_us = attach_elapsed_us(attach);
    char answer[160] = "";
    if (kind == FAILURE_NONE) {
        struct jcmd_reply words = jcmd_reply_classify(reply);
        span_copy(words.kind != JCMD_OK ? words.message : reply, answer, sizeof answer);
        ask_loaders(dump, attach);
    }
    attach_destroy(attach);
    if (kind != FAILURE_NONE)
        return kind;
    dump->fd = exchange_read(&dump->exchange, HEAP_DUMP_FILE);
    if (dump->fd < 0 || fstat(dump->fd, &status) != 0)
        return failure_set(failure, FAILURE_SYSTEM, "the JVM wrote no dump", answer);
    dump->bytes = status.st_size;
    return FAILURE_NONE;
}

void heap_dump_end(struct heap_dump *dump, bool keep)
{
    if (!dump->open)
        return;
    if (!keep)
        exchange_remove(&dump->exchange, HEAP_DUMP_FILE);
    for (int i = 0; i < dump->threads; i++) { /* of a JVM that was too slow, or died */
        char segment[40];
        snprintf(segment, sizeof segment, "%s.p%d", HEAP_DUMP_FILE, i);
        exchange_remove(&dump->exchange, segment);
    }
    free(dump->loader_stats);
    dump->loader_stats = NULL;
    exchange_close(&dump->exchange); /* a folder that is not empty stays */
    dump->open = false;
}
