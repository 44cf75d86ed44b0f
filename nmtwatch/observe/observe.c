#include "nmtwatch/observe/observe.h"

#include "analyzers/model/texts.h"
#include "floor/hotspot/class_graph.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/base/normalize.h"
#include "nmtwatch/observe/allocations.h"
#include "nmtwatch/observe/elf_file.h"
#include "nmtwatch/observe/heap_object.h"
#include "nmtwatch/observe/heap_sampler.h"
#include "nmtwatch/observe/rss.h"
#include "nmtwatch/observe/stacks.h"
#include "nmtwatch/observe/uprobes.h"
#include "nmtwatch/machine/machine.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define DRAIN_MS          20
#define BURST             32 /* samples at once: then there are more soon */
#define PROBES_MAX        4
#define NAME_MAX_BYTES    4096
#define STACK_CUT         "[stack not complete]"
#define FAULT_STACK_BYTES 16384 /* faults come in bursts: of shorter copies more find room */
#define HOT_MS            3000  /* between looks at how often places are hit */
#define BREAKPOINT        0xcc

/* What an event of the mode is taken for. */
enum event_role {
    ROLE_SAMPLE,
    ROLE_CLASS_LOADED,
    ROLE_CLASS_UNLOADED,
    ROLE_ID,
    ROLE_TLAB,
    ROLE_OUTSIDE,
    ROLE_OBJECT,
    ROLE_FAULT
};

struct place_event {
    enum event_role role;
    char arguments[128]; /* of a USDT probe */
};

struct observation {
    const struct observe_options *options;
    struct observe_report *report;
    struct class_makers_builder *builder; /* of classes */
    struct rss_watch *rss;                /* of rss */
    struct allocations *allocations;      /* of alloc */
    struct heap_sampler *sampler;         /* of alloc, when it is to be switched on */
    struct perf_want clock;
    struct uprobe_place places[UPROBES_MAX];
    struct place_event event[UPROBES_MAX];
    int count;
    struct perf_events *perf; /* one of the two */
    struct uprobes *uprobes;
    char library[64]; /* the path of libjvm's descriptor, for the kernel */
    int library_fd;
};

static const struct {
    const char *name, *unit;
    const char *type, *type_unit; /* as pprof names them */
} MODE[OBSERVE_MODES] = {
    [OBSERVE_CPU] = {"cpu", "CPU samples", "cpu", "nanoseconds"},
    [OBSERVE_CLASSES] = {"classes", "classes loaded", "classes", "count"},
    [OBSERVE_JMETHODIDS] = {"jmethodids", "jmethodIDs made", "jmethodids", "count"},
    [OBSERVE_ALLOC] = {"alloc", "allocated, by TLAB", "alloc_space", "bytes"},
    [OBSERVE_RSS] = {"rss", "of growth of RSS", "rss_space", "bytes"},
    [OBSERVE_METHODS] = {.name = "methods"},
};

const char *observe_mode_name(enum observe_mode mode)
{
    return MODE[mode].name;
}

bool observe_mode_by_name(const char *name, enum observe_mode *mode)
{
    for (int i = 0; i < OBSERVE_MODES; i++) {
        if (strcmp(name, MODE[i].name) == 0) {
            *mode = (enum observe_mode)i;
            return true;
        }
    }
    return false;
}

/* --- places in libjvm ------------------------------------------------------------------------- */

/* The first bytes in the process must be those of the file: else it is another file, or something else has
 * been put there. But for a breakpoint in place of the first: another observer looks at the same place. */
static bool is_as_in_file(int fd, uint64_t address, uint64_t offset)
{
    uint8_t there[16], file[sizeof there];
    return load_bytes(remote_jvm()->bias + address, there, sizeof there) &&
           pread(fd, file, sizeof file, (off_t)offset) == (ssize_t)sizeof file &&
           (there[0] == file[0] || there[0] == BREAKPOINT) &&
           memcmp(there + 1, file + 1, sizeof file - 1) == 0;
}

static bool add_place(struct observation *observation, const struct elf_file *file,
                      uint64_t address, struct place_event event, bool stack, char *error,
                      size_t error_size)
{
    uint64_t offset;
    if (!elf_file_offset(file, address, &offset) ||
        !is_as_in_file(observation->library_fd, address, offset))
        return text_error(error, error_size, "%s",
                          remote_still_same()
                              ? "libjvm's code differs from its file: no probe was attached"
                              : "the process has ended");
    if (observation->count == UPROBES_MAX)
        return true;
    observation->event[observation->count] = event;
    observation->places[observation->count++] =
        (struct uprobe_place){observation->library, offset, stack, event.role == ROLE_OBJECT};
    return true;
}

