#include "nmtwatch/profile/exchange.h"

#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/profile/agent_library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

/* What may be left when the session ends: the library, the agent's recording, the chunk it is
 * writing and what the file was before. Nothing else is ever removed; a folder with more in it
 * stays, the target's as it is. */
static const char *const leftovers[] = {AGENT_LIBRARY, EXCHANGE_RECORDING,
                                        EXCHANGE_RECORDING ".chunk", EXCHANGE_RECORDING ".1"};

static bool begin(struct as_target *self, const struct exchange *exchange)
{
    return as_target_begin(self, exchange->target.uid, exchange->target.gid);
}

static void close_both(struct exchange *exchange)
{
    int error = errno;
    if (exchange->folder_fd >= 0)
        close(exchange->folder_fd);
    if (exchange->tmp_fd >= 0)
        close(exchange->tmp_fd);
    exchange->folder_fd = exchange->tmp_fd = -1;
    errno = error;
}

/* After a name was made another one may stand there: a mount, a link. Then it is left alone. */
static bool make_folder(struct exchange *exchange)
{
    struct as_target self;
    if (!begin(&self, exchange))
        return false;
    if (mkdirat(exchange->tmp_fd, exchange->name, 0700) == 0)
        exchange->folder_fd = rooted_new_folder(exchange->tmp_fd, exchange->name);
    as_target_end(&self);
    struct stat status;
    if (exchange->folder_fd < 0)
        return false;
    if (fstat(exchange->folder_fd, &status) == 0 && status.st_uid == exchange->target.uid)
        return true;
    errno = EXDEV;
    return false;
}

bool exchange_open(struct exchange *exchange, const struct target *target)
{
    uint64_t random;
    *exchange = (struct exchange){.tmp_fd = -1, .folder_fd = -1, .target = *target};
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(exchange->name, sizeof exchange->name, "nmtwatch-%016llx", (unsigned long long)random);
    /* The dynamic linker knows the agent again by its name, and the kernel's has no links in it. */
    snprintf(exchange->theirs, sizeof exchange->theirs, "%s/%s", rooted_below(target, target->tmp),
             exchange->name);
    exchange->tmp_fd = rooted_folder(target->root, "/tmp", O_PATH);
    if (exchange->tmp_fd >= 0 && make_folder(exchange))
        return true;
    close_both(exchange);
    return false;
}

int exchange_file(const struct exchange *exchange, const char *name, mode_t mode)
{
    struct as_target self;
    if (!begin(&self, exchange))
        return -1;
    int fd =
        openat(exchange->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && fchmod(fd, mode) != 0) {
        int error = errno;
        close(fd);
        unlinkat(exchange->folder_fd, name, 0);
        errno = error;
        fd = -1;
    }
    as_target_end(&self);
    return fd;
}

int exchange_read(const struct exchange *exchange, const char *name)
{
    return rooted_read_at(&exchange->target, exchange->folder_fd, name, ROOTED_OWN | ROOTED_SINGLE,
                          INT64_MAX, NULL);
}

bool exchange_remove(const struct exchange *exchange, const char *name)
{
    struct as_target self;
    if (!begin(&self, exchange))
        return false;
    bool good = unlinkat(exchange->folder_fd, name, 0) == 0;
    as_target_end(&self);
    return good;
}

void exchange_close(struct exchange *exchange)
{
    struct as_target self;
    if (exchange->folder_fd >= 0 && begin(&self, exchange)) {
        for (size_t i = 0; i < sizeof leftovers / sizeof leftovers[0]; i++)
            unlinkat(exchange->folder_fd, leftovers[i], 0);
        unlinkat(exchange->tmp_fd, exchange->name, AT_REMOVEDIR);
        as_target_end(&self);
    }
    close_both(exchange);
}
