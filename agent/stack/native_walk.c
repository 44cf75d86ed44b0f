/*
 * Signal context: the walk over native frames. Reaches libunwind's init, step and get_reg,
 * _dl_find_object, and the system call that shows whether an address can be read.
 */
#include "agent/hotspot/registers.h"
#include "floor/hotspot/machine.h"
#include "agent/stack/engine.h"
#include "floor/hotspot/frame_rule.h"
#include "floor/hotspot/call_frame.h"
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
#include <unistd.h>

struct native_unwind native_unwind;

#define LIBRARY_STACK_BYTES 16384

/* The smallest page there is: what is readable is found in such steps. */
#define STEP_BYTES ((uintptr_t)4096)
#define CALLS_MAX  64 /* deep, from Java into what it calls as if it were Java */

struct walk {
    const void *context;               /* ucontext_t */
    uintptr_t stack_low, stack_high;   /* whole pages known to be readable */
    uintptr_t object_low, object_high; /* the object whose unwind tables are being read */
    struct native_caller caller;       /* where the walk came to Java; pc 0: it did not */
};

/* --- what libunwind asks ---------------------------------------------------------------------- */

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
    uintptr_t page = address & ~(STEP_BYTES - 1);
    uintptr_t end = (last & ~(STEP_BYTES - 1)) + STEP_BYTES;
    if (!is_readable(page) || (end - page > STEP_BYTES && !is_readable(end - STEP_BYTES)))
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
    const struct walk *walk = argument;
    uintptr_t found;
    (void)space;
    if (write || !register_read(walk->context, number, &found)) /* libunwind counts as DWARF does */
        return -UNW_EBADREG;
    *value = found;
    return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
                        void *argument)
{
    (void)space, (void)number, (void)value, (void)write, (void)argument;
    return -UNW_EBADREG;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *found,
                          int need_unwind_info, void *argument)
{
    struct walk *walk = argument;
    struct frame_table known;
    if (!frame_table_find(ip, &known))
        return -UNW_ENOINFO;
    walk->object_low = known.object_low;
    walk->object_high = known.object_high;
    unw_dyn_info_t table = {
        .start_ip = known.object_low,
        .end_ip = known.object_high,
        .format = UNW_INFO_FORMAT_REMOTE_TABLE,
    };
    table.u.rti.segbase = known.header;
    table.u.rti.table_data = known.rows;
    table.u.rti.table_len = known.row_count * FRAME_ROW_BYTES / sizeof(unw_word_t);
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

/* out: NULL: only where it leads to is wanted. */
static void put_frame(struct frame *out, int depth, uintptr_t pc)
{
    if (out != NULL)
        out[depth] = (struct frame){.value = pc, .bci = FRAME_BCI_PC};
}

/* A caller's frame lies above: anything else is damaged unwind data. The innermost function may have
 * none, where a call pushes nothing. */
static bool is_above(uintptr_t next_sp, uintptr_t sp, bool innermost)
{
    return next_sp > sp || (next_sp == sp && innermost && machine.call_pushed_bytes == 0);
}

static bool read_word(struct walk *walk, uintptr_t address, uintptr_t *value)
{
    return access_mem(NULL, address, value, 0, walk) == 0;
}

/* What a signal handler has interrupted that returns to pc; sp: as it is then. NULL: nothing. */
static const void *interrupted_by(struct walk *walk, uintptr_t pc, uintptr_t sp)
{
    uintptr_t context = sp + (uintptr_t)machine.signal_context_at, code, first, last;
    bool found = read_word(walk, pc, &code) && code == machine.signal_return_code &&
                 read_word(walk, context, &first) &&
                 read_word(walk, context + sizeof(ucontext_t) - sizeof last, &last);
    return found ? (const void *)context : NULL;
}

static int walk_by_libunwind(struct walk *walk, struct frame *out, int max)
{
    struct registers registers;
    unw_cursor_t cursor;
    int depth = 0;
    registers_read(walk->context, &registers);
    unw_word_t sp = registers.sp, pc = registers.pc;
    put_frame(out, depth++, pc);
    if (native_unwind.init(&cursor, native_unwind.space, walk) != 0)
        return depth;
    while (depth < max && native_unwind.step(&cursor) > 0) {
        unw_word_t next_pc, next_sp;
        if (native_unwind.get_register(&cursor, UNW_REG_IP, &next_pc) != 0 ||
            native_unwind.get_register(&cursor, UNW_REG_SP, &next_sp) != 0)
            break;
        next_pc = code_address(next_pc);
        if (next_pc == 0 || !is_above(next_sp, sp, depth == 1))
            break;
        if (is_java(next_pc)) {
            unw_word_t bp;
            if (native_unwind.get_register(&cursor, machine.dwarf_fp, &bp) == 0)
                walk->caller =
                    (struct native_caller){next_pc, next_sp, bp, interrupted_by(walk, pc, sp)};
            break;
        }
        sp = next_sp;
        pc = next_pc;
        put_frame(out, depth++, next_pc);
    }
    return depth;
}

int native_walk_by_libunwind(const void *ucontext, struct frame *out, int max)
{
    struct walk walk = {.context = ucontext};
    return walk_by_libunwind(&walk, out, max);
}

struct place {
    uintptr_t pc, sp, bp, link;
    const void *
        interrupted; /* ucontext: here a signal came; NULL: from here another function was called */
};

static struct place place_in(const void *ucontext)
{
    struct registers registers;
    registers_read(ucontext, &registers);
    return (struct place){registers.pc, registers.sp, registers.fp, registers.link, ucontext};
}

/* To the caller. False: there is none, or damage. */
static bool step_by_rule(struct walk *walk, struct frame_rule rule, struct place *place)
{
    uintptr_t cfa = frame_rule_cfa(rule, place->sp, place->bp), pc = place->link, bp = place->bp;
    if (rule.kind == FRAME_RULE_END || !is_above(cfa, place->sp, place->interrupted != NULL) ||
        (!rule.return_in_link && !read_word(walk, frame_rule_return(rule, cfa), &pc)))
        return false;
    pc = code_address(pc);
    if ((rule.bp_is_saved && !read_word(walk, frame_rule_bp(rule, cfa), &bp)) || pc == 0)
        return false;
    *place = (struct place){.pc = pc, .sp = cfa, .bp = bp};
    return true;
}

/* The same by rules; 0: one of the frames has none. */
static int walk_by_rules(struct walk *walk, struct frame *out, int max)
{
    struct place place = place_in(walk->context);
    int depth = 0;
    put_frame(out, depth++, place.pc);
    while (depth < max) {
        /* A call may be the last instruction of its function. */
        bool called = place.interrupted == NULL;
        struct frame_rule rule = frame_rule_of(called ? place.pc - 1 : place.pc);
        const void *before = NULL;
        if (rule.kind == FRAME_RULE_OTHER)
            before = interrupted_by(walk, place.pc, place.sp);
        if (before == NULL && (rule.kind == FRAME_RULE_OTHER || (rule.return_in_link && called)))
            return 0;
        if (before != NULL)
            place = place_in(before);
        else if (!step_by_rule(walk, rule, &place))
            break;
        if (is_java(place.pc)) {
            walk->caller = (struct native_caller){place.pc, place.sp, place.bp, place.interrupted};
            break;
        }
        put_frame(out, depth++, place.pc);
    }
    return depth;
}

/* libunwind keeps its state on the stack; on a small alternate one only rules are used. */
static bool library_fits(const void *ucontext)
{
    return signal_stack_left(ucontext) >= LIBRARY_STACK_BYTES;
}

int native_walk(void *ucontext, struct frame *out, int max)
{
    struct walk walk = {.context = ucontext};
    struct registers registers;
    registers_read(ucontext, &registers);
    if (frame_tables.find_object == NULL || max <= 0 || is_java(registers.pc))
        return 0;
    int depth = walk_by_rules(&walk, out, max);
    if (depth == 0 && (native_unwind.space == NULL || !library_fits(ucontext)))
        return 1; /* the pc alone, which is there already */
    return depth > 0 ? depth : walk_by_libunwind(&walk, out, max);
}

bool native_find_java(void *ucontext, struct native_caller *caller)
{
    struct walk walk = {.context = ucontext};
    if (frame_tables.find_object == NULL)
        return false;
    if (walk_by_rules(&walk, NULL, CALLS_MAX) == 0 && native_unwind.space != NULL &&
        library_fits(ucontext))
        walk_by_libunwind(&walk, NULL, CALLS_MAX);
    *caller = walk.caller;
    return caller->pc != 0;
}

#else

int native_walk(void *ucontext, struct frame *out, int max)
{
    (void)ucontext, (void)out, (void)max;
    (void)is_java;
    return 0;
}

bool native_find_java(void *ucontext, struct native_caller *caller)
{
    (void)ucontext, (void)caller;
    return false;
}

#endif