/* The USDT probe of that name; where libjvm was built without such, the function that it is in: its first
 * argument is the class. */
static bool add_probe(struct observation *observation, const struct elf_file *file,
                      const char *name, const char *symbol, enum event_role role, bool stack,
                      char *error, size_t error_size)
{
    struct elf_probe probes[PROBES_MAX];
    uint64_t address;
    int count = elf_file_probes(file, "hotspot", name, probes, PROBES_MAX);
    if (count == 0 && elf_file_symbol(file, symbol, &address))
        return add_place(observation, file, address, (struct place_event){.role = role}, stack,
                         error, error_size);
    if (count == 0)
        return text_error(
            error, error_size,
            "this JDK's libjvm has neither the USDT probe hotspot:%s (built without DTrace "
            "support) nor the symbol %s (stripped)",
            name, symbol);
    for (int i = 0; i < count; i++) {
        struct place_event event = {.role = role};
        snprintf(event.arguments, sizeof event.arguments, "%s", probes[i].arguments);
        if (!add_place(observation, file, probes[i].address, event, stack, error, error_size))
            return false;
    }
    return true;
}

/* symbol: up to its parameters, which differ between JDKs. */
static bool add_function(struct observation *observation, const struct elf_file *file,
                         const char *symbol, enum event_role role, char *error, size_t error_size)
{
    uint64_t address;
    if (!elf_file_symbol(file, symbol, &address))
        return text_error(error, error_size, "this JDK's libjvm has no symbol %s (it is stripped)",
                          symbol);
    return add_place(observation, file, address, (struct place_event){.role = role}, true, error,
                     error_size);
}

static bool add_events(struct observation *observation, char *error, size_t error_size)
{
    enum observe_mode mode = observation->options->mode;
    if (mode == OBSERVE_RSS) {
        observation->event[observation->count++] = (struct place_event){.role = ROLE_FAULT};
        observation->clock = (struct perf_want){
            .what = PERF_PAGE_FAULTS,
            .period = 1,
            .stack_bytes = FAULT_STACK_BYTES,
        };
        return true;
    }
    if (mode == OBSERVE_CPU) {
        observation->event[observation->count++] = (struct place_event){.role = ROLE_SAMPLE};
        observation->clock = (struct perf_want){
            .what = PERF_CPU_TIME,
            .period = (uint64_t)observation->options->interval_ns,
            .stack_bytes = PERF_STACK_BYTES,
        };
        return true;
    }
    const struct elf_file *file = stacks_jvm_file(error, error_size);
    observation->library_fd = file != NULL ? remote_library_file(remote_jvm()) : -1;
    if (observation->library_fd < 0)
        return false;
    /* Not by a name: that may lead to another file by now. */
    snprintf(observation->library, sizeof observation->library, "/proc/self/fd/%d",
             observation->library_fd);
    switch (mode) {
    case OBSERVE_CLASSES:
        return add_probe(observation, file, "class__loaded",
                         "_ZN19ClassLoadingService19notify_class_loadedE", ROLE_CLASS_LOADED, true,
                         error, error_size) &&
               add_probe(observation, file, "class__unloaded",
                         "_ZN19ClassLoadingService21notify_class_unloadedE", ROLE_CLASS_UNLOADED,
                         false, error, error_size);
    case OBSERVE_JMETHODIDS:
        return add_function(observation, file, "_ZN6Method15make_jmethod_idE", ROLE_ID, error,
                            error_size);
    case OBSERVE_ALLOC:
        if (observation->options->activate)
            return add_function(observation, file,
                                "_ZN11JvmtiExport41record_sampled_internal_"
                                "object_allocationE",
                                ROLE_OBJECT, error, error_size);
        return add_function(observation, file, "_ZN11AllocTracer27send_allocation_in_new_tlabE",
                            ROLE_TLAB, error, error_size) &&
               add_function(observation, file, "_ZN11AllocTracer28send_allocation_outside_tlabE",
                            ROLE_OUTSIDE, error, error_size);
    default:
        return false;
    }
}

/* --- samples ---------------------------------------------------------------------------------- */

