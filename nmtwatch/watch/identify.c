#include "nmtwatch/watch/identify.h"

#include "nmtwatch/jvm/attach.h"

#include <poll.h>

#define YOUNG_MS   3000
#define WAIT_MS    1000
#define WAIT_STEPS 20
#define ASK_MS     1000 /* VM.version takes 1 ms */

/* "OpenJDK 64-Bit Server VM version 17.0.15+6\nJDK 17.0.15.0": the second line has the version, on
 * JDK 8 "JDK 8.0_504". */
static void read_version(struct target *target, struct span reply)
{
    ptrdiff_t at = span_find(reply, SPAN_LITERAL("\nJDK "));
    if (at < 0)
        return;
    struct span version = span_of(reply.ptr + at + 5, reply.len - (size_t)at - 5);
    struct span line;
    bool terminated;
    if (!span_next_line(&version, &line, &terminated))
        return;
    span_copy(span_trim(line), target->identity.jdk, sizeof target->identity.jdk);
    int64_t major;
    if (span_take_i64(&line, &major) && major > 0 && major < 1000)
        target->identity.jdk_major = (int)major;
}

void identify_target(struct target *target, int timeout_ms)
{
    target_refresh_identity(target);
    for (int i = 0; i < WAIT_STEPS && target->identity.jdk_major == 0 &&
                    target->identity.uptime_ms < YOUNG_MS && target_still_same(target);
         i++) {
        poll(NULL, 0, WAIT_MS / WAIT_STEPS);
        target_refresh_identity(target);
    }
    if (target->identity.jdk_major != 0)
        return;
    /* Others wait meanwhile: not for long, and not for one that cannot answer. */
    if (target_state_now(target).stopped)
        return;
    struct attach_limits limits = {
        .timeout_ms = timeout_ms < ASK_MS ? timeout_ms : ASK_MS,
        .reply_max_bytes = 65536,
    };
    struct attach *attach = attach_create(target, &limits);
    if (attach == NULL)
        return;
    struct span reply;
    struct failure failure;
    if (attach_run(attach, "VM.version", &reply, &failure) == FAILURE_NONE)
        read_version(target, reply);
    attach_destroy(attach);
}
