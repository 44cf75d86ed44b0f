#include "agent/control/breaker_apply.h"

#include "agent/alloc/alloc_profile.h"
#include "agent/control/published.h"
#include "agent/mem/mem.h"

#include <pthread.h>
#include <string.h>

#define OWN_EVERY_MS 5000 /* asking which pages are resident costs some hundred microseconds */

static struct {
    pthread_mutex_t lock; /* view against turn */
    struct breaker breaker;
    int64_t own_bytes, jvm_bytes, own_ms;
    bool measured;
} applied = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_ms(void)
{
    return clock_now_ns() / 1000000;
}

void breaker_apply_begin(const struct agent_options *options)
{
    const struct breaker_limits limits = {
        .memory_bytes = options->number[OPTION_MEMORY],
        .warn_bytes = options->number[OPTION_WARN],
        .shed_bytes = options->number[OPTION_SHED],
        .stop_bytes = options->number[OPTION_STOP_AT],
    };
    pthread_mutex_lock(&applied.lock);
    breaker_init(&applied.breaker, &limits);
    applied.own_bytes = applied.jvm_bytes = 0;
    applied.measured = false;
    pthread_mutex_unlock(&applied.lock);
    published_breaker(BREAKER_NORMAL, "");
}

void breaker_apply_view(struct breaker_view *view)
{
    pthread_mutex_lock(&applied.lock);
    *view = (struct breaker_view){
        .limits = applied.breaker.limits,
        .state = applied.breaker.state,
        .own_bytes = applied.own_bytes,
        .jvm_bytes = applied.jvm_bytes,
    };
    memcpy(view->reason, applied.breaker.reason, sizeof view->reason);
    pthread_mutex_unlock(&applied.lock);
}

/* --- measuring -------------------------------------------------------------------------------- */

/* What giving way could bring down: not the pages of the library itself. */
static int64_t own_bytes(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.total.resident_bytes - snapshot.component[COMPONENT_AGENT_CODE].resident_bytes -
           snapshot.component[COMPONENT_UNWIND_TABLES].resident_bytes;
}

static int64_t jvm_bytes(const struct recording *recording)
{
    struct jmethod_ids_bill bill;
    if (recording->ids == NULL)
        return 0;
    jmethod_ids_bill(recording->ids, &bill);
    return bill.present_bytes;
}

/* --- giving way ------------------------------------------------------------------------------- */

static void shed(struct recording *recording)
{
    if (recording->ids != NULL)
        jmethod_ids_set_policy(recording->ids, IDS_NONE, 0);
    calltrace_shrink(recording->sampler.traces);
    if (recording->allocs != NULL)
        alloc_profile_give_way(recording->allocs); /* and with it live objects: none is added */
    if (recording->classes != NULL)
        class_definitions_no_stacks(recording->classes);
}

static void do_what_it_says(struct recording *recording, enum breaker_state state)
{
    switch (state) {
    case BREAKER_SHEDDING:
        shed(recording);
        break;
    case BREAKER_SILENT:
        threads_stop(recording->threads);
        break;
    case BREAKER_STOPPED:
        /* Stopping waits for this very thread. Without another one: quiet at least. */
        if (!recording->stop_later())
            threads_stop(recording->threads);
        break;
    case BREAKER_NORMAL:
    case BREAKER_WARNED:
        break;
    }
}

bool breaker_apply_turn(struct recording *recording)
{
    struct class_churn churn = {0};
    if (recording->classes != NULL)
        class_definitions_churn(recording->classes, &churn);
    struct breaker_input input = {
        .now_ms = now_ms(), .jvm_bytes = jvm_bytes(recording), .family = churn.family};
    if (!applied.measured || input.now_ms - applied.own_ms >= OWN_EVERY_MS) {
        input.own_bytes = own_bytes();
        applied.own_ms = input.now_ms;
        applied.measured = true;
    } else {
        input.own_bytes = applied.own_bytes;
    }
    pthread_mutex_lock(&applied.lock);
    applied.own_bytes = input.own_bytes;
    applied.jvm_bytes = input.jvm_bytes;
    bool changed = breaker_judge(&applied.breaker, &input);
    enum breaker_state state = applied.breaker.state;
    pthread_mutex_unlock(&applied.lock);
    if (!changed)
        return false;
    jfr_breaker(recording->writer, breaker_state_name(state), applied.breaker.reason,
                input.own_bytes, input.jvm_bytes);
    published_breaker(state, applied.breaker.reason);
    do_what_it_says(recording, state);
    return true;
}
