/*
 * interpose (LD_PRELOAD): what the agent's code takes from the process, seen from outside.
 *
 * Calls of malloc, calloc, realloc, free, mmap and munmap whose return address lies in
 * libnmtagent.so are counted; all others pass through. The counters (struct counters) lie in the
 * file that INTERPOSE_FILE names, so that a test may look at them at any time. heap_bytes is what
 * glibc says of each block (malloc_usable_size) and its 8 bytes in front. A block that glibc allocated for itself
 * may be freed with the agent's return address (glibc 2.43's qsort ends with a jump to free): it is not counted.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's own names of what we stand in front of. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

struct counters {
    _Atomic int64_t blocks, heap_bytes, maps, mapped_bytes;
};

static struct counters before_the_file, *counters = &before_the_file;
static _Atomic uintptr_t code_start, code_end; /* of the agent; 0 until it is loaded */

__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("INTERPOSE_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *counters) != 0)
        return;
    void *map = (void *)syscall(SYS_mmap, NULL, sizeof *counters, PROT_READ | PROT_WRITE,
                                MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
        counters = map;
    close(fd);
}

static int look_for_agent(struct dl_phdr_info *library, size_t size, void *context)
{
    (void)size;
    (void)context;
    if (strstr(library->dlpi_name, "libnmtagent") == NULL)
        return 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        atomic_store(&code_end, library->dlpi_addr + part->p_vaddr + part->p_memsz);
        atomic_store(&code_start, library->dlpi_addr + part->p_vaddr);
    }
    return 1;
}

void *dlopen(const char *path, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    void *library = next(path, flags);
    if (library != NULL && atomic_load(&code_start) == 0)
        dl_iterate_phdr(look_for_agent, NULL);
    return library;
}

static inline int agent(const void *caller)
{
    uintptr_t pc = (uintptr_t)caller,
              start = atomic_load_explicit(&code_start, memory_order_relaxed);
    return start != 0 && pc >= start && pc < atomic_load_explicit(&code_end, memory_order_relaxed);
}

#define AGENT agent(__builtin_return_address(0))

/* The blocks that are counted: open addressing, each slot is changed by the thread that has the block. */
#define SLOTS (1u << 16)
#define GONE  1
static _Atomic uintptr_t counted[SLOTS];

static int replace(uintptr_t from, uintptr_t to, uintptr_t block)
{
    for (size_t i = 0, slot = block >> 4; i < SLOTS; i++, slot++) {
        uintptr_t found = atomic_load(&counted[slot % SLOTS]);
        int fits = found == from || (from == 0 && found == GONE);
        if (fits && atomic_compare_exchange_strong(&counted[slot % SLOTS], &found, to))
            return 1;
        if (found == 0 && from != 0)
            return 0;
    }
    return 0;
}

static void count_block(void *block, int sign)
{
    uintptr_t number = (uintptr_t)block;
    if (block == NULL || !(sign > 0 ? replace(0, number, number) : replace(number, GONE, number)))
        return;
    atomic_fetch_add(&counters->blocks, sign);
    atomic_fetch_add(&counters->heap_bytes, sign * (int64_t)(malloc_usable_size(block) + 8));
}

static void count_map(size_t size, int sign)
{
    atomic_fetch_add(&counters->maps, sign);
    atomic_fetch_add(&counters->mapped_bytes, sign * (int64_t)size);
}

void *malloc(size_t size)
{
    void *block = __libc_malloc(size);
    if (AGENT)
        count_block(block, 1);
    return block;
}

void *calloc(size_t count, size_t size)
{
    void *block = __libc_calloc(count, size);
    if (AGENT)
        count_block(block, 1);
    return block;
}

void *realloc(void *block, size_t size)
{
    if (!AGENT)
        return __libc_realloc(block, size);
    count_block(block, -1);
    void *moved = __libc_realloc(block, size);
    count_block(moved != NULL ? moved : block, 1);
    return moved;
}

void free(void *block)
{
    if (AGENT)
        count_block(block, -1);
    __libc_free(block);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *map = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    if (map != MAP_FAILED && AGENT)
        count_map(size, 1);
    return map;
}

int munmap(void *map, size_t size)
{
    int failed = (int)syscall(SYS_munmap, map, size);
    if (failed == 0 && AGENT)
        count_map(size, -1);
    return failed;
}
