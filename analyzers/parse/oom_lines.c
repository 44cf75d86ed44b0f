#include "analyzers/parse/oom_lines.h"

/* Each is what stands in the line; the first that fits counts. The word OutOfMemoryError alone is a
 * class name. */
static const struct {
    struct span mark;
    enum oom_line kind;
} marks[] = {
    {SPAN_INIT("OutOfMemoryError: Java heap space"), OOM_LINE_HEAP},
    {SPAN_INIT("OutOfMemoryError: GC overhead limit exceeded"), OOM_LINE_GC_OVERHEAD},
    {SPAN_INIT("OutOfMemoryError: Metaspace"), OOM_LINE_METASPACE},
    {SPAN_INIT("OutOfMemoryError: Compressed class space"), OOM_LINE_CLASS_SPACE},
    {SPAN_INIT("OutOfMemoryError: PermGen space"), OOM_LINE_PERMGEN},
    {SPAN_INIT("OutOfMemoryError: Direct buffer memory"), OOM_LINE_DIRECT},
    {SPAN_INIT("OutOfMemoryError: Cannot reserve "), OOM_LINE_DIRECT},
    {SPAN_INIT("OutOfDirectMemoryError: failed to allocate "), OOM_LINE_DIRECT},
    {SPAN_INIT("OutOfMemoryError: Requested array size exceeds"), OOM_LINE_ARRAY_SIZE},
    {SPAN_INIT("OutOfMemoryError: Required array length too large"), OOM_LINE_ARRAY_SIZE},
    {SPAN_INIT("OutOfMemoryError: Required array size too large"), OOM_LINE_ARRAY_SIZE},
    {SPAN_INIT("OutOfMemoryError: unable to create"), OOM_LINE_THREAD},
    {SPAN_INIT("OutOfMemoryError: Unable to create"), OOM_LINE_THREAD},
    {SPAN_INIT("OutOfMemoryError: Map failed"), OOM_LINE_MAP_FAILED},
    {SPAN_INIT("Out of swap space?"), OOM_LINE_REQUEST},
    {SPAN_INIT("pthread_create failed ("), OOM_LINE_THREAD},
    {SPAN_INIT("_beginthreadex failed ("), OOM_LINE_THREAD},
    {SPAN_INIT("Failed to start the native thread for"), OOM_LINE_THREAD},
    {SPAN_INIT("unable to create new native thread"), OOM_LINE_THREAD},
    {SPAN_INIT("unable to create native thread"), OOM_LINE_THREAD},
    {SPAN_INIT("Could not reserve enough space for"), OOM_LINE_RESERVE},
    {SPAN_INIT("of direct memory (used: "), OOM_LINE_DIRECT},
    {SPAN_INIT("running out of JVM heap space"), OOM_LINE_HEAP}, /* Gradle's daemon */
    {SPAN_INIT("JVM heap space is exhausted"), OOM_LINE_HEAP},
    {SPAN_INIT("running out of JVM Metaspace"), OOM_LINE_METASPACE},
    {SPAN_INIT("JVM Metaspace is exhausted"), OOM_LINE_METASPACE},
};

