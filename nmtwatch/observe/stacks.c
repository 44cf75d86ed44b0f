#include "nmtwatch/observe/stacks.h"

#include "analyzers/model/texts.h"
#include "floor/hotspot/frame.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/walk.h"
#include "floor/hotspot/method_reading.h"
#include "floor/hotspot/symbol_name.h"
#include "floor/hotspot/call_frame.h"
#include "floor/hotspot/frame_rule.h"
#include "nmtwatch/observe/elf_file.h"
#include "nmtwatch/observe/heap_object.h"
#include "nmtwatch/machine/machine.h"
#include "nmtwatch/process/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define METHODS_SLOTS    65536 /* a power of two */
#define METHODS_MAX      49152
#define PLACES_SLOTS     65536 /* of native code */
#define PLACES_MAX       49152
#define THREADS_MAX      65536
#define THREADS_AGAIN_MS 200
#define TABLES_MAX       (UINT64_C(64) << 20) /* of one library */
#define KEPT_MAX                                                                                   \
    (UINT64_C(256) << 20) /* symbols and unwind tables of all libraries; libjvm's are 14 MB */
#define NATIVE_MAX 256    /* frames from the sample to Java */

/* What is kept for a library. */
struct library_use {
    struct elf_file *file; /* NULL: not read yet, or unreadable */
    bool file_asked, tables_asked, left_out;
    /* Address space as large as the library's, in which only its unwind tables are: what is found there
     * counts from the same place. */
    uint8_t *image;
    size_t image_bytes;
    uintptr_t header, tables_low, tables_high; /* in it; header 0: there are none */
};

struct method_name {
    uintptr_t method, identity; /* 0: free */
    uint64_t hash;
    char *name;
    enum code_origin origin;
    uint8_t *lines;
    size_t lines_bytes;
};

struct place_name {
    uintptr_t pc; /* 0: free */
    char *name;   /* the library's short name is behind its end */
    const char *library;
};

struct java_thread {
    uintptr_t stack_low, stack_high, thread;
};

static struct {
    bool java; /* the layout is known */
    uintptr_t code_low, code_high;
    struct method_name *method;
    size_t methods;
    struct place_name *place;
    size_t places;
    struct java_thread *thread;
    size_t threads;
    int64_t threads_read_ms;
    struct remote_library *looked_in; /* by find_object */
    uint64_t room;                    /* of KEPT_MAX */
    int left_out;                     /* libraries */
} stacks;

const char *stack_outcome_text(enum stack_outcome outcome)
{
    static const char *const TEXT[STACK_OUTCOMES] = {
        [STACK_COMPLETE] = "complete",
        [STACK_DEEPER] = "deeper than what was copied of the stack",
        [STACK_BROKEN] = "Java frames could not be followed",
        [STACK_NATIVE] = "native frames without unwind tables",
        [STACK_NONE] = "no user stack",
    };
    return TEXT[outcome];
}

/* --- libraries -------------------------------------------------------------------------------- */

static void release_use(void *use)
{
    struct library_use *library = use;
    elf_file_free(library->file);
    if (library->image != NULL)
        munmap(library->image, library->image_bytes);
    free(library);
}

static struct library_use *use_of(struct remote_library *library)
{
    if (library->use == NULL) {
        library->use = calloc(1, sizeof(struct library_use));
        library->release = release_use;
    }
    return library->use;
}

static void leave_out(struct library_use *use)
{
    stacks.left_out += !use->left_out;
    use->left_out = true;
}

int stacks_left_out(void)
{
    return stacks.left_out;
}

static const struct elf_file *file_of(struct remote_library *library, char *error,
                                      size_t error_size)
{
    struct library_use *use = use_of(library);
    snprintf(error, error_size, "the library's file cannot be opened");
    if (use != NULL && !use->file_asked) {
        use->file_asked = true;
        int fd = remote_library_file(library);
        if (fd >= 0) {
            use->file = elf_file_read(fd, stacks.room, error, error_size);
            if (use->file != NULL)
                stacks.room -= elf_file_bytes(use->file);
            else if (errno == EFBIG)
                leave_out(use);
            close(fd);
        }
    }
    return use != NULL ? use->file : NULL;
}

