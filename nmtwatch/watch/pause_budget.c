#include "nmtwatch/watch/pause_budget.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* --- pressure --------------------------------------------------------------------------------- */

#define TEXT_MAX 4096

static bool read_text(const char *root, const char *path, char text[TEXT_MAX])
{
    char whole[1024];
    int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof whole)
        return false;
    int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, TEXT_MAX - 1);
    close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return true;
}

/* "some avg10=90.72 avg60=96.71 ...": the share of ten seconds in which a thread waited for a CPU. */
static int64_t stalled_percent(const char *text)
{
    double share;
    return sscanf(text, "some avg10=%lf", &share) == 1 && share >= 0.0 && share <= 100.0
               ? (int64_t)share
               : -1;
}

/* "0-3,8,10-11" */
static int64_t cores(const char *root)
{
    char text[TEXT_MAX];
    int64_t count = 0;
    if (!read_text(root, "/sys/devices/system/cpu/online", text))
        return 1;
    for (const char *at = text; at != NULL && *at != '\0' && count < 65536;) {
        int first, last;
        int fields = sscanf(at, "%d-%d", &first, &last);
        if (fields < 1)
            break;
        count += fields == 2 && last >= first ? (int64_t)last - first + 1 : 1;
        at = strchr(at, ',');
        at = at != NULL ? at + 1 : NULL;
    }
    return count > 0 ? count : 1;
}

/* The target's group of the unified hierarchy, as this process sees it. */
static bool group_of(const char *root, pid_t pid, char *group, size_t size)
{
    char path[64], text[TEXT_MAX];
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    if (!read_text(root, path, text))
        return false;
    char *line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
    if (line == NULL)
        return false;
    line += *line == '\n' ? 4 : 3;
    line[strcspn(line, "\n")] = '\0';
    if (strstr(line, "..") != NULL || strcmp(line, "/") == 0)
        return false;
    int length = snprintf(group, size, "/sys/fs/cgroup%s", line);
    return length > 0 && (size_t)length < size;
}

static void read_group(const char *root, pid_t pid, struct pause_pressure *pressure)
{
    char group[512], path[600], text[TEXT_MAX];
    long long quota_us, period_us;
    if (!group_of(root, pid, group, sizeof group))
        return;
    snprintf(path, sizeof path, "%s/cpu.pressure", group);
    int64_t stalled = read_text(root, path, text) ? stalled_percent(text) : -1;
    if (stalled > pressure->stalled_percent)
        pressure->stalled_percent = stalled;
    snprintf(path, sizeof path, "%s/cpu.max", group);
    /* "max 100000" has no quota; one that is used up keeps the JVM off until its period ends. */
    if (stalled >= PAUSE_STALLED_PERCENT && read_text(root, path, text) &&
        sscanf(text, "%lld %lld", &quota_us, &period_us) == 2 && quota_us > 0 && period_us > 0 &&
        period_us <= 1000000)
        pressure->throttle_us = period_us;
}

void pressure_read(const char *root, pid_t pid, struct pause_pressure *pressure)
{
    char text[TEXT_MAX];
    double load = 0.0, unused;
    int running = 0;
    *pressure = (struct pause_pressure){.stalled_percent = -1};
    if (read_text(root, "/proc/pressure/cpu", text))
        pressure->stalled_percent = stalled_percent(text);
    if (read_text(root, "/proc/loadavg", text) &&
        sscanf(text, "%lf %lf %lf %d/", &load, &unused, &unused, &running) == 4) {
        /* The average is of a minute, and late; the count is of this moment. */
        double most = load > (double)running ? load : (double)running;
        if (most > 0.0 && most < 1e6)
            pressure->runnable_percent = (int64_t)(most * 100.0 / (double)cores(root));
    }
    read_group(root, pid, pressure);
}