enum oom_line oom_line_kind(struct span line)
{
    if (span_find(line, SPAN_LITERAL("os::commit_memory(")) >= 0 &&
        span_find(line, SPAN_LITERAL("failed")) > 0)
        return span_find(line, SPAN_LITERAL("errno=1455")) > 0 ||
                       span_find(line, SPAN_LITERAL("paging file")) > 0
                   ? OOM_LINE_PAGE_FILE
                   : OOM_LINE_COMMIT;
    if (span_find(line, SPAN_LITERAL("Native memory allocation (")) >= 0 &&
        span_find(line, SPAN_LITERAL(" failed to ")) > 0)
        return OOM_LINE_COMMIT; /* an error file's head, run together into one line */
    /* Cheap for lines of logs, which are many. */
    static const struct span front[] = {SPAN_INIT("MemoryError"), SPAN_INIT("thread"),
                                        SPAN_INIT(" space"), SPAN_INIT("direct memory ("),
                                        SPAN_INIT("JVM Metaspace")};
    if (span_row(line, span_contains, SPAN_TABLE(front)) < 0)
        return OOM_LINE_NONE;
    /* -Xlog:exceptions: "Exception <a 'java/lang/OutOfMemoryError'{0x...}: Java heap space>". */
    static const struct span thrown = SPAN_INIT("OutOfMemoryError'"),
                             error = SPAN_INIT("OutOfMemoryError: ");
    struct span reason = span_behind(span_behind(line, thrown), SPAN_LITERAL(": "));
    for (size_t k = 0; reason.len > 0 && k < sizeof marks / sizeof marks[0]; k++) {
        struct span mark = marks[k].mark;
        if (span_take(&mark, error) && span_starts_with(reason, mark))
            return marks[k].kind;
    }
    int i = span_row(line, span_contains, SPAN_TABLE(marks));
    return i < 0 ? OOM_LINE_NONE : marks[i].kind;
}

bool oom_lines_any(const struct oom_lines *lines)
{
    return lines->last != OOM_LINE_NONE || lines->metaspace_lines > 0 ||
           lines->gc.collections > 0 || lines->gc.stalls > 0;
}

/* rest: behind "Metaspace: ". "34049K(34992K)->34049K(34992K)": used(committed); "20679K->20679K(1067008K)":
 * used(reserved) */
static void take_metaspace(struct oom_lines *lines, struct span rest)
{
    int64_t before, after, size;
    if (!whole_size_take(&rest, &before))
        return;
    bool committed = span_take(&rest, SPAN_LITERAL("("));
    if (committed && (!whole_size_take(&rest, &size) || !span_take(&rest, SPAN_LITERAL(")"))))
        return;
    if (!span_take(&rest, SPAN_LITERAL("->")) || !whole_size_take(&rest, &after))
        return;
    if (span_take(&rest, SPAN_LITERAL("(")) && whole_size_take(&rest, &size))
        *(committed ? &lines->metaspace_committed_bytes : &lines->metaspace_reserved_bytes) = size;
    if (lines->metaspace_lines++ == 0)
        lines->metaspace_first_bytes = before;
    lines->metaspace_last_bytes = after;
}

static void take_sizes(struct oom_lines *lines, struct span line, enum oom_line kind)
{
    static const struct span requests[] = {
        SPAN_INIT("request "), SPAN_INIT("failed to allocate "), SPAN_INIT("Cannot reserve "),
        SPAN_INIT("failed to map "), SPAN_INIT("reserve enough space for ")};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        whole_size_behind(line, requests[i], &lines->request_bytes);
    whole_size_behind(span_behind(line, SPAN_LITERAL("os::commit_memory(")), SPAN_LITERAL(", "),
                      &lines->request_bytes);
    if (kind != OOM_LINE_DIRECT)
        return;
    whole_size_behind(line, SPAN_LITERAL("(used: "), &lines->direct_used_bytes);
    whole_size_behind(line, SPAN_LITERAL("(allocated: "), &lines->direct_used_bytes);
    whole_size_behind(line, SPAN_LITERAL("max: "), &lines->direct_limit_bytes);
    whole_size_behind(line, SPAN_LITERAL("limit: "), &lines->direct_limit_bytes);
    lines->netty = lines->netty || span_contains(line, SPAN_LITERAL("byte(s) of direct memory"));
}

/* "max user processes  (-u) 1024" of ulimit -a, "Max processes  1024  4096  processes" */
static void take_thread_limit(struct oom_lines *lines, struct span line)
{
    struct span rest = span_behind(line, SPAN_LITERAL("(-u)"));
    if (rest.ptr == NULL || span_find(line, SPAN_LITERAL("max user processes")) < 0)
        rest = span_behind(line, SPAN_LITERAL("Max processes"));
    rest = span_trim(rest);
    span_take_unsigned(&rest, &lines->threads_limit);
}

/* --- the lines that matter -------------------------------------------------------------------- */

