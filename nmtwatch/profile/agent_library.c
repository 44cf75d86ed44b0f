#include "nmtwatch/profile/agent_call.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/jvm/agent_files.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/machine/machine.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUSL              "libc.musl-"
#define LIBRARY_MAX_BYTES (64 << 20) /* ours has one or two; larger ones are refused unread */

/* Beside the program in a build tree, in the neighbouring lib/nmtwatch when installed. */
static const char *const places[] = {"/" AGENT_LIBRARY, "/../lib/nmtwatch/" AGENT_LIBRARY,
                                     "/../lib/" AGENT_LIBRARY};

/* --- what the target has mapped --------------------------------------------------------------- */

typedef bool wanted_fn(const struct proc_map *map, struct span name, const void *what);

static bool is_agent(const struct proc_map *map, struct span name, const void *what)
{
    (void)map, (void)what;
    return span_equals(name, SPAN_LITERAL(AGENT_LIBRARY));
}

/* Whatever it is called: what answers begins at this address. */
static bool is_at(const struct proc_map *map, struct span name, const void *what)
{
    const uint64_t *address = what;
    return name.len > 0 && map->start_address == *address;
}

static bool is_path(const struct proc_map *map, struct span name, const void *what)
{
    (void)name;
    return map->executable && span_equals(map->path, span_of(what, strlen(what)));
}

static bool is_musl(const struct proc_map *map, struct span name, const void *what)
{
    (void)map, (void)what;
    return span_starts_with(name, SPAN_LITERAL("ld-musl-"));
}

/* path: of the first file with such a name, as the kernel shows it here. */
static enum agent_loaded find_mapped(const struct target *target, wanted_fn *wanted,
                                     const void *what, char *path, size_t size)
{
    struct proc_maps maps;
    struct proc_map map;
    enum agent_loaded loaded = AGENT_NOT_LOADED;
    if (!proc_maps_open(&maps, target->pid))
        return AGENT_LOADED_UNKNOWN;
    while (loaded == AGENT_NOT_LOADED && proc_maps_next(&maps, "/", &map)) {
        if (wanted(&map, proc_map_file_name(&map), what) && map.path.len < size) {
            span_copy(map.path, path, size);
            loaded = AGENT_LOADED;
        }
    }
    return proc_maps_close(&maps) || loaded == AGENT_LOADED ? loaded : AGENT_LOADED_UNKNOWN;
}

enum agent_loaded agent_library_loaded(const struct target *target, const char *named, char *path,
                                       size_t size)
{
    char shown[PATH_MAX];
    uint64_t at = agent_figures_library(target);
    enum agent_loaded loaded = AGENT_NOT_LOADED;
    if (named != NULL)
        loaded = find_mapped(target, is_path, named, shown, sizeof shown);
    if (loaded != AGENT_LOADED && at != 0)
        loaded = find_mapped(target, is_at, &at, shown, sizeof shown);
    if (loaded != AGENT_LOADED)
        loaded = find_mapped(target, is_agent, NULL, shown, sizeof shown);
    if (loaded == AGENT_LOADED)
        snprintf(path, size, "%s", rooted_inner(target->root, shown));
    return loaded;
}

/* --- a file ----------------------------------------------------------------------------------- */

/* Only libraries are handed to a JVM: anything else makes HotSpot look for its stack guards and warn in the
 * application's log. */
static bool is_library_file(int fd)
{
    Elf64_Half type; /* a byte is 3, whatever the order of bytes */
    return machine_of_file(fd) != 0 &&
           pread(fd, &type, sizeof type, offsetof(Elf64_Ehdr, e_type)) == sizeof type &&
           (type == ET_DYN || type == ET_DYN << 8);
}

int agent_library_read(const char *path)
{
    return rooted_reopen(open(path, O_PATH | O_CLOEXEC), LIBRARY_MAX_BYTES, NULL);
}

static bool resolve(const char *given, char *path, size_t size)
{
    char *absolute = realpath(given, NULL);
    int fd = absolute != NULL && strlen(absolute) < size ? agent_library_read(absolute) : -1;
    bool good = fd >= 0 && is_library_file(fd);
    int error = fd < 0 && errno == EPERM ? 0 : fd >= 0 ? ENOEXEC : errno;
    if (good)
        memcpy(path, absolute, strlen(absolute) + 1);
    if (fd >= 0)
        close(fd);
    free(absolute);
    errno = error;
    return good;
}

/* Who can change what is at this place: only root and the caller? sticky: others may make files in
 * it, but not exchange those of another user. */
