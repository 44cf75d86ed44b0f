/*
 * Signal context: the walk over native frames. Reaches libunwind's init, step and get_reg,
 * _dl_find_object, and the system call that tells whether an address can be read.
 */
#include "agent/stack/native_unwind.h"

static uintptr_t code_low, code_high;

void native_set_code_cache(uintptr_t low, uintptr_t high)
{
    code_low = low;
    code_high = high;
}

static bool is_java(uintptr_t pc)
{
    return pc >= code_low && pc < code_high;
}

#ifdef NATIVE_UNWIND

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

struct native_unwind native_unwind;

#define PAGE_BYTES ((uintptr_t)4096)

struct walk {
    const ucontext_t *context;
    uintptr_t stack_low, stack_high;   /* whole pages known to be readable */
    uintptr_t object_low, object_high; /* the object whose unwind tables are being read */
};

/* --- what libunwind asks ------------------------------------------------------------------------
 */

/* A way to try an address without a fault: a sigprocmask that is refused for its unknown `how`, but
 * only after the kernel has read the mask. */
static bool is_readable(uintptr_t address)
{
    enum { NO_SUCH_HOW = 0x7fffffff, KERNEL_MASK_BYTES = 8 };
    return syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, address, NULL, KERNEL_MASK_BYTES) != 0 &&
           errno == EINVAL;
}

/* The stack is read upwards, so the known part grows page by page. */
static bool may_read(struct walk *walk, uintptr_t address)
{
    uintptr_t last = address + sizeof(unw_word_t) - 1;
    if (last < address)
        return false;
    if ((address >= walk->stack_low && last < walk->stack_high) ||
        (address >= walk->object_low && last < walk->object_high))
        return true;
    uintptr_t page = address & ~(PAGE_BYTES - 1);
    uintptr_t end = (last & ~(PAGE_BYTES - 1)) + PAGE_BYTES;
    if (!is_readable(page) || (end - page > PAGE_BYTES && !is_readable(end - PAGE_BYTES)))
        return false;
    if (page <= walk->stack_high && page >= walk->stack_low) {
        walk->stack_high = end;
    } else {
        walk->stack_low = page;
        walk->stack_high = end;
    }
    return true;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                      void *argument)
{
    (void)space;
    if (write || !may_read(argument, address))
        return -UNW_EINVAL;
    __builtin_memcpy(value, (const void *)address, sizeof *value);
    return 0;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
                      void *argument)
{
    static const signed char GREG_OF[] = {
        [UNW_X86_64_RAX] = REG_RAX, [UNW_X86_64_RDX] = REG_RDX, [UNW_X86_64_RCX] = REG_RCX,
        [UNW_X86_64_RBX] = REG_RBX, [UNW_X86_64_RSI] = REG_RSI, [UNW_X86_64_RDI] = REG_RDI,
        [UNW_X86_64_RBP] = REG_RBP, [UNW_X86_64_RSP] = REG_RSP, [UNW_X86_64_R8] = REG_R8,
        [UNW_X86_64_R9] = REG_R9,   [UNW_X86_64_R10] = REG_R10, [UNW_X86_64_R11] = REG_R11,
        [UNW_X86_64_R12] = REG_R12, [UNW_X86_64_R13] = REG_R13, [UNW_X86_64_R14] = REG_R14,
        [UNW_X86_64_R15] = REG_R15, [UNW_X86_64_RIP] = REG_RIP,
    };
    const struct walk *walk = argument;
    (void)space;
    if (write || number < 0 || (size_t)number >= sizeof GREG_OF)
        return -UNW_EBADREG;
    *value = (unw_word_t)walk->context->uc_mcontext.gregs[GREG_OF[number]];
    return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
                        void *argument)
{
    (void)space, (void)number, (void)value, (void)write, (void)argument;
    return -UNW_EBADREG;
}

/* The head of .eh_frame_hdr as linkers write it: encodings that make a sorted table of pairs. */
struct frame_header {
    uint8_t version, frame_encoding, count_encoding, table_encoding;
    int32_t frame_offset;
    uint32_t count;
};
#define ENCODING_PCREL_SDATA4   0x1b
#define ENCODING_UDATA4         0x03
#define ENCODING_DATAREL_SDATA4 0x3b
#define TABLE_ROW_BYTES         8

