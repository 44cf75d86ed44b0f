#include "analyzers/triage/crash.h"

#include "analyzers/model/texts.h"
#include "analyzers/model/units.h"

#include <inttypes.h>
#include <stdio.h>

#define KB INT64_C(1024)
#define MB (KB * 1024)
#define GB (MB * 1024)

#define NEAR_PERCENT      90 /* of a limit that others share */
#define COMMIT_LEFT_SHARE 33 /* 1/33, 3 %, of the commit limit is left when small requests fail */
#define COMPILER_CHUNK    (64 * MB) /* an arena grows by 1 MB or less as a rule */
#define METASPACE_LARGE   (512 * MB)
#define THREADS_MANY      2000
#define DEFAULT_MAP_COUNT 65530
#define DEFAULT_PID_MAX   32768

static const struct oom_cause_row ROWS[OOM_CAUSE_COUNT] = {
#define OOM_CAUSE(id, key, what, fix, command) [OOM_CAUSE_##id] = {key, what, fix, command},
#include "analyzers/triage/oom_causes.def"
};

const struct oom_cause_row *oom_cause_row(enum oom_cause cause)
{
    return &ROWS[(unsigned)cause < OOM_CAUSE_COUNT ? cause : OOM_CAUSE_UNKNOWN];
}

enum oom_cause oom_cause_of_line(enum oom_line kind)
{
    static const enum oom_cause causes[OOM_LINE_KIND_COUNT] = {
        [OOM_LINE_NONE] = OOM_CAUSE_UNKNOWN,
        [OOM_LINE_HEAP] = OOM_CAUSE_HEAP,
        [OOM_LINE_GC_OVERHEAD] = OOM_CAUSE_GC_OVERHEAD,
        [OOM_LINE_METASPACE] = OOM_CAUSE_METASPACE,
        [OOM_LINE_CLASS_SPACE] = OOM_CAUSE_CLASS_SPACE,
        [OOM_LINE_PERMGEN] = OOM_CAUSE_PERMGEN,
        [OOM_LINE_DIRECT] = OOM_CAUSE_DIRECT,
        [OOM_LINE_ARRAY_SIZE] = OOM_CAUSE_ARRAY_SIZE,
        [OOM_LINE_THREAD] = OOM_CAUSE_THREADS,
        [OOM_LINE_MAP_FAILED] = OOM_CAUSE_MAP_COUNT,
        [OOM_LINE_REQUEST] = OOM_CAUSE_UNKNOWN,
        [OOM_LINE_COMMIT] = OOM_CAUSE_UNKNOWN,
        [OOM_LINE_PAGE_FILE] = OOM_CAUSE_PAGE_FILE,
        [OOM_LINE_RESERVE] = OOM_CAUSE_HEAP_TOO_LARGE,
    };
    return (unsigned)kind < OOM_LINE_KIND_COUNT ? causes[kind] : OOM_CAUSE_UNKNOWN;
}

void crash_take(struct crash *crash, const struct hs_err *file)
{
    memset(crash, 0, sizeof *crash);
    crash->have = true;
    crash->end = file->end;
    crash->platform = file->platform;
    crash->is_32bit = file->is_32bit;
    crash->thread_failed = file->thread_failed;
    span_copy(file->how, crash->how, sizeof crash->how);
    span_copy(file->what, crash->what, sizeof crash->what);
    span_copy(file->signal, crash->signal, sizeof crash->signal);
    span_copy(file->frame, crash->frame, sizeof crash->frame);
    span_copy(file->library, crash->library, sizeof crash->library);
    span_copy(file->caller, crash->caller, sizeof crash->caller);
    span_copy(file->thread, crash->thread, sizeof crash->thread);
    span_copy(file->jre, crash->jre, sizeof crash->jre);
    span_copy(file->os, crash->os, sizeof crash->os);
    span_copy(file->arch, crash->arch, sizeof crash->arch);
    memcpy(crash->figure, file->figure, sizeof crash->figure);
    for (int i = 0; i < file->stem_count; i++) {
        int at = crash->stem_count < CRASH_STEMS_MAX ? crash->stem_count++ : CRASH_STEMS_MAX;
        for (; at > 0 && crash->stem[at - 1].threads < file->stem[i].threads; at--)
            if (at < CRASH_STEMS_MAX)
                crash->stem[at] = crash->stem[at - 1];
        if (at < CRASH_STEMS_MAX)
            crash->stem[at] = file->stem[i];
    }
}