/* An argument of a USDT probe. */
static bool probe_argument(const struct perf_sample *sample, const char *arguments, int index,
                           uint64_t *value)
{
    struct machine_operand operand;
    const char *at = arguments;
    for (; index >= 0; index--) {
        at += strspn(at, " ");
        if (!machine_operand(&at, &operand))
            return false;
    }
    if (operand.kind == OPERAND_CONSTANT) {
        *value = (uint64_t)operand.number;
        return true;
    }
    if (sample->registers == NULL)
        return false;
    uint64_t number = sample->registers[operand.at];
    if (operand.kind == OPERAND_MEMORY)
        number = load_u64(number + (uint64_t)operand.number, 0);
    *value = abs(operand.bytes) == 4 ? (uint64_t)(int64_t)(int32_t)number : number;
    return true;
}

/* An argument of a function that has just been entered. */
static uint64_t function_argument(const struct perf_sample *sample, int index)
{
    return sample->registers != NULL ? sample->registers[this_machine.argument[index]] : 0;
}

/* The name of the class that a probe reports, as people read it. */
static bool probed_class(const struct perf_sample *sample, const struct place_event *event,
                         char out[CLASS_NAME_MAX])
{
    uint64_t address, length;
    char name[NAME_MAX_BYTES + 1];
    if (event->arguments[0] == '\0') /* a function's entry */
        return class_graph_name(function_argument(sample, 0), out);
    if (!probe_argument(sample, event->arguments, 0, &address) ||
        !probe_argument(sample, event->arguments, 1, &length) || length == 0 ||
        length > NAME_MAX_BYTES || !load_bytes(address, name, length) ||
        memchr(name, '\0', length) != NULL)
        return false;
    name[length] = '\0';
    class_name_readable(name, out);
    return true;
}

/* Frames of Java alone where there are any: how the VM came to the probe is the same each time. jmethodIDs: from
 * the library that asked the VM for them. */
static int without_vm(const struct stack_frame *frames, int depth, enum event_role role)
{
    int first = 0;
    while (first < depth && frames[first].kind != CALL_FRAME_JAVA &&
           (role != ROLE_ID || stack_frame_is_of(&frames[first], "libjvm")))
        first++;
    return first < depth ? first : 0;
}

static void take_class(struct observation *observation, const struct perf_sample *sample,
                       const struct place_event *event, const struct stack_frame *frames, int depth)
{
    char name[CLASS_NAME_MAX] = "", family_name[CLASS_FAMILY_MAX] = "[class not read]";
    bool named = probed_class(sample, event, name);
    if (named)
        class_family(name, strlen(name), family_name);
    struct class_family *family = class_makers_family(observation->builder, family_name);
    if (family == NULL)
        return;
    family->loaded++;
    class_makers_add(observation->builder, family, named ? name : NULL, frames, depth, 1);
}

/* What the kernel calls a thread, at most a second ago; "": it has ended. Until the next call. */
static const char *thread_name(pid_t pid, pid_t tid)
{
    static struct {
        pid_t tid;
        int64_t ms;
        char name[32];
    } known[256];
    size_t place = (size_t)tid % (sizeof known / sizeof known[0]);
    int64_t now = clock_ms(CLOCK_MONOTONIC);
    char path[64];
    if (known[place].tid == tid && now - known[place].ms < 1000)
        return known[place].name;
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, known[place].name, sizeof known[0].name - 1) : 0;
    if (fd >= 0)
        close(fd);
    known[place].name[length > 0 ? length : 0] = '\0';
    known[place].name[strcspn(known[place].name, "\n")] = '\0';
    known[place].tid = tid;
    known[place].ms = now;
    return known[place].name;
}

static void take(void *context, const struct perf_sample *sample)
{
    struct observation *observation = context;
    struct observe_report *report = observation->report;
    const struct place_event *event = &observation->event[sample->place];
    struct stack_frame room[STACK_FRAMES_MAX + 3],
        *frames = room + 1; /* the class allocated, the thread */
    struct allocation what = {.bytes = 1};
    char name[CALL_THREAD_NAME_MAX];
    enum stack_outcome outcome;
    int depth = stacks_walk(sample, frames, STACK_FRAMES_MAX, &outcome);
    bool native = event->role == ROLE_SAMPLE || event->role == ROLE_FAULT;
    int first = native ? 0 : without_vm(frames, depth, event->role);
    frames += first;
    depth -= first;
    report->samples++;
    report->outcome[outcome].stacks++;
    if (event->role == ROLE_FAULT) {
        rss_touch(observation->rss, sample, frames, depth);
        return;
    }
    if (outcome != STACK_COMPLETE && outcome != STACK_NONE)
        frames[depth++] = (struct stack_frame){.name = STACK_CUT, .kind = CALL_FRAME_NATIVE};
    if (event->role == ROLE_CLASS_LOADED) {
        take_class(observation, sample, event, frames, depth);
        return;
    }
    if (event->role == ROLE_OBJECT)
        allocations_object(observation->allocations, sample, &what);
    else if (event->role == ROLE_TLAB || event->role == ROLE_OUTSIDE)
        allocations_tlab(observation->allocations, function_argument(sample, 0),
                         function_argument(sample, 2),
                         &what); /* size: of the TLAB, of the object */
    if (observation->allocations != NULL) {
        *--frames = (struct stack_frame){.name = what.name, .kind = CALL_FRAME_CLASS};
        depth++;
    }
    if (event->role == ROLE_SAMPLE) {
        call_tree_at(report->tree, clock_ms(CLOCK_REALTIME));
        depth = call_frames_of_thread(frames, depth, thread_name((pid_t)report->pid, sample->tid),
                                      name);
    }
    call_tree_add_part(report->tree, frames, depth, what.bytes, what.fixed);
}

