/* x86-64. Signal context. */
#include "floor/hotspot/code_cache.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/scopes.h"

const struct machine machine = {
    .name = "x86-64",
    .instruction_bytes = 1,
    .call_pushed_bytes = WORD_BYTES,
    /*
     * The interpreter's frame, in words from fp. HotSpot's tables name the two where the caller's sp
     * and its own are kept; the others follow in the order they are pushed:
     *
     *   +1 return address | 0 caller's fp | -1 caller's sp | -2 own sp | -3 method | -4 mirror
     *   -5 profile | -6 constant pool cache | -7 locals | -8 bytecode
     */
    .interpreted_bcp = -6,
    .entry_bytes = 4, /* push %rbp; mov %rsp, %rbp */
    .call_stub_begin = 192,
    .call_stub_rest = 128,
    .call_stub_frame = 256,       /* it has about 200 */
    .call_stub_code = 0xec8b4855, /* push %rbp; mov %rsp, %rbp */
    .call_stub_mask = 0xffffffff,
    .throw_code = 0x52, /* push %rdx */
    .throw_mask = 0xff,
    .return_code = 0xc3,
    .return_mask = 0xff,
    .entry_cookie = UINT64_MAX,
    .syscall_code = 0x050f,
    .syscall_bytes = 2,
    .signal_return_code = UINT64_C(0x0f0000000fc0c748), /* mov $15, %rax, and of syscall */
    .dwarf_fp = 6,
    .dwarf_sp = 7,
    .dwarf_return = 16,
};

/* --- addresses and calls ---------------------------------------------------------------------- */

uintptr_t code_address(uintptr_t value)
{
    return value;
}

uintptr_t return_address_at(uintptr_t at)
{
    return load_pointer(at);
}

#define CALL_BYTES 5 /* call rel32 */

static bool follows_direct_call(uintptr_t pc)
{
    return load_u8(pc - CALL_BYTES, 0) == 0xe8;
}

/* call rel32; call *%reg; call *%r8 to %r15. */
bool code_follows_call(uintptr_t pc)
{
    return follows_direct_call(pc) || (load_u16(pc - 2, 0) & 0xf8ff) == 0xd0ff ||
           (load_u32(pc - 3, 0) & 0xf8ffff) == 0xd0ff41;
}

#define FAR_CALL_BYTES 13 /* mov $target, %r10; call *%r10: of a leaf function, by C2 */

uintptr_t code_call_target(uintptr_t pc)
{
    if (follows_direct_call(pc))
        return pc + (uintptr_t)(intptr_t)(int32_t)load_u32(pc - 4, 0);
    return (load_u32(pc - 3, 0) & 0xffffff) == 0xd2ff41 &&
                   load_u16(pc - FAR_CALL_BYTES, 0) == 0xba49
               ? load_pointer(pc - FAR_CALL_BYTES + 2)
               : 0;
}

