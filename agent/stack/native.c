#include "agent/stack/native.h"

#include "agent/mem/file_pages.h"
#include "floor/hotspot/frame_rule.h"
#include "agent/stack/native_unwind.h"

#include <stdio.h>

#ifdef NATIVE_UNWIND

#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <ucontext.h>

/* The part for this architecture is in the same package as libunwind itself. */
#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)
#define LIBRARY       "libunwind-" TEXT(UNW_TARGET) ".so.8"
#define SYMBOL(name)  TEXT(UNW_OBJ(name))

static bool resolve(void *library, char *error, size_t error_size)
{
    const struct {
        const char *name;
        void **at;
        void *where;
    } SYMBOLS[] = {
        {SYMBOL(create_addr_space), (void **)&native_unwind.create, library},
        {SYMBOL(set_caching_policy), (void **)&native_unwind.set_caching, library},
        {SYMBOL(init_remote), (void **)&native_unwind.init, library},
        {SYMBOL(step), (void **)&native_unwind.step, library},
        {SYMBOL(get_reg), (void **)&native_unwind.get_register, library},
        {SYMBOL(dwarf_search_unwind_table), (void **)&native_unwind.search_table, library},
        {"_dl_find_object", (void **)&frame_tables.find_object, RTLD_DEFAULT},
    };
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++) {
        *SYMBOLS[i].at = dlsym(SYMBOLS[i].where, SYMBOLS[i].name);
        if (*SYMBOLS[i].at == NULL) {
            snprintf(error, error_size, "no native frames: %s is not in %s", SYMBOLS[i].name,
                     SYMBOLS[i].where == library ? LIBRARY : "this C library (glibc 2.35 has it)");
            return false;
        }
    }
    return true;
}

/* Two functions whose frames must be found: shows that this libunwind is the one we were built for,
 * and lets it do its first-time work here and not in a signal handler. */
static __attribute__((noinline)) bool walk_from_here(uintptr_t caller)
{
    ucontext_t here;
    struct frame frames[8];
    if (getcontext(&here) != 0)
        return false;
    int depth = native_walk_by_libunwind(&here, frames, 8);
    return depth >= 3 && frames[1].value == (uintptr_t)__builtin_return_address(0) &&
           frames[2].value == caller;
}

bool native_setup_rules(void)
{
    void *find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (frame_tables.find_object == NULL && find_object != NULL) {
        frame_rules_forget(); /* which touches their memory: it is resident from now on */
        *(void **)&frame_tables.find_object = find_object;
    }
    return find_object != NULL;
}

/* libunwind makes a pipe and calls mincore when it is set up. A JVM makes neither call by itself, and its system call
 * filter may end it for them. */
static bool is_filtered(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0;
}

static bool set_up_library(char *error, size_t error_size)
{
    if (native_unwind.space != NULL)
        return true;
    if (is_filtered()) {
        if (native_setup_rules())
            return true;
        snprintf(error, error_size,
                 "no native frames: under a system call filter they need glibc 2.35");
        return false;
    }
    struct libraries before;
    libraries_look(&before);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(error, error_size, "no native frames: %s is not installed (package libunwind8)",
                 LIBRARY);
        return false;
    }
    struct native_accessors accessors;
    native_fill_accessors(&accessors);
    frame_rules_forget(); /* which touches their memory: it is resident from now on */
    if (resolve(library, error, error_size)) {
        native_unwind.space = native_unwind.create(&accessors.known, 0);
        if (native_unwind.space != NULL) {
            native_unwind.set_caching(native_unwind.space, UNW_CACHE_GLOBAL);
            if (walk_from_here((uintptr_t)__builtin_return_address(0))) {
                libraries_count_new(&before);
                return true; /* the library stays: handlers call it */
            }
        }
        snprintf(error, error_size, "no native frames: this %s cannot walk our own stack", LIBRARY);
    }
    native_unwind.space = NULL;
    dlclose(library);
    return false;
}

bool native_setup(char *error, size_t error_size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool good = set_up_library(error, error_size);
    pthread_mutex_unlock(&lock);
    return good;
}

#else

bool native_setup_rules(void)
{
    return false;
}

bool native_setup(char *error, size_t error_size)
{
    snprintf(error, error_size, "no native frames: built without libunwind.h");
    return false;
}

#endif

#ifdef NATIVE_UNWIND

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#define TABLES_MAX  FRAME_TABLES_TOUCHED_MAX
/* What the kernel maps around a touched page: smaller tables are there anyhow. */
#define WORTH_BYTES 65536

