#include "nmtwatch/observe/remote.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/observe/elf_file.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "nmtwatch/machine/machine.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/process/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECE_BYTES    ((uintptr_t)4096) /* no page is smaller, and each is a number of them */
#define PIECES         2048              /* 8 MB */
#define LIBRARIES_MAX  1024
#define LIBRARY_MAX    (INT64_C(1) << 31) /* bytes of a file */
#define MAPS_AGAIN_MS  1000
/* A JVM with 50 000 classes takes 0.2 s. On a busy machine the process waits: so its CPU time is what ends a reading,
 * and the other clock one of memory that comes slowly. */
#define READING_CPU_MS 10000
#define READING_MS     30000
#define LOADS_A_LOOK   65536 /* between two looks at the clocks: 2 ms where the pages are there */
#define PAGE_LOADS     64    /* as long as reading a page takes */
#define DYNAMIC_MAX    256
#define HASH_CHAIN_MAX 4096

static struct {
    const struct target *target;
    int memory; /* /proc/PID/mem: of that program only, also after exec; 0: not open */
    /* Pieces of pages, by the address modulo PIECES. */
    uint8_t *bytes;
    struct {
        uintptr_t address; /* of the page */
        uint64_t generation;
        bool there;
    } page[PIECES];
    uint64_t generation;
    uintptr_t stack_low, stack_end, hole_end;
    const uint8_t *stack;
    bool exceeded;
    struct remote_library *library[LIBRARIES_MAX];
    size_t libraries;
    struct {
        uintptr_t low, high;
    } * anonymous; /* writable mappings without a file, ascending: where stacks are */
    size_t anonymous_count, anonymous_room;
    int64_t maps_read_ms;
    int64_t end_ms, end_cpu_ms; /* of the reading, and of this process's CPU time */
    int loads_left;             /* until the clocks are asked */
    bool spent;
    int pagemap; /* of /proc; -1: not open */
} remote;

/* --- memory ----------------------------------------------------------------------------------- */

void remote_forget(void)
{
    remote.generation++;
}

void remote_reading(int64_t more_ms)
{
    remote.end_ms = clock_ms(CLOCK_MONOTONIC) + READING_MS + more_ms;
    remote.end_cpu_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID) + READING_CPU_MS + more_ms;
    remote.loads_left = LOADS_A_LOOK;
    remote.spent = false;
}

bool remote_spent(char *error, size_t error_size)
{
    if (remote.spent)
        snprintf(error, error_size, "the tables of this JVM do not end");
    return remote.spent;
}

/* False: the reading has taken its time. */
static bool may_load(int loads)
{
    remote.loads_left -= loads;
    if (remote.loads_left < 0 && !remote.spent) {
        remote.loads_left = LOADS_A_LOOK;
        remote.spent = clock_ms(CLOCK_MONOTONIC) > remote.end_ms ||
                       clock_ms(CLOCK_PROCESS_CPUTIME_ID) > remote.end_cpu_ms;
    }
    return !remote.spent;
}

static bool read_now(uintptr_t address, void *out, size_t size)
{
    struct iovec into = {out, size}, from = {(void *)address, size};
    return process_vm_readv(remote.target->pid, &into, 1, &from, 1, 0) == (ssize_t)size;
}

/* NULL: it cannot be read. */
static const uint8_t *page_at(uintptr_t address)
{
    uintptr_t page = address & ~(PIECE_BYTES - 1);
    size_t slot = (page / PIECE_BYTES) % PIECES;
    uint8_t *bytes = remote.bytes + slot * PIECE_BYTES;
    if (remote.page[slot].address != page || remote.page[slot].generation != remote.generation) {
        if (!may_load(PAGE_LOADS))
            return NULL;
        remote.page[slot].address = page;
        remote.page[slot].generation = remote.generation;
        remote.page[slot].there = read_now(page, bytes, PIECE_BYTES);
    }
    return remote.page[slot].there ? bytes : NULL;
}

static bool in_copy(uintptr_t address, size_t size)
{
    return address >= remote.stack_low && address < remote.stack_end &&
           size <= remote.stack_end - address;
}

