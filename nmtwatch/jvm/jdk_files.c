
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/machine/machine.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RELEASE_MAX_BYTES (1 << 20) /* those of JDKs have 1 to 2 KB */

enum mapped_vm jdk_files_mapped_vm(pid_t pid, char *path, size_t size)
{
    struct proc_maps maps;
    struct proc_map map;
    enum mapped_vm vm = VM_NONE;
    path[0] = '\0';
    if (!proc_maps_open(&maps, pid))
        return VM_UNREADABLE;
    errno = 0;
    /* OpenJ9 has a libjvm.so as well, next to libj9vm29.so: that name decides, whichever comes first. */
    while (vm != VM_OPENJ9 && proc_maps_next(&maps, "/libj", &map)) {
        bool openj9 = span_find(map.path, SPAN_LITERAL("/libj9vm")) >= 0;
        if (!openj9 && (vm == VM_HOTSPOT || !span_ends_with(map.path, SPAN_LITERAL("/libjvm.so"))))
            continue;
        if (vm == VM_NONE)
            span_copy(map.path, path, size);
        vm = openj9 ? VM_OPENJ9 : VM_HOTSPOT;
    }
    return proc_maps_close(&maps) || vm != VM_NONE ? vm : VM_UNREADABLE;
}

bool jdk_files_maps_inode(pid_t pid, ino_t inode)
{
    struct proc_maps maps;
    struct proc_map map;
    bool found = false;
    if (!proc_maps_open(&maps, pid))
        return true;
    while (!found && proc_maps_next(&maps, "", &map))
        found = (ino_t)map.inode == inode;
    proc_maps_close(&maps);
    return found;
}

/* A native image has about forty sections; a file may claim 65 535, and each look at it would read
 * them one by one. */
#define SECTIONS_MAX      512
#define SECTION_NAMES_MAX 16384

static bool read_at(int fd, void *into, size_t len, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, into, len, (off_t)at) == (ssize_t)len;
}

/* Three reads, whatever the file claims. */
static bool has_section(int fd, const char *wanted)
{
    Elf64_Ehdr header;
    static Elf64_Shdr sections[SECTIONS_MAX]; /* one thread */
    static char names[SECTION_NAMES_MAX + 1];
    if (!read_at(fd, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof *sections ||
        header.e_shnum > SECTIONS_MAX || header.e_shstrndx >= header.e_shnum ||
        !read_at(fd, sections, header.e_shnum * sizeof *sections, header.e_shoff))
        return false;
    const Elf64_Shdr *table = &sections[header.e_shstrndx];
    size_t size = table->sh_size < SECTION_NAMES_MAX ? (size_t)table->sh_size : SECTION_NAMES_MAX;
    if (!read_at(fd, names, size, table->sh_offset))
        return false;
    names[size] = '\0';
    for (int i = 0; i < header.e_shnum; i++)
        if (sections[i].sh_name < size && strcmp(names + sections[i].sh_name, wanted) == 0)
            return true;
    return false;
}

/* What was found out about an executable, until its file changes. */
#define REMEMBERED 64
static struct remembered {
    dev_t device;
    ino_t inode;
    struct timespec changed, modified;
    bool native_image;
} remembered[REMEMBERED]; /* one thread */

static int open_exe(pid_t pid, struct stat *file)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return rooted_reopen(open(path, O_PATH | O_CLOEXEC), INT64_MAX, file);
}

bool jdk_files_is_native_image(pid_t pid)
{
    struct stat file;
    int fd = open_exe(pid, &file);
    if (fd < 0)
        return false;
    struct remembered *known = &remembered[(file.st_ino ^ file.st_dev) % REMEMBERED];
    struct remembered now = {file.st_dev, file.st_ino, file.st_ctim, file.st_mtim, false};
    if (known->device != now.device || known->inode != now.inode ||
        known->changed.tv_sec != now.changed.tv_sec ||
        known->changed.tv_nsec != now.changed.tv_nsec ||
        known->modified.tv_sec != now.modified.tv_sec ||
        known->modified.tv_nsec != now.modified.tv_nsec) {
        now.native_image = has_section(fd, ".svm_heap");
        *known = now;
    }
    close(fd);
    return known->native_image;
}

static uint16_t machine_and_close(int fd)
{
    uint16_t machine = fd >= 0 ? machine_of_file(fd) : 0;
    if (fd >= 0)
        close(fd);
    return machine;
}

uint16_t jdk_files_machine(const struct target *target, const char *libjvm_path)
{
    return machine_and_close(rooted_read(target, libjvm_path, ROOTED_LINKS, INT64_MAX, NULL));
}

uint16_t jdk_files_exe_machine(pid_t pid)
{
    return machine_and_close(open_exe(pid, NULL));
}

/* libjvm.so lies in JDK/lib/server or JDK/jre/lib/amd64/server: two to four folders down. */
bool jdk_files_release(const struct target *target, const char *libjvm_path, char *version,
                       size_t size)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s", libjvm_path);
    if (len < 0 || (size_t)len >= sizeof path - sizeof "/release")
        return false;
    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return false;
        memcpy(slash, "/release", sizeof "/release");
        int fd = rooted_read(target, path, ROOTED_LINKS, RELEASE_MAX_BYTES, NULL);
        *slash = '\0';
        if (fd < 0)
            continue;
        char text[4096];
        ssize_t got = read(fd, text, sizeof text);
        close(fd);
        struct span rest = span_of(text, got > 0 ? (size_t)got : 0), line;
        while (span_take_line(&rest, &line)) {
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
