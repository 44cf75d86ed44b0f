#include "analyzers/parse/oom_killer.h"

#include "analyzers/parse/java_flags.h"

#define PAGE_BYTES 4096

static struct span behind(struct span text, struct span mark)
{
    ptrdiff_t at = span_find(text, mark);
    return at < 0 ? span_of(NULL, 0)
                  : span_of(text.ptr + at + mark.len, text.len - (size_t)at - mark.len);
}

static struct span until(struct span text, const char *ends)
{
    size_t length = 0;
    while (length < text.len && strchr(ends, text.ptr[length]) == NULL)
        length++;
    return span_of(text.ptr, length);
}

static bool take_size(struct span line, struct span mark, int64_t *bytes)
{
    struct span rest = behind(line, mark);
    return rest.ptr != NULL && java_size_take(&rest, bytes);
}

bool oom_killer_is_line(struct span line)
{
    static const struct span marks[] = {
        SPAN_INIT(" invoked oom-killer"),
        SPAN_INIT("oom-kill:constraint="),
        SPAN_INIT("emory cgroup out of memory"),
        SPAN_INIT("Out of memory: Kill"),
        SPAN_INIT("OOMKilled"),
        SPAN_INIT("killed by the OOM killer"),        /* systemd */
        SPAN_INIT("with result 'oom-kill'"),          /* systemd */
        SPAN_INIT("Exit status 137 (out of memory)"), /* Cloud Foundry */
        SPAN_INIT(" killed as a result of limit of "),
    };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (span_find(line, marks[i]) >= 0)
            return true;
    }
    struct span killed = behind(line, SPAN_LITERAL("Killed process "));
    return killed.ptr != NULL && span_find(killed, SPAN_LITERAL("anon-rss:")) > 0;
}

static bool is_no_kill(struct span line)
{
    return span_find(line, SPAN_LITERAL("\"OOMKilled\": false")) >= 0 ||
           span_find(line, SPAN_LITERAL("\"OOMKilled\":false")) >= 0 ||
           span_find(line, SPAN_LITERAL("OOMKilled=false")) >= 0;
}

/* "Killed process 71 (java) total-vm:7036484kB, anon-rss:...": with another pid it is another. */
static void take_kill(struct oom_killer *report, struct span line)
{
    struct span rest = behind(line, SPAN_LITERAL("Killed process "));
    if (rest.ptr == NULL)
        rest = behind(line, SPAN_LITERAL("Kill process "));
    int64_t pid;
    if (rest.ptr == NULL || !span_take_unsigned(&rest, &pid))
        return;
    report->killed = true;
    report->pid = pid;
    struct span name = behind(rest, SPAN_LITERAL("("));
    if (name.ptr == NULL) /* "Killed process 71, UID 1000, (java) total-vm:..." has them, too */
        name = behind(rest, SPAN_LITERAL(", "));
    if (name.ptr != NULL)
        span_copy(until(name, "),"), report->name, sizeof report->name);
    take_size(line, SPAN_LITERAL("total-vm:"), &report->total_vm_bytes);
    take_size(line, SPAN_LITERAL("anon-rss:"), &report->anon_rss_bytes);
    take_size(line, SPAN_LITERAL("file-rss:"), &report->file_rss_bytes);
    take_size(line, SPAN_LITERAL("shmem-rss:"), &report->shmem_rss_bytes);
}

/* "[ 1234]  1000  1234  3759121  2551757 22964096        0             0 java": pages. The columns
 * between rss and the score differ by kernel. */
static void take_row(struct oom_killer *report, struct span line)
{
    struct span rest = line;
    ptrdiff_t open;
    int64_t pid = -1, number;
    while ((open = span_find(rest, SPAN_LITERAL("["))) >= 0) {
        struct span inside = span_trim(behind(rest, SPAN_LITERAL("[")));
        rest = behind(rest, SPAN_LITERAL("["));
        if (span_take_unsigned(&inside, &pid) && span_take(&inside, SPAN_LITERAL("]"))) {
            rest = inside;
            break;
        }
        pid = -1;
    }
    if (pid < 0)
        return;
    int64_t columns[4];
    for (int i = 0; i < 4; i++) {
        rest = span_trim(rest);
        if (!span_take_unsigned(&rest, &number) || rest.len == 0 ||
            (rest.ptr[0] != ' ' && rest.ptr[0] != '\t'))
            return;
        columns[i] = number;
    }
    int64_t bytes;
    if (__builtin_mul_overflow(columns[3], PAGE_BYTES, &bytes) || bytes <= report->largest_bytes)
        return;
    size_t from = line.len;
    while (from > 0 && line.ptr[from - 1] != ' ' && line.ptr[from - 1] != '\t')
        from--;
    report->largest_bytes = bytes;
    report->largest_pid = pid;
    span_copy(span_of(line.ptr + from, line.len - from), report->largest, sizeof report->largest);
}

