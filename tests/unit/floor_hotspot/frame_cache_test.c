/* frame_cache: what was read of a call is found as long as its code is the same, also while others write. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "floor/hotspot/frame_cache.h"
#include "floor/base/fold_hash.h"
#include "tests/unit/floor_hotspot/fake_memory.h"

#include <pthread.h>
#include <stdatomic.h>

#define PC     (FAKE_CODE + 0x140)
#define ROUNDS 20000

static void *memory;
static struct code_blob blob;
static struct cached_call call;

static int setup(void **state)
{
    (void)state;
    fake_layout(25);
    uintptr_t address = fake_code(0, 0x400, fake_method(2, false), 4, "nmethod");
    blob = (struct code_blob){.kind = CODE_METHOD,
                              .address = address,
                              .bytes = 0x3f8,
                              .frame_bytes = 32,
                              .method = fake_method(2, false)};
    memory = aligned_alloc(128, FRAME_CACHE_BYTES);
    if (memory != NULL)
        memset(memory, 0, FRAME_CACHE_BYTES);
    frame_cache_use(memory);
    return memory == NULL;
}

static int teardown(void **state)
{
    (void)state;
    frame_cache_use(NULL);
    free(memory);
    return 0;
}

static void keep(uintptr_t pc, int count)
{
    struct walked_frame frames[FRAME_CACHE_METHODS + 1];
    for (int i = 0; i <= FRAME_CACHE_METHODS; i++)
        frames[i] = (struct walked_frame){.method = fake_method(i, false), .bci = 65535 - i};
    frame_cache_keep(pc, &blob, frames, count, 4);
}

static void finds_what_was_kept(void **state)
{
    (void)state;
    assert_false(frame_cache_find(PC, &call));
    keep(PC, FRAME_CACHE_METHODS);
    assert_true(frame_cache_find(PC, &call));
    assert_false(frame_cache_find(PC + 1, &call));
    assert_true(frame_cache_find(PC, &call));
    assert_int_equal(call.frames, FRAME_CACHE_METHODS);
    assert_int_equal(call.nmethod, blob.address);
    assert_int_equal(call.nmethod_bytes, blob.bytes);
    assert_int_equal(call.frame_bytes, 32);
    assert_int_equal(call.level, 4);
    for (int i = 0; i < call.frames; i++)
        assert_int_equal(call.frame[i], fake_method(i, false) << 16 | (uint64_t)(65535 - i));
}

static void does_not_keep_what_it_cannot_tell_from_other_code(void **state)
{
    (void)state;
    keep(PC, FRAME_CACHE_METHODS + 1);
    assert_false(frame_cache_find(PC, &call));
    put_int(blob.address + 88, 0); /* no compile id */
    keep(PC, 1);
    assert_false(frame_cache_find(PC, &call));
    layout.nmethod_compile_id = -1;
    keep(PC, 1);
    assert_false(frame_cache_find(PC, &call));
}

static void other_code_is_not_found(void **state)
{
    (void)state;
    keep(PC, 2);
    put_int(blob.address + 88, 9);
    assert_false(frame_cache_find(PC, &call));
    put_int(blob.address + 88, 1);
    assert_true(frame_cache_find(PC, &call));
    put_word(blob.address + 24, fake_method(3, false));
    assert_false(frame_cache_find(PC, &call));
    put_word(blob.address + 24, blob.method);
    assert_true(frame_cache_find(PC, &call));
    put(FAKE_CODE + 4, 0, 1); /* freed */
    assert_false(frame_cache_find(PC, &call));
}

static void nothing_is_found_without_memory(void **state)
{
    (void)state;
    keep(PC, 1);
    frame_cache_use(NULL);
    keep(PC, 1);
    assert_false(frame_cache_find(PC, &call));
}

/* --- many threads, one place ------------------------------------------------------------------ */

static uintptr_t rivals[2]; /* return addresses that have the same place */
static _Atomic bool done;

static void find_rivals(void)
{
    rivals[0] = PC;
    for (rivals[1] = PC + 1;
         (fold_word(rivals[1]) ^ fold_word(PC)) % (FRAME_CACHE_BYTES / 128) != 0;)
        rivals[1]++;
}

static void keep_own(uintptr_t pc)
{
    struct walked_frame frames[4];
    for (int i = 0; i < 4; i++)
        frames[i] = (struct walked_frame){.method = pc + (uintptr_t)i, .bci = (uint16_t)pc};
    frame_cache_keep(pc, &blob, frames, 4, (int16_t)(pc & 3));
}

static void *write_one(void *pc)
{
    while (!atomic_load(&done))
        keep_own(*(uintptr_t *)pc);
    return NULL;
}

static void what_is_found_is_of_one_writer(void **state)
{
    (void)state;
    pthread_t writer[2];
    int found = 0;
    find_rivals();
    atomic_store(&done, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&writer[i], NULL, write_one, &rivals[i]), 0);
    for (int round = 0; round < ROUNDS || (found == 0 && round < 1000 * ROUNDS); round++) {
        uintptr_t pc = rivals[round % 2];
        if (!frame_cache_find(pc, &call))
            continue;
        found++;
        assert_int_equal(call.frames, 4);
        assert_int_equal(call.level, pc & 3);
        for (int i = 0; i < 4; i++)
            assert_int_equal(call.frame[i], (pc + (uintptr_t)i) << 16 | (uint16_t)pc);
    }
    atomic_store(&done, true);
    for (int i = 0; i < 2; i++)
        pthread_join(writer[i], NULL);
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_what_was_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(does_not_keep_what_it_cannot_tell_from_other_code, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(other_code_is_not_found, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_found_without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_found_is_of_one_writer, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
