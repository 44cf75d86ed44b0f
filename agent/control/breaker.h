/*
 * breaker: the agent watches what it costs, and gives way before the host does.
 *
 *   normal --own memory > 80 % of memory=, or a warn threshold--> warned
 *          --memory= reached, or a shed threshold--> shedding (no further ids, smaller tables,
 *            allocation and class profiles off, CPU sampling off last)
 *          --still above, or a stop threshold--> stopped (the profiler stops itself)
 *
 * Two sources: the agent's own account (agent/mem and the bill of the jmethodIDs), and what classes
 * do (class_definitions_churn), turned into the growth of Internal they mean by the formula of
 * jmethod_ids.h. Documented thresholds: Internal +500 MB, +2 GB, +10 GB. A step is never taken back
 * by itself. Every step is in the recording (nmtagent.Breaker), in status, and published for
 * nmtwatch.
 *
 * breaker_judge is pure; the profiler carries out what it says. Drain thread.
 */
#ifndef AGENT_CONTROL_BREAKER_H
#define AGENT_CONTROL_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum breaker_state { BREAKER_NORMAL, BREAKER_WARNED, BREAKER_SHEDDING, BREAKER_STOPPED };

struct breaker_limits {
    int64_t memory_bytes; /* of the agent's own account; 0: no limit */
    int64_t warn_bytes, shed_bytes, stop_bytes; /* growth in the JVM because of us */
};

struct breaker_input {
    int64_t own_bytes;  /* reserved by the account that can be given back */
    int64_t jvm_bytes;  /* in the JVM because of us: jmethodIDs loaded and kept */
    int64_t now_ms;
};

struct breaker {
    struct breaker_limits limits;
    enum breaker_state state;
    int64_t since_ms;
    char reason[160]; /* a sentence; empty while normal */
};

void breaker_init(struct breaker *breaker, const struct breaker_limits *limits);
/* True when the state has changed. */
bool breaker_judge(struct breaker *breaker, const struct breaker_input *input);
const char *breaker_state_name(enum breaker_state state);

#endif