/* Each line that is read has one of these in it; most lines of a log have none. They are looked for
 * by their last bytes, as Horspool and Wu and Manber do: a byte that is in none of them lets the
 * search jump over ANCHOR_BYTES. */
#define ANCHOR_BYTES 4
static const char anchors[][ANCHOR_BYTES + 1] = {
    "pace", /* Metaspace, Java heap space, swap space */
    "read", /* native thread, pthread_create */
    "tall", /* Allocation Stall */
    "aust", /* to-space exhausted */
    "emor", /* OutOfMemoryError, commit_memory, Native memory allocation */
    "roce", /* max user processes, Max processes */
};
#define ANCHORS (sizeof anchors / sizeof anchors[0])

static void make_shifts(unsigned char shift[256])
{
    memset(shift, ANCHOR_BYTES, 256);
    for (size_t i = 0; i < ANCHORS; i++) {
        for (int k = 0; k < ANCHOR_BYTES; k++) {
            unsigned char *at = &shift[(unsigned char)anchors[i][k]];
            unsigned char least = (unsigned char)(ANCHOR_BYTES - 1 - k);
            *at = least < *at ? least : *at;
        }
    }
}

/* Where the next anchor begins, from `at` on; text.len: there is none. */
static size_t next_anchor(struct span text, size_t at, const unsigned char shift[256])
{
    size_t end = at + ANCHOR_BYTES - 1;
    while (end < text.len) {
        unsigned char step = shift[(unsigned char)text.ptr[end]];
        if (step > 0) {
            end += step;
            continue;
        }
        for (size_t i = 0; i < ANCHORS; i++) {
            if (memcmp(text.ptr + end - (ANCHOR_BYTES - 1), anchors[i], ANCHOR_BYTES) == 0)
                return end - (ANCHOR_BYTES - 1);
        }
        end++;
    }
    return text.len;
}

static void take_line(struct oom_lines *lines, struct span line)
{
    enum oom_line kind = oom_line_kind(line);
    take_metaspace(lines, span_behind(line, SPAN_LITERAL("Metaspace: ")));
    if (!span_contains(line, SPAN_LITERAL("->"))) /* those are read for themselves */
        gc_log_line(&lines->gc, line);
    take_thread_limit(lines, line);
    if (kind == OOM_LINE_NONE ||
        (kind == OOM_LINE_COMMIT && lines->last == OOM_LINE_PAGE_FILE)) /* its second line */
        return;
    if (lines->first == OOM_LINE_NONE)
        lines->first = kind;
    if (lines->last != kind || lines->words[0] == '\0')
        span_copy(line, lines->words, sizeof lines->words);
    lines->last = kind;
    lines->lines[kind]++;
    take_sizes(lines, line, kind);
    struct span name = span_behind(line, SPAN_LITERAL("java.lang.Thread \""));
    if (kind == OOM_LINE_THREAD && name.ptr != NULL)
        span_copy_stem(span_until(name, "\""), lines->thread, sizeof lines->thread);
}

/* "... GC(7) Metaspace: 34049K(...": a GC log has one for each collection. rest: from the anchor on,
 * which stands at `at` in the line. */
static bool is_plain_metaspace(struct span rest, struct span line, size_t at)
{
    return at >= 5 && span_starts_with(rest, SPAN_LITERAL("pace: ")) &&
           memcmp(line.ptr + at - 5, "Metas", 5) == 0 &&
           memchr(rest.ptr, 'E', rest.len) == NULL; /* no Error */
}

void oom_lines_begin(struct oom_lines *lines)
{
    *lines = (struct oom_lines){
        .request_bytes = -1,
        .direct_used_bytes = -1,
        .direct_limit_bytes = -1,
        .threads_limit = -1,
        .metaspace_first_bytes = -1,
        .metaspace_last_bytes = -1,
        .metaspace_committed_bytes = -1,
        .metaspace_reserved_bytes = -1,
    };
    gc_log_begin(&lines->gc);
}

