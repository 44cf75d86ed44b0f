#include "nmtwatch/profile/agent_library.h"

#include "analyzers/parse/proc_text.h"
#include "nmtwatch/jvm/rooted.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUSL "libc.musl-"

/* Beside the program in a build tree, in the neighbouring lib/nmtwatch when installed. */
static const char *const places[] = {"/" AGENT_LIBRARY, "/../lib/nmtwatch/" AGENT_LIBRARY,
                                     "/../lib/" AGENT_LIBRARY};

/* --- what the target has mapped --------------------------------------------------------------- */

typedef bool wanted_fn(struct span name);

static bool is_agent(struct span name)
{
    return span_equals(name, SPAN_LITERAL(AGENT_LIBRARY));
}

static bool is_musl(struct span name)
{
    return span_starts_with(name, SPAN_LITERAL("ld-musl-"));
}

static struct span file_name(struct span path)
{
    size_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '/')
        at--;
    return span_of(path.ptr + at, path.len - at);
}

/* path: of the first file with such a name, as the kernel shows it here. */
static enum agent_loaded find_mapped(const struct target *target, wanted_fn *wanted, char *path,
                                     size_t size)
{
    char maps_path[48];
    snprintf(maps_path, sizeof maps_path, "/proc/%d/maps", (int)target->pid);
    FILE *maps = fopen(maps_path, "re");
    if (maps == NULL)
        return AGENT_LOADED_UNKNOWN;
    enum agent_loaded loaded = AGENT_NOT_LOADED;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    while (loaded == AGENT_NOT_LOADED && (len = getline(&line, &capacity, maps)) > 0) {
        struct span text = span_of(line, (size_t)len);
        struct proc_map map;
        if (span_find(text, SPAN_LITERAL("/")) < 0 ||
            proc_map_parse(&map, span_trim(text)) != PARSE_OK)
            continue;
        if (wanted(file_name(map.path)) && map.path.len < size) {
            span_copy(map.path, path, size);
            loaded = AGENT_LOADED;
        }
    }
    if (loaded == AGENT_NOT_LOADED && ferror(maps))
        loaded = AGENT_LOADED_UNKNOWN;
    free(line);
    fclose(maps);
    return loaded;
}

enum agent_loaded agent_library_loaded(const struct target *target, char *path, size_t size)
{
    char shown[PATH_MAX];
    enum agent_loaded loaded = find_mapped(target, is_agent, shown, sizeof shown);
    if (loaded == AGENT_LOADED)
        snprintf(path, size, "%s", rooted_inner(target->root, shown));
    return loaded;
}

/* --- a file -------------------------------------------------------------------------------------
 */

/* Only libraries of this machine's kind are handed to a JVM: anything else makes HotSpot look for
 * its stack guards and warn in the application's log. */
static bool is_library_file(int fd)
{
    Elf64_Ehdr header;
    return pread(fd, &header, sizeof header, 0) == sizeof header &&
           memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN &&
           header.e_ident[EI_CLASS] == ELFCLASS64;
}

static bool is_library(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && is_library_file(fd);
    if (fd >= 0)
        close(fd);
    return good;
}

static bool resolve(const char *given, char *path, size_t size)
{
    char *absolute = realpath(given, NULL);
    struct stat status;
    bool good = absolute != NULL && strlen(absolute) < size && stat(absolute, &status) == 0 &&
                S_ISREG(status.st_mode);
    if (good && !is_library(absolute)) {
        errno = ENOEXEC;
        good = false;
    }
    if (good)
        memcpy(path, absolute, strlen(absolute) + 1);
    free(absolute);
    return good;
}

bool agent_library_find(const char *named, char *path, size_t size, char *error, size_t error_size)
{
    if (named != NULL) {
        errno = 0;
        if (resolve(named, path, size))
            return true;
        snprintf(error, error_size, "%s: %s", named,
                 errno != 0 ? strerror(errno) : "not a regular file");
        return false;
    }
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    program[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char candidate[PATH_MAX + 32];
        snprintf(candidate, sizeof candidate, "%s%s", program, places[i]);
        if (resolve(candidate, path, size))
            return true;
    }
    snprintf(error, error_size, "there is no " AGENT_LIBRARY " in %s or in lib/nmtwatch beside it",
             program);
    return false;
}

/* --- who can read it ----------------------------------------------------------------------------
 */

/* Every folder below root may be passed and the file read by anybody. */
static bool world_readable(const char *root, const char *path)
{
    char part[PATH_MAX];
    struct stat status;
    size_t top = strlen(root);
    int len = snprintf(part, sizeof part, "%s%s", root, path);
    if (len < 0 || (size_t)len >= sizeof part || stat(part, &status) != 0 ||
        (status.st_mode & S_IROTH) == 0)
        return false;
    for (char *slash; (slash = strrchr(part + top, '/')) != NULL && slash != part + top;) {
        *slash = '\0';
        if (stat(part, &status) != 0 || (status.st_mode & S_IXOTH) == 0)
            return false;
    }
    return true;
}

static int open_inside(const struct target *target, const char *path, struct stat *status)
{
    int fd = rooted_open(target->root, path, O_RDONLY | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool agent_library_inside(const struct target *target, const char *named)
{
    struct stat status;
    int fd = target->root[0] != '\0' && named[0] == '/' ? open_inside(target, named, &status) : -1;
    bool good = fd >= 0 && is_library_file(fd) &&
                (status.st_uid == target->uid || (status.st_mode & S_IROTH) != 0);
    if (fd >= 0)
        close(fd);
    return good;
}

/* The name of musl's C library is in every file that was linked against it. */
static bool built_for_musl(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_size <= 0)
        return false;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    bool found = memmem(bytes, (size_t)status.st_size, MUSL, sizeof MUSL - 1) != NULL;
    munmap(bytes, (size_t)status.st_size);
    return found;
}

bool agent_library_fits(const struct target *target, const char *path, bool inside)
{
    char libc[PATH_MAX];
    enum agent_loaded musl = find_mapped(target, is_musl, libc, sizeof libc);
    int fd = rooted_open(inside ? target->root : "", path, O_RDONLY | O_NONBLOCK);
    bool fits =
        fd < 0 || musl == AGENT_LOADED_UNKNOWN || built_for_musl(fd) == (musl == AGENT_LOADED);
    if (fd >= 0)
        close(fd);
    return fits;
}

bool agent_library_reachable(const struct target *target, const char *path)
{
    struct stat ours, theirs;
    if (target->root[0] != '\0') {
        int fd = open_inside(target, path, &theirs);
        if (fd < 0)
            return false;
        close(fd);
        if (stat(path, &ours) != 0 || ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
            return false;
    }
    return target->uid == geteuid() || world_readable(target->root, path);
}