bool load_bytes(uintptr_t address, void *out, size_t size)
{
    uint8_t *to = out;
    size_t at = 0;
    if (in_copy(address, size)) {
        memcpy(out, remote.stack + (address - remote.stack_low), size);
        return true;
    }
    if (address < remote.hole_end && address + size > remote.stack_low) {
        remote.exceeded = true;
        memset(out, 0, size);
        return false;
    }
    while (at < size) {
        const uint8_t *page = may_load(1) ? page_at(address + at) : NULL;
        size_t skip = (address + at) % PIECE_BYTES, piece = PIECE_BYTES - skip;
        if (page == NULL) {
            memset(to + at, 0, size - at);
            return false;
        }
        piece = piece < size - at ? piece : size - at;
        memcpy(to + at, page + skip, piece);
        at += piece;
    }
    return true;
}

LOAD_BY_BYTES(uint64_t, load_u64)
LOAD_BY_BYTES(uint32_t, load_u32)
LOAD_BY_BYTES(uint16_t, load_u16)
LOAD_BY_BYTES(uint8_t, load_u8)

/* A word for each page: bit 63 is set where it is resident, bit 62 where it is swapped. */
bool remote_present(uintptr_t low, size_t count, bool *present)
{
    uint64_t entry[512];
    char path[48];
    if (remote.pagemap < 0) {
        snprintf(path, sizeof path, "/proc/%d/pagemap", (int)remote.target->pid);
        remote.pagemap = open(path, O_RDONLY | O_CLOEXEC);
    }
    for (size_t at = 0; at < count;) {
        size_t piece = count - at < 512 ? count - at : 512;
        ssize_t bytes = (ssize_t)(piece * sizeof *entry);
        off_t offset = (off_t)((low / machine_page_bytes() + at) * sizeof *entry);
        if (remote.pagemap < 0 || pread(remote.pagemap, entry, (size_t)bytes, offset) != bytes)
            return false;
        for (size_t i = 0; i < piece; i++)
            present[at + i] = (entry[i] >> 62) != 0;
        at += piece;
    }
    return true;
}

/* --- mappings --------------------------------------------------------------------------------- */

static struct remote_library *library_by_inode(uint64_t inode, uintptr_t low)
{
    for (size_t i = 0; i < remote.libraries; i++)
        if (remote.library[i]->inode == inode && remote.library[i]->low == low)
            return remote.library[i];
    return NULL;
}

static bool is_jvm_path(const char *path)
{
    static const char NAME[] = "/libjvm.so";
    size_t length = strlen(path);
    return length >= sizeof NAME - 1 && strcmp(path + length - (sizeof NAME - 1), NAME) == 0;
}

