/*
 * Signal context. Reaches the walker, the readings of methods, pthread_getspecific, and the JVM's GetEnv,
 * which reads a thread-local variable (jvm_key_find in sigprof.h).
 */
#include "agent/asgst/asgst_parts.h"

#include "floor/hotspot/code_cache.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "agent/hotspot/registers.h"
#include "floor/hotspot/scopes.h"
#include "agent/hotspot/thread_state.h"
#include "floor/hotspot/method_reading.h"
#include "agent/stack/engine.h"
#include "agent/stack/native.h"

#include <errno.h>

#define LAST_JDK_OF_SLOTS 25 /* a jmethodID is the address of a slot that holds a Method * */

_Static_assert(sizeof(ASGST_CallFrame) == sizeof(struct frame), "converted in place");
_Static_assert(sizeof(ASGST_CallFrame) == sizeof(struct walked_frame), "converted in place");
_Static_assert(offsetof(ASGST_JavaFrame, method) == 8, "as drawn in asgst.h");
_Static_assert(offsetof(ASGST_NonJavaFrame, pc) == 8, "as drawn in asgst.h");

/* --- whose stack -------------------------------------------------------------------------------- */

/* NULL: no Java thread. */
static JNIEnv *own_env(void)
{
    JNIEnv *env = NULL;
    if (pthread_getspecific(asgst.jvm_key) == NULL ||
        (*asgst.vm)->GetEnv(asgst.vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return NULL;
    return env;
}

static uintptr_t thread_of(const JNIEnv *env)
{
    return (uintptr_t)env - (uintptr_t)layout.env_offset;
}

static struct registers interrupted(const void *ucontext)
{
    struct registers registers;
    registers_read(ucontext, &registers);
    return registers;
}

static bool is_on_stack(uintptr_t thread, uintptr_t sp)
{
    uintptr_t high = load_pointer(thread + (uintptr_t)layout.thread_stack_base);
    uintptr_t size = load_pointer(thread + (uintptr_t)layout.thread_stack_size);
    return sp < high && high - sp <= size;
}

/* As JVMTI's bits. ucontext NULL: it was not interrupted. */
static jint state_of(uintptr_t thread, const void *context)
{
    enum { WAITING = JVMTI_THREAD_STATE_ALIVE | JVMTI_THREAD_STATE_WAITING };
    static const jint STATES[] = {
        [THREAD_RUNNABLE] = JVMTI_THREAD_STATE_ALIVE | JVMTI_THREAD_STATE_RUNNABLE,
        [THREAD_IN_NATIVE] =
            JVMTI_THREAD_STATE_ALIVE | JVMTI_THREAD_STATE_RUNNABLE | JVMTI_THREAD_STATE_IN_NATIVE,
        [THREAD_SLEEPING] =
            WAITING | JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT | JVMTI_THREAD_STATE_SLEEPING,
        [THREAD_IN_OBJECT_WAIT] =
            WAITING | JVMTI_THREAD_STATE_WAITING_INDEFINITELY | JVMTI_THREAD_STATE_IN_OBJECT_WAIT,
        [THREAD_IN_OBJECT_WAIT_TIMED] =
            WAITING | JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT | JVMTI_THREAD_STATE_IN_OBJECT_WAIT,
        [THREAD_PARKED] =
            WAITING | JVMTI_THREAD_STATE_WAITING_INDEFINITELY | JVMTI_THREAD_STATE_PARKED,
        [THREAD_PARKED_TIMED] =
            WAITING | JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT | JVMTI_THREAD_STATE_PARKED,
        [THREAD_BLOCKED] = JVMTI_THREAD_STATE_ALIVE | JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER,
    };
    struct registers registers = {0};
    if (context != NULL)
        registers_read(context, &registers);
    return STATES[thread_state(thread, &registers)];
}

/* --- frames ------------------------------------------------------------------------------------- */

/* Frames are walked into the caller's array, and become what they are to be where they lie. */

static void put_pc(ASGST_CallFrame *frame, enum ASGST_FrameTypeId type, uintptr_t pc)
{
    *frame = (ASGST_CallFrame){.non_java_frame = {.type = (uint8_t)type, .pc = (void *)pc}};
}

static int put_native(void *ucontext, ASGST_CallFrame *frames, int max)
{
    uintptr_t pc = interrupted(ucontext).pc;
    struct code_blob blob;
    if (max <= 0)
        return 0;
    if (code_cache_contains(pc)) {
        bool stub =
            code_cache_find(pc, &blob) && blob.kind != CODE_METHOD && blob.kind != CODE_INTERPRETER;
        if (stub)
            put_pc(frames, ASGST_FRAME_STUB, pc);
        return stub;
    }
    int depth = asgst.native ? native_walk(ucontext, (struct frame *)frames, max) : 0;
    for (int i = 0; i < depth; i++)
        put_pc(&frames[i], ASGST_FRAME_CPP, ((struct frame *)frames)[i].value);
    if (depth == 0)
        put_pc(&frames[depth++], ASGST_FRAME_CPP, pc);
    return depth;
}

static enum ASGST_FrameTypeId type_of(const struct walked_frame *walked)
{
    if (walked->bci == FRAME_BCI_NATIVE_METHOD)
        return ASGST_FRAME_JAVA_NATIVE;
    return walked->type == FRAME_TYPE_INLINED ? ASGST_FRAME_JAVA_INLINED : ASGST_FRAME_JAVA;
}

static int put_java(JNIEnv *env, void *ucontext, ASGST_CallFrame *frames, int max,
                    enum walk_code *code)
{
    struct walked_frame *walked = (struct walked_frame *)frames;
    int depth = ucontext == NULL ? walk_here(env, walked, max, code)
                                 : walk_interrupted(env, ucontext, walked, max, code);
    for (int i = 0; i < depth; i++) {
        struct walked_frame frame = walked[i];
        frames[i] = (ASGST_CallFrame){.java_frame = {
                                          .type = (uint8_t)type_of(&frame),
                                          .comp_level = (int8_t)frame.level,
                                          .bci = frame.bci < 0 ? 0 : (uint16_t)frame.bci,
                                          .method = (ASGST_Method)frame.method,
                                      }};
    }
    return depth;
}

/* --- stacks ------------------------------------------------------------------------------------- */

/* Its own codes are the first ones. */
static jint error_of(enum walk_code code)
{
    static const short NUMBERS[] = {
#define WALK(id, number, name) [WALK_##id] = number,
#include "floor/hotspot/walks.def"
    };
    switch (code) {
    case WALK_SAFEPOINT:
        return ASGST_UNSAFE_STATE;
    case WALK_NOT_A_JAVA_THREAD:
        return ASGST_THREAD_NOT_JAVA;
    case WALK_OTHER:
        return ASGST_UNKNOWN_STATE;
    default:
        return NUMBERS[code];
    }
}

/* num_frames. whole: the walk came to the end of the stack, or to depth. */
static jint walk_thread(ASGST_CallTrace *trace, jint depth, void *ucontext, uint32_t options,
                        bool *whole)
{
    enum walk_code code = WALK_OK;
    uint8_t kinds = trace->kind;
    jint states = trace->state;
    bool native = (options & ASGST_INCLUDE_C_FRAMES) != 0 && ucontext != NULL;
    *whole = true;
    trace->kind = ASGST_UNKNOWN_TRACE;
    trace->state = 0;
    trace->frame_info = NULL;
    if (!asgst_is_ready())
        return ASGST_NO_THREAD;
    JNIEnv *env = own_env();
    trace->kind = env != NULL ? ASGST_JAVA_TRACE : ASGST_CPP_TRACE;
    if (kinds != 0 && (kinds & trace->kind) == 0)
        return ASGST_WRONG_KIND;
    if (env == NULL && (options & ASGST_INCLUDE_NON_JAVA_THREADS) == 0)
        return ASGST_THREAD_NOT_JAVA;
    if (env == NULL)
        return native ? put_native(ucontext, trace->frames, depth) : 0;
    trace->state = state_of(thread_of(env), ucontext);
    if (states != 0 && (states & trace->state) == 0)
        return ASGST_WRONG_STATE;
    if (ucontext != NULL && !is_on_stack(thread_of(env), interrupted(ucontext).sp))
        return ASGST_NO_THREAD;
    int count = native ? put_native(ucontext, trace->frames, depth) : 0;
    count += put_java(env, ucontext, trace->frames + count, depth - count, &code);
    *whole = code == WALK_OK || code == WALK_NO_JAVA_FRAME;
    return count > 0 ? count : error_of(code) > 0 ? 0 : error_of(code);
}

void AsyncGetStackTrace(ASGST_CallTrace *trace, jint depth, void *ucontext, uint32_t options)
{
    int saved_errno = errno;
    bool whole;
    trace->num_frames = walk_thread(trace, depth, ucontext, options, &whole);
    errno = saved_errno;
}

jint ASGST_ThreadState(void)
{
    int saved_errno = errno;
    JNIEnv *env = asgst_is_ready() ? own_env() : NULL;
    jint state = env != NULL ? state_of(thread_of(env), NULL) : 0;
    errno = saved_errno;
    return state;
}

int ASGST_Capabilities(void)
{
    return 0;
}

/* --- frame by frame ----------------------------------------------------------------------------- */

struct ASGST_Iterator_s {
    ASGST_CallTrace trace;
    int at;
    bool whole;
    ASGST_CallFrame frames[ASGST_ITERATOR_FRAMES];
};

int ASGST_RunWithIterator(void *ucontext, int32_t options, ASGST_IteratorHandler handler,
                          void *argument)
{
    int saved_errno = errno;
    ASGST_Iterator iterator;
    iterator.at = 0;
    iterator.trace = (ASGST_CallTrace){.frames = iterator.frames};
    jint count = walk_thread(&iterator.trace, ASGST_ITERATOR_FRAMES, ucontext, (uint32_t)options,
                             &iterator.whole);
    iterator.trace.num_frames = count;
    errno = saved_errno;
    if (count <= 0)
        return count;
    handler(&iterator, argument);
    return iterator.trace.kind;
}

int ASGST_State(ASGST_Iterator *iterator)
{
    if (iterator == NULL)
        return 0;
    if (iterator->at < iterator->trace.num_frames)
        return 1;
    return iterator->whole ? 0 : ASGST_NOT_WALKABLE_JAVA;
}

int ASGST_NextFrame(ASGST_Iterator *iterator, ASGST_Frame *frame)
{
    int state = ASGST_State(iterator);
    *frame = (ASGST_Frame){.comp_level = -1, .bci = -1};
    if (state != 1)
        return state;
    const ASGST_CallFrame *found = &iterator->frames[iterator->at++];
    frame->type = found->type;
    if (found->type == ASGST_FRAME_STUB || found->type == ASGST_FRAME_CPP) {
        frame->pc = found->non_java_frame.pc;
        return 1;
    }
    if (found->java_frame.comp_level >= 0)
        frame->comp_level = (uint8_t)found->java_frame.comp_level;
    frame->bci = found->type == ASGST_FRAME_JAVA_NATIVE ? -1 : found->java_frame.bci;
    frame->method = found->java_frame.method;
    return 1;
}

void ASGST_RewindIterator(ASGST_Iterator *iterator)
{
    iterator->at = 0;
}

/* --- methods and classes ------------------------------------------------------------------------ */

static bool read_method(ASGST_Method method, struct method_reading *reading)
{
    return asgst_is_ready() && method_is_plausible((uintptr_t)method) &&
           method_reading_begin((uintptr_t)method, reading);
}

static bool read_class(ASGST_Class klass, struct class_reading *reading)
{
    return asgst_is_ready() && class_reading_begin((uintptr_t)klass, reading);
}

/* *length: in: bytes of out; out: of the whole text. */
static void copy_text(const struct method_text *text, char *out, jint *length)
{
    size_t room = out != NULL && *length > 0 ? (size_t)*length : 0;
    size_t bytes = text->whole < room ? text->whole : room;
    *length = text->whole;
    if (room == 0)
        return;
    if (bytes == room)
        bytes--;
    if (!load_bytes(text->address, out, bytes)) {
        *length = 0;
        bytes = 0;
    }
    out[bytes] = '\0';
}

void ASGST_GetMethodInfo(ASGST_Method method, ASGST_MethodInfo *info)
{
    struct method_reading reading = {0};
    struct method_text generic = {0};
    bool good = read_method(method, &reading);
    if (good)
        method_reading_generic(&reading, &generic);
    else
        reading = (struct method_reading){0};
    info->klass = (ASGST_Class)reading.holder;
    info->modifiers = reading.modifiers;
    info->idnum = good ? method_reading_idnum(&reading) : 0;
    info->class_idnum = ASGST_GetClassIdNum(info->klass);
    copy_text(&reading.name, info->method_name, &info->method_name_length);
    copy_text(&reading.signature, info->signature, &info->signature_length);
    copy_text(&generic, info->generic_signature, &info->generic_signature_length);
}

jint ASGST_GetMethodIdNum(ASGST_Method method)
{
    struct method_reading reading;
    return read_method(method, &reading) ? method_reading_idnum(&reading) : -1;
}

ASGST_Class ASGST_GetClass(ASGST_Method method)
{
    struct method_reading reading;
    return read_method(method, &reading) ? (ASGST_Class)reading.holder : NULL;
}

void ASGST_GetClassInfo(ASGST_Class klass, ASGST_ClassInfo *info)
{
    struct class_reading reading = {0};
    bool good = read_class(klass, &reading);
    if (!good)
        reading = (struct class_reading){0};
    info->modifiers = reading.modifiers;
    info->idnum = good ? (jlong)(uintptr_t)klass : 0;
    copy_text(&reading.name, info->class_name, &info->class_name_length);
    copy_text(&reading.generic, info->generic_class_name, &info->generic_class_name_length);
}

/* HotSpot keeps the InstanceKlass when it redefines a class, and gives it other methods. */
jlong ASGST_GetClassIdNum(ASGST_Class klass)
{
    struct class_reading reading;
    return read_class(klass, &reading) ? (jlong)(uintptr_t)klass : 0;
}

/* --- lines -------------------------------------------------------------------------------------- */

#define LINES_PIECE 256

struct lines {
    struct line_steps steps;
    uintptr_t next; /* what of the table is not in bytes yet */
    size_t left;
    uint8_t bytes[LINES_PIECE];
};

static bool open_lines(ASGST_Method method, struct lines *lines)
{
    struct method_reading reading;
    if (!read_method(method, &reading) || reading.lines == 0)
        return false;
    lines->steps = (struct line_steps){
        .at = lines->bytes, .end = lines->bytes, .lowest = method_lines_lowest()};
    lines->next = reading.lines;
    lines->left = reading.lines_room;
    return true;
}

/* False: no more. */
static bool next_line(struct lines *lines)
{
    struct line_steps *steps = &lines->steps;
    size_t rest = (size_t)(steps->end - steps->at);
    if (rest < LINE_STEP_BYTES_MAX && lines->left > 0) {
        size_t bytes =
            sizeof lines->bytes - rest < lines->left ? sizeof lines->bytes - rest : lines->left;
        __builtin_memmove(lines->bytes, steps->at, rest);
        if (!load_bytes(lines->next, lines->bytes + rest, bytes))
            return false;
        lines->next += bytes;
        lines->left -= bytes;
        steps->at = lines->bytes;
        steps->end = lines->bytes + rest + bytes;
    }
    return line_step(steps);
}

int ASGST_GetMethodLineNumberTable(ASGST_Method method, ASGST_MethodLineNumberEntry *entries,
                                   int length)
{
    struct lines lines;
    int count = 0;
    if (!open_lines(method, &lines))
        return 0;
    for (; next_line(&lines); count++) {
        if (entries != NULL && count < length)
            entries[count] =
                (ASGST_MethodLineNumberEntry){(jint)lines.steps.bci, (jint)lines.steps.line};
    }
    return count;
}

jint ASGST_GetMethodLineNumber(ASGST_Method method, jint bci)
{
    struct lines lines;
    int64_t best = -1;
    jint line = -1;
    if (!open_lines(method, &lines))
        return -1;
    while (next_line(&lines)) {
        if (lines.steps.bci <= bci && lines.steps.bci >= best) {
            best = lines.steps.bci;
            line = (jint)lines.steps.line;
        }
    }
    return line;
}

/* --- jmethodIDs --------------------------------------------------------------------------------- */

jmethodID ASGST_MethodToJMethodID(ASGST_Method method)
{
    struct method_reading reading;
    if (layout.instance_method_ids < 0 || !read_method(method, &reading))
        return NULL;
    /* [0]: how many there are; [1 + idnum]: the id, or 0. */
    uintptr_t ids = load_pointer(reading.holder + (uintptr_t)layout.instance_method_ids);
    int32_t number = method_reading_idnum(&reading);
    if (ids == 0 || number < 0 || (uint64_t)number >= load_u64(ids, 0))
        return NULL;
    uintptr_t id = load_pointer(ids + ((uintptr_t)number + 1) * WORD_BYTES);
    /* Of a method that was redefined the id has gone to the new one. */
    bool other = layout.jdk_major <= LAST_JDK_OF_SLOTS && load_pointer(id) != (uintptr_t)method;
    return other ? NULL : (jmethodID)id;
}

ASGST_Method ASGST_JMethodIDToMethod(jmethodID id)
{
    if (!asgst_is_ready() || layout.jdk_major > LAST_JDK_OF_SLOTS)
        return NULL;
    uintptr_t method = load_pointer((uintptr_t)id);
    return method_is_plausible(method) ? (ASGST_Method)method : NULL;
}
