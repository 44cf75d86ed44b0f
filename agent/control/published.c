#include "agent/control/published.h"

#include "agent/control/published_format.h"
#include "agent/mem/mem.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file = -1;
static char path[sizeof PUBLISHED_PATH + 16];
static struct published told;

/* Of this process, in ticks since boot; -1 when it cannot be read. The second field, the name, may
 * hold anything: the third one stands behind the last parenthesis. */
static int64_t start_time_ticks(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoll(at, NULL, 10) : -1;
}

void published_begin(void)
{
    int64_t ticks = start_time_ticks();
    if (file >= 0 || ticks < 0)
        return;
    snprintf(path, sizeof path, PUBLISHED_PATH, (int)getpid());
    /* A JVM that was killed may have left one. What is not ours to remove is left alone. */
    unlink(path);
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    told = (struct published){.start_time_ticks = ticks};
    memcpy(told.magic, PUBLISHED_MAGIC, sizeof told.magic);
    published_figures(NULL);
}

static void tell(struct published *now)
{
    now->checksum = published_checksum(now);
    if (memcmp(now, &told, sizeof *now) != 0 &&
        pwrite(file, now, sizeof *now, 0) == (ssize_t)sizeof *now)
        told = *now;
}

void published_figures(const struct jmethod_ids *ids)
{
    struct mem_snapshot snapshot;
    struct jmethod_ids_bill bill;
    if (file < 0)
        return;
    struct published now = told;
    mem_snapshot(&snapshot);
    now.reserved_bytes = snapshot.total.reserved_bytes;
    now.resident_bytes = snapshot.total.resident_bytes;
    if (ids != NULL) {
        jmethod_ids_bill(ids, &bill);
        now.jmethod_id_bytes = bill.present_bytes;
    }
    tell(&now);
}

void published_breaker(enum breaker_state state, const char *reason)
{
    if (file < 0)
        return;
    struct published now = told;
    now.breaker_state = (int64_t)state;
    memset(now.breaker_reason, 0, sizeof now.breaker_reason);
    snprintf(now.breaker_reason, sizeof now.breaker_reason, "%s", reason);
    tell(&now);
}

void published_end(void)
{
    struct stat status;
    if (file < 0)
        return;
    /* Somebody else's by now: a process of the same number in another container, on the same /tmp.
     */
    if (fstat(file, &status) == 0 && status.st_nlink > 0)
        unlink(path);
    close(file);
    file = -1;
}