/* False: it is no ELF file. */
static bool read_headers(struct remote_library *library)
{
    Elf64_Ehdr head;
    const Elf64_Phdr *program = library->program;
    if (!load_bytes(library->low, &head, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof *program || head.e_phnum > REMOTE_PROGRAMS_MAX ||
        !load_bytes(library->low + head.e_phoff, library->program, head.e_phnum * sizeof *program))
        return false;
    library->programs = head.e_phnum;
    for (int i = 0; i < library->programs; i++) {
        if (program[i].p_type == PT_LOAD) {
            library->bias = library->low - machine_page_of(program[i].p_vaddr);
            return true;
        }
    }
    return false;
}

static void add_library(uintptr_t low, uintptr_t high, uint64_t inode, const char *path)
{
    if (remote.libraries == LIBRARIES_MAX || library_by_inode(inode, low) != NULL)
        return;
    struct remote_library *library = calloc(1, sizeof *library);
    if (library == NULL)
        return;
    *library = (struct remote_library){.low = low,
                                       .high = high,
                                       .inode = inode,
                                       .is_jvm = is_jvm_path(path),
                                       .path = strdup(path)};
    if (library->path == NULL || !read_headers(library)) {
        free(library->path);
        free(library);
        return;
    }
    remote.library[remote.libraries++] = library;
}

static void add_anonymous(uintptr_t low, uintptr_t high)
{
    if (!array_room(&remote.anonymous, &remote.anonymous_room, remote.anonymous_count + 1,
                    sizeof *remote.anonymous))
        return;
    remote.anonymous[remote.anonymous_count].low = low;
    remote.anonymous[remote.anonymous_count++].high = high;
}

/* Mappings of one file that follow each other are one library. */
static bool read_maps(void)
{
    struct proc_maps maps;
    struct proc_map map;
    if (!proc_maps_open(&maps, remote.target->pid))
        return false;
    remote.anonymous_count = 0;
    uintptr_t first = 0, last = 0;
    int64_t inode = 0; /* of the library that is being read */
    char *path = NULL;
    bool code = false;
    for (bool more = true; more;) {
        more = proc_maps_next(&maps, "", &map);
        if (!more || map.inode != inode || inode == 0) {
            if (inode != 0 && code && path != NULL)
                add_library(first, last, (uint64_t)inode, path);
            free(path);
            path = NULL;
            inode = more ? map.inode : 0;
            first = more ? map.start_address : 0;
            code = false;
        }
        if (!more)
            break;
        last = map.end_address;
        code = code || map.executable;
        if (inode != 0 && path == NULL)
            path = strndup(map.path.ptr, map.path.len);
        else if (inode == 0 && map.writable)
            add_anonymous(map.start_address, map.end_address);
    }
    proc_maps_close(&maps);
    remote.maps_read_ms = clock_ms(CLOCK_MONOTONIC);
    return true;
}

static struct remote_library *find_library(uintptr_t pc)
{
    for (size_t i = 0; i < remote.libraries; i++)
        if (pc >= remote.library[i]->low && pc < remote.library[i]->high)
            return remote.library[i];
    return NULL;
}

static bool maps_are_old(void)
{
    return clock_ms(CLOCK_MONOTONIC) - remote.maps_read_ms >= MAPS_AGAIN_MS;
}

struct remote_library *remote_library_of(uintptr_t pc)
{
    struct remote_library *library = find_library(pc);
    if (library == NULL && maps_are_old() && read_maps())
        library = find_library(pc);
    return library;
}

struct remote_library *remote_library_named(const char *begin)
{
    for (size_t i = 0; i < remote.libraries; i++) {
        const char *slash = strrchr(remote.library[i]->path, '/');
        if (slash != NULL && strncmp(slash + 1, begin, strlen(begin)) == 0)
            return remote.library[i];
    }
    return NULL;
}

struct remote_library *remote_jvm(void)
{
    for (size_t i = 0; i < remote.libraries; i++)
        if (remote.library[i]->is_jvm)
            return remote.library[i];
    return NULL;
}

/* The end of the mapping that an address is in; the address itself when it is in none. */
static uintptr_t mapping_end(uintptr_t address)
{
    size_t low =
        entries_up_to(remote.anonymous, remote.anonymous_count, sizeof *remote.anonymous, address);
    return low > 0 && address < remote.anonymous[low - 1].high ? remote.anonymous[low - 1].high
                                                               : address;
}

void remote_stack(uintptr_t low, const void *bytes, size_t size)
{
    remote.stack = bytes;
    remote.stack_low = low;
    remote.stack_end = low + size;
    remote.exceeded = false;
    remote.hole_end = size > 0 ? mapping_end(low) : low;
    if (size > 0 && remote.hole_end == low && maps_are_old() && read_maps())
        remote.hole_end = mapping_end(low);
    if (remote.hole_end < remote.stack_end)
        remote.hole_end = remote.stack_end;
}

uintptr_t remote_stack_end(void)
{
    return remote.hole_end;
}

bool remote_stack_exceeded(void)
{
    return remote.exceeded;
}

int remote_library_file(const struct remote_library *library)
{
    struct stat status;
    const char *path = rooted_inner(remote.target->root, library->path);
    int fd = rooted_read(remote.target, path, ROOTED_LINKS, LIBRARY_MAX, &status);
    if (fd >= 0 && status.st_ino != library->inode) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return fd;
}

/* --- symbols that libjvm exports -------------------------------------------------------------- */

struct exports {
    uintptr_t symbols, names, hash;
};

static uintptr_t dynamic_pointer(const struct remote_library *library, uint64_t value)
{
    /* glibc has relocated it, musl has not. */
    return value < library->low ? value + library->bias : value;
}

static bool find_exports(const struct remote_library *library, struct exports *exports)
{
    const Elf64_Phdr *program = library->program;
    *exports = (struct exports){0};
    for (int i = 0; i < library->programs; i++) {
        if (program[i].p_type != PT_DYNAMIC)
            continue;
        Elf64_Dyn entry = {.d_tag = DT_NULL};
        uintptr_t at = library->bias + program[i].p_vaddr;
        for (int j = 0; j < DYNAMIC_MAX; j++, at += sizeof entry) {
            if (!load_bytes(at, &entry, sizeof entry) || entry.d_tag == DT_NULL)
                break;
            uintptr_t value = dynamic_pointer(library, entry.d_un.d_ptr);
            if (entry.d_tag == DT_SYMTAB)
                exports->symbols = value;
            else if (entry.d_tag == DT_STRTAB)
                exports->names = value;
            else if (entry.d_tag == DT_GNU_HASH)
                exports->hash = value;
        }
    }
    return exports->symbols != 0 && exports->names != 0 && exports->hash != 0;
}

static bool has_name(uintptr_t at, const char *name)
{
    size_t length = strlen(name) + 1;
    char there[256];
    return length <= sizeof there && load_bytes(at, there, length) &&
           memcmp(there, name, length) == 0;
}

/* DT_GNU_HASH: buckets, first symbol, bloom words, shift | bloom | buckets | chains. */
uintptr_t libjvm_symbol(const char *name)
{
    const struct remote_library *library = remote_jvm();
    struct exports exports;
    uint32_t head[4], hash = 5381;
    if (library == NULL || !find_exports(library, &exports) ||
        !load_bytes(exports.hash, head, sizeof head) || head[0] == 0)
        return 0;
    for (const char *at = name; *at != '\0'; at++)
        hash = hash * 33 + (uint8_t)*at;
    uintptr_t buckets = exports.hash + sizeof head + (uintptr_t)head[2] * 8;
    uintptr_t chains = buckets + (uintptr_t)head[0] * 4;
    uint32_t index = load_u32(buckets + (uintptr_t)(hash % head[0]) * 4, 0);
    for (int i = 0; index >= head[1] && i < HASH_CHAIN_MAX; i++, index++) {
        Elf64_Sym symbol;
        uint32_t chain = load_u32(chains + (uintptr_t)(index - head[1]) * 4, 1);
        if ((chain | 1) == (hash | 1) &&
            load_bytes(exports.symbols + (uintptr_t)index * sizeof symbol, &symbol,
                       sizeof symbol) &&
            symbol.st_shndx != SHN_UNDEF && has_name(exports.names + symbol.st_name, name))
            return library->bias + symbol.st_value;
        if ((chain & 1) != 0)
            break;
    }
    return 0;
}

bool remote_layout(char *error, size_t error_size)
{
    bool good = layout_fill(&layout, error, error_size);
    return !remote_spent(error, error_size) && good;
}

/* --- open and close --------------------------------------------------------------------------- */

static int open_memory(const struct target *target)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)target->pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool remote_still_same(void)
{
    const struct remote_library *jvm = remote_jvm();
    char byte;
    return target_still_same(remote.target) && jvm != NULL &&
           pread(remote.memory, &byte, sizeof byte, (off_t)jvm->low) == sizeof byte;
}

