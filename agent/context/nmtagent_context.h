/*
 * nmtagent_context: what an application's tracer says about the work its threads do; the values
 * appear as fields of each sample taken while they are set.
 *
 * One 64-byte, cache-line aligned record a thread:
 *
 *     0        8             16         24                          64
 *     +--------+-------------+----------+---------------------------+
 *     | spanId | rootSpanId  | checksum | tags[10], 4 bytes each    |
 *     +--------+-------------+----------+---------------------------+
 *
 * The checksum is written last (release), and cleared first: a signal that interrupts a write sees
 * a checksum that does not fit, and the sample goes without a context (counted), never with a
 * half-written one.
 *
 * Public C API, exported from libnmtagent.so. Any thread, for itself only. No errors: without a
 * running profiler the values are kept and cost nothing.
 */
#ifndef NMTAGENT_CONTEXT_H
#define NMTAGENT_CONTEXT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define NMTAGENT_CONTEXT_TAGS 10

/* tag value -> number to put into a tag; the same text gives the same number. 0: no room. */
uint32_t nmtagent_context_value(const char *text);
/* Number of a tag by its name (declared with the option context=name;name...), -1 unknown. */
int nmtagent_context_tag(const char *name);
void nmtagent_context_set(uint64_t span_id, uint64_t root_span_id);
void nmtagent_context_set_tag(int tag, uint32_t value);
void nmtagent_context_clear(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
