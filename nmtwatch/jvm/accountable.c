#include "nmtwatch/jvm/accountable.h"

#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/jvm/target.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMESPACES_MAX 32 /* the kernel's own limit */
#define SUBUID_MAX     ((size_t)16 << 20)
#define KNOWN_MAX      256

static struct {
    struct stat of; /* the file that text is of */
    char *text;
    size_t length;
    struct {
        uid_t first, owner; /* of a range that was asked for */
    } known[KNOWN_MAX];
    int known_count;
} subordinate;

bool subordinate_range(struct span text, uid_t uid, struct span *owner, uid_t *first)
{
    struct span line;
    while (span_take_line(&text, &line)) {
        int64_t from, count;
        ptrdiff_t colon = span_find(line, SPAN_LITERAL(":"));
        if (colon <= 0)
            continue;
        struct span rest = span_of(line.ptr + colon + 1, line.len - (size_t)colon - 1);
        if (!span_take_i64(&rest, &from) || !span_take(&rest, SPAN_LITERAL(":")) ||
            !span_take_i64(&rest, &count) || from <= 0 || from > UINT32_MAX || count <= 0 ||
            uid < from || uid - from >= count)
            continue;
        *owner = span_of(line.ptr, (size_t)colon);
        *first = (uid_t)from;
        return true;
    }
    return false;
}

static FILE *open_of_host(const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "%s/etc/%s", target_host_root(), name);
    return fopen(path, "re");
}

static void read_subordinate(void)
{
    struct stat now;
    FILE *file = open_of_host("subuid");
    if (file == NULL || fstat(fileno(file), &now) != 0)
        memset(&now, 0, sizeof now);
    if (now.st_ino != subordinate.of.st_ino || now.st_dev != subordinate.of.st_dev ||
        now.st_size != subordinate.of.st_size ||
        memcmp(&now.st_mtim, &subordinate.of.st_mtim, sizeof now.st_mtim) != 0) {
        size_t room = now.st_size < (off_t)SUBUID_MAX ? (size_t)now.st_size : SUBUID_MAX;
        free(subordinate.text);
        subordinate.text = malloc(room + 1);
        subordinate.length =
            file != NULL && subordinate.text != NULL ? fread(subordinate.text, 1, room, file) : 0;
        subordinate.known_count = 0;
        subordinate.of = now;
    }
    if (file != NULL)
        fclose(file);
}

/* A number stands for itself. What has no user stands for a user of its own: the range's first id. */
static uid_t owner_named(struct span name, uid_t first)
{
    int64_t number;
    struct span rest = name;
    if (span_take_i64(&rest, &number) && rest.len == 0 && number >= 0 && number < UINT32_MAX)
        return (uid_t)number;
    FILE *file = open_of_host("passwd");
    uid_t owner = first;
    for (struct passwd *entry; file != NULL && (entry = fgetpwent(file)) != NULL;) {
        if (span_equals(name, span_from_cstr(entry->pw_name))) {
            owner = entry->pw_uid;
            break;
        }
    }
    if (file != NULL)
        fclose(file);
    return owner;
}

/* The owner of the range that an id is in; else the id. */
static uid_t owner_of_range(uid_t uid)
{
    struct span name;
    uid_t first, owner;
    read_subordinate();
    if (subordinate.length == 0 ||
        !subordinate_range(span_of(subordinate.text, subordinate.length), uid, &name, &first))
        return uid;
    for (int i = 0; i < subordinate.known_count; i++)
        if (subordinate.known[i].first == first)
            return subordinate.known[i].owner != 0 ? subordinate.known[i].owner : uid;
    owner = owner_named(name, first);
    if (subordinate.known_count < KNOWN_MAX) {
        subordinate.known[subordinate.known_count].first = first;
        subordinate.known[subordinate.known_count++].owner = owner;
    }
    return owner != 0 ? owner : uid;
}

static bool is_own_namespace(int fd)
{
    struct stat one, own;
    return fstat(fd, &one) != 0 || stat("/proc/self/ns/user", &own) != 0 ||
           (one.st_ino == own.st_ino && one.st_dev == own.st_dev);
}

/* The user who made the outermost namespace that is below ours; `uid` where there is none, or root made it. */
static uid_t owner_of_namespace(pid_t pid, uid_t uid)
{
    char path[48];
    uid_t owner = 0;
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < NAMESPACES_MAX && !is_own_namespace(fd); i++) {
        if (ioctl(fd, NS_GET_OWNER_UID, &owner) != 0)
            owner = 0;
        int parent = ioctl(fd, NS_GET_PARENT);
        close(fd);
        fd = parent;
    }
    if (fd >= 0)
        close(fd);
    return owner != 0 ? owner : uid;
}

uid_t accountable_uid(pid_t pid, uid_t uid)
{
    if (uid == 0)
        return uid;
    uid_t owner = owner_of_range(uid);
    if (owner == uid && !privileged_apart()) /* the helper sees namespaces, and it has been asked */
        owner = owner_of_range(owner_of_namespace(pid, uid));
    return owner;
}
