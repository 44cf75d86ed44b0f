/*
 * shares: how memory= is split among the parts that could grow without end.
 *
 *   3/8 stacks of a chunk (three tables and their arenas; traces= sets it apart)
 *   2/8 names at first sight        agent/methods/seen_methods, engine vm
 *   1/8 sampled methods             agent/methods/method_map, with line tables
 *   2/8 names of the recording      agent/dict, by a number of texts of TEXT_BYTES
 *
 * What finds no room is counted and shown as [over budget]. The rest of the agent (buffers, slots,
 * threads) is of fixed size or bounded by the number of threads; the breaker looks at the sum.
 * Pure.
 */
#ifndef AGENT_CONTROL_SHARES_H
#define AGENT_CONTROL_SHARES_H

#include "agent/control/agent_options.h"

#define TEXT_BYTES 160 /* of a dictionary, for a text of sixty bytes */

struct shares {
    size_t traces_bytes, seen_bytes, methods_bytes;
    uint32_t texts; /* of classes and of labels, each */
};

static inline struct shares shares_of(const struct agent_options *options)
{
    size_t eighth = (size_t)options->number[OPTION_MEMORY] / 8;
    size_t traces_bytes = (size_t)options->number[OPTION_TRACES];
    size_t texts = eighth / TEXT_BYTES;
    return (struct shares){
        .traces_bytes = traces_bytes != 0 ? traces_bytes : 3 * eighth,
        .seen_bytes = 2 * eighth,
        .methods_bytes = eighth,
        .texts = texts < UINT32_MAX / 2 ? (uint32_t)texts : UINT32_MAX / 2,
    };
}

#endif
