/*
 * jfr_encode: samples into bytes, in a signal handler. This file reaches no symbol but its own; no
 * array is on the stack, so not even the stack protector's.
 */
#include "agent/jfr/jfr_types.h"
#include "floor/jfr/jfr_bytes.h"
#include "agent/jfr/jfr_writer.h"

#include <stdatomic.h>

#define LENGTH_WIDTH 2 /* bytes of a padded length that holds JFR_SAMPLE_MAX */

/* size, type, ticks, thread, trace, state, native, two spans, tags of a byte and a 32-bit number each */
_Static_assert(LENGTH_WIDTH + 1 + 9 + 5 + 5 + 2 + 1 + 9 + 9 + 6 * NMTAGENT_CONTEXT_TAGS <=
                   JFR_SAMPLE_MAX,
               "the largest sample fits");

/* A string that is a number of the pool of strings. */
#define STRING_NULL 0
#define STRING_POOL 2

/* Written by jfr_create before handlers run, read by them; each value stands for itself:
 * relaxed. */
static _Atomic int64_t epoch_offset_ns;

void jfr_clock_set(int64_t offset_ns)
{
    atomic_store_explicit(&epoch_offset_ns, offset_ns, memory_order_relaxed);
}

int64_t jfr_clock_ticks(int64_t monotonic_ns)
{
    return monotonic_ns + atomic_load_explicit(&epoch_offset_ns, memory_order_relaxed);
}

static uint8_t *put_context(uint8_t *at, const struct jfr_sample *sample)
{
    const struct context_record *context = sample->have_context ? sample->context : NULL;
    at = jfr_put(at, context ? context->span_id : 0);
    at = jfr_put(at, context ? context->root_span_id : 0);
    int tags =
        sample->tag_count < NMTAGENT_CONTEXT_TAGS ? sample->tag_count : NMTAGENT_CONTEXT_TAGS;
    for (int i = 0; i < tags; i++) {
        uint32_t value = context ? context->tags[i] : 0;
        if (value == 0) {
            *at++ = STRING_NULL;
        } else {
            *at++ = STRING_POOL;
            at = jfr_put(at, value);
        }
    }
    return at;
}

size_t jfr_encode_sample(const struct jfr_sample *sample, uint8_t *out)
{
    uint8_t *at = out + LENGTH_WIDTH;
    *at++ = sample->kind == SAMPLE_WALL ? JFR_WALL_CLOCK_SAMPLE : JFR_EXECUTION_SAMPLE;
    at = jfr_put(at, (uint64_t)jfr_clock_ticks(sample->ticks));
    at = jfr_put_int(at, sample->tid);
    at = jfr_put(at, sample->trace_id);
    at = jfr_put(at, sample->state + 1u); /* 0 is null in a pool */
    *at++ = sample->state == THREAD_IN_NATIVE;
    at = put_context(at, sample);
    size_t length = (size_t)(at - out);
    jfr_put_padded(out, (uint32_t)length, LENGTH_WIDTH);
    return length;
}