const struct elf_file *stacks_jvm_file(char *error, size_t error_size)
{
    return file_of(remote_jvm(), error, error_size);
}

bool stacks_jvm_flag(const char *name, bool instead)
{
    char error[200];
    uint64_t address;
    const struct elf_file *file = stacks_jvm_file(error, sizeof error);
    return file != NULL && elf_file_data(file, name, 1, &address)
               ? load_u8(remote_jvm()->bias + address, instead) != 0
               : instead;
}

/* From .eh_frame_hdr to the end of its segment: linkers put .eh_frame behind it. */
static void read_tables(const struct remote_library *library, struct library_use *use)
{
    const Elf64_Phdr *program = library->program, *tables = NULL;
    for (int i = 0; i < library->programs; i++)
        if (program[i].p_type == PT_GNU_EH_FRAME)
            tables = &program[i];
    for (int i = 0; tables != NULL && i < library->programs; i++) {
        const Elf64_Phdr *segment = &program[i];
        if (segment->p_type != PT_LOAD || tables->p_vaddr - segment->p_vaddr >= segment->p_filesz)
            continue;
        uintptr_t from = library->bias + tables->p_vaddr;
        uintptr_t end = library->bias + segment->p_vaddr + segment->p_filesz;
        size_t extent = library->high - library->low;
        if (from < library->low || end > library->high || from >= end)
            return;
        if (end - from > TABLES_MAX || end - from > stacks.room) {
            leave_out(use);
            return;
        }
        void *image =
            mmap(NULL, extent, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (image == MAP_FAILED)
            return;
        use->image = image;
        use->image_bytes = extent;
        uintptr_t here = (uintptr_t)image + (from - library->low);
        uintptr_t page = machine_page_of(here);
        if (mprotect((void *)page, here + (end - from) - page, PROT_READ | PROT_WRITE) == 0 &&
            load_bytes(from, (void *)here, end - from)) {
            use->header = use->tables_low = here;
            use->tables_high = here + (end - from);
            stacks.room -= end - from;
        }
        return;
    }
}

/* In place of the dynamic linker's: the library was found before. */
static int find_object(void *pc, struct dl_find_object *found)
{
    const struct library_use *use = stacks.looked_in->use;
    (void)pc;
    if (use->header == 0)
        return -1;
    *found = (struct dl_find_object){
        .dlfo_map_start = (void *)use->tables_low,
        .dlfo_map_end = (void *)use->tables_high,
        .dlfo_eh_frame = (void *)use->header,
    };
    return 0;
}

/* The rule at a place of native code. */
static struct frame_rule rule_at(uintptr_t pc)
{
    struct frame_rule none = {.kind = FRAME_RULE_OTHER};
    struct remote_library *library = remote_library_of(pc);
    struct library_use *use = library != NULL ? use_of(library) : NULL;
    if (use == NULL)
        return none;
    if (!use->tables_asked) {
        use->tables_asked = true;
        read_tables(library, use);
    }
    if (use->header == 0)
        return none;
    stacks.looked_in = library;
    return frame_rule_of((uintptr_t)use->image + (pc - library->low));
}

/* --- names ------------------------------------------------------------------------------------ */

static size_t slot_of(uint64_t key, size_t slots)
{
    return fold_word(key) & (slots - 1);
}

static char *read_method_name(const struct method_reading *reading)
{
    char text[METHOD_TEXT_MAX + 1], class_name[CLASS_NAME_MAX], *both = NULL;
    if (!method_reading_text(&reading->class_name, true, text))
        return NULL;
    class_name_readable(text, class_name);
    if (!method_reading_text(&reading->name, false, text))
        return NULL;
    return asprintf(&both, "%s.%s", class_name, text) > 0 ? both : NULL;
}

/* The code at an address may have been replaced: its ConstMethod and its texts show it. NULL:
 * unreadable. */
static const struct method_name *name_of_method(uintptr_t method)
{
    struct method_reading reading;
    uint64_t hash;
    uint32_t unused;
    if (!method_reading_begin(method, &reading) || !method_reading_hash(&reading, &hash, &unused))
        return NULL;
    size_t slot = slot_of(method ^ hash, METHODS_SLOTS);
    struct method_name *entry = &stacks.method[slot];
    for (; entry->method != 0; entry = &stacks.method[slot]) {
        if (entry->method == method && entry->hash == hash &&
            entry->identity == reading.const_method)
            return entry;
        slot = (slot + 1) & (METHODS_SLOTS - 1);
    }
    char *name = stacks.methods < METHODS_MAX ? read_method_name(&reading) : NULL;
    if (name == NULL)
        return NULL;
    uint8_t lines[METHOD_LINES_MAX];
    *entry = (struct method_name){.method = method,
                                  .identity = reading.const_method,
                                  .hash = hash,
                                  .name = name,
                                  .origin = class_origin(reading.holder)};
    entry->lines_bytes = method_reading_lines(&reading, lines, sizeof lines);
    entry->lines = entry->lines_bytes > 0 ? malloc(entry->lines_bytes) : NULL;
    if (entry->lines != NULL)
        memcpy(entry->lines, lines, entry->lines_bytes);
    else
        entry->lines_bytes = 0;
    stacks.methods++;
    return entry;
}

static int line_at(const struct method_name *method, int32_t bci)
{
    if (method->lines == NULL)
        return 0;
    struct line_steps steps = {.at = method->lines,
                               .end = method->lines + method->lines_bytes,
                               .lowest = method_lines_lowest()};
    int64_t nearest = -1;
    int line = 0;
    while (line_step(&steps)) {
        if (steps.bci <= bci && steps.bci >= nearest) {
            nearest = steps.bci;
            line = (int)steps.line;
        }
    }
    return line;
}

/* "libjvm" of "/usr/lib/.../libjvm.so", "libc" of "libc.so.6". */
static void library_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash != NULL ? slash + 1 : path);
    char *suffix = strstr(out, ".so");
    if (suffix != NULL && suffix != out)
        *suffix = '\0';
}

