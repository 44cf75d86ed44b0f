#include "nmtwatch/profile/agent_library.h"

#include "analyzers/parse/proc_text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beside the program in a build tree, in the neighbouring lib when installed. */
static const char *const places[] = {"/" AGENT_LIBRARY, "/../lib/" AGENT_LIBRARY};

enum agent_loaded agent_library_loaded(const struct target *target, char *path, size_t size)
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
        if (span_find(text, SPAN_LITERAL("/" AGENT_LIBRARY)) < 0 ||
            proc_map_parse(&map, span_trim(text)) != PARSE_OK)
            continue;
        if (span_ends_with(map.path, SPAN_LITERAL(" (deleted)")))
            map.path.len -= strlen(" (deleted)");
        if (span_ends_with(map.path, SPAN_LITERAL("/" AGENT_LIBRARY)) && map.path.len < size) {
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

/* Only libraries of this machine's kind are handed to a JVM: anything else makes HotSpot look for
 * its stack guards and warn in the application's log. */
static bool is_library(const char *path)
{
    Elf64_Ehdr header;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && read(fd, &header, sizeof header) == sizeof header &&
                memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN &&
                header.e_ident[EI_CLASS] == ELFCLASS64;
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
    snprintf(error, error_size, "there is no " AGENT_LIBRARY " in %s or beside it in lib", program);
    return false;
}

/* Every folder may be passed and the file read by anybody. */
static bool world_readable(const char *path)
{
    char part[PATH_MAX];
    struct stat status;
    size_t len = strlen(path);
    if (len >= sizeof part || stat(path, &status) != 0 || (status.st_mode & S_IROTH) == 0)
        return false;
    memcpy(part, path, len + 1);
    for (char *slash; (slash = strrchr(part, '/')) != NULL && slash != part;) {
        *slash = '\0';
        if (stat(part, &status) != 0 || (status.st_mode & S_IXOTH) == 0)
            return false;
    }
    return true;
}

bool agent_library_reachable(const struct target *target, const char *path)
{
    return target->root[0] == '\0' && (target->uid == geteuid() || world_readable(path));
}
