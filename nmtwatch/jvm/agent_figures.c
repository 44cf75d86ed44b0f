#include "nmtwatch/jvm/agent_figures.h"

#include "agent/control/published_format.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BREAKER_STATE_MAX 4

static bool read_whole(int fd, uid_t owner, struct published *published)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == owner &&
           status.st_size == (off_t)sizeof *published &&
           read(fd, published, sizeof *published) == (ssize_t)sizeof *published;
}

static bool is_of(const struct target *target, const struct published *published)
{
    return memcmp(published->magic, PUBLISHED_MAGIC, sizeof published->magic) == 0 &&
           published->checksum == published_checksum(published) &&
           published->start_time_ticks == (int64_t)target->start_time_ticks &&
           published->reserved_bytes >= 0 && published->resident_bytes >= 0 &&
           published->jmethod_id_bytes >= 0 && published->breaker_state >= 0 &&
           published->breaker_state <= BREAKER_STATE_MAX;
}

static bool read_published(const struct target *target, struct published *published)
{
    char path[sizeof target->tmp + sizeof PUBLISHED_NAME + 16];
    snprintf(path, sizeof path, "%s/" PUBLISHED_NAME, target->tmp, (int)target->nspid);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = read_whole(fd, target->uid, published) && is_of(target, published);
    close(fd);
    return good;
}

void agent_figures_sample(const struct target *target, struct sample *sample)
{
    struct published published;
    if (!read_published(target, &published))
        return;
    sample_set(sample, SAMPLE_AGENT_RESERVED_BYTES, published.reserved_bytes);
    sample_set(sample, SAMPLE_AGENT_RESIDENT_BYTES, published.resident_bytes);
    sample_set(sample, SAMPLE_AGENT_JMETHOD_ID_BYTES, published.jmethod_id_bytes);
    sample_set(sample, SAMPLE_AGENT_BREAKER, published.breaker_state);
}

bool agent_figures_reason(const struct target *target, char *out, size_t size)
{
    struct published published;
    if (size == 0 || !read_published(target, &published) || published.breaker_state == 0)
        return false;
    size_t length = strnlen(published.breaker_reason, sizeof published.breaker_reason);
    if (length >= size)
        length = size - 1;
    memcpy(out, published.breaker_reason, length);
    out[length] = '\0';
    return length > 0;
}
