/* Signal context: nothing but this thread's own record is touched. */
#include "agent/context/context.h"

enum context_result context_read(struct context_record *out)
{
    const struct context_record *own = context_own;
    if (own == NULL)
        return CONTEXT_NONE;
    /* Pairs with the release store in context.c's publish: the writer is this very thread, stopped
     * anywhere in its code; acquire keeps the compiler from reading a field before the checksum. */
    uint64_t checksum = __atomic_load_n(&own->checksum, __ATOMIC_ACQUIRE);
    if (checksum == 0)
        return CONTEXT_TORN;
    *out = *own;
    if (checksum != context_checksum(out))
        return CONTEXT_TORN;
    uint64_t anything = out->span_id | out->root_span_id;
    for (int i = 0; i < NMTAGENT_CONTEXT_TAGS; i++)
        anything |= out->tags[i];
    return anything != 0 ? CONTEXT_READ : CONTEXT_NONE;
}