/* --- the run ---------------------------------------------------------------------------------- */

static uint64_t hits(const struct observation *observation)
{
    uint64_t sum = 0;
    for (int i = 0; i < observation->count; i++)
        if (observation->places[i].stack) /* classes are unloaded all at once */
            sum += uprobes_count(observation->uprobes, i);
    return sum;
}

/* Whether places were hit too often since the last check. */
static bool is_hot(const struct observation *observation, int64_t now, int64_t *looked,
                   uint64_t *before)
{
    if (observation->uprobes == NULL || now - *looked < HOT_MS)
        return false;
    uint64_t sum = hits(observation), most = UPROBES_HITS_MAX * (uint64_t)(now - *looked) / 1000;
    bool hot = sum - *before > most;
    *before = sum;
    *looked = now;
    return hot;
}

static void look(struct observation *observation)
{
    int64_t start = clock_ms(CLOCK_MONOTONIC), end = start + observation->options->duration_ms;
    int64_t looked = start;
    uint64_t before = 0;
    size_t taken = 0;
    struct observe_report *report = observation->report;
    remote_reading(observation->options->duration_ms);
    for (;;) {
        int stop_fd = observation->options->stop_fd;
        struct pollfd wait[] = {{.fd = signals_fd(), .events = POLLIN},
                                {.fd = stop_fd > 0 ? stop_fd : -1, .events = POLLIN}};
        poll(wait, 2, taken < BURST ? DRAIN_MS : 1);
        if (wait[0].revents != 0)
            signals_seen();
        remote_forget();
        if (observation->perf != NULL)
            taken = perf_events_drain(observation->perf, take, observation);
        else
            taken = uprobes_drain(observation->uprobes, take, observation);
        int64_t now = clock_ms(CLOCK_MONOTONIC);
        report->elapsed_ms = now - start;
        report->ended = !remote_still_same();
        report->hot = is_hot(observation, now, &looked, &before);
        report->switched_off = observation->sampler != NULL && !report->ended &&
                               !heap_sampler_is_on(observation->sampler);
        if (now >= end || signals_asked() > 0 || wait[1].revents != 0 || report->ended ||
            report->hot || report->switched_off)
            break;
    }
}

static void count_events(struct observation *observation)
{
    struct observe_report *report = observation->report;
    report->left_out = stacks_left_out();
    if (observation->perf != NULL) {
        report->user_only = perf_events_user_only(observation->perf);
        report->lost = (int64_t)perf_events_lost(observation->perf);
        report->count = (int64_t)perf_events_count(observation->perf);
        return;
    }
    report->lost = (int64_t)uprobes_lost(observation->uprobes);
    for (int i = 0; i < observation->count; i++) {
        int64_t count = (int64_t)uprobes_count(observation->uprobes, i);
        if (observation->event[i].role == ROLE_CLASS_UNLOADED)
            report->unloaded += count;
        else
            report->count += count;
    }
}

static bool open_events(struct observation *observation, pid_t pid, char *error, size_t error_size)
{
    if (observation->clock.period != 0)
        observation->perf = perf_events_open(pid, &observation->clock, error, error_size);
    else
        observation->uprobes =
            uprobes_open(pid, observation->places, observation->count, error, error_size);
    return observation->perf != NULL || observation->uprobes != NULL;
}

static void sum_up(struct observation *observation)
{
    struct observe_report *report = observation->report;
    if (observation->builder == NULL) {
        call_tree_finish(report->tree);
        return;
    }
    /* The kernel's counts are exact; stacks that were lost have no family. */
    class_makers_finish(&report->makers);
    report->makers.loaded = report->count;
    report->makers.unloaded = report->unloaded;
    report->makers.duration_ms = report->elapsed_ms;
}