/* Zero or more, or -1 for what is not known or not limited. */
static int64_t fig(const struct crash *crash, enum hs_err_figure figure)
{
    return crash->figure[figure] >= 0 ? crash->figure[figure] : -1;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t threads_of(const struct crash *crash)
{
    int64_t java = fig(crash, HS_ERR_JAVA_THREADS), other = fig(crash, HS_ERR_OTHER_THREADS);
    return java < 0 ? other : java + most(other, 0);
}

static int64_t available(const struct crash *crash)
{
    int64_t bytes = fig(crash, HS_ERR_MEM_AVAILABLE);
    return bytes >= 0 ? bytes : fig(crash, HS_ERR_MEM_FREE);
}

/* So much of it is used that the next step does not fit. */
static bool is_near(int64_t used, int64_t limit)
{
    return used > 0 && limit > 0 && used >= limit / 100 * NEAR_PERCENT;
}

static int64_t request_of(const struct crash *crash)
{
    return most(fig(crash, HS_ERR_REQUEST), 0);
}

static bool is_compiler(const struct crash *crash)
{
    return (strstr(crash->thread, "CompilerThread") != NULL ||
            strstr(crash->what, "Chunk::new") != NULL || strstr(crash->what, "Arena") != NULL) &&
           request_of(crash) >= COMPILER_CHUNK && strstr(crash->how, "malloc") != NULL;
}

static bool is_near_metaspace(const struct crash *crash)
{
    int64_t committed = fig(crash, HS_ERR_METASPACE_COMMITTED);
    return committed >= METASPACE_LARGE && is_near(committed, fig(crash, HS_ERR_MAX_METASPACE));
}

static bool is_near_class_space(const struct crash *crash)
{
    int64_t limit = fig(crash, HS_ERR_CLASS_SPACE_MAX);
    return is_near(fig(crash, HS_ERR_CLASS_SPACE_COMMITTED), limit > 0 ? limit : GB);
}

static bool is_near_threads(const struct crash *crash)
{
    int64_t threads = threads_of(crash), pids = fig(crash, HS_ERR_PID_MAX);
    return threads >= THREADS_MANY || is_near(threads, fig(crash, HS_ERR_NPROC)) ||
           is_near(most(threads, fig(crash, HS_ERR_TASKS)), fig(crash, HS_ERR_TASKS_MAX)) ||
           is_near(threads, fig(crash, HS_ERR_THREADS_MAX)) ||
           is_near(threads, pids > 0 ? pids : DEFAULT_PID_MAX);
}

static bool is_host_exhausted(const struct crash *crash)
{
    int64_t left = available(crash), total = fig(crash, HS_ERR_MEM_TOTAL);
    int64_t swap = fig(crash, HS_ERR_SWAP_FREE);
    if (left < 0)
        return false;
    int64_t need = most(request_of(crash), total > 0 ? total / 20 : 0);
    return left < need &&
           (swap < 0 || swap < most(request_of(crash), 64 * MB) || left + swap < request_of(crash));
}

/* More than the limit is committed only where it is not enforced. */
static bool is_at_commit_limit(const struct crash *crash)
{
    int64_t limit = fig(crash, HS_ERR_COMMIT_LIMIT), used = fig(crash, HS_ERR_COMMITTED_AS);
    int64_t mode = fig(crash, HS_ERR_OVERCOMMIT);
    if (limit <= 0 || used < 0 || used > limit || mode == 0 || mode == 1)
        return false;
    return limit - used < most(request_of(crash), limit / COMMIT_LEFT_SHARE);
}

/* The heap, or the piece of it that was asked for, is more than there is. */
static bool is_heap_too_large(const struct crash *crash)
{
    int64_t request = request_of(crash), xms = fig(crash, HS_ERR_XMS);
    int64_t left = available(crash), swap = most(fig(crash, HS_ERR_SWAP_FREE), 0);
    int64_t limit = fig(crash, HS_ERR_COMMIT_LIMIT), used = fig(crash, HS_ERR_COMMITTED_AS);
    int64_t total = fig(crash, HS_ERR_MEM_TOTAL), container = fig(crash, HS_ERR_CONTAINER_LIMIT);
    /* JDK 7 and 8 say "malloc" of mappings, too. */
    bool mapping = strstr(crash->how, "reserved memory") != NULL ||
                   strstr(crash->how, "virtual space") != NULL;
    if (request < (fig(crash, HS_ERR_XMX) >= GB ? 64 * MB : 128 * MB) || request < total / 5 ||
        (strstr(crash->how, "malloc") != NULL && !mapping))
        return false;
    if (left < 0 && total < 0 && container <= 0 && crash->platform != HS_ERR_WINDOWS)
        return mapping; /* the head alone: nothing else is committed in such pieces */
    if (container > 0 && most(request, xms) > container)
        return true;
    if (crash->platform == HS_ERR_WINDOWS)
        return fig(crash, HS_ERR_SWAP_TOTAL) > 0 && request > fig(crash, HS_ERR_SWAP_TOTAL);
    return (left >= 0 && request > left + swap) || (total > 0 && request > total + swap) ||
           (limit > 0 && used >= 0 && used <= limit && request > limit - used);
}

static bool is_page_file(const struct crash *crash)
{
    int64_t left = fig(crash, HS_ERR_SWAP_FREE), total = fig(crash, HS_ERR_SWAP_TOTAL);
    return crash->platform == HS_ERR_WINDOWS &&
           (strstr(crash->how, "paging file") != NULL ||
            (left >= 0 && total > 0 && left < most(request_of(crash), total / 50)));
}

/* The code cache, 2496 KB, is the first that a JVM commits beside its heap. */
bool crash_is_at_start(int64_t request_bytes)
{
    return request_bytes == INT64_C(2555904);
}

enum oom_cause crash_cause(const struct crash *crash)
{
    int64_t container = fig(crash, HS_ERR_CONTAINER_LIMIT);
    int64_t maps = fig(crash, HS_ERR_MAP_COUNT_MAX);
    int64_t held = most(fig(crash, HS_ERR_CONTAINER_USAGE), fig(crash, HS_ERR_CONTAINER_PEAK));
    if (crash->thread_failed && !is_at_commit_limit(crash))
        return OOM_CAUSE_THREADS;
    if (is_compiler(crash))
        return OOM_CAUSE_COMPILER;
    if (is_heap_too_large(crash))
        return OOM_CAUSE_HEAP_TOO_LARGE;
    if (container > 0 &&
        (is_near(held, container) || (held >= 0 && request_of(crash) > container - held)))
        return OOM_CAUSE_CONTAINER;
    if (is_near(fig(crash, HS_ERR_MAPPINGS), maps > 0 ? maps : DEFAULT_MAP_COUNT))
        return OOM_CAUSE_MAP_COUNT;
    if (crash->is_32bit)
        return OOM_CAUSE_ADDRESS_32;
    if (is_page_file(crash))
        return OOM_CAUSE_PAGE_FILE;
    if (fig(crash, HS_ERR_ADDRESS_SPACE) > 0 &&
        (fig(crash, HS_ERR_PROCESS_VIRTUAL) < 0 ||
         is_near(fig(crash, HS_ERR_PROCESS_VIRTUAL) + request_of(crash),
                 fig(crash, HS_ERR_ADDRESS_SPACE))))
        return OOM_CAUSE_ADDRESS_SPACE;
    if (is_near_threads(crash))
        return OOM_CAUSE_THREADS;
    if (is_near_metaspace(crash))
        return OOM_CAUSE_METASPACE;
    if (is_near_class_space(crash))
        return OOM_CAUSE_CLASS_SPACE;
    if (is_host_exhausted(crash))
        return OOM_CAUSE_HOST;
    if (is_at_commit_limit(crash))
        return OOM_CAUSE_COMMIT_LIMIT;
    if (crash_is_at_start(request_of(crash)))
        return OOM_CAUSE_START;
    return available(crash) > 4 * most(request_of(crash), 64 * MB) ? OOM_CAUSE_PROCESS_LIMIT
                                                                   : OOM_CAUSE_UNKNOWN;
}

/* --- sentences ----------------------------------------------------------------------- */

struct size_text size_text(int64_t bytes)
{
    struct size_text out;
    if (bytes < 0)
        snprintf(out.text, sizeof out.text, "?");
    else
        snprintf(out.text, sizeof out.text, "%.23s", units_bytes(bytes).text);
    return out;
}

/* Nothing is added for a size that is not known. */
static void add_known(char *out, size_t size, const char *before, int64_t bytes, const char *behind)
{
    if (bytes >= 0)
        text_add(out, size, "%s%s%s", before, size_text(bytes).text, behind);
}

static void threads_sentence(const struct crash *crash, char *out, size_t size)
{
    static const struct {
        enum hs_err_figure figure;
        const char *name;
    } limits[] = {
        {HS_ERR_NPROC, "ulimit -u"},
        {HS_ERR_TASKS_MAX, "pids.max of the container"},
        {HS_ERR_THREADS_MAX, "kernel.threads-max"},
        {HS_ERR_PID_MAX, "kernel.pid_max"},
    };
    int64_t threads = threads_of(crash);
    if (crash->thread_failed)
        snprintf(out, size, "a thread could not be started");
    else
        snprintf(out, size, "native memory was refused in a process with very many threads");
    if (threads >= 0) {
        text_add(out, size, "; the JVM had %" PRId64, threads);
        if (crash->stem_count > 0 && crash->stem[0].threads > 1)
            text_add(out, size, ", %" PRId64 " of them named \"%s\"", crash->stem[0].threads,
                     crash->stem[0].name);
    }
    const char *comma = "; limits: ";
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        int64_t limit = fig(crash, limits[i].figure);
        if (limit <= 0)
            continue;
        text_add(out, size, "%s%s %" PRId64, comma, limits[i].name, limit);
        comma = ", ";
    }
    if (crash->thread_failed && threads >= 0 && threads < 50)
        text_add(out, size,
                 "; with so few threads another process of the user holds them, or the "
                 "container forbids the system call (clone3 and an old seccomp profile)");
}