/* What finds no room is not given back for now. */
static void note_touched(uintptr_t map_start)
{
    for (int i = 0; i < NATIVE_OBJECTS_MAX; i++) {
        uintptr_t there = atomic_load_explicit(&native_unwind.touched[i], memory_order_relaxed);
        if (there == map_start || (there == 0 && atomic_compare_exchange_strong_explicit(
                                                     &native_unwind.touched[i], &there, map_start,
                                                     memory_order_relaxed, memory_order_relaxed)))
            return;
    }
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *found,
                          int need_unwind_info, void *argument)
{
    struct walk *walk = argument;
    struct dl_find_object object;
    struct frame_header header;
    if (native_unwind.find_object((void *)ip, &object) != 0 || object.dlfo_eh_frame == NULL)
        return -UNW_ENOINFO;
    __builtin_memcpy(&header, object.dlfo_eh_frame, sizeof header);
    if (header.version != 1 || header.frame_encoding != ENCODING_PCREL_SDATA4 ||
        header.count_encoding != ENCODING_UDATA4 ||
        header.table_encoding != ENCODING_DATAREL_SDATA4)
        return -UNW_ENOINFO;
    note_touched((uintptr_t)object.dlfo_map_start);
    walk->object_low = (uintptr_t)object.dlfo_map_start;
    walk->object_high = (uintptr_t)object.dlfo_map_end;
    unw_dyn_info_t table = {
        .start_ip = (unw_word_t)object.dlfo_map_start,
        .end_ip = (unw_word_t)object.dlfo_map_end,
        .format = UNW_INFO_FORMAT_REMOTE_TABLE,
    };
    table.u.rti.segbase = (unw_word_t)object.dlfo_eh_frame;
    table.u.rti.table_data = (unw_word_t)object.dlfo_eh_frame + sizeof header;
    table.u.rti.table_len = (unw_word_t)header.count * TABLE_ROW_BYTES / sizeof(unw_word_t);
    return native_unwind.search_table(space, ip, &table, found, need_unwind_info, argument);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
    (void)space, (void)info, (void)argument;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *argument)
{
    (void)space, (void)address, (void)argument;
    return -UNW_ENOINFO;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t ip, char *name, size_t size,
                         unw_word_t *offset, void *argument)
{
    (void)space, (void)ip, (void)name, (void)size, (void)offset, (void)argument;
    return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument)
{
    (void)space, (void)cursor, (void)argument;
    return -UNW_EINVAL;
}

void native_fill_accessors(struct native_accessors *accessors)
{
    *accessors = (struct native_accessors){
        .known = {.find_proc_info = find_proc_info,
                  .put_unwind_info = put_unwind_info,
                  .get_dyn_info_list_addr = get_dyn_info_list_addr,
                  .access_mem = access_mem,
                  .access_reg = access_reg,
                  .access_fpreg = access_fpreg,
                  .resume = resume,
                  .get_proc_name = get_proc_name},
    };
}

/* --- the walk --------------------------------------------------------------------------------- */

int native_walk(void *ucontext, struct frame *out, int max)
{
    struct walk walk = {.context = ucontext};
    uintptr_t pc = (uintptr_t)walk.context->uc_mcontext.gregs[REG_RIP];
    unw_word_t sp = (unw_word_t)walk.context->uc_mcontext.gregs[REG_RSP];
    unw_cursor_t cursor;
    int depth = 0;
    if (native_unwind.space == NULL || max <= 0 || is_java(pc))
        return 0;
    out[depth++] = (struct frame){.value = pc, .bci = FRAME_BCI_PC};
    if (native_unwind.init(&cursor, native_unwind.space, &walk) != 0)
        return depth;
    while (depth < max && native_unwind.step(&cursor) > 0) {
        unw_word_t next_pc, next_sp;
        if (native_unwind.get_register(&cursor, UNW_X86_64_RIP, &next_pc) != 0 ||
            native_unwind.get_register(&cursor, UNW_X86_64_RSP, &next_sp) != 0)
            break;
        /* A caller's frame lies above: anything else is damaged unwind data. */
        if (next_pc == 0 || next_sp <= sp || is_java(next_pc))
            break;
        sp = next_sp;
        out[depth++] = (struct frame){.value = next_pc, .bci = FRAME_BCI_PC};
    }
    return depth;
}

#else

int native_walk(void *ucontext, struct frame *out, int max)
{
    (void)ucontext, (void)out, (void)max;
    (void)is_java;
    return 0;
}

#endif
