#include "nmtwatch/jvm/agent_figures.h"

#include "agent/control/published_format.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/privileged.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BREAKER_STATE_MAX 4

static bool is_of(const struct target *target, const struct published *published)
{
    return memcmp(published->magic, PUBLISHED_MAGIC, sizeof published->magic) == 0 &&
           published->checksum == published_checksum(published) &&
           published->start_time_ticks == (int64_t)target->start_time_ticks &&
           published->reserved_bytes >= 0 && published->resident_bytes >= 0 &&
           published->jmethod_id_bytes >= 0 && published->breaker_state >= 0 &&
           published->breaker_state <= BREAKER_STATE_MAX;
}

int agent_figures_file(const struct target *target)
{
    char path[sizeof target->tmp + sizeof PUBLISHED_NAME + 16];
    snprintf(path, sizeof path, "%s/" PUBLISHED_NAME, target->tmp, (int)target->nspid);
    return rooted_read(target, rooted_below(target, path), ROOTED_OWN | ROOTED_NO_LINK,
                       sizeof(struct published), NULL);
}

static bool read_published(const struct target *target, struct published *published)
{
    int fd = privileged_apart()
                 ? privileged_open(PRIVILEGED_FIGURES, target->pid, target->start_time_ticks, "")
                 : agent_figures_file(target);
    if (fd < 0)
        return false;
    bool good = read(fd, published, sizeof *published) == (ssize_t)sizeof *published &&
                is_of(target, published);
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

uint64_t agent_figures_library(const struct target *target)
{
    struct published published;
    return read_published(target, &published) ? published.library_at : 0;
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
