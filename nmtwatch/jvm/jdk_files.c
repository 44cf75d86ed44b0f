#include "nmtwatch/jvm/jdk_files.h"

#include "analyzers/parse/proc_text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum mapped_vm jdk_files_mapped_vm(pid_t pid, char *path, size_t size)
{
    char maps_path[48];
    snprintf(maps_path, sizeof maps_path, "/proc/%d/maps", (int)pid);
    path[0] = '\0';
    FILE *maps = fopen(maps_path, "re");
    if (maps == NULL)
        return VM_UNREADABLE;

    enum mapped_vm vm = VM_NONE;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    errno = 0;
    while (vm == VM_NONE && (len = getline(&line, &capacity, maps)) > 0) {
        struct span text = span_of(line, (size_t)len);
        struct proc_map map;
        if (span_find(text, SPAN_LITERAL("/libj")) < 0 ||
            proc_map_parse(&map, span_trim(text)) != PARSE_OK)
            continue;
        if (span_ends_with(map.path, SPAN_LITERAL("/libjvm.so")))
            vm = VM_HOTSPOT;
        else if (span_find(map.path, SPAN_LITERAL("/libj9vm")) >= 0)
            vm = VM_OPENJ9;
        else
            continue;
        span_copy(map.path, path, size);
    }
    /* OpenJ9 has a libjvm.so as well, next to libj9vm29.so: the second name decides. */
    while (vm == VM_HOTSPOT && (len = getline(&line, &capacity, maps)) > 0)
        if (span_find(span_of(line, (size_t)len), SPAN_LITERAL("/libj9vm")) >= 0)
            vm = VM_OPENJ9;
    if (vm == VM_NONE && ferror(maps))
        vm = VM_UNREADABLE;
    free(line);
    int error = errno;
    fclose(maps);
    errno = error;
    return vm;
}

/* "7f00-7f08 rw-s 00000000 08:01 1234  /tmp/hsperfdata_app/1": the fifth word. */
bool jdk_files_maps_inode(pid_t pid, ino_t inode)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return true;
    bool found = false;
    char *line = NULL;
    size_t capacity = 0;
    unsigned long long number;
    while (!found && getline(&line, &capacity, maps) > 0)
        found = sscanf(line, "%*s %*s %*s %*s %llu", &number) == 1 && number == inode;
    free(line);
    fclose(maps);
    return found;
}

static bool read_at(int fd, void *into, size_t len, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, into, len, (off_t)at) == (ssize_t)len;
}

static bool has_section(int fd, struct span wanted)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    if (!read_at(fd, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof section ||
        header.e_shoff > INT64_MAX / 2 ||
        !read_at(fd, &names, sizeof names,
                 header.e_shoff + (uint64_t)header.e_shstrndx * sizeof names) ||
        names.sh_offset > INT64_MAX / 2)
        return false;
    for (int i = 0; i < header.e_shnum; i++) {
        char name[32] = "";
        if (!read_at(fd, &section, sizeof section, header.e_shoff + (uint64_t)i * sizeof section))
            return false;
        ssize_t len = pread(fd, name, sizeof name - 1, (off_t)(names.sh_offset + section.sh_name));
        if (len > 0 && span_equals(span_from_cstr(name), wanted))
            return true;
    }
    return false;
}

bool jdk_files_is_native_image(pid_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool found = has_section(fd, SPAN_LITERAL(".svm_heap"));
    close(fd);
    return found;
}

/* libjvm.so lies in JDK/lib/server or JDK/jre/lib/amd64/server: two to four folders down. */
bool jdk_files_release(const char *root, const char *libjvm_path, char *version, size_t size)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s%s", root, libjvm_path);
    if (len < 0 || (size_t)len >= sizeof path - sizeof "/release")
        return false;
    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL || slash == path)
            return false;
        memcpy(slash, "/release", sizeof "/release");
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        *slash = '\0';
        if (fd < 0)
            continue;
        char text[4096];
        ssize_t got = read(fd, text, sizeof text);
        close(fd);
        struct span rest = span_of(text, got > 0 ? (size_t)got : 0), line;
        bool terminated;
        while (span_next_line(&rest, &line, &terminated)) {
            ptrdiff_t end;
            if (!span_take(&line, SPAN_LITERAL("JAVA_VERSION=\"")) ||
                (end = span_find(line, SPAN_LITERAL("\""))) < 0)
                continue;
            span_copy(span_of(line.ptr, (size_t)end), version, size);
            return true;
        }
    }
    return false;
}