/* Collections have an arrow from a figure to a figure; other lines with one are rare. */
static void feed_collections(struct gc_log *log, struct span text)
{
    const char *end = text.ptr + text.len, *at = text.ptr;
    while (at < end && (at = memchr(at, '>', (size_t)(end - at))) != NULL) {
        bool arrow = at > text.ptr + 1 && at[-1] == '-' && at + 1 < end && is_digit(at[1]);
        if (!arrow) {
            at++;
            continue;
        }
        const char *before = memrchr(text.ptr, '\n', (size_t)(at - text.ptr));
        const char *behind = memchr(at, '\n', (size_t)(end - at));
        const char *from = before == NULL ? text.ptr : before + 1;
        at = behind == NULL ? end : behind;
        gc_log_line(log, span_of(from, (size_t)(at - from)));
    }
}

void oom_lines_feed(struct oom_lines *lines, struct span text)
{
    unsigned char shift[256];
    make_shifts(shift);
    feed_collections(&lines->gc, text);
    for (size_t at = 0; (at = next_anchor(text, at, shift)) < text.len;) {
        if (at >= 6 && memcmp(text.ptr + at - 6, ",metas", 6) == 0) { /* "[gc,metaspace]" */
            at += ANCHOR_BYTES;
            continue;
        }
        const char *before = at == 0 ? NULL : memrchr(text.ptr, '\n', at);
        const char *behind_it = memchr(text.ptr + at, '\n', text.len - at);
        size_t from = before == NULL ? 0 : (size_t)(before - text.ptr) + 1;
        size_t to = behind_it == NULL ? text.len : (size_t)(behind_it - text.ptr);
        struct span line = span_of(text.ptr + from, to - from);
        if (is_plain_metaspace(span_of(text.ptr + at, to - at), line, at - from))
            take_metaspace(lines, span_of(text.ptr + at + 6, to - at - 6));
        else
            take_line(lines, span_trim(line));
        at = to;
    }
}

void oom_lines_read(struct oom_lines *lines, struct span text)
{
    oom_lines_begin(lines);
    oom_lines_feed(lines, text);
}

/* --- the kernel kills ------------------------------------------------------------------------- */

#define USUAL_BYTES 4096 /* of a page, where the report does not show it */

bool oom_killer_is_line(struct span line)
{
    static const struct span reports[] = {
        SPAN_INIT(" invoked oom-killer"),
        SPAN_INIT("oom-kill:constraint="),
        SPAN_INIT("emory cgroup out of memory"),
        SPAN_INIT("Out of memory: Kill"),
        SPAN_INIT("OOMKilled"),
        SPAN_INIT("killed by the OOM killer"),        /* systemd */
        SPAN_INIT("with result 'oom-kill'"),          /* systemd */
        SPAN_INIT("Exit status 137 (out of memory)"), /* Cloud Foundry */
        SPAN_INIT(" killed as a result of limit of "),
        SPAN_INIT("memory: usage "),
        SPAN_INIT("Memory cgroup stats for "),
    };
    struct span killed = span_behind(line, SPAN_LITERAL("Killed process "));
    return span_row(line, span_contains, SPAN_TABLE(reports)) >= 0 ||
           span_contains(killed, SPAN_LITERAL("anon-rss:"));
}

/* "Killed process 71 (java) total-vm:7036484kB, anon-rss:...": with another pid it is another. */
static void take_kill(struct oom_killer *report, struct span line)
{
    struct span rest = span_behind(line, SPAN_LITERAL("Killed process "));
    if (rest.ptr == NULL)
        rest = span_behind(line, SPAN_LITERAL("Kill process "));
    int64_t pid;
    if (!span_take_unsigned(&rest, &pid) || rest.len == 0)
        return;
    report->killed = true;
    report->pid = pid;
    struct span name = span_behind(rest, SPAN_LITERAL("("));
    if (name.ptr == NULL) /* "Killed process 71, UID 1000, (java) total-vm:..." has them, too */
        name = span_behind(rest, SPAN_LITERAL(", "));
    if (name.ptr != NULL)
        span_copy(span_until(name, "),"), report->name, sizeof report->name);
    whole_size_behind(line, SPAN_LITERAL("total-vm:"), &report->total_vm_bytes);
    whole_size_behind(line, SPAN_LITERAL("anon-rss:"), &report->anon_rss_bytes);
    whole_size_behind(line, SPAN_LITERAL("file-rss:"), &report->file_rss_bytes);
    whole_size_behind(line, SPAN_LITERAL("shmem-rss:"), &report->shmem_rss_bytes);
}