void crash_sentence(const struct crash *crash, enum oom_cause cause, char *out, size_t size)
{
    struct size_text request = size_text(fig(crash, HS_ERR_REQUEST));
    struct size_text left = size_text(available(crash));
    struct size_text total = size_text(fig(crash, HS_ERR_MEM_TOTAL));
    struct size_text swap = size_text(fig(crash, HS_ERR_SWAP_FREE));
    struct size_text swap_total = size_text(fig(crash, HS_ERR_SWAP_TOTAL));
    struct size_text limit;
    switch (cause) {
    case OOM_CAUSE_THREADS:
        threads_sentence(crash, out, size);
        return;
    case OOM_CAUSE_COMPILER:
        snprintf(out, size, "one chunk of %s for the JIT compiler (thread %s) was refused",
                 request.text, crash->thread[0] != '\0' ? crash->thread : "not named");
        return;
    case OOM_CAUSE_HEAP_TOO_LARGE: {
        int64_t container = fig(crash, HS_ERR_CONTAINER_LIMIT);
        int64_t commit = fig(crash, HS_ERR_COMMIT_LIMIT);
        bool figures = available(crash) >= 0 || container > 0 || commit > 0;
        snprintf(out, size, "the heap does not fit: %s were asked for at once%s", request.text,
                 figures ? "" : "; how much was left is not in the text");
        add_known(out, size, " (-Xms ", fig(crash, HS_ERR_XMS), ")");
        add_known(out, size, ", available are ", available(crash), "");
        add_known(out, size, " and ", fig(crash, HS_ERR_SWAP_FREE), " of swap");
        add_known(out, size, ", of ", fig(crash, HS_ERR_MEM_TOTAL), "");
        if (container > 0)
            add_known(out, size, "; the container's limit is ", container, "");
        else if (commit > 0)
            add_known(out, size, "; the commit limit is ", commit, "");
        return;
    }
    case OOM_CAUSE_CONTAINER:
        snprintf(
            out, size,
            "the container's memory limit of %s is used up: it held %s when %s were refused",
            size_text(fig(crash, HS_ERR_CONTAINER_LIMIT)).text,
            size_text(most(fig(crash, HS_ERR_CONTAINER_USAGE), fig(crash, HS_ERR_CONTAINER_PEAK)))
                .text,
            request.text);
        return;
    case OOM_CAUSE_MAP_COUNT:
        snprintf(out, size, "%" PRId64 " mappings, vm.max_map_count is %" PRId64 "%s",
                 fig(crash, HS_ERR_MAPPINGS),
                 fig(crash, HS_ERR_MAP_COUNT_MAX) > 0 ? fig(crash, HS_ERR_MAP_COUNT_MAX)
                                                      : (int64_t)DEFAULT_MAP_COUNT,
                 fig(crash, HS_ERR_MAP_COUNT_MAX) > 0 ? "" : " by default");
        return;
    case OOM_CAUSE_ADDRESS_32:
        snprintf(out, size,
                 "a 32-bit JVM ran out of addresses (2 to 4 GB in all): heap -Xmx %s and %" PRId64
                 " threads leave no room; the host had %s of %s available",
                 size_text(fig(crash, HS_ERR_XMX)).text, most(threads_of(crash), 0), left.text,
                 total.text);
        return;
    case OOM_CAUSE_PAGE_FILE:
        snprintf(out, size, "Windows has no memory left to commit (memory and page file)");
        add_known(out, size, ": ", fig(crash, HS_ERR_SWAP_FREE), "");
        add_known(out, size, " of ", fig(crash, HS_ERR_SWAP_TOTAL), " were free");
        add_known(out, size, " when ", fig(crash, HS_ERR_REQUEST), " were refused");
        return;
    case OOM_CAUSE_ADDRESS_SPACE:
        snprintf(out, size, "the address space is limited to %s (ulimit -v); the JVM had %s of it",
                 size_text(fig(crash, HS_ERR_ADDRESS_SPACE)).text,
                 size_text(fig(crash, HS_ERR_PROCESS_VIRTUAL)).text);
        return;
    case OOM_CAUSE_METASPACE:
        snprintf(out, size, "Metaspace had committed %s (%s used) at MaxMetaspaceSize=%s",
                 size_text(fig(crash, HS_ERR_METASPACE_COMMITTED)).text,
                 size_text(fig(crash, HS_ERR_METASPACE_USED)).text,
                 size_text(fig(crash, HS_ERR_MAX_METASPACE)).text);
        return;
    case OOM_CAUSE_CLASS_SPACE:
        limit = size_text(
            fig(crash, HS_ERR_CLASS_SPACE_MAX) > 0 ? fig(crash, HS_ERR_CLASS_SPACE_MAX) : GB);
        snprintf(out, size, "the compressed class space has committed %s of %s",
                 size_text(fig(crash, HS_ERR_CLASS_SPACE_COMMITTED)).text, limit.text);
        return;
    case OOM_CAUSE_HOST:
        snprintf(out, size,
                 "the host is out of memory: %s of %s available, %s of %s swap free, when %s were "
                 "refused",
                 left.text, total.text, swap.text, swap_total.text, request.text);
        return;
    case OOM_CAUSE_COMMIT_LIMIT:
        snprintf(out, size, "the commit limit of the host is reached: %s of %s committed (%s)",
                 size_text(fig(crash, HS_ERR_COMMITTED_AS)).text,
                 size_text(fig(crash, HS_ERR_COMMIT_LIMIT)).text,
                 crash->thread_failed ? "a thread could not be started" : "vm.overcommit_memory=2");
        return;
    case OOM_CAUSE_PROCESS_LIMIT:
        snprintf(out, size,
                 "%s were refused while the host had %s of %s available: a limit of the process, "
                 "not the memory of the host",
                 request.text, left.text, total.text);
        return;
    case OOM_CAUSE_START:
        snprintf(out, size, "the JVM was refused %s at its start, for its code cache",
                 request.text);
        add_known(out, size, ", while the host had ", available(crash), " available");
        return;
    default:
        break;
    }
    if (fig(crash, HS_ERR_REQUEST) >= 0)
        snprintf(out, size, "the system refused %s%s%s; the file names no limit", request.text,
                 crash->what[0] != '\0' ? " for " : "", crash->what);
    else
        snprintf(out, size, "%s", oom_cause_row(cause)->what);
}

void crash_key(const struct crash *crash, char *out, size_t size)
{
    static const char *const keys[] = {[HS_ERR_NO_END] = "no-crash",
                                       [HS_ERR_JAVA_OOM] = "java-out-of-memory",
                                       [HS_ERR_INTERNAL] = "crash-internal-error"};
    if (crash->end == HS_ERR_SIGNAL)
        snprintf(out, size, "crash-%.*s", (int)strcspn(crash->signal, " ("), crash->signal);
    else
        snprintf(out, size, "%s",
                 crash->end == HS_ERR_NATIVE_OOM ? oom_cause_row(crash_cause(crash))->key
                                                 : keys[crash->end]);
}
