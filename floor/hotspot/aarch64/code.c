/* aarch64. Signal context. */
#include "floor/hotspot/code_cache.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/scopes.h"

#define INSTRUCTION_BYTES 4

const struct machine machine = {
    .name = "aarch64",
    .instruction_bytes = INSTRUCTION_BYTES,
    .call_pushed_bytes = 0,
    /*
     * The interpreter's frame, in words from fp (x29):
     *
     *   +1 return address (x30) | 0 caller's fp | -1 caller's sp | -2 own sp | -3 method | -4 profile
     *   -5 extended sp | -6 mirror | -7 constant pool cache | -8 locals | -9 bytecode
     */
    .call_wrapper_slot = -8,
    .sender_sp_slot = -1,
    .last_sp_slot = -2,
    .interpreted_bcp = -7,
    .entry_bytes = 3 * INSTRUCTION_BYTES, /* [sign x30;] stp x29, x30, [sp, #-16]!; mov x29, sp */
    .call_stub_begin = 384,
    .call_stub_rest = 192,
    .call_stub_frame = 384,               /* 28 or 29 words are saved, then come the arguments */
    .call_stub_code = 0x910003fda9bf7bfd, /* stp x29, x30, [sp, #-16]!; mov x29, sp */
    .call_stub_mask = UINT64_MAX,
    .throw_code = 0xa9bf0ffd, /* stp x29, x3, [sp, #-16]! */
    .throw_mask = UINT32_MAX,
    .return_code = 0xd65f03c0,
    .return_mask = UINT32_MAX,
    .entry_cookie = 0,
    .stubs_have_records = true,
    .syscall_code = 0xd4000001, /* svc #0 */
    .syscall_bytes = INSTRUCTION_BYTES,
    .signal_return_code = UINT64_C(0xd4000001d2801168), /* mov x8, #139; svc #0 */
    .signal_context_at = 128,                           /* above siginfo */
    .dwarf_fp = 29,
    .dwarf_sp = 31,
    .dwarf_return = 30,
};

/* --- addresses and calls ---------------------------------------------------------------------- */

/* xpaclri: what signs an address lies in bits that depend on the kernel's address space; the processor
 * knows which. A hint: on one without it nothing happens. */
uintptr_t code_address(uintptr_t value)
{
    register uintptr_t link __asm__("x30") = value;
    __asm__("hint #7" : "+r"(link));
    return link;
}

uintptr_t return_address_at(uintptr_t at)
{
    return code_address(load_pointer(at));
}

static uint32_t instruction_at(uintptr_t pc)
{
    return load_u32(pc, 0);
}

static bool is_bl(uint32_t code)
{
    return (code & 0xfc000000) == 0x94000000;
}

/* bl; blr. */
bool code_follows_call(uintptr_t pc)
{
    uint32_t code = instruction_at(pc - INSTRUCTION_BYTES);
    return is_bl(code) || (code & 0xfffffc1f) == 0xd63f0000;
}

uintptr_t code_call_target(uintptr_t pc)
{
    uint32_t code = instruction_at(pc - INSTRUCTION_BYTES);
    int32_t words = (int32_t)(code << 6) >> 6; /* 26 bits with a sign */
    return is_bl(code) ? pc - INSTRUCTION_BYTES + (uintptr_t)((intptr_t)words * INSTRUCTION_BYTES)
                       : 0;
}

