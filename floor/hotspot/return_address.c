/* Signal context. */
#include "floor/hotspot/frame_cache.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/scopes.h"
#include "floor/hotspot/walk_state.h"

#define SAVED_MAX 64 /* words that a method in the midst of its code has pushed for a stub */
#define LINKS_MAX 4  /* callers that are looked at before a word is believed */

static bool holds(const struct code_blob *blob, uintptr_t pc)
{
    return pc - blob->address < blob->bytes;
}

/* Whether the call before pc, in caller, goes to another method than that of callee, for sure: not to a
 * stub that finds the method, one of the caller's own included, nor to a method handle's intrinsic,
 * which jumps on to it. */
static bool calls_another(const struct code_blob *caller, uintptr_t pc,
                          const struct code_blob *callee)
{
    struct code_blob called;
    uintptr_t target = code_call_target(pc);
    return target != 0 && !holds(callee, target) && !holds(caller, target) &&
           code_cache_find(target, &called) && called.kind == CODE_METHOD &&
           called.method != callee->method && !method_is_native(called.method);
}

#define CONTINUATIONS_SINCE 19 /* JDK */

/* Native code calls Java by the call stub: the wrapper of a native method does so itself in Continuation.enterSpecial
 * alone. */
static bool may_enter_continuations(const struct code_blob *caller)
{
    return layout.cont_return_pc != 0 ? holds(caller, load_pointer(layout.cont_return_pc))
                                      : layout.jdk_major >= CONTINUATIONS_SINCE;
}

bool return_address_called_java(const struct code_blob *caller, uintptr_t pc, bool described)
{
    return method_is_native(caller->method) ? may_enter_continuations(caller)
                                            : described && code_follows_call(pc);
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
    return code_follows_call(pc) || scopes_is_deoptimiser(blob, pc);
}

bool return_address_known(uintptr_t pc, struct code_blob *caller)
{
    struct cached_call call;
    if (!frame_cache_find(pc, &call))
        return false;
    *caller = (struct code_blob){
        .kind = CODE_METHOD,
        .address = call.nmethod,
        .bytes = call.nmethod_bytes,
        .frame_bytes = call.frame_bytes,
        .method = call.method,
    };
    return true;
}

/* How many callers there are, one after the other, as far as LINKS_MAX: at is where the return
 * address of a frame of callee is to be, the caller's fp below it. */
static int count_links(const struct walk_state *walk, uintptr_t at, struct code_blob callee)
{
    struct code_blob blob;
    uintptr_t sp = at + WORD_BYTES;
    for (int links = 0; links < LINKS_MAX; links++) {
        uintptr_t pc = return_address_at(at), fp = load_pointer(at - WORD_BYTES);
        if (!walk_on_stack(walk, at))
            return links;
        bool known = return_address_known(pc, &blob);
        if (!known && !code_cache_find(pc, &blob))
            return links;
        switch (blob.kind) {
        case CODE_INTERPRETER:
            if (!walk_interpreted_at(walk, fp, sp))
                return links + 1;
            at = fp + WORD_BYTES;
            sp = walk_interpreted_sender_sp(fp);
            callee = (struct code_blob){.method = walk_interpreted_method(fp)};
            break;
        case CODE_METHOD:
            if (blob.frame_bytes == 0 ||
                (!known && (!is_in_caller(&blob, pc) || !is_in_caller_of_java(&blob, pc, sp))) ||
                calls_another(&blob, pc, &callee))
                return links;
            at = sp + (uintptr_t)blob.frame_bytes - WORD_BYTES;
            sp = at + WORD_BYTES;
            callee = blob;
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

int return_address_pushed_words(struct walk_state *walk, const struct code_blob *blob, uintptr_t sp)
{
    int found = -1, most = 0;
    if (walk->seen_at == sp && walk->seen_blob == blob->address)
        return walk->seen_words;
    for (int words = 0; words <= SAVED_MAX && most < LINKS_MAX; words++) {
        uintptr_t end = sp + (uintptr_t)(words * WORD_BYTES + blob->frame_bytes);
        int links = count_links(walk, end - WORD_BYTES, *blob);
        if (links > most) {
            most = links;
            found = words;
        }
    }
    walk->seen_at = sp;
    walk->seen_blob = blob->address;
    walk->seen_words = found;
    return found;
}

bool return_address_is(struct walk_state *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct code_blob blob;
    if (pc == load_pointer(layout.call_stub_return))
        return fp >= sp && fp - sp <= (uintptr_t)machine.call_stub_frame && walk_on_stack(walk, fp);
    if (return_address_known(pc, &blob))
        return blob.frame_bytes > 0 && return_address_pushed_words(walk, &blob, sp) >= 0;
    if (!code_cache_find(pc, &blob))
        return false;
    if (blob.kind == CODE_INTERPRETER)
        return walk_interpreted_at(walk, fp, sp);
    if (blob.kind == CODE_CONTINUATION || blob.kind == CODE_UPCALL)
        return true;
    return blob.kind == CODE_METHOD && blob.frame_bytes > 0 && pc > blob.code &&
           ((intptr_t)(pc - blob.code) > blob.frame_complete || frame_part_made(&blob, pc)) &&
           (walk->called_java ? is_in_caller_of_java(&blob, pc, sp) : is_in_caller(&blob, pc)) &&
           return_address_pushed_words(walk, &blob, sp) >= 0;
}