/* add $8, %rsp */
uintptr_t code_call_padding(uintptr_t pc)
{
    return load_u32(pc, 0) == 0x08c48348 ? WORD_BYTES : 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

#define PROLOGUE_MAX 64 /* bytes of it */

/* Bytes as a load has them, the first lowest. */
static bool is_code(uintptr_t pc, uint64_t bytes, uint64_t mask)
{
    return (load_u64(pc, 0) & mask) == bytes;
}

/* After a method's poll there is ret. cmp n(%r15), %rsp; ja ..., and up to JDK 15 mov n(%r15),
 * %r10; test %eax, (%r10). */
static bool is_poll(uintptr_t pc)
{
    return is_code(pc, 0xa73b49, 0xffffff) || is_code(pc, 0x673b49, 0xffffff) ||
           (is_code(pc, 0x870f, 0xffff) &&
            (is_code(pc - 7, 0xa73b49, 0xffffff) || is_code(pc - 4, 0x673b49, 0xffffff))) ||
           is_code(pc, 0xc3028541, 0xffffffff) ||
           (is_code(pc, 0x978b4d, 0xffffff) && is_code(pc + 7, 0xc3028541, 0xffffffff));
}

/* Where that leads when a safepoint is due, behind the method: lea ...(%rip), %r10; mov %r10,
 * n(%r15); jmp. The mov has a displacement of a byte or of four. */
static bool is_poll_stub(uintptr_t pc)
{
    enum { LEA_BYTES = 7, MOV_BYTES = 4, MOV_LONG_BYTES = 7 };
    uintptr_t lea = 0;
    if (is_code(pc, 0x158d4c, 0xffffff))
        lea = pc;
    else if (is_code(pc, 0x894d, 0xffff))
        lea = pc - LEA_BYTES;
    else if (is_code(pc, 0xe9, 0xff))
        lea = is_code(pc - MOV_BYTES, 0x57894d, 0xffffff) ? pc - MOV_BYTES - LEA_BYTES
                                                          : pc - MOV_LONG_BYTES - LEA_BYTES;
    return lea != 0 && is_code(lea, 0x158d4c, 0xffffff) &&
           (is_code(lea + LEA_BYTES, 0x57894d, 0xffffff) ||
            is_code(lea + LEA_BYTES, 0x97894d, 0xffffff));
}

/* Bytes of an instruction that the wrapper of a native method has between leave and ret; 0: of another one. It looks for
 * a poll (JDK 25: testb $1, n(%r15); je) and for an exception (cmpq $0, n(%r15); jne). */
static uintptr_t end_of_wrapper_bytes(uintptr_t pc)
{
    static const struct {
        uint32_t code, mask;
        uint8_t bytes;
    } KNOWN[] = {
        {0x7f8349, 0xffffff, 5}, {0xbf8349, 0xffffff, 8}, {0x7f8149, 0xffffff, 8},
        {0x47f641, 0xffffff, 5}, {0x87f641, 0xffffff, 8}, {0x74, 0xfe, 2},
        {0x840f, 0xfeff, 6},
    };
    uint32_t code = load_u32(pc, 0);
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        if ((code & KNOWN[i].mask) == KNOWN[i].code)
            return KNOWN[i].bytes;
    }
    return 0;
}

#define WRAPPER_END_MAX 24 /* bytes from leave to ret */

/* Such instructions and no others lie between a leave and pc. */
static bool is_end_of_wrapper(uintptr_t pc)
{
    for (uintptr_t leave = pc - 1; leave >= pc - WRAPPER_END_MAX; leave--) {
        uintptr_t at = leave + 1, bytes = 1;
        if (!is_code(leave, 0xc9, 0xff))
            continue;
        while (at < pc && (bytes = end_of_wrapper_bytes(at)) != 0)
            at += bytes;
        if (at == pc)
            return true;
    }
    return false;
}

/* The sub is known by its operand. */
bool frame_part_made(const struct code_blob *blob, uintptr_t pc)
{
    uintptr_t first = pc - blob->code > PROLOGUE_MAX ? pc - PROLOGUE_MAX : blob->code;
    for (uintptr_t at = first; at + 4 <= pc; at++) {
        uint64_t code = load_u64(at, 0);
        int64_t bytes;
        if ((code & 0xffffff) == 0xec8348)
            bytes = (int8_t)(code >> 24); // NOLINT(bugprone-signed-char-misuse): a number
        else if ((code & 0xffffff) == 0xec8148 && at + 7 <= pc)
            bytes = (int32_t)(code >> 24);
        else
            continue;
        /* Return address, and %rbp if that was pushed. */
        if (bytes + WORD_BYTES == blob->frame_bytes || bytes + 2 * WORD_BYTES == blob->frame_bytes)
            return true;
    }
    return false;
}

enum frame_part frame_part_at(const struct code_blob *blob, uintptr_t pc)
{
    if ((intptr_t)(pc - blob->code) < blob->frame_complete) {
        if (frame_part_made(blob, pc))
            return FRAME_WHOLE;
        return pc > blob->code && is_code(pc - 1, 0x55, 0xff) ? FRAME_PUSHED : FRAME_BARE;
    }
    if (is_code(pc, 0x5d, 0xff))
        return FRAME_PUSHED;
    if (is_code(pc, 0xc3, 0xff) || is_poll(pc) || is_poll_stub(pc) ||
        (method_is_native(blob->method) && is_end_of_wrapper(pc)))
        return FRAME_BARE;
    return is_code(pc - 1, 0xe95d, 0xffff) ? FRAME_BARE
                                           : FRAME_WHOLE; /* pop %rbp; jmp: to a stub, for good */
}

/* mov %rbp, n(%rsp), as the end of the prologue. */
bool frame_part_holds_fp(const struct code_blob *blob, uintptr_t pc)
{
    return (intptr_t)(pc - blob->code) >= blob->frame_complete ||
           !(is_code(pc, 0x246c8948, 0xffffffff) || is_code(pc, 0x24ac8948, 0xffffffff));
}