void pressure_words(const struct pause_pressure *pressure, char *out, size_t size)
{
    char stalled[48] = "", throttled[48] = "";
    if (pressure->stalled_percent >= 0)
        snprintf(stalled, sizeof stalled, ", CPU pressure %d %%", (int)pressure->stalled_percent);
    if (pressure->throttle_us > 0)
        snprintf(throttled, sizeof throttled, ", its container's CPU quota used up");
    snprintf(out, size, "%.1f runnable threads for each core%s%s",
             (double)pressure->runnable_percent / 100.0, stalled, throttled);
}

/* A measurement holds for a JVM of the same size; a busy machine may need half as long again. */
#define MEASURED_MARGIN_PERCENT  150
#define PRESSED_KEPT_PERCENT     75
#define RUNNABLE_PRESSED_PERCENT 150
#define QUEUE_MAX_PERCENT        100000
#define HAND_OVERS               4
#define SLICE_US                 4000 /* of the Linux scheduler, upper end of its default */

static const struct {
    const char *command;
    int first_jdk;
    int64_t fixed_us, class_ns, loader_ns, heap_mb_us;
} COMMANDS[EXPENSIVE_COMMAND_COUNT] = {
#define EXPENSIVE_COMMAND(id, command, jdk, fixed, per_class, per_loader, per_mb)                  \
    [EXPENSIVE_##id] = {command, jdk, fixed, per_class, per_loader, per_mb},
#include "nmtwatch/watch/expensive_commands.def"
#undef EXPENSIVE_COMMAND
};

const char *expensive_command_text(enum expensive_command command)
{
    return COMMANDS[command].command;
}

int expensive_command_first_jdk(enum expensive_command command)
{
    return COMMANDS[command].first_jdk;
}

void pause_budget_init(struct pause_budget *budget, int64_t budget_us, int64_t window_ms)
{
    memset(budget, 0, sizeof *budget);
    budget->budget_us = budget_us;
    budget->window_ms = window_ms;
}

static int64_t estimate(enum expensive_command command, const struct pause_inputs *inputs)
{
    return COMMANDS[command].fixed_us +
           (inputs->classes * COMMANDS[command].class_ns +
            inputs->loaders * COMMANDS[command].loader_ns) /
               1000 +
           (inputs->heap_bytes > 0 ? inputs->heap_bytes / 1048576 : 0) *
               COMMANDS[command].heap_mb_us;
}

struct pause_inputs pause_inputs_of(const struct sample *sample, int64_t arenas)
{
    struct pause_inputs now = {.heap_bytes = -1};
    int64_t loaded = 0, unloaded = 0;
    sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded);
    sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded);
    now.classes = loaded > unloaded ? loaded - unloaded : 0;
    /* Each class may have a loader of its own; each loader has an arena. */
    now.loaders = arenas >= 0 && arenas < now.classes ? arenas : now.classes;
    struct nmt_amount heap;
    if (sample_get_nmt(sample, NMT_JAVA_HEAP, &heap))
        now.heap_bytes = heap.committed_bytes;
    else
        sample_get(sample, SAMPLE_RSS_BYTES, &now.heap_bytes);
    return now;
}

bool pause_pressed(const struct pause_pressure *pressure)
{
    if (pressure->throttle_us > 0)
        return true;
    if (pressure->stalled_percent >= 0)
        return pressure->stalled_percent >= PAUSE_STALLED_PERCENT;
    return pressure->runnable_percent > RUNNABLE_PRESSED_PERCENT;
}

/* Work shares its core with the threads that wait for it, and each hand-over (to the attach
 * listener, to the VM's thread, of the Java threads to the safepoint, and back) waits for their
 * time slices. */
static int64_t under_pressure(int64_t quiet_us, const struct pause_pressure *pressure)
{
    if (!pause_pressed(pressure))
        return quiet_us;
    int64_t queue = pressure->runnable_percent;
    int64_t least = 100 + (pressure->stalled_percent > 0 ? pressure->stalled_percent : 0);
    if (queue < least) /* a thread waits: two threads for a core at times */
        queue = least;
    if (queue > QUEUE_MAX_PERCENT)
        queue = QUEUE_MAX_PERCENT;
    return quiet_us / 100 * queue + quiet_us % 100 * queue / 100 +
           HAND_OVERS * SLICE_US * (queue - 100) / 100 + pressure->throttle_us;
}

