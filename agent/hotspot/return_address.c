/* Signal context. */
#include "agent/hotspot/load.h"
#include "agent/hotspot/scopes.h"
#include "agent/hotspot/walk_state.h"

#define SAVED_MAX     64  /* words that a method in the midst of its code has pushed for a stub */
#define WRAPPER_BYTES 256 /* from sp at the call stub's call to its fp; it has about 200 */
#define CALL_BYTES    5   /* call rel32 */
#define LINKS_MAX     4   /* callers that are looked at before a word is believed */

/* call rel32; call *%reg; call *%r8 to %r15. */
static bool follows_direct_call(uintptr_t pc)
{
    return load_u8(pc - CALL_BYTES, 0) == 0xe8;
}

static bool follows_call(uintptr_t pc)
{
    return follows_direct_call(pc) || (load_u16(pc - 2, 0) & 0xf8ff) == 0xd0ff ||
           (load_u32(pc - 3, 0) & 0xf8ffff) == 0xd0ff41;
}

/* Whether the call before pc, in caller, goes to another method than that, for sure: not to a stub
 * that finds the method, one of the caller's own included, nor to a method handle's intrinsic,
 * which jumps on to it. */
static bool calls_another(const struct code_blob *caller, uintptr_t pc, uintptr_t method)
{
    struct code_blob callee;
    if (!follows_direct_call(pc))
        return false;
    uintptr_t target = pc + (uintptr_t)(intptr_t)(int32_t)load_u32(pc - 4, 0);
    return code_cache_find(target, &callee) && callee.kind == CODE_METHOD &&
           callee.address != caller->address && callee.method != method &&
           !method_is_native(callee.method);
}

bool return_address_called_java(const struct code_blob *caller, uintptr_t pc, bool described)
{
    return method_is_native(caller->method) || (described && follows_call(pc));
}

/* The same of a return address, which a deoptimised frame keeps elsewhere. */
static bool is_in_caller_of_java(const struct code_blob *caller, uintptr_t pc, uintptr_t sp)
{
    pc = scopes_original_pc(caller, pc, sp);
    return return_address_called_java(caller, pc, scopes_describe(caller, pc));
}

/* After a call of anything, a stub of the runtime included. */
static bool is_in_caller(const struct code_blob *blob, uintptr_t pc)
{
    return follows_call(pc) || scopes_is_deoptimiser(blob, pc);
}

/* How many callers there are, one after the other, as far as LINKS_MAX: at is where the return
 * address of a frame of that method is to be, the caller's fp below it. */
static int count_links(const struct walk_state *walk, uintptr_t at, uintptr_t method)
{
    struct code_blob blob;
    uintptr_t sp = at + WORD_BYTES;
    for (int links = 0; links < LINKS_MAX; links++) {
        uintptr_t pc = load_pointer(at), fp = load_pointer(at - WORD_BYTES);
        if (!walk_on_stack(walk, at) || !code_cache_find(pc, &blob))
            return links;
        switch (blob.kind) {
        case CODE_INTERPRETER:
            if (!walk_interpreted_at(walk, fp, sp))
                return links + 1;
            at = fp + WORD_BYTES;
            sp = walk_interpreted_sender_sp(fp);
            method = walk_interpreted_method(fp);
            break;
        case CODE_METHOD:
            if (blob.frame_bytes == 0 || !is_in_caller(&blob, pc) ||
                !is_in_caller_of_java(&blob, pc, sp) || calls_another(&blob, pc, method))
                return links;
            at = sp + (uintptr_t)blob.frame_bytes - WORD_BYTES;
            sp = at + WORD_BYTES;
            method = blob.method;
            break;
        case CODE_CONTINUATION:
        case CODE_UPCALL:
            return LINKS_MAX;
        case CODE_OTHER:
            return pc == load_pointer(layout.call_stub_return) ? LINKS_MAX : links;
        }
    }
    return LINKS_MAX;
}

int return_address_pushed_words(const struct walk_state *walk, const struct code_blob *blob,
                                uintptr_t sp)
{
    int found = -1, most = 0;
    for (int words = 0; words <= SAVED_MAX && most < LINKS_MAX; words++) {
        uintptr_t end = sp + (uintptr_t)(words * WORD_BYTES + blob->frame_bytes);
        int links = count_links(walk, end - WORD_BYTES, blob->method);
        if (links > most) {
            most = links;
            found = words;
        }
    }
    return found;
}

bool return_address_is(const struct walk_state *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct code_blob blob;
    if (pc == load_pointer(layout.call_stub_return))
        return fp >= sp && fp - sp <= WRAPPER_BYTES && walk_on_stack(walk, fp);
    if (!code_cache_find(pc, &blob))
        return false;
    if (blob.kind == CODE_INTERPRETER)
        return walk_interpreted_at(walk, fp, sp);
    if (blob.kind == CODE_CONTINUATION || blob.kind == CODE_UPCALL)
        return true;
    return blob.kind == CODE_METHOD && blob.frame_bytes > 0 && pc > blob.code &&
           ((intptr_t)(pc - blob.code) > blob.frame_complete || frame_part_subtracted(&blob, pc)) &&
           (walk->called_java ? is_in_caller_of_java(&blob, pc, sp) : is_in_caller(&blob, pc)) &&
           return_address_pushed_words(walk, &blob, sp) >= 0;
}

/* Signal context. */
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

/* The wrapper of a native method looks for an exception between leave and ret: cmpq $0, 8(%r15);
 * jne ... */
static bool is_end_of_wrapper(uintptr_t pc)
{
    return is_code(pc - 1, 0xc9, 0xff) ||
           (is_code(pc, 0x850f, 0xffff) && (is_code(pc - 6, 0x00087f8349c9, 0xffffffffffff) ||
                                            is_code(pc - 8, 0x00087f8149, 0xffffffffffffffff)));
}

/* The sub is known by its operand. */
bool frame_part_subtracted(const struct code_blob *blob, uintptr_t pc)
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
        if (frame_part_subtracted(blob, pc))
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
