#include "agent/control/published.h"

#include "floor/wire/leftovers.h"
#include "floor/wire/wire_formats.h"
#include "agent/mem/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int file = -1;
static char path[sizeof PUBLISHED_PATH + 16];
static struct published last;

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

static uint64_t library_at(void)
{
    Dl_info own;
    return dladdr(&last, &own) != 0 ? (uint64_t)(uintptr_t)own.dli_fbase : 0;
}

/* A process of the same number that lives, in another container on the same /tmp. */
static bool is_another_ones(void)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return locked;
}

/* Locked before there is anything in it: see leftovers.h. Where it cannot be locked it is left
 * behind when the JVM is killed. */
static void create(void)
{
    if (is_another_ones())
        return;
    /* A JVM that was killed may have left one. One that may not be removed stays. */
    unlink(path);
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0)
        (void)!flock(file, LOCK_EX | LOCK_NB);
}

void published_begin(void)
{
    int64_t ticks = start_time_ticks();
    if (file >= 0 || ticks < 0)
        return;
    leftovers_remove_own("/tmp");
    snprintf(path, sizeof path, PUBLISHED_PATH, (int)getpid());
    create();
    last = (struct published){
        .start_time_ticks = ticks, .library_at = library_at(), .methods.methods = -1};
    memcpy(last.magic, PUBLISHED_MAGIC, sizeof last.magic);
    published_figures(NULL);
}

/* A cleaner of /tmp has removed it. */
static bool is_gone(void)
{
    struct stat status;
    return fstat(file, &status) == 0 && status.st_nlink == 0;
}

static void publish(struct published *now)
{
    if (is_gone()) {
        close(file);
        create();
        last.checksum = 0; /* to be written whole */
    }
    if (file < 0)
        return;
    now->checksum = published_checksum(now);
    if (memcmp(now, &last, sizeof *now) != 0 && lseek(file, 0, SEEK_SET) == 0 &&
        write(file, now, sizeof *now) == (ssize_t)sizeof *now) /* as chunk_file.c does */
        last = *now;
}

void published_figures(const struct jmethod_ids *ids)
{
    struct mem_snapshot snapshot;
    struct jmethod_ids_bill bill;
    if (file < 0)
        return;
    struct published now = last;
    mem_snapshot(&snapshot);
    now.reserved_bytes = snapshot.total.reserved_bytes;
    now.resident_bytes = snapshot.total.resident_bytes;
    if (ids != NULL) {
        jmethod_ids_bill(ids, &bill);
        now.jmethod_id_bytes = bill.present_bytes;
    }
    publish(&now);
}

_Static_assert(CLASS_FAMILY_MAX == sizeof(((struct published_family *)0)->name),
               "a name finds room");

void published_methods(const struct loaded_methods *methods)
{
    if (file < 0)
        return;
    struct published now = last;
    now.methods = (struct published_methods){.methods = -1};
    if (methods != NULL) {
        now.methods = (struct published_methods){.methods = methods->methods,
                                                 .classes = methods->classes,
                                                 .loaders = methods->loaders,
                                                 .own_classes = methods->own_classes,
                                                 .own_methods = methods->own_methods};
        for (size_t i = 0; i < methods->family_count && i < PUBLISHED_FAMILIES; i++) {
            const struct loaded_family *from = &methods->families->family[i];
            struct published_family *family = &now.methods.family[now.methods.family_count++];
            snprintf(family->name, sizeof family->name, "%s", from->name);
            family->classes = from->classes;
            family->methods = from->methods;
        }
    }
    publish(&now);
}

void published_breaker(enum breaker_state state, const char *reason)
{
    if (file < 0)
        return;
    struct published now = last;
    now.breaker_state = (int64_t)state;
    memset(now.breaker_reason, 0, sizeof now.breaker_reason);
    snprintf(now.breaker_reason, sizeof now.breaker_reason, "%s", reason);
    publish(&now);
}

void published_end(void)
{
    struct stat status;
    if (file < 0)
        return;
    /* Somebody else's by now: a process of the same number in another container, on the same
     * /tmp. */
    if (fstat(file, &status) == 0 && status.st_nlink > 0)
        unlink(path);
    close(file);
    file = -1;
}