bool remote_open(const struct target *target, char *error, size_t error_size)
{
    uint64_t word;
    remote_close();
    if (target_is_other_machine(target))
        return text_error(error, error_size,
                          "it is %s: this nmtwatch observes JVMs of %s, and none that is emulated",
                          target_machine(target).text, this_machine.name);
    remote.target = target;
    remote.pagemap = -1;
    remote.bytes = malloc(PIECES * PIECE_BYTES);
    if (remote.bytes == NULL)
        return text_error(error, error_size, "out of memory");
    remote.generation = 1;
    remote_reading(0);
    if (!read_maps())
        return text_error(error, error_size, "/proc/%d/maps: %s", (int)target->pid,
                          strerror(errno));
    const struct remote_library *jvm = remote_jvm();
    errno = 0;
    if (jvm == NULL)
        snprintf(error, error_size,
                 remote.libraries > 0 ? "it maps no libjvm.so"
                                      : "its memory cannot be read (needs its user's rights, or "
                                        "CAP_SYS_PTRACE)");
    else if (!read_now(jvm->low, &word, sizeof word) || (remote.memory = open_memory(target)) <= 0)
        snprintf(error, error_size, "its memory cannot be read: %s", strerror(errno));
    else
        return true;
    return false;
}

void remote_close(void)
{
    for (size_t i = 0; i < remote.libraries; i++) {
        free(remote.library[i]->path);
        if (remote.library[i]->release != NULL)
            remote.library[i]->release(remote.library[i]->use);
        free(remote.library[i]);
    }
    if (remote.memory > 0)
        close(remote.memory);
    if (remote.target != NULL && remote.pagemap >= 0)
        close(remote.pagemap);
    free(remote.anonymous);
    free(remote.bytes);
    memset(&remote, 0, sizeof remote);
}