static bool is_trusted(const char *path, bool sticky_is_good, char *why, size_t size)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return text_error(why, size, "%s: %s", path, strerror(errno));
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return text_error(why, size, "%s belongs to uid %u", path, (unsigned)status.st_uid);
    bool sticky = sticky_is_good && S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky)
        return text_error(why, size, "%s may be written by %s", path,
                          (status.st_mode & S_IWOTH) != 0 ? "everybody" : "its group");
    return true;
}

/* The file, its folder and those above. path has no links in it. */
static bool whole_path_is_trusted(const char *path, char *why, size_t size)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    bool good = is_trusted(part, false, why, size);
    for (int up = 0; good && strcmp(part, "/") != 0; up++) {
        char *slash = strrchr(part, '/');
        slash[slash == part] = '\0';
        good = is_trusted(part, up > 0, why, size);
    }
    return good;
}

bool agent_library_find(const char *named, char *path, size_t size, char *error, size_t error_size)
{
    if (named != NULL) {
        errno = 0;
        if (resolve(named, path, size))
            return true;
        return text_error(error, error_size, "%s: %s", named,
                          errno != 0 ? strerror(errno) : "not a regular file");
    }
    char program[PATH_MAX], why[PATH_MAX + 64] = "";
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    program[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char candidate[PATH_MAX + 32];
        snprintf(candidate, sizeof candidate, "%s%s", program, places[i]);
        if (resolve(candidate, path, size) && whole_path_is_trusted(path, why, sizeof why))
            return true;
    }
    if (why[0] != '\0')
        return text_error(error, error_size,
                          "the " AGENT_LIBRARY
                          " beside the program is not loaded, others can change it: "
                          "%s; name the one you trust with --agent",
                          why);
    return text_error(error, error_size,
                      "there is no " AGENT_LIBRARY " in %s or in lib/nmtwatch beside it", program);
}

/* --- who can read it -------------------------------------------------------------------------- */

bool agent_library_inside(const struct target *target, const char *named)
{
    errno = ENOENT;
    if (target->root[0] == '\0' || named[0] != '/')
        return false;
    int fd = rooted_read(target, named, ROOTED_LINKS, LIBRARY_MAX_BYTES, NULL);
    if (fd < 0)
        return false;
    bool good = is_library_file(fd);
    close(fd);
    errno = ENOEXEC;
    return good;
}

/* The name of musl's C library is in every file that was linked against it. Read in pieces that
 * overlap, and not mapped: it may be a file of the target's, which can shrink in the meantime. */
static bool built_for_musl(int fd)
{
    char bytes[65536 + sizeof MUSL];
    size_t kept = 0;
    for (off_t at = 0; at < LIBRARY_MAX_BYTES;) {
        ssize_t got = pread(fd, bytes + kept, sizeof bytes - kept, at);
        if (got <= 0)
            return false;
        size_t length = kept + (size_t)got;
        if (memmem(bytes, length, MUSL, sizeof MUSL - 1) != NULL)
            return true;
        at += got;
        kept = length < sizeof MUSL - 2 ? length : sizeof MUSL - 2;
        memmove(bytes, bytes + length - kept, kept);
    }
    return false;
}

enum failure_kind agent_library_obstacle(const struct target *target, const char *path, bool inside,
                                         char *detail, size_t size)
{
    char libc[PATH_MAX], room[24];
    enum failure_kind kind = FAILURE_NONE;
    enum agent_loaded musl = find_mapped(target, is_musl, NULL, libc, sizeof libc);
    int fd = inside ? rooted_read(target, path, ROOTED_LINKS, LIBRARY_MAX_BYTES, NULL)
                    : agent_library_read(path);
    if (fd < 0)
        return kind;
    uint16_t machine = machine_of_file(fd);
    detail[0] = '\0';
    if (target->machine != 0 && machine != target->machine) {
        snprintf(detail, size, "the JVM is %s; the agent is %s: %s", target_machine(target).text,
                 machine_name(machine, room), path);
        kind = FAILURE_OTHER_MACHINE;
    } else if (musl != AGENT_LOADED_UNKNOWN && built_for_musl(fd) != (musl == AGENT_LOADED)) {
        kind = FAILURE_AGENT_LIBC;
    }
    close(fd);
    return kind;
}

bool agent_library_reachable(const struct target *target, const char *path)
{
    struct stat ours, theirs;
    int fd = rooted_read(target, path, ROOTED_LINKS, LIBRARY_MAX_BYTES, &theirs);
    if (fd < 0)
        return false;
    close(fd);
    return stat(path, &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}
