#include "agent/buffer/recording_buffers.h"

#include "agent/mem/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct recording_buffer_counts counts_of(const struct recording_buffers *buffers)
{
    struct recording_buffer_counts counts;
    recording_buffer_counts(buffers, &counts);
    assert_int_equal(counts.offered, counts.stored + counts.dropped_busy + counts.dropped_full);
    return counts;
}

static void write_event(struct recording_buffers *buffers, int tid, uint8_t byte, size_t length)
{
    int index = -1;
    uint8_t *out = recording_buffer_claim(buffers, tid, &index);
    assert_non_null(out);
    assert_in_range(index, 0, RECORDING_BUFFERS - 1);
    memset(out, byte, length);
    recording_buffer_commit(buffers, index, length);
}

struct written {
    int calls;
    size_t bytes, of[256];
    bool refuse;
};

static bool take_bytes(void *context, const uint8_t *bytes, size_t length)
{
    struct written *written = context;
    written->calls++;
    written->bytes += length;
    for (size_t i = 0; i < length; i++)
        written->of[bytes[i]]++;
    return !written->refuse;
}

static void test_flush(void **state)
{
    (void)state;
    struct recording_buffers *buffers = recording_buffers_create();
    struct written written = {0};
    assert_true(recording_buffers_flush(buffers, take_bytes, &written));
    assert_int_equal(written.calls, 0); /* nothing to write is no write */
    write_event(buffers, 1, 'a', 100);
    write_event(buffers, 1, 'b', 50);
    write_event(buffers, 2, 'c', 7);
    assert_true(recording_buffers_flush(buffers, take_bytes, &written));
    assert_int_equal(written.calls, 2);
    assert_int_equal(written.bytes, 157);
    assert_int_equal(written.of['a'], 100);
    assert_int_equal(written.of['b'], 50);
    assert_int_equal(written.of['c'], 7);
    assert_true(recording_buffers_flush(buffers, take_bytes, &written));
    assert_int_equal(written.calls, 2);
    assert_int_equal(counts_of(buffers).stored, 3);
    recording_buffers_destroy(buffers);
}

/* Events of the largest size, until all three buffers of a thread are full to the last byte. */
static void test_full(void **state)
{
    (void)state;
    struct recording_buffers *buffers = recording_buffers_create();
    struct written written = {0};
    const int each = RECORDING_BUFFER_BYTES / RECORDING_GUARD_BYTES + 1;
    int index;
    for (int i = 0; i < 3 * each; i++)
        write_event(buffers, RECORDING_BUFFERS - 1, 'x', RECORDING_GUARD_BYTES);
    assert_null(recording_buffer_claim(buffers, RECORDING_BUFFERS - 1, &index));
    write_event(buffers, RECORDING_BUFFERS - 4, 'y', 1); /* another thread has room */
    struct recording_buffer_counts counts = counts_of(buffers);
    assert_int_equal(counts.stored, 3 * each + 1);
    assert_int_equal(counts.dropped_full, 1);
    assert_int_equal(counts.dropped_busy, 0);
    assert_true(recording_buffers_flush(buffers, take_bytes, &written));
    assert_int_equal(written.of['x'], 3 * (RECORDING_BUFFER_BYTES + RECORDING_GUARD_BYTES));
    assert_int_equal(written.of['y'], 1);
    write_event(buffers, RECORDING_BUFFERS - 1, 'x', 1);
    recording_buffers_destroy(buffers);
}

/* As handlers that interrupt each other on one thread. */
static void test_busy(void **state)
{
    (void)state;
    struct recording_buffers *buffers = recording_buffers_create();
    int index[4];
    uint8_t *out[3];
    for (int i = 0; i < 3; i++) {
        out[i] = recording_buffer_claim(buffers, -7, &index[i]);
        assert_non_null(out[i]);
        memset(out[i], 'a' + i, 10);
    }
    assert_null(recording_buffer_claim(buffers, -7, &index[3]));
    assert_int_equal(counts_of(buffers).dropped_busy, 1);
    recording_buffer_commit(buffers, index[1], 10);
    recording_buffer_commit(buffers, index[0], 0); /* thought better of it */
    recording_buffer_commit(buffers, index[2], RECORDING_GUARD_BYTES + 1); /* what cannot be */
    struct recording_buffer_counts counts = counts_of(buffers);
    assert_int_equal(counts.stored, 1);
    assert_int_equal(counts.dropped_full, 1);
    assert_int_equal(counts.offered, 3);
    struct written written = {0};
    assert_true(recording_buffers_flush(buffers, take_bytes, &written));
    assert_int_equal(written.bytes, 10);
    assert_int_equal(written.of['b'], 10);
    recording_buffers_destroy(buffers);
}

static void test_failed_write_is_counted(void **state)
{
    (void)state;
    struct recording_buffers *buffers = recording_buffers_create();
    struct written written = {.refuse = true};
    for (int i = 0; i < 5; i++)
        write_event(buffers, i % 2, 'z', 3);
    assert_false(recording_buffers_flush(buffers, take_bytes, &written));
    assert_int_equal(counts_of(buffers).lost_on_write, 5);
    assert_int_equal(counts_of(buffers).stored, 5);
    written = (struct written){0};
    assert_true(recording_buffers_flush(buffers, take_bytes, &written));
    assert_int_equal(written.bytes, 0);
    recording_buffers_destroy(buffers);
}

static void test_account(void **state)
{
    (void)state;
    static struct mem_snapshot before, with, after;
    mem_snapshot(&before);
    struct recording_buffers *buffers = recording_buffers_create();
    write_event(buffers, 1, 'a', 10);
    mem_snapshot(&with);
    const struct component_usage *usage = &with.component[COMPONENT_RECORDING_BUFFERS];
    assert_int_equal(usage->requested_bytes, 1179648);
    assert_int_equal(usage->requested_bytes,
                     component_documented_bytes(COMPONENT_RECORDING_BUFFERS));
    assert_in_range(usage->resident_bytes, 1, 8192);
    recording_buffers_destroy(buffers);
    recording_buffers_destroy(NULL);
    mem_snapshot(&after);
    assert_int_equal(after.total.requested_bytes, before.total.requested_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flush),   cmocka_unit_test(test_full),
        cmocka_unit_test(test_busy),    cmocka_unit_test(test_failed_write_is_counted),
        cmocka_unit_test(test_account),
    };
    return cmocka_run_group_tests_name("recording_buffers", tests, NULL, NULL);
}
