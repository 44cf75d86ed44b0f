/* pause_budget: how long a command would stop the target, and whether that may still be spent.
 *
 * A safepoint is paid by the application. So each command that needs one is predicted from what is
 * known of the target (classes, loaders, heap, the last measurement on this very JVM), refused when
 * the rest of the budget is smaller, and its wall time is charged afterwards: an upper bound of the
 * pause. The budget slides: what was spent longer ago than the window is free again.
 *
 * Plain data, one per target; one thread. */
#pragma once

#include "analyzers/model/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum expensive_command {
#define EXPENSIVE_COMMAND(id, command, jdk, fixed, per_class, per_loader, per_mb) EXPENSIVE_##id,
#include "nmtwatch/watch/expensive_commands.def"
#undef EXPENSIVE_COMMAND
    EXPENSIVE_COMMAND_COUNT,
};

const char *expensive_command_text(enum expensive_command command);
int expensive_command_first_jdk(enum expensive_command command);

/* How much threads wait for CPUs (pressure.h reads it). All 0: an idle machine. */
struct pause_pressure {
    /* threads that run or want to, for each core; 100: each core has one */
    int64_t runnable_percent;
    /* of ten seconds in which some thread waited for a CPU; -1: not known */
    int64_t stalled_percent;
    int64_t throttle_us; /* how long a quota that is used up keeps the JVM off the CPU */
};
#define PAUSE_STALLED_PERCENT 25
/* Expensive questions wait while it is so; where the stalls are not known the threads decide. */
bool pause_pressed(const struct pause_pressure *pressure);

/* What the pause depends on. */
struct pause_inputs {
    int64_t classes;
    int64_t loaders;    /* an upper bound */
    int64_t heap_bytes; /* an upper bound; -1: not known */
    struct pause_pressure pressure;
};
/* What a sample says of it, for watch and triage alike. The heap: NMT's; with NMT off what is
 * resident stands for it. arenas: of Metaspace, a bound of the loaders; -1: not known. */
struct pause_inputs pause_inputs_of(const struct sample *sample, int64_t arenas);

#define PAUSE_SPENDS_MAX 64

struct pause_budget {
    int64_t budget_us, window_ms;
    int64_t total_us; /* spent since the watch began */
    int spend_count;
    struct {
        int64_t ms, us;
    } spends[PAUSE_SPENDS_MAX];
    /* On this JVM: [0] on a quiet machine, [1] under pressure. */
    struct {
        bool known;
        int64_t us;
        struct pause_inputs inputs;
    } measured[EXPENSIVE_COMMAND_COUNT][2];
};

void pause_budget_init(struct pause_budget *budget, int64_t budget_us, int64_t window_ms);
/* Upper estimate, microseconds; PAUSE_UNKNOWN_US, more than any budget, for a command that walks a
 * heap of unknown size. */
#define PAUSE_UNKNOWN_US INT64_MAX
int64_t pause_predict(const struct pause_budget *budget, enum expensive_command command,
                      const struct pause_inputs *inputs);
/* What has to be left of the budget for a command that has waited for a quiet machine. The default model of a load is
 * far too high for most JVMs, and only a measurement corrects it: until there is one, the work alone has to fit. */
int64_t pause_needed(const struct pause_budget *budget, enum expensive_command command,
                     const struct pause_inputs *inputs);
/* The same JVM's prediction for a quiet machine: the work alone. */
int64_t pause_work(const struct pause_budget *budget, enum expensive_command command,
                   const struct pause_inputs *inputs);
int64_t pause_left_us(const struct pause_budget *budget, int64_t now_ms);
void pause_spend(struct pause_budget *budget, enum expensive_command command,
                 const struct pause_inputs *inputs, int64_t now_ms, int64_t us);

/* pressure: how far the CPUs are wanted by more threads than they can run, for pause predictions.
 *
 * Read from /proc/loadavg, /proc/pressure/cpu and, of the target's container (cgroup v2),
 * cpu.pressure and cpu.max. An unreadable value counts as no pressure. A reading is five small
 * files of the kernel, some 50 us; the caller decides how often. Any thread.
 */
/* root: "" for this machine, a folder with proc/ and sys/ in a test. */
void pressure_read(const char *root, pid_t pid, struct pause_pressure *pressure);
/* "21.0 runnable threads for each core, CPU pressure 97 %" */
void pressure_words(const struct pause_pressure *pressure, char *out, size_t size);
