#include "nmtwatch/jvm/agent_leftovers.h"

#include "agent/control/leftovers.h"
#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/target.h"
#include "nmtwatch/jvm/privileged.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A chunk that was never finished may be large. */
#define LEFTOVER_MAX_BYTES INT64_MAX

struct look {
    const struct target *target;
    bool everybodys;
};

static bool remove_one(void *context, int folder_fd, const char *name)
{
    const struct look *look = context;
    struct target owner = *look->target;
    struct stat status;
    struct as_target self;
    if (look->everybodys && fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
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

static int look_at(const struct look *look)
{
    int fd = rooted_folder(look->target->root, "/tmp", O_PATH);
    if (fd < 0)
        return 0;
    int removed = leftovers_each(fd, remove_one, (void *)look);
    close(fd);
    return removed;
}

int agent_leftovers_remove(const struct target *target)
{
    if (privileged_apart()) {
        privileged_do(PRIVILEGED_TIDY, target->pid, target->start_time_ticks, "");
        return 0; /* its number is told by nobody */
    }
    return look_at(&(struct look){.target = target});
}

int agent_leftovers_remove_here(void)
{
    if (privileged_apart()) {
        privileged_do(PRIVILEGED_TIDY, 0, 0, "");
        return 0;
    }
    struct target here = {.uid = geteuid(), .gid = getegid()};
    snprintf(here.root, sizeof here.root, "%s", target_host_root());
    return look_at(&(struct look){
        .target = &here, .everybodys = as_target_has(CAP_SETUID) && as_target_has(CAP_SETGID)});
}