/* Tables that were walked through, as the account lists them. */
static struct table {
    uintptr_t start; /* 0: free */
    size_t size;
    bool still_loaded;
} tables[TABLES_MAX];

struct look {
    uintptr_t touched[FRAME_TABLES_TOUCHED_MAX]; /* start of the object's map; 0: none */
    uintptr_t page_bytes;
};

/* The segment that holds an address and is never written to. */
static const ElfW(Phdr) * read_only_segment(const struct dl_phdr_info *object, ElfW(Addr) address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) == 0 &&
            address - segment->p_vaddr < segment->p_filesz)
            return segment;
    }
    return NULL;
}

/* From .eh_frame_hdr to the end of its segment: linkers put .eh_frame behind it, and little else.
 * Whole pages only. */
static bool find_tables(const struct dl_phdr_info *object, uintptr_t page_bytes,
                        struct table *table)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_GNU_EH_FRAME)
            continue;
        const ElfW(Phdr) *segment = read_only_segment(object, header->p_vaddr);
        if (segment == NULL)
            return false;
        uintptr_t start = object->dlpi_addr + header->p_vaddr;
        uintptr_t end = object->dlpi_addr + segment->p_vaddr + segment->p_filesz;
        start = (start + page_bytes - 1) / page_bytes * page_bytes;
        end = end / page_bytes * page_bytes;
        *table = (struct table){start, start < end ? end - start : 0, true};
        return table->size >= WORTH_BYTES;
    }
    return false;
}

static uintptr_t map_start(const struct dl_phdr_info *object, uintptr_t page_bytes)
{
    uintptr_t lowest = UINTPTR_MAX;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_vaddr < lowest)
            lowest = segment->p_vaddr;
    }
    return (object->dlpi_addr + lowest) / page_bytes * page_bytes;
}

static void list(const struct table *table)
{
    struct table *room = NULL;
    for (int i = 0; i < TABLES_MAX; i++) {
        if (tables[i].start == table->start)
            return;
        if (tables[i].start == 0 && room == NULL)
            room = &tables[i];
    }
    if (room != NULL &&
        mem_file_add(COMPONENT_UNWIND_TABLES, (const void *)table->start, table->size))
        *room = *table;
}

static bool was_touched(const struct look *look, uintptr_t start)
{
    for (int i = 0; i < FRAME_TABLES_TOUCHED_MAX; i++) {
        if (look->touched[i] == start)
            return true;
    }
    return false;
}

/* The linker keeps the object loaded meanwhile. */
static int visit(struct dl_phdr_info *object, size_t size, void *context)
{
    const struct look *look = context;
    struct table table;
    struct file_pages pages;
    (void)size;
    if (!find_tables(object, look->page_bytes, &table))
        return 0;
    for (int i = 0; i < TABLES_MAX; i++)
        tables[i].still_loaded = tables[i].still_loaded || tables[i].start == table.start;
    if (!was_touched(look, map_start(object, look->page_bytes)))
        return 0;
    list(&table);
    if (file_pages_look((const void *)table.start, table.size, &pages) && pages.only_file &&
        pages.resident_bytes > 0)
        madvise((void *)table.start, table.size, MADV_DONTNEED);
    return 0;
}

/* The first object will do: each says how many have been unloaded. */
static int read_unloaded(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    *(unsigned long long *)context = object->dlpi_subs;
    return 1;
}

static void forget_rules_of_unloaded(void)
{
    static unsigned long long before;
    unsigned long long now = before;
    dl_iterate_phdr(read_unloaded, &now);
    if (now != before)
        frame_rules_forget();
    before = now;
}

void unwind_tables_release(void)
{
    struct look look = {.page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE)};
    bool any = false;
    forget_rules_of_unloaded();
    for (int i = 0; i < FRAME_TABLES_TOUCHED_MAX; i++) {
        look.touched[i] =
            atomic_exchange_explicit(&frame_tables.touched[i], 0, memory_order_relaxed);
        any = any || look.touched[i] != 0;
    }
    if (!any)
        return;
    for (int i = 0; i < TABLES_MAX; i++)
        tables[i].still_loaded = false;
    dl_iterate_phdr(visit, &look);
    for (int i = 0; i < TABLES_MAX; i++) {
        if (tables[i].start == 0 || tables[i].still_loaded)
            continue;
        mem_file_forget((const void *)tables[i].start);
        tables[i].start = 0;
    }
}

#else

void unwind_tables_release(void)
{
}

#endif