/* What the table of processes counts in: the kernel's pages, 4 to 64 KB. */
struct pages {
    int64_t bytes;
    int64_t largest_vm; /* total_vm of the largest process */
};

/* "[ 1234]  1000  1234  3759121  2551757 22964096        0             0 java": pages. The columns
 * between rss and the score differ by kernel. */
static void take_row(struct oom_killer *report, struct span line, struct pages *pages)
{
    struct span rest = line;
    int64_t pid = -1, number;
    while (pid < 0) {
        rest = span_behind(rest, SPAN_LITERAL("["));
        struct span inside = span_trim(rest);
        if (rest.ptr == NULL)
            return;
        if (!span_take_unsigned(&inside, &pid) || !span_take(&inside, SPAN_LITERAL("]")))
            pid = -1;
        else
            rest = inside;
    }
    int64_t columns[4];
    for (int i = 0; i < 4; i++) {
        rest = span_trim(rest);
        if (!span_take_unsigned(&rest, &number) || rest.len == 0 ||
            (rest.ptr[0] != ' ' && rest.ptr[0] != '\t'))
            return;
        columns[i] = number;
    }
    int64_t bytes;
    if (__builtin_mul_overflow(columns[3], pages->bytes, &bytes) || bytes <= report->largest_bytes)
        return;
    size_t from = line.len;
    while (from > 0 && line.ptr[from - 1] != ' ' && line.ptr[from - 1] != '\t')
        from--;
    report->largest_bytes = bytes;
    report->largest_pid = pid;
    pages->largest_vm = columns[2];
    span_copy(span_skip(line, from), report->largest, sizeof report->largest);
}

/* "Node 0 Normal: 12*4kB (UME) 3*8kB (U) ...": free pieces, beginning with those of one page. */
static void take_page(struct span line, struct pages *pages)
{
    struct span rest = span_behind(line, SPAN_LITERAL("Node "));
    int64_t number, bytes;
    rest = span_behind(rest, SPAN_LITERAL(": "));
    if (span_take_unsigned(&rest, &number) && span_take(&rest, SPAN_LITERAL("*")) &&
        java_size_take(&rest, &bytes) && bytes >= USUAL_BYTES && bytes <= 1 << 20 &&
        (bytes & (bytes - 1)) == 0)
        pages->bytes = bytes;
}

/* A kill in a control group prints no such list; there the row of who was killed has pages of what the kill
 * has in kB. */
static void compare_pages(struct oom_killer *report, struct pages *pages)
{
    if (report->pid != report->largest_pid || pages->largest_vm <= 0)
        return;
    int64_t bytes = report->total_vm_bytes / pages->largest_vm;
    if (bytes > pages->bytes && bytes <= 1 << 20 && (bytes & (bytes - 1)) == 0 &&
        bytes * pages->largest_vm == report->total_vm_bytes) {
        report->largest_bytes = report->largest_bytes / pages->bytes * bytes;
        pages->bytes = bytes;
    }
}