static bool open_allocations(struct observation *observation, const struct target *target,
                             char *error, size_t error_size)
{
    const struct observe_options *options = observation->options;
    observation->allocations =
        allocations_open(options->activate ? options->every_bytes : 0, error, error_size);
    if (observation->allocations == NULL || !options->activate)
        return observation->allocations != NULL;
    observation->report->every_bytes = options->every_bytes;
    uint64_t unused;
    const struct elf_file *file = stacks_jvm_file(error, error_size);
    observation->report->biased =
        file == NULL || !elf_file_symbol(file, "_ZN17ThreadHeapSampler6sampleE", &unused);
    observation->sampler = heap_sampler_open(target, error, error_size);
    return observation->sampler != NULL;
}

/* The probes are there: now what they see may happen. */
static bool begin(struct observation *observation, char *error, size_t error_size)
{
    if (observation->allocations != NULL)
        allocations_begin(
            observation->allocations,
            observation->sampler != NULL ? heap_sampler_first_interval(observation->sampler) : 0);
    return observation->sampler == NULL ||
           heap_sampler_on(observation->sampler, observation->options->every_bytes, error,
                           error_size);
}

static bool open_all(struct observation *observation, const struct target *target, char *error,
                     size_t error_size)
{
    struct observe_report *report = observation->report;
    enum observe_mode mode = observation->options->mode;
    if (mode == OBSERVE_CLASSES)
        observation->builder = class_makers_build(&report->makers);
    report->tree = mode == OBSERVE_CLASSES ? report->makers.tree : call_tree_create();
    if (report->tree == NULL)
        return text_error(error, error_size, "out of memory");
    if (!remote_open(target, error, error_size))
        return false;
    if (!stacks_open(report->note, sizeof report->note) && mode != OBSERVE_CPU &&
        mode != OBSERVE_RSS)
        return text_error(error, error_size, "%s", report->note);
    if (report->note[0] == '\0')
        heap_objects_begin(mode == OBSERVE_CLASSES || mode == OBSERVE_RSS ? target : NULL);
    if (mode == OBSERVE_CPU && report->note[0] == '\0')
        report->inlined_apart = !stacks_jvm_flag("DebugNonSafepoints", true);
    if (!add_events(observation, error, error_size) ||
        (mode == OBSERVE_ALLOC && !open_allocations(observation, target, error, error_size)))
        return false;
    if (mode == OBSERVE_RSS && (observation->rss = rss_open(target, error, error_size)) == NULL)
        return false;
    return open_events(observation, target->pid, error, error_size) &&
           begin(observation, error, error_size);
}

bool observe_run(const struct target *target, const struct observe_options *options,
                 struct observe_report *report, char *error, size_t error_size)
{
    struct observation observation = {.options = options, .report = report, .library_fd = -1};
    *report = (struct observe_report){
        .what = MODE[options->mode].name,
        .unit = MODE[options->mode].unit,
        .type = MODE[options->mode].type,
        .type_unit = MODE[options->mode].type_unit,
        .interval_ns = options->mode == OBSERVE_CPU ? options->interval_ns : 0,
        .start_ns = clock_us(CLOCK_REALTIME) * 1000,
        .bytes = options->mode == OBSERVE_ALLOC || options->mode == OBSERVE_RSS,
        .pid = target->pid,
        .outcome_count = STACK_OUTCOMES,
        .total_bytes = -1,
    };
    if (options->activate)
        report->unit = "allocated, by sampled objects";
    snprintf(report->main, sizeof report->main, "%s", target->identity.main);
    for (int i = 0; i < STACK_OUTCOMES; i++)
        report->outcome[i].text = stack_outcome_text((enum stack_outcome)i);
    bool good = open_all(&observation, target, error, error_size);
    if (good) {
        look(&observation);
        count_events(&observation);
        remote_reading(0);
    }
    heap_sampler_close(observation.sampler);
    if (good && observation.allocations != NULL)
        allocations_end(observation.allocations, report);
    allocations_close(observation.allocations);
    if (observation.rss != NULL)
        good = rss_close(observation.rss, good ? target : NULL, report, error, error_size) && good;
    if (good)
        sum_up(&observation);
    perf_events_close(observation.perf);
    uprobes_close(observation.uprobes);
    free(observation.builder);
    if (observation.library_fd >= 0)
        close(observation.library_fd);
    stacks_close();
    remote_close();
    return good;
}
