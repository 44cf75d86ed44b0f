/*
 * compare: an agent for compare_test.sh (make build/compare/libnmtagent.so): engine agct walks with both engines in
 * the same handler and counts where they agree. The result is written at the end to the file that
 * the environment variable NMTAGENT_COMPARE names: lines of `name number`, and the first stacks
 * that differ. It is linked in front of functions of the agent by --wrap.
 */
#include "agent/calltrace/calltrace.h"
#include "agent/hotspot/registers.h"
#include "agent/stack/engine_parts.h"
#include "agent/stack/native.h"
#include "floor/hotspot/frame_cache.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/walk.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define DEPTH_MAX 1024
#define ROOMS     32 /* handlers at the same time */
#define EXAMPLES  15 /* of each kind */
#define SHOWN     40 /* frames of an example */

static struct room {
    _Atomic bool taken;
    struct walked_frame frames[DEPTH_MAX];
    struct frame returned[DEPTH_MAX];
} rooms[ROOMS];

struct side {
    int depth;
    enum walk_code code;
    struct {
        uintptr_t method;
        int32_t bci;
    } frames[SHOWN];
};

enum outcome {
    IDENTICAL,
    PLACE_AFTER_CALL,
    AT_RETURN,
    CUT_SHORT,
    OTHER_BCI,
    OTHER_STACK,
    RESCUED_WHOLE,
    RESCUED_PART,
    LOST,
    NO_FRAMES
};
#define OUTCOMES (NO_FRAMES + 1)
static const char *const NAMES[OUTCOMES] = {
    [IDENTICAL] = "identical",
    [PLACE_AFTER_CALL] = "place_after_call",
    [AT_RETURN] = "at_return",
    [CUT_SHORT] = "agct_cut_short", /* the same as far as it goes, and without an end */
    [OTHER_BCI] = "other_bci",
    [OTHER_STACK] = "other_stack",
    [RESCUED_WHOLE] = "rescued_whole",
    [RESCUED_PART] = "rescued_part",
    [LOST] = "lost",
    [NO_FRAMES] = "no_frames",
};

static struct example {
    uintptr_t pc, sp, fp, caller; /* caller: of native code, where that is Java */
    struct side agct, vm;
} examples[OUTCOMES][EXAMPLES];

static _Atomic int64_t outcomes[OUTCOMES], same_methods, no_room;
static _Atomic int64_t matrix[WALK_CODE_COUNT][WALK_CODE_COUNT]; /* by agct's code, by ours */

