/* Signal context. */
#include "agent/hotspot/thread_state.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/walk.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define CLASS_NAME_MAX sizeof "jdk/internal/misc/Unsafe"

static bool is_system_call(uintptr_t pc)
{
    uint32_t code = 0;
    return load_bytes(pc, &code, (size_t)machine.syscall_bytes) && code == machine.syscall_code;
}

/* A futex with a time: its fourth argument points to one. */
static bool has_limit(const struct registers *call)
{
    bool ended = is_system_call(call->pc - (uintptr_t)machine.syscall_bytes) &&
                 call->result == (uintptr_t)-EINTR;
    bool again = is_system_call(call->pc) && call->number == SYS_futex;
    return (ended || again) && call->fourth != 0;
}

static bool holds(uintptr_t thread, int32_t field)
{
    return field >= 0 && load_pointer(thread + (uintptr_t)field) != 0;
}

/* For a thread that is blocked: whether that may be by what park and sleep wait for. */
static bool waits_for_condition(uintptr_t thread)
{
    if (layout.thread_os < 0 || layout.os_state < 0)
        return true;
    uintptr_t os = load_pointer(thread + (uintptr_t)layout.thread_os);
    uint32_t state = load_u32(os + (uintptr_t)layout.os_state, 0);
    return state == layout.os_condition_wait || state == layout.os_sleeping ||
           state == layout.os_object_wait;
}

/* The class whose native method the thread has called. */
static void caller_class(uintptr_t thread, char name[CLASS_NAME_MAX])
{
    struct walked_frame frame;
    enum walk_code code;
    memset(name, 0, CLASS_NAME_MAX);
    if (walk_java_from_anchor(thread, &frame, 1, &code) != 1)
        return;
    uintptr_t constants = load_pointer(frame.method + (uintptr_t)layout.method_const);
    uintptr_t pool = load_pointer(constants + (uintptr_t)layout.const_constants);
    uintptr_t holder = load_pointer(pool + (uintptr_t)layout.pool_holder);
    uintptr_t symbol = load_pointer(holder + (uintptr_t)layout.klass_name);
    size_t length = load_u16(symbol + (uintptr_t)layout.symbol_length, 0);
    if (length < CLASS_NAME_MAX)
        load_bytes(symbol + (uintptr_t)layout.symbol_body, name, length);
}

static enum thread_state waits_in_call(uintptr_t thread, bool limit)
{
    char class[CLASS_NAME_MAX];
    caller_class(thread, class);
    if (limit && memcmp(class, "java/lang/Thread", sizeof "java/lang/Thread") == 0)
        return THREAD_SLEEPING;
    if (memcmp(class, "jdk/internal/misc/Unsafe", sizeof "jdk/internal/misc/Unsafe") == 0 ||
        memcmp(class, "sun/misc/Unsafe", sizeof "sun/misc/Unsafe") == 0)
        return limit ? THREAD_PARKED_TIMED : THREAD_PARKED;
    if (layout.thread_waits_in < 0 &&
        memcmp(class, "java/lang/Object", sizeof "java/lang/Object") == 0)
        return limit ? THREAD_IN_OBJECT_WAIT_TIMED : THREAD_IN_OBJECT_WAIT;
    return THREAD_RUNNABLE;
}

enum thread_state thread_state(uintptr_t thread, const struct registers *registers)
{
    uint32_t state = load_u32(thread + (uintptr_t)layout.thread_state, 0);
    if (state == layout.thread_in_java)
        return THREAD_RUNNABLE;
    if (state == layout.thread_in_native)
        return THREAD_IN_NATIVE;
    if (holds(thread, layout.thread_enters)) /* also when it has waited, and wants it back */
        return THREAD_BLOCKED;
    bool limit = has_limit(registers);
    if (holds(thread, layout.thread_waits_in))
        return limit ? THREAD_IN_OBJECT_WAIT_TIMED : THREAD_IN_OBJECT_WAIT;
    if (state != layout.thread_blocked || !waits_for_condition(thread))
        return THREAD_RUNNABLE;
    return waits_in_call(thread, limit);
}