static struct stack_frame frame_of_place(uintptr_t pc)
{
    struct stack_frame frame = {.name = "[unknown]", .kind = CALL_FRAME_NATIVE};
    size_t slot = slot_of(pc, PLACES_SLOTS);
    while (stacks.place[slot].pc != 0 && stacks.place[slot].pc != pc)
        slot = (slot + 1) & (PLACES_SLOTS - 1);
    struct place_name *place = &stacks.place[slot];
    if (place->pc == pc) {
        frame.name = place->name;
        frame.library = place->library;
        return frame;
    }
    struct remote_library *library = remote_library_of(pc);
    char short_name[128], function[512] = "", unheard[200], *name = NULL;
    if (library != NULL && stacks.places == PLACES_MAX)
        frame.name = "[more places than are kept]";
    if (library == NULL || stacks.places == PLACES_MAX)
        return frame;
    const struct elf_file *file = file_of(library, unheard, sizeof unheard);
    const char *symbol = file != NULL ? elf_file_function(file, pc - library->bias, NULL) : NULL;
    if (symbol != NULL)
        symbol_name(symbol, function, sizeof function);
    library_name(library->path, short_name, sizeof short_name);
    if (function[0] == '\0')
        snprintf(function, sizeof function, "[unknown]");
    if (asprintf(&name, "%s%c%s", function, '\0', short_name) < 0)
        return frame;
    *place = (struct place_name){pc, name, name + strlen(name) + 1};
    stacks.places++;
    frame.name = place->name;
    frame.library = place->library;
    return frame;
}

/* --- threads ---------------------------------------------------------------------------------- */

static int by_stack(const void *a, const void *b)
{
    const struct java_thread *left = a, *right = b;
    return (left->stack_low > right->stack_low) - (left->stack_low < right->stack_low);
}