static void count(_Atomic int64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* --- the place that AsyncGetCallTrace takes ----------------------------------------------------- */

/* AsyncGetCallTrace looks for the place after pc even where the innermost compiled frame waits at a call: then it
 * names what comes after the call. So does the walker while these are set. */
static _Thread_local const struct walked_frame *after_call;
static _Thread_local uintptr_t interrupted_at;

int __real_scopes_at(const struct code_blob *blob, uintptr_t pc, struct walked_frame *out, int max,
                     bool *described);
int __wrap_scopes_at(const struct code_blob *blob, uintptr_t pc, struct walked_frame *out, int max,
                     bool *described);
int __wrap_scopes_at(const struct code_blob *blob, uintptr_t pc, struct walked_frame *out, int max,
                     bool *described)
{
    if (out == after_call && pc != interrupted_at + 1)
        pc++;
    return __real_scopes_at(blob, pc, out, max, described);
}

bool __real_frame_cache_find(uintptr_t pc, struct cached_call *out);
bool __wrap_frame_cache_find(uintptr_t pc, struct cached_call *out);
bool __wrap_frame_cache_find(uintptr_t pc, struct cached_call *out)
{
    return after_call == NULL && __real_frame_cache_find(pc, out);
}

void __real_frame_cache_keep(uintptr_t pc, const struct code_blob *blob,
                             const struct walked_frame *frames, int count, int16_t level);
void __wrap_frame_cache_keep(uintptr_t pc, const struct code_blob *blob,
                             const struct walked_frame *frames, int count, int16_t level);
void __wrap_frame_cache_keep(uintptr_t pc, const struct code_blob *blob,
                             const struct walked_frame *frames, int count, int16_t level)
{
    if (after_call == NULL)
        __real_frame_cache_keep(pc, blob, frames, count, level);
}

static int walk_as_agct(JNIEnv *env, void *ucontext, struct walked_frame *out, int max,
                        enum walk_code *code)
{
    struct registers registers;
    registers_read(ucontext, &registers);
    interrupted_at = registers.pc;
    after_call = out;
    int depth = walk_interrupted(env, ucontext, out, max, code);
    after_call = NULL;
    return depth;
}

/* --- the two stacks --------------------------------------------------------------------------- */

static uintptr_t agct_method(struct frame frame)
{
    return load_pointer(frame.value); /* a jmethodID up to JDK 25: the address of a Method * */
}

/* A method's entry is -1 for one, 0 for the other. */
static int32_t plain_bci(int32_t bci)
{
    return bci < 0 && bci != FRAME_BCI_NATIVE_METHOD ? 0 : bci;
}

static void keep_example(enum outcome why, int64_t number, void *ucontext, const struct frame *agct,
                         int agct_depth, enum walk_code agct_code, const struct walked_frame *vm,
                         int vm_depth, enum walk_code vm_code)
{
    if (number >= EXAMPLES || why < OTHER_BCI || why == RESCUED_WHOLE || why == NO_FRAMES)
        return;
    struct registers registers;
    registers_read(ucontext, &registers);
    struct example *example = &examples[why][number];
    *example = (struct example){
        .pc = registers.pc,
        .sp = registers.sp,
        .fp = registers.fp,
        .agct = {.depth = agct_depth, .code = agct_code},
        .vm = {.depth = vm_depth, .code = vm_code},
    };
    struct native_caller caller;
    if (native_find_java(ucontext, &caller))
        example->caller = caller.pc;
    for (int i = 0; i < SHOWN && i < agct_depth; i++) {
        example->agct.frames[i].method = agct_method(agct[i]);
        example->agct.frames[i].bci = agct[i].bci;
    }
    for (int i = 0; i < SHOWN && i < vm_depth; i++) {
        example->vm.frames[i].method = vm[i].method;
        example->vm.frames[i].bci = vm[i].bci;
    }
}

static enum outcome compare(const struct frame *agct, int agct_depth, const struct walked_frame *vm,
                            int vm_depth)
{
    enum outcome outcome = IDENTICAL;
    if (agct_depth > vm_depth)
        return OTHER_STACK;
    for (int i = 0; i < agct_depth; i++) {
        if (agct[i].value != 0 && agct_method(agct[i]) != vm[i].method)
            return OTHER_STACK; /* one without an id can be any */
        if (plain_bci(agct[i].bci) != plain_bci(vm[i].bci))
            outcome = OTHER_BCI;
    }
    if (agct_depth < vm_depth)
        return outcome == IDENTICAL ? CUT_SHORT : OTHER_STACK;
    return outcome;
}

static enum outcome judge(const struct frame *agct, int agct_depth, const struct walked_frame *vm,
                          int vm_depth, enum walk_code vm_code)
{
    if (agct_depth > 0)
        return compare(agct, agct_depth, vm, vm_depth);
    if (vm_depth > 0)
        return vm_code == WALK_OK ? RESCUED_WHOLE : RESCUED_PART;
    /* No frames: in the VM or in native code, and not called from Java. */
    return vm_code == WALK_NO_JAVA_FRAME ? NO_FRAMES : LOST;
}

/*
 * In the last instructions of a compiled method AsyncGetCallTrace takes the frame to be there still, and the
 * caller's frame for another one. It is asked again for where the thread will be when they have run: then
 * ours has to be the frames of this method, and that.
 */
static bool same_after_return(JNIEnv *env, void *ucontext, const struct frame *agct, int agct_depth,
                              const struct walked_frame *vm, int vm_depth, struct frame *returned)
{
    struct registers registers;
    struct code_blob blob;
    enum walk_code code;
    registers_read(ucontext, &registers);
    uintptr_t sp = registers.sp;
    if (!code_cache_find(registers.pc, &blob) || blob.kind != CODE_METHOD ||
        (intptr_t)(registers.pc - blob.code) < blob.frame_complete)
        return false;
    switch (frame_part_at(&blob, registers.pc)) {
    case FRAME_WHOLE:
        return false;
    case FRAME_PUSHED:
        registers.fp = load_pointer(sp);
        registers.pc = return_address_at(sp + sizeof(uintptr_t));
        registers.sp += 2 * sizeof(uintptr_t);
        break;
    case FRAME_MOVED:
        registers.pc = registers.link;
        registers.sp += (uintptr_t)blob.frame_bytes;
        break;
    case FRAME_BARE:
        registers.pc = registers.link != 0 ? registers.link : return_address_at(sp);
        registers.sp += (uintptr_t)machine.call_pushed_bytes;
    }
    registers.pc--; /* it takes the place after its pc */
    ucontext_t after = *(const ucontext_t *)ucontext;
    registers_write(&after, &registers);
    int callers = agct_walk(env, &after, returned, DEPTH_MAX, &code), own = vm_depth - callers;
    if (callers <= 0 || own <= 0 || own > agct_depth)
        return false;
    for (int i = 0; i < vm_depth; i++) {
        struct frame frame = i < own ? agct[i] : returned[i - own];
        if (frame.value != 0 && agct_method(frame) != vm[i].method)
            return false;
    }
    return true;
}

static void walk_too(JNIEnv *env, void *ucontext, const struct frame *agct, int agct_depth,
                     enum walk_code agct_code, struct room *room, int most)
{
    struct walked_frame *frames = room->frames;
    enum walk_code code;
    int depth = walk_interrupted(env, ucontext, frames, most, &code);
    enum outcome outcome = judge(agct, agct_depth, frames, depth, code);
    if (outcome == IDENTICAL || outcome == OTHER_BCI)
        count(&same_methods); /* in each frame */
    if (outcome == OTHER_BCI || outcome == OTHER_STACK) {
        enum walk_code second_code;
        int second = walk_as_agct(env, ucontext, frames, most, &second_code);
        if (judge(agct, agct_depth, frames, second, second_code) == IDENTICAL)
            outcome = PLACE_AFTER_CALL;
        else
            depth = walk_interrupted(env, ucontext, frames, most, &code);
        if (outcome == OTHER_STACK &&
            same_after_return(env, ucontext, agct, agct_depth, frames, depth, room->returned))
            outcome = AT_RETURN;
    }
    count(&matrix[agct_code][code]);
    int64_t number = atomic_fetch_add_explicit(&outcomes[outcome], 1, memory_order_relaxed);
    keep_example(outcome, number, ucontext, agct, agct_depth, agct_code, frames, depth, code);
}

static int compare_walk(JNIEnv *env, void *ucontext, struct frame *out, int max,
                        enum walk_code *code)
{
    int depth = agct_walk(env, ucontext, out, max, code);
    int most = max < DEPTH_MAX ? max : DEPTH_MAX;
    if (env == NULL)
        return depth;
    for (int i = 0; i < ROOMS; i++) {
        if (atomic_exchange(&rooms[i].taken, true))
            continue;
        walk_too(env, ucontext, out, depth < most ? depth : most, *code, &rooms[i], most);
        atomic_store(&rooms[i].taken, false);
        return depth;
    }
    count(&no_room);
    return depth;
}

/* --- set-up and end --------------------------------------------------------------------------- */

static void put_symbol(uintptr_t symbol, FILE *out)
{
    uint16_t length = load_u16(symbol + (uintptr_t)layout.symbol_length, 0);
    for (int i = 0; i < length && i < 120; i++)
        fputc(load_u8(symbol + (uintptr_t)layout.symbol_body + (uintptr_t)i, '?'), out);
}

static void put_method(uintptr_t method, FILE *out)
{
    uintptr_t at = load_pointer(method + (uintptr_t)layout.method_const);
    uintptr_t pool = load_pointer(at + (uintptr_t)layout.const_constants);
    uintptr_t holder = load_pointer(pool + (uintptr_t)layout.pool_holder);
    uint16_t name = load_u16(at + (uintptr_t)layout.const_name_index, 0);
    put_symbol(load_pointer(holder + (uintptr_t)layout.klass_name), out);
    fputc('.', out);
    put_symbol(load_pointer(pool + (uintptr_t)layout.pool_size + name * sizeof(void *)), out);
}

static void put_side(const char *name, const struct side *side, FILE *out)
{
    fprintf(out, "  %s: %d frames, %s\n", name, side->depth, walk_code_name(side->code));
    for (int i = 0; i < side->depth && i < SHOWN; i++) {
        fprintf(out, "    ");
        put_method(side->frames[i].method, out);
        fprintf(out, " @%d\n", side->frames[i].bci);
    }
}

static void put_place(uintptr_t pc, FILE *out)
{
    struct code_blob blob;
    if (!code_cache_find(pc, &blob)) {
        fprintf(out, "native");
        return;
    }
    if (blob.kind == CODE_INTERPRETER) {
        fprintf(out, "interpreter");
        return;
    }
    uintptr_t name = load_pointer(blob.address + (uintptr_t)layout.blob_name);
    for (uint8_t letter; (letter = load_u8(name++, 0)) != 0;)
        fputc(letter, out);
    fprintf(out, " +%" PRIdPTR " complete at %d, frame of %d, code", (intptr_t)(pc - blob.code),
            blob.frame_complete, blob.frame_bytes);
    for (int i = -32; i < 32; i++)
        fprintf(out, "%s%02x", i == 0 ? " > " : " ", load_u8(pc + (uintptr_t)(intptr_t)i, 0));
}

static void put_example(const char *outcome, const struct example *example, FILE *out)
{
    if (example->pc == 0)
        return;
    fprintf(out, "# %s at pc %#" PRIxPTR " sp %#" PRIxPTR " fp %#" PRIxPTR ": ", outcome,
            example->pc, example->sp, example->fp);
    put_place(example->pc, out);
    if (example->caller != 0) {
        fprintf(out, " called by ");
        put_place(example->caller, out);
    }
    fputc('\n', out);
    put_side("agct", &example->agct, out);
    put_side("vm", &example->vm, out);
}

static void compare_end(void)
{
    const char *path = getenv("NMTAGENT_COMPARE");
    FILE *out = path != NULL ? fopen(path, "w") : NULL;
    if (out != NULL) {
        for (int i = 0; i < OUTCOMES; i++)
            fprintf(out, "%s %" PRId64 "\n", NAMES[i], outcomes[i]);
        fprintf(out, "same_methods %" PRId64 "\n", same_methods);
        fprintf(out, "not_compared %" PRId64 "\n", no_room);
        for (int i = 0; i < WALK_CODE_COUNT; i++) {
            for (int j = 0; j < WALK_CODE_COUNT; j++) {
                if (matrix[i][j] != 0)
                    fprintf(out, "agct_%s_vm_%s %" PRId64 "\n", walk_code_name((enum walk_code)i),
                            walk_code_name((enum walk_code)j), matrix[i][j]);
            }
        }
        for (int i = 0; i < OUTCOMES * EXAMPLES; i++)
            put_example(NAMES[i / EXAMPLES], &examples[i / EXAMPLES][i % EXAMPLES], out);
        fclose(out);
    }
    engine_vm.end();
}

const struct stack_engine *__real_engine_choose(const char *wanted, JavaVM *vm, jvmtiEnv *jvmti,
                                                char *fallback, size_t fallback_size, char *error,
                                                size_t error_size);
const struct stack_engine *__wrap_engine_choose(const char *wanted, JavaVM *vm, jvmtiEnv *jvmti,
                                                char *fallback, size_t fallback_size, char *error,
                                                size_t error_size);
const struct stack_engine *__wrap_engine_choose(const char *wanted, JavaVM *vm, jvmtiEnv *jvmti,
                                                char *fallback, size_t fallback_size, char *error,
                                                size_t error_size)
{
    static struct stack_engine both;
    const struct stack_engine *engine =
        __real_engine_choose(wanted, vm, jvmti, fallback, fallback_size, error, error_size);
    if (engine != &engine_agct)
        return engine;
    both = engine_agct;
    both.walk = compare_walk;
    both.end = compare_end;
    return engine_vm.setup(vm, jvmti, error, error_size) ? &both : NULL;
}