/* What was measured, scaled by what the model says about growth and pressure since; -1: nothing was. */
static int64_t as_measured(const struct pause_budget *budget, enum expensive_command command,
                           const struct pause_inputs *inputs, bool pressed)
{
    if (!budget->measured[command][pressed].known)
        return -1;
    const struct pause_inputs *before = &budget->measured[command][pressed].inputs;
    int64_t now = estimate(command, inputs), then = estimate(command, before);
    if (pressed) {
        now = under_pressure(now, &inputs->pressure);
        then = under_pressure(then, &before->pressure);
    }
    double growth = now > then ? (double)now / (double)then : 1.0;
    return (int64_t)((double)budget->measured[command][pressed].us * growth) *
           MEASURED_MARGIN_PERCENT / 100;
}

int64_t pause_predict(const struct pause_budget *budget, enum expensive_command command,
                      const struct pause_inputs *inputs)
{
    if (inputs->heap_bytes < 0 && COMMANDS[command].heap_mb_us > 0)
        return PAUSE_UNKNOWN_US;
    int64_t by_formula = estimate(command, inputs);
    bool pressed = pause_pressed(&inputs->pressure);
    int64_t under_load = as_measured(budget, command, inputs, true);
    if (pressed && under_load >= 0)
        return under_load;
    int64_t quiet = as_measured(budget, command, inputs, false);
    if (quiet < 0) /* a load only prolongs it */
        quiet = under_load >= 0 && under_load < by_formula ? under_load : by_formula;
    return under_pressure(quiet, &inputs->pressure);
}

int64_t pause_work(const struct pause_budget *budget, enum expensive_command command,
                   const struct pause_inputs *inputs)
{
    struct pause_inputs alone = *inputs;
    alone.pressure = (struct pause_pressure){.stalled_percent = -1};
    return pause_predict(budget, command, &alone);
}

int64_t pause_needed(const struct pause_budget *budget, enum expensive_command command,
                     const struct pause_inputs *inputs)
{
    return budget->measured[command][1].known ? pause_predict(budget, command, inputs)
                                              : pause_work(budget, command, inputs);
}

int64_t pause_left_us(const struct pause_budget *budget, int64_t now_ms)
{
    int64_t left_us = budget->budget_us;
    for (int i = 0; i < budget->spend_count; i++)
        if (now_ms - budget->spends[i].ms < budget->window_ms)
            left_us -= budget->spends[i].us;
    return left_us > 0 ? left_us : 0;
}

void pause_spend(struct pause_budget *budget, enum expensive_command command,
                 const struct pause_inputs *inputs, int64_t now_ms, int64_t us)
{
    budget->total_us += us;
    bool pressed = pause_pressed(&inputs->pressure);
    int64_t before_us = budget->measured[command][pressed].us / 100 * PRESSED_KEPT_PERCENT;
    /* Under pressure one time says little of the next: a long one is forgotten step by step. */
    if (!pressed || us >= before_us) {
        budget->measured[command][pressed].known = true;
        budget->measured[command][pressed].us = us;
        budget->measured[command][pressed].inputs = *inputs;
    } else {
        budget->measured[command][pressed].us = before_us;
    }
    if (budget->spend_count == PAUSE_SPENDS_MAX) {
        /* Merge the two oldest, at the later time: never more generous than the truth. */
        budget->spends[1].us += budget->spends[0].us;
        memmove(budget->spends, budget->spends + 1,
                (PAUSE_SPENDS_MAX - 1) * sizeof *budget->spends);
        budget->spend_count--;
    }
    budget->spends[budget->spend_count].ms = now_ms;
    budget->spends[budget->spend_count++].us = us;
}