static void take_cgroup(struct oom_killer *report, struct span line)
{
    struct span path = behind(line, SPAN_LITERAL("oom_memcg="));
    if (path.ptr == NULL)
        path = behind(line, SPAN_LITERAL(" as a result of limit of "));
    if (path.ptr != NULL)
        span_copy(until(span_trim(path), ", "), report->cgroup, sizeof report->cgroup);
}

/* Of a pod, as YAML or as kubectl describe prints it: "limits:", below it "memory: 512Mi". */
static void take_pod_limit(struct oom_killer *report, struct span line, bool *in_limits)
{
    struct span rest = line;
    int64_t bytes;
    if (span_take(&rest, SPAN_LITERAL("limits:")) || span_take(&rest, SPAN_LITERAL("Limits:")))
        *in_limits = true;
    else if (span_take(&rest, SPAN_LITERAL("requests:")) ||
             span_take(&rest, SPAN_LITERAL("Requests:")))
        *in_limits = false;
    else if (*in_limits && span_take(&rest, SPAN_LITERAL("memory:"))) {
        rest = span_trim(rest);
        span_take(&rest, SPAN_LITERAL("\""));
        if (java_size_take(&rest, &bytes) && bytes > 0)
            report->limit_bytes = bytes;
    }
}

void oom_killer_read(struct oom_killer *report, struct span text)
{
    *report = (struct oom_killer){
        .pid = -1,
        .total_vm_bytes = -1,
        .anon_rss_bytes = -1,
        .file_rss_bytes = -1,
        .shmem_rss_bytes = -1,
        .usage_bytes = -1,
        .limit_bytes = -1,
        .order = -1,
        .host_free_swap_bytes = -1,
        .host_total_swap_bytes = -1,
        .largest_pid = -1,
    };
    struct span raw;
    bool terminated, in_limits = false;
    while (span_next_line(&text, &raw, &terminated)) {
        struct span line = span_trim(raw);
        ptrdiff_t invoked = span_find(line, SPAN_LITERAL(" invoked oom-killer"));
        if (invoked >= 0) {
            report->reports++;
            report->container = false;
            report->largest_bytes = 0;
            struct span order = behind(line, SPAN_LITERAL("order="));
            if (order.ptr != NULL)
                span_take_unsigned(&order, &report->order);
            size_t from = (size_t)invoked;
            while (from > 0 && strchr(":]", line.ptr[from - 1]) == NULL)
                from--;
            span_copy(span_trim(span_of(line.ptr + from, (size_t)invoked - from)), report->invoker,
                      sizeof report->invoker);
            if (!report->killed)
                memcpy(report->name, report->invoker, sizeof report->name);
        }
        if (span_find(line, SPAN_LITERAL("CONSTRAINT_MEMCG")) >= 0 ||
            span_find(line, SPAN_LITERAL("emory cgroup out of memory")) >= 0 ||
            span_find(line, SPAN_LITERAL(" as a result of limit of ")) >= 0)
            report->container = true;
        if (span_find(line, SPAN_LITERAL("OOMKilled")) >= 0 && !is_no_kill(line))
            report->orchestrator = report->container = true;
        if (span_find(line, SPAN_LITERAL("Exit status 137 (out of memory)")) >= 0)
            report->orchestrator = report->container = true;
        if (span_find(line, SPAN_LITERAL("killed by the OOM killer")) >= 0 ||
            span_find(line, SPAN_LITERAL("with result 'oom-kill'")) >= 0)
            report->orchestrator = true;
        take_pod_limit(report, line, &in_limits);
        take_cgroup(report, line);
        int64_t usage, limit;
        if (take_size(line, SPAN_LITERAL("memory: usage "), &usage) &&
            take_size(line, SPAN_LITERAL(", limit "), &limit)) {
            report->usage_bytes = usage;
            report->limit_bytes = limit < INT64_MAX / 4 ? limit : -1;
        }
        take_size(line, SPAN_LITERAL("Free swap  = "), &report->host_free_swap_bytes);
        take_size(line, SPAN_LITERAL("Total swap = "), &report->host_total_swap_bytes);
        take_kill(report, line);
        take_row(report, line);
    }
    if (report->reports == 0 && (report->killed || report->orchestrator))
        report->reports = 1;
}