static void take_cgroup(struct oom_killer *report, struct span line)
{
    struct span path = span_behind(line, SPAN_LITERAL("oom_memcg="));
    if (path.ptr == NULL)
        path = span_behind(line, SPAN_LITERAL(" as a result of limit of "));
    if (path.ptr != NULL)
        span_copy(span_until(span_trim(path), ", "), report->cgroup, sizeof report->cgroup);
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

/* Whose memory was short: of a report's own lines, which may be cut. */
static void take_scope(struct oom_killer *report, struct span line)
{
    static const struct span cgroups[] = {
        SPAN_INIT("CONSTRAINT_MEMCG"), SPAN_INIT("emory cgroup out of memory"),
        SPAN_INIT("mem_cgroup_"),      SPAN_INIT(" as a result of limit of "),
        SPAN_INIT("try_charge_memcg"), SPAN_INIT("Memory cgroup stats for "),
        SPAN_INIT("memory: usage "),   SPAN_INIT("oom_memcg="),
    };
    static const struct span hosts[] = {SPAN_INIT("Mem-Info:"), SPAN_INIT(",global_oom"),
                                        SPAN_INIT("Out of memory: Kill")};
    report->container =
        report->container || span_row(line, span_contains, SPAN_TABLE(cgroups)) >= 0;
    report->host = report->host || span_row(line, span_contains, SPAN_TABLE(hosts)) >= 0;
}

static const struct oom_killer NO_REPORT = {
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

void oom_killer_read(struct oom_killer *report, struct span text)
{
    static const struct span alive[] = {SPAN_INIT("\"OOMKilled\": false"),
                                        SPAN_INIT("\"OOMKilled\":false"),
                                        SPAN_INIT("OOMKilled=false")};
    struct oom_killer whole = NO_REPORT,
                      pod = NO_REPORT; /* the last one that says who was killed */
    struct span raw;
    bool in_limits = false;
    *report = NO_REPORT;
    struct pages pages = {.bytes = USUAL_BYTES};
    while (span_take_line(&text, &raw)) {
        struct span line = span_trim(raw);
        ptrdiff_t invoked = span_find(line, SPAN_LITERAL(" invoked oom-killer"));
        if (invoked >= 0) {
            int64_t reports = report->reports + 1;
            whole = report->killed ? *report : whole;
            *report = NO_REPORT;
            report->reports = reports;
            pages = (struct pages){.bytes = USUAL_BYTES};
            number_behind(line, SPAN_LITERAL("order="), &report->order);
            size_t from = (size_t)invoked;
            while (from > 0 && strchr(":]", line.ptr[from - 1]) == NULL)
                from--;
            span_copy(span_trim(span_of(line.ptr + from, (size_t)invoked - from)), report->invoker,
                      sizeof report->invoker);
            if (!report->killed)
                memcpy(report->name, report->invoker, sizeof report->name);
        }
        take_scope(report, line);
        if ((span_contains(line, SPAN_LITERAL("OOMKilled")) &&
             span_row(line, span_contains, SPAN_TABLE(alive)) < 0) ||
            span_contains(line, SPAN_LITERAL("Exit status 137 (out of memory)")))
            report->orchestrator = report->container = pod.container = pod.orchestrator = true;
        if (span_find(line, SPAN_LITERAL("killed by the OOM killer")) >= 0 ||
            span_find(line, SPAN_LITERAL("with result 'oom-kill'")) >= 0)
            report->orchestrator = true;
        take_pod_limit(&pod, line, &in_limits);
        take_cgroup(report, line);
        int64_t usage, limit;
        if (whole_size_behind(line, SPAN_LITERAL("memory: usage "), &usage) &&
            whole_size_behind(line, SPAN_LITERAL(", limit "), &limit)) {
            report->usage_bytes = usage;
            report->limit_bytes = limit < INT64_MAX / 4 ? limit : -1;
        }
        whole_size_behind(line, SPAN_LITERAL("Free swap  = "), &report->host_free_swap_bytes);
        whole_size_behind(line, SPAN_LITERAL("Total swap = "), &report->host_total_swap_bytes);
        take_kill(report, line);
        take_page(line, &pages);
        take_row(report, line, &pages);
    }
    compare_pages(report, &pages);
    if (!report->killed && whole.killed) { /* the next report is cut off in front of its verdict */
        whole.reports = report->reports;
        *report = whole;
    }
    report->container = report->container || pod.container;
    report->orchestrator = report->orchestrator || pod.orchestrator;
    report->host = report->host && !report->container;
    if (report->limit_bytes < 0)
        report->limit_bytes = pod.limit_bytes;
    if (report->reports == 0 &&
        (report->killed || report->orchestrator || report->usage_bytes > 0))
        report->reports = 1;
}