/* JDK 11 does not have it: there a stack ends where its mapping does. */
static void read_threads(void)
{
    stacks.threads_read_ms = clock_ms(CLOCK_MONOTONIC);
    if (layout.threads_list == 0 || layout.threads_length < 0 || layout.threads_array < 0)
        return;
    uintptr_t list = load_pointer(layout.threads_list);
    uint32_t count = load_u32(list + (uintptr_t)layout.threads_length, 0);
    uintptr_t array = load_pointer(list + (uintptr_t)layout.threads_array);
    if (count > THREADS_MAX)
        count = 0;
    void *room = realloc(stacks.thread, (count + 1) * sizeof *stacks.thread);
    if (room == NULL)
        return;
    stacks.thread = room;
    stacks.threads = 0;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t thread = load_pointer(array + i * (uintptr_t)WORD_BYTES);
        uintptr_t high = load_pointer(thread + (uintptr_t)layout.thread_stack_base);
        uintptr_t size = load_pointer(thread + (uintptr_t)layout.thread_stack_size);
        if (size > 0 && size <= high)
            stacks.thread[stacks.threads++] = (struct java_thread){high - size, high, thread};
    }
    qsort(stacks.thread, stacks.threads, sizeof *stacks.thread, by_stack);
}

static const struct java_thread *find_thread(uintptr_t sp)
{
    size_t low = entries_up_to(stacks.thread, stacks.threads, sizeof *stacks.thread, sp);
    return low > 0 && sp < stacks.thread[low - 1].stack_high ? &stacks.thread[low - 1] : NULL;
}

void stacks_each_thread(void (*visit)(void *context, uintptr_t low, uintptr_t high), void *context)
{
    if (!stacks.java)
        return;
    remote_forget();
    read_threads();
    for (size_t i = 0; i < stacks.threads; i++)
        visit(context, stacks.thread[i].stack_low, stacks.thread[i].stack_high);
}

/* The thread whose stack that is; NULL: it is no thread of Java's. By the stack and not by its number: a
 * JVM in a container has other numbers. */
static const struct java_thread *java_thread(uintptr_t sp)
{
    const struct java_thread *thread = find_thread(sp);
    if (thread != NULL || clock_ms(CLOCK_MONOTONIC) - stacks.threads_read_ms < THREADS_AGAIN_MS)
        return thread;
    read_threads();
    return find_thread(sp);
}

uintptr_t stacks_thread(const struct perf_sample *sample)
{
    const struct java_thread *thread = stacks.java && sample->registers != NULL
                                           ? java_thread(sample->registers[this_machine.sp])
                                           : NULL;
    return thread != NULL ? thread->thread : 0;
}

/* --- the walk --------------------------------------------------------------------------------- */

static bool is_java(uintptr_t pc)
{
    return pc >= stacks.code_low && pc < stacks.code_high;
}

/* Native frames, until Java or the end. *end: whether it is the outermost one. */
static int walk_native(struct walk_start *at, struct stack_frame *out, int max, bool *end)
{
    int depth = 0;
    bool first = true;
    *end = false;
    while (!is_java(at->pc) && depth < max && depth < NATIVE_MAX) {
        out[depth++] = frame_of_place(first ? at->pc : at->pc - 1);
        /* A call may be the last instruction of its function. */
        struct frame_rule rule = rule_at(first ? at->pc : at->pc - 1);
        if (rule.kind != FRAME_RULE_CALLER) {
            *end = rule.kind == FRAME_RULE_END;
            return depth;
        }
        uintptr_t cfa = frame_rule_cfa(rule, at->sp, at->fp);
        uintptr_t pc = load_pointer(frame_rule_return(rule, cfa));
        if (cfa <= at->sp || pc == 0) {
            *end = pc == 0 && cfa > at->sp && !remote_stack_exceeded();
            return depth;
        }
        if (rule.bp_is_saved)
            at->fp = load_pointer(frame_rule_bp(rule, cfa));
        at->sp = cfa;
        at->pc = pc;
        first = false;
    }
    return depth;
}

