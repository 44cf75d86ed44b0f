#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "agent/hotspot/thread_state.h"
#include "tests/unit/floor_hotspot/fake_memory.h"

#include <errno.h>
#include <sys/syscall.h>

enum {
    IN_NATIVE = 4,
    IN_VM = 6,
    BLOCKED = 10,
    CONDITION = 4,
    OS_THREAD = 0x10f000,
    KLASS = 0x10f100,
    SYMBOL = 0x10f200,
    PC = 0x10f400, /* a system call, and what comes after it */
    S = FAKE_STACK,
};

static struct registers call;

/* A thread that is blocked in a native method of that class, and in a futex without a time. */
static void build(const char *class_name)
{
    fake_layout(25);
    layout.thread_in_native = IN_NATIVE, layout.thread_blocked = BLOCKED;
    layout.thread_enters = 48, layout.thread_waits_in = 56, layout.thread_os = 64;
    layout.os_state = 8, layout.os_condition_wait = CONDITION, layout.os_sleeping = 7;
    layout.klass_name = 16, layout.symbol_length = 0, layout.symbol_body = 6;
    put_int(FAKE_THREAD + 40, BLOCKED);
    put_word(FAKE_THREAD + 64, OS_THREAD);
    put_int(OS_THREAD + 8, CONDITION);
    uintptr_t method = fake_method(1, true);
    put_word(method + 48, KLASS); /* the holder of its pool */
    put_word(KLASS + 16, SYMBOL);
    put(SYMBOL, strlen(class_name), 2);
    memcpy(fake_at(SYMBOL + 6, strlen(class_name)), class_name, strlen(class_name));
    put_word(FAKE_THREAD, S + 0x100); /* the anchor: an interpreted frame at fp */
    put_word(FAKE_THREAD + 8, FAKE_INTERPRETER + 16);
    put_word(FAKE_THREAD + 16, S + 0x200);
    put_word(S + 0x200 + 8, FAKE_CALL_STUB);
    put_word(S + 0x200, S + 0x300);
    put_word(S + 0x200 - 8, S + 0x210);
    put_word(S + 0x200 - 24, method);
    put_word(S + 0x200 - 16 + (uintptr_t)(machine.interpreted_bcp * WORD_BYTES), method + 32);
    put(PC, machine.syscall_code, (size_t)machine.syscall_bytes);
    call = (struct registers){.pc = PC, .result = SYS_futex, .number = SYS_futex};
}

static void state_is(enum thread_state without, enum thread_state with_limit)
{
    call.fourth = 0;
    assert_int_equal(thread_state(FAKE_THREAD, &call), without);
    call.fourth = S; /* it begins again */
    assert_int_equal(thread_state(FAKE_THREAD, &call), with_limit);
    call.pc += (uintptr_t)machine.syscall_bytes;
    call.number = 0;
    assert_int_equal(thread_state(FAKE_THREAD, &call), without);
    call.result = (uintptr_t)-EINTR; /* it was ended */
    assert_int_equal(thread_state(FAKE_THREAD, &call), with_limit);
    call.pc = PC, call.result = call.number = SYS_futex;
}

static void where_it_runs(void **state)
{
    (void)state;
    build("java/lang/Thread");
    put_word(FAKE_THREAD + 48, 1);
    put_int(FAKE_THREAD + 40, 8);
    state_is(THREAD_RUNNABLE, THREAD_RUNNABLE);
    put_int(FAKE_THREAD + 40, IN_NATIVE);
    state_is(THREAD_IN_NATIVE, THREAD_IN_NATIVE);
    put_word(FAKE_THREAD + 48, 0);
    put_int(FAKE_THREAD + 40, IN_VM);
    state_is(THREAD_RUNNABLE, THREAD_RUNNABLE);
}

static void what_it_waits_for(void **state)
{
    (void)state;
    build("java/lang/Thread");
    state_is(THREAD_RUNNABLE, THREAD_SLEEPING); /* nobody sleeps without end: Thread.start */
    build("jdk/internal/misc/Unsafe");
    state_is(THREAD_PARKED, THREAD_PARKED_TIMED);
    build("sun/misc/Unsafe");
    state_is(THREAD_PARKED, THREAD_PARKED_TIMED);
    layout.os_state = -1; /* JDK 8 */
    state_is(THREAD_PARKED, THREAD_PARKED_TIMED);
    build("sun/misc/UnsafeToo");
    state_is(THREAD_RUNNABLE, THREAD_RUNNABLE);
    build("jdk/internal/misc/Unsafe$AndMoreThanFits");
    state_is(THREAD_RUNNABLE, THREAD_RUNNABLE);
    build("jdk/internal/misc/Unsafe");
    put_int(OS_THREAD + 8, 2); /* a lock of the VM: ensureClassInitialized */
    state_is(THREAD_RUNNABLE, THREAD_RUNNABLE);
}

static void monitors_come_first(void **state)
{
    (void)state;
    build("java/lang/Object");
    put_word(FAKE_THREAD + 56, 1);
    state_is(THREAD_IN_OBJECT_WAIT, THREAD_IN_OBJECT_WAIT_TIMED);
    put_word(FAKE_THREAD + 48, 1); /* it was notified, and wants the monitor back */
    state_is(THREAD_BLOCKED, THREAD_BLOCKED);
    layout.thread_enters = -1;
    state_is(THREAD_IN_OBJECT_WAIT, THREAD_IN_OBJECT_WAIT_TIMED);
    layout.thread_waits_in = -1; /* JDK 11 */
    layout.os_state = -1;
    state_is(THREAD_IN_OBJECT_WAIT, THREAD_IN_OBJECT_WAIT_TIMED);
    layout.thread_waits_in = 56;
    put_word(FAKE_THREAD + 56, 0);
    state_is(THREAD_RUNNABLE, THREAD_RUNNABLE);
}

static void what_cannot_be_read_is_runnable(void **state)
{
    (void)state;
    build("jdk/internal/misc/Unsafe");
    assert_int_equal(thread_state(0x7f0000000000, &call), THREAD_RUNNABLE);
    put_word(KLASS + 16, 0x7f0000000000);
    state_is(THREAD_RUNNABLE, THREAD_RUNNABLE);
    put_word(FAKE_THREAD, 0); /* no anchor */
    state_is(THREAD_RUNNABLE, THREAD_RUNNABLE);
    build("jdk/internal/misc/Unsafe");
    call.pc = 0x7f0000000000;
    call.fourth = S;
    assert_int_equal(thread_state(FAKE_THREAD, &call), THREAD_PARKED);
}

/* Any memory and any registers. */
static void damaged_memory_gives_a_state(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        build("jdk/internal/misc/Unsafe");
        fake_damage();
        call = (struct registers){.pc = round % 3 == 0 ? PC : FAKE_CODE + fake_random() % 0x8000,
                                  .result = fake_random() % 300,
                                  .number = fake_random() % 300,
                                  .fourth = S + fake_random() % 0x1000};
        assert_in_range(thread_state(round % 7 == 0 ? fake_random() : FAKE_THREAD, &call), 0,
                        THREAD_STATE_COUNT - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_it_runs),
        cmocka_unit_test(what_it_waits_for),
        cmocka_unit_test(monitors_come_first),
        cmocka_unit_test(what_cannot_be_read_is_runnable),
        cmocka_unit_test(damaged_memory_gives_a_state),
    };
    return cmocka_run_group_tests_name("agent/hotspot/thread_state", tests, NULL, NULL);
}
