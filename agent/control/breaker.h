/*
 * breaker: the agent watches what it costs, and collects less before the host suffers.
 *
 *   normal --own memory > 80 % of memory=, or JVM growth > warn, or on its way to shed-->  warned
 *   warned --own memory > memory=, or JVM growth > shed--------------------------------->  shedding
 *            no further jmethodIDs, smaller tables, allocation and class profiles off
 *   shedding --own memory still > memory= after a while--------------------------------->  silent
 *            no samples either
 *   shedding, silent --JVM growth > stop_at, or own memory still > memory=-------------->  stopped
 *            the profiler stops itself
 *
 * Own memory is what of the agent's account (agent/mem) is resident and can be given back. JVM
 * growth is what the JVM holds because of us: jmethodIDs, loaded and kept, by the bill of
 * jmethod_ids. Its steps are the documented ones of Internal: +500 MB, +2 GB, +10 GB. Under a churn
 * of classes they are days away while half of each class's ids is never freed, so a growth that
 * would reach `shed` within BREAKER_HORIZON_MS warns as well: each of the last five minutes has to
 * show it, a start-up does not.
 *
 * One step at each call and never back: who reads the recording sees each of them. Pure; drain
 * thread. breaker_apply carries out what it says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum breaker_state {
    BREAKER_NORMAL,
    BREAKER_WARNED,
    BREAKER_SHEDDING,
    BREAKER_SILENT,
    BREAKER_STOPPED,
};

#define BREAKER_WARN_PERCENT 80    /* of memory= */
#define BREAKER_RELIEF_MS    10000 /* what a step is given to take effect */
#define BREAKER_HORIZON_MS   (INT64_C(6) * 3600000)
#define BREAKER_MINUTES      5

/* 0: never. */
struct breaker_limits {
    int64_t memory_bytes;
    int64_t warn_bytes, shed_bytes, stop_bytes;
};

struct breaker_input {
    int64_t own_bytes;
    int64_t jvm_bytes;
    int64_t now_ms;
    const char *family; /* of the classes that grow most; NULL or "": not known */
};

struct breaker {
    struct breaker_limits limits;
    enum breaker_state state;
    int64_t since_ms; /* of the last step */
    char reason[160]; /* a sentence; empty while normal */
    int minutes;      /* jvm_bytes a minute apart, the newest last */
    int64_t minute_ms, minute_bytes[BREAKER_MINUTES + 1];
};

void breaker_init(struct breaker *breaker, const struct breaker_limits *limits);
/* True when the state has changed: by one step. */
bool breaker_judge(struct breaker *breaker, const struct breaker_input *input);
const char *breaker_state_name(enum breaker_state state);