static void put_java(const struct walked_frame *walked, int count, struct stack_frame *out)
{
    for (int i = 0; i < count; i++) {
        const struct method_name *method = name_of_method(walked[i].method);
        out[i] = (struct stack_frame){
            .name = method != NULL ? method->name : "[unknown Java method]",
            .kind = CALL_FRAME_JAVA,
            .line = method != NULL && walked[i].bci >= 0 ? line_at(method, walked[i].bci) : 0,
            .origin = method != NULL ? method->origin : ORIGIN_UNKNOWN,
        };
    }
}

static int walk(const struct perf_sample *sample, struct stack_frame *out, int max,
                enum stack_outcome *outcome)
{
    struct walked_frame walked[STACK_FRAMES_MAX];
    enum walk_code code = WALK_OK;
    bool end = false;
    *outcome = STACK_NONE;
    if (sample->registers == NULL || sample->registers[this_machine.pc] == 0)
        return 0;
    if (max > STACK_FRAMES_MAX)
        max = STACK_FRAMES_MAX;
    const uint64_t *registers = sample->registers;
    struct walk_start start = {
        .pc = registers[this_machine.pc],
        .sp = registers[this_machine.sp],
        .fp = registers[this_machine.fp],
        .entered = registers[this_machine.entered],
        .sender_sp = registers[this_machine.sender_sp],
        .entered_from = registers[this_machine.entered_from],
        .thrown_at = registers[this_machine.thrown_at],
        .in_java = true,
    };
    if (stacks.java) {
        remote_stack(0, NULL, 0);
        const struct java_thread *thread = java_thread(start.sp);
        if (thread != NULL) {
            start.thread = thread->thread;
            /* The address may belong to another thread by now, or to none. */
            start.stack_high = thread->stack_high;
        }
    }
    remote_stack(start.sp, sample->stack, sample->stack_bytes);
    bool from_java = is_java(start.pc);
    int depth = from_java ? 0 : walk_native(&start, out, max, &end), java = 0;
    if (is_java(start.pc)) {
        if (start.thread == 0) /* it ended meanwhile, or is not known */
            start.stack_high = remote_stack_end();
        java = from_java ? walk_java(&start, walked, max - depth, &code)
                         : walk_java_from_call(&start, walked, max - depth, &code);
        put_java(walked, java, out + depth);
        depth += java;
        end = code == WALK_OK;
    }
    *outcome = end && depth < max                        ? STACK_COMPLETE
               : remote_stack_exceeded() || depth >= max ? STACK_DEEPER
               : is_java(start.pc)                       ? STACK_BROKEN
                                                         : STACK_NATIVE;
    remote_stack(0, NULL, 0);
    return depth;
}

int stacks_walk(const struct perf_sample *sample, struct stack_frame *out, int max,
                enum stack_outcome *outcome)
{
    int depth = walk(sample, out, max, outcome);
    if (*outcome == STACK_BROKEN) { /* code that came after the pages that describe it were read */
        remote_forget();
        depth = walk(sample, out, max, outcome);
    }
    return depth;
}

/* --- open and close --------------------------------------------------------------------------- */

bool stacks_open(char *error, size_t error_size)
{
    stacks_close();
    stacks.room = KEPT_MAX;
    stacks.method = calloc(METHODS_SLOTS, sizeof *stacks.method);
    stacks.place = calloc(PLACES_SLOTS, sizeof *stacks.place);
    if (stacks.method == NULL || stacks.place == NULL)
        return text_error(error, error_size, "out of memory");
    frame_tables.find_object = find_object;
    frame_rules_forget();
    if (!remote_layout(error, error_size) ||
        !layout_code_cache(&stacks.code_low, &stacks.code_high))
        return false;
    read_threads();
    stacks.java = true;
    return true;
}

void stacks_close(void)
{
    for (size_t i = 0; stacks.method != NULL && i < METHODS_SLOTS; i++) {
        free(stacks.method[i].name);
        free(stacks.method[i].lines);
    }
    for (size_t i = 0; stacks.place != NULL && i < PLACES_SLOTS; i++)
        free(stacks.place[i].name);
    free(stacks.method);
    free(stacks.place);
    free(stacks.thread);
    memset(&stacks, 0, sizeof stacks);
    layout_forget();
}