uintptr_t code_call_padding(uintptr_t pc)
{
    (void)pc;
    return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

#define PROLOGUE_MAX    64 /* instructions that are looked at */
#define WRAPPER_END_MAX 12 /* from where a native method's wrapper has left its frame to ret */
#define EPILOGUE_MAX                                                                               \
    8 /* from where the registers are back to ret, a poll or a check for an exception */

/* stp x29, x30, [sp, #n] */
static bool is_store_pair(uint32_t code)
{
    return (code & 0xffc07fff) == 0xa9007bfd;
}

/* stp x29, x30, [sp, #-n]! */
static bool is_push_pair(uint32_t code)
{
    return (code & 0xffc07fff) == 0xa9807bfd;
}

/* ldp x29, x30, [sp, #n] */
static bool is_load_pair(uint32_t code)
{
    return (code & 0xffc07fff) == 0xa9407bfd;
}

/* ldp x29, x30, [sp], #n */
static bool is_pop_pair(uint32_t code)
{
    return (code & 0xffc07fff) == 0xa8c07bfd;
}

/* sub sp, sp, #n or x8 */
static bool is_subtraction(uint32_t code)
{
    return (code & 0xff8003ff) == 0xd10003ff || code == 0xcb2863ff;
}

/* add sp, sp, #n or x8 */
static bool is_addition(uint32_t code)
{
    return (code & 0xff8003ff) == 0x910003ff || code == 0x8b2863ff;
}

/* mov sp, x29 */
static bool is_sp_from_fp(uint32_t code)
{
    return code == 0x910003bf;
}

static bool is_return(uint32_t code)
{
    return code == machine.return_code;
}

/* ret; b; br */
static bool is_leaving(uint32_t code)
{
    return is_return(code) || (code & 0xfc000000) == 0x14000000 ||
           (code & 0xfffffc1f) == 0xd61f0000;
}

/*
 * A small frame          sub sp, sp, #n; stp x29, x30, [sp, #n-16]
 * a large one            stp x29, x30, [sp, #-16]!; [mov x8, #n-16;] sub sp, sp, #n-16 or x8
 * a native wrapper's     stp x29, x30, [sp, #-16]!; mov x29, sp; sub sp, sp, #n-16
 */
static enum frame_part part_after(const struct code_blob *blob, uintptr_t pc)
{
    enum frame_part part = FRAME_BARE;
    uintptr_t most = PROLOGUE_MAX * INSTRUCTION_BYTES;
    for (uintptr_t at = pc - blob->code > most ? pc - most : blob->code;
         at < pc && part != FRAME_WHOLE; at += INSTRUCTION_BYTES) {
        uint32_t code = instruction_at(at);
        if (is_push_pair(code))
            part = FRAME_PUSHED;
        else if (is_subtraction(code))
            part = part == FRAME_PUSHED ? FRAME_WHOLE : FRAME_MOVED;
        else if (part == FRAME_MOVED && is_store_pair(code))
            part = FRAME_WHOLE;
    }
    return part;
}

/* Where a method's poll leads when a safepoint is due, behind the method: adr x8, ...; str x8, [x28, #n];
 * then a jump of up to three instructions. */
static bool is_poll_stub(uintptr_t pc)
{
    for (uintptr_t back = 0; back < 5; back++) {
        uintptr_t at = pc - back * INSTRUCTION_BYTES;
        if ((instruction_at(at) & 0x9f00001f) == 0x10000008 &&
            (instruction_at(at + INSTRUCTION_BYTES) & 0xffc003ff) == 0xf9000388)
            return true;
    }
    return false;
}

/* A native method's wrapper makes and leaves small frames of its own around calls of a collector's barrier, and between
 * its own and ret there may be a poll (JDK 25): what tells is what stands between here and ret. */
static enum frame_part part_of_wrapper(uintptr_t pc)
{
    enum frame_part part = is_pop_pair(instruction_at(pc)) ? FRAME_PUSHED : FRAME_BARE;
    for (int ahead = 0; ahead < WRAPPER_END_MAX; ahead++, pc += INSTRUCTION_BYTES) {
        uint32_t code = instruction_at(pc);
        if (is_return(code))
            return part;
        if (is_sp_from_fp(code) || (ahead > 0 && is_pop_pair(code)))
            break;
    }
    return FRAME_WHOLE;
}

/* From the end of a method back to where its registers were loaded. */
static enum frame_part part_before_return(uintptr_t pc)
{
    bool added = false;
    if (is_pop_pair(instruction_at(pc)))
        return FRAME_PUSHED;
    for (uintptr_t back = 1; back <= EPILOGUE_MAX; back++) {
        uint32_t code = instruction_at(pc - back * INSTRUCTION_BYTES);
        if (is_leaving(code))
            break;
        if (is_pop_pair(code))
            return FRAME_BARE;
        if (is_load_pair(code))
            return added ? FRAME_BARE : FRAME_MOVED;
        added = added || is_addition(code);
    }
    return FRAME_WHOLE;
}

bool frame_part_made(const struct code_blob *blob, uintptr_t pc)
{
    return part_after(blob, pc) == FRAME_WHOLE;
}

enum frame_part frame_part_at(const struct code_blob *blob, uintptr_t pc)
{
    if ((intptr_t)(pc - blob->code) < blob->frame_complete)
        return part_after(blob, pc);
    if (method_is_native(blob->method))
        return part_of_wrapper(pc);
    return is_poll_stub(pc) ? FRAME_BARE : part_before_return(pc);
}

/* Together with the return address. */
bool frame_part_holds_fp(const struct code_blob *blob, uintptr_t pc)
{
    (void)blob, (void)pc;
    return true;
}
