#include "nmtwatch/jvm/agent_files.h"

#include "floor/wire/wire_formats.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/privileged.h"
#include "floor/wire/leftovers.h"
#include "nmtwatch/jvm/as_target.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
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
    if (privileged_apart())
        return privileged_read(PRIVILEGED_FIGURES, target, 0, published, sizeof *published, NULL) ==
                   (ssize_t)sizeof *published &&
               is_of(target, published);
    int fd = agent_figures_file(target);
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

bool agent_figures_methods(const struct target *target, struct kept_methods *methods)
{
    struct published published;
    if (!read_published(target, &published) || published.methods.methods <= 0)
        return false;
    const struct published_methods *from = &published.methods;
    struct method_family rows[PUBLISHED_FAMILIES];
    struct methods_event event = {.methods = from->methods,
                                  .classes = from->classes,
                                  .loaders = from->loaders,
                                  .own_classes = from->own_classes,
                                  .own_methods = from->own_methods,
                                  .rows = rows};
    for (int i = 0; i < from->family_count && i < PUBLISHED_FAMILIES; i++) {
        const struct published_family *family = &from->family[i];
        struct method_family *row = &rows[event.row_count++];
        snprintf(row->family, sizeof row->family, "%.*s", (int)sizeof family->name, family->name);
        row->classes = family->classes;
        row->methods = family->methods;
    }
    methods_keep(methods, &event);
    return true;
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

/* --- agent leftovers ------------------------------------------------------------------------- */

/* A chunk that was never finished may be large. */
#define LEFTOVER_MAX_BYTES INT64_MAX

struct removal {
    const struct target *target;
    bool everybodys;
};

static bool remove_one(void *context, int folder_fd, const char *name)
{
    const struct removal *removal = context;
    struct target owner = *removal->target;
    struct stat status;
    struct as_target self;
    if (removal->everybodys && fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        owner.uid = status.st_uid;
        owner.gid = status.st_gid;
    }
    int fd = rooted_read_at(&owner, folder_fd, name, ROOTED_OWN | ROOTED_SINGLE, LEFTOVER_MAX_BYTES,
                            NULL);
    if (fd < 0)
        return false;
    bool removed = false;
    if (as_target_begin(&self, owner.uid, owner.gid)) {
        removed = leftover_is_dead(fd, folder_fd, name) && unlinkat(folder_fd, name, 0) == 0;
        as_target_end(&self);
    }
    close(fd);
    return removed;
}

static int remove_left(const struct removal *removal)
{
    int fd = rooted_folder(removal->target->root, "/tmp", O_PATH);
    if (fd < 0)
        return 0;
    int removed = leftovers_each(fd, remove_one, (void *)removal);
    close(fd);
    return removed;
}

int agent_leftovers_remove(const struct target *target)
{
    if (privileged_apart())
        return privileged_tidy(target);
    return remove_left(&(struct removal){.target = target});
}

int agent_leftovers_remove_here(void)
{
    if (privileged_apart())
        return privileged_tidy(NULL);
    struct target here = {.uid = geteuid(), .gid = getegid()};
    snprintf(here.root, sizeof here.root, "%s", target_host_root());
    return remove_left(&(struct removal){
        .target = &here, .everybodys = as_target_has(CAP_SETUID) && as_target_has(CAP_SETGID)});
}
