#include "analyzers/parse/hs_err.h"

/* Without what Markdown, comments and the JVM put in front: "# ", ">", blanks. */
static struct span bare(struct span line)
{
    line = span_trim(line);
    while (line.len > 0 && (line.ptr[0] == '#' || line.ptr[0] == '>'))
        line = span_trim(span_skip(line, 1));
    return line;
}

bool hs_err_is_head(struct span line)
{
    static const struct span heads[] = {
        SPAN_INIT("There is insufficient memory for the Java Runtime Environment"),
        SPAN_INIT("A fatal error has been detected by the Java Runtime"),
        SPAN_INIT("An unexpected error has been detected by"),
    };
    return span_row(bare(line), span_starts_with, SPAN_TABLE(heads)) >= 0;
}

bool hs_err_is_section(struct span line)
{
    static const struct span sections[] = {
        SPAN_INIT("---------------  T H R E A D"),
        SPAN_INIT("---------------  P R O C E S S"),
        SPAN_INIT("---------------  S Y S T E M"),
        SPAN_INIT("---------------  S U M M A R Y"),
        SPAN_INIT("Native memory allocation ("),
        SPAN_INIT("JRE version:"),
        SPAN_INIT("Java VM: "),
        SPAN_INIT("Problematic frame:"),
        SPAN_INIT("Out of Memory Error ("),
        SPAN_INIT("Internal Error ("),
        SPAN_INIT("EXCEPTION_ACCESS_VIOLATION (0xc"),
        SPAN_INIT("Current thread (0x"),
        SPAN_INIT("Native frames: (J="),
        SPAN_INIT("siginfo:"),
        SPAN_INIT("Register to memory mapping:"),
        SPAN_INIT("Java Threads: ("),
        SPAN_INIT("VM state:"),
        SPAN_INIT("Dynamic libraries:"),
        SPAN_INIT("Compilation events ("),
        SPAN_INIT("GC Heap History ("),
        SPAN_INIT("Deoptimization events ("),
        SPAN_INIT("Internal exceptions ("),
        SPAN_INIT("Classes unloaded ("),
        SPAN_INIT("Classes redefined ("),
        SPAN_INIT("Classes loaded ("),
        SPAN_INIT("VM Operations ("),
        SPAN_INIT("OutOfMemory and StackOverflow Exception counts:"),
        SPAN_INIT("rlimit: "),
        SPAN_INIT("rlimit (soft/hard): "),
        SPAN_INIT("/proc/meminfo:"),
        SPAN_INIT("container (cgroup) information:"),
        SPAN_INIT("Memory: 4k page,"),
        SPAN_INIT("Memory: 64k page,"),
        SPAN_INIT("Memory: 16k page,"),
        SPAN_INIT("vm_info: "),
        SPAN_INIT("C-Heap outstanding allocations: "),
    };
    line = bare(line);
    return hs_err_is_head(line) || span_row(line, span_starts_with, SPAN_TABLE(sections)) >= 0 ||
           /* "Event: 12.345 Thread 0x00007f... Exception <a 'java/...": of one of its lists of events */
           (span_starts_with(line, SPAN_LITERAL("Event: ")) &&
            span_contains(line, SPAN_LITERAL(" Thread 0x"))) ||
           (span_starts_with(line, SPAN_LITERAL("SIG")) &&
            span_contains(line, SPAN_LITERAL(" at pc=")));
}

/* --- versions ------------------------------------------------------------------------ */

static int major_of(struct span text)
{
    struct span rest = text;
    int64_t number;
    bool ends =
        span_take_unsigned(&rest, &number) && rest.len > 0 && strchr(".+-_) ", rest.ptr[0]) != NULL;
    return ends ? java_major(text) : 0;
}

/* The major number of "# JRE version: ..." words, "(8.0_272-b10) (build )" as well; or 0. */
static int hs_err_jdk(struct span jre)
{
    struct span rest = span_trim(span_until(jre, "\n"));
    int major = major_of(rest); /* "6.0_29-b11" */
    while (major == 0 && (rest = span_behind(rest, SPAN_LITERAL("("))).ptr != NULL) {
        struct span number = rest;
        span_take(&number, SPAN_LITERAL("build "));
        major = major_of(number);
    }
    return major;
}

static void take_vm(struct hs_err *file, struct span line)
{
    static const struct {
        struct span mark;
        enum hs_err_platform platform;
    } platforms[] = {
        {SPAN_INIT("linux-"), HS_ERR_LINUX},   {SPAN_INIT("windows-"), HS_ERR_WINDOWS},
        {SPAN_INIT("bsd-"), HS_ERR_MACOS},     {SPAN_INIT("macosx-"), HS_ERR_MACOS},
        {SPAN_INIT("solaris-"), HS_ERR_OTHER}, {SPAN_INIT("aix-"), HS_ERR_OTHER},
    };
    file->vm = line;
    file->is_32bit = span_find(line, SPAN_LITERAL(" VM ")) > 0 &&
                     span_find(line, SPAN_LITERAL("64-Bit")) < 0 &&
                     span_find(line, SPAN_LITERAL("64 bit")) < 0;
    int at = span_row(line, span_contains, SPAN_TABLE(platforms));
    if (at >= 0) {
        file->platform = platforms[at].platform;
        file->arch =
            span_until(span_skip(line, (size_t)span_find(line, platforms[at].mark)), " ),");
    }
    /* A 64-bit VM of Zero or of another vendor may leave the word out; its name does not. */
    if (span_find(file->arch, SPAN_LITERAL("64")) > 0 ||
        span_find(file->arch, SPAN_LITERAL("s390x")) > 0)
        file->is_32bit = false;
}

/* --- figures ------------------------------------------------------------------------- */

static void set(struct hs_err *file, enum hs_err_figure figure, int64_t value)
{
    if (file->figure[figure] == HS_ERR_UNKNOWN)
        file->figure[figure] = value;
}

/* "6516 k", "unlimited", "-1", "infinity", "536870912" */
static bool take_limit(struct span text, int64_t *value)
{
    static const struct span none[] = {SPAN_INIT("unlimited"), SPAN_INIT("infinity"),
                                       SPAN_INIT("-1"), SPAN_INIT("max")};
    text = span_trim(text);
    if (span_row(text, span_starts_with, SPAN_TABLE(none)) >= 0) {
        *value = HS_ERR_UNLIMITED;
        return true;
    }
    if (!java_size_take(&text, value))
        return false;
    /* What cgroup v1 prints for "no limit": LONG_MAX rounded down to a page. */
    if (*value >= INT64_MAX / 2)
        *value = HS_ERR_UNLIMITED;
    return true;
}

/* Lines that begin so have the figure behind the mark; the first such line counts.
 *
 *   C-Heap outstanding allocations: 46526K, retained: 2104565K (may have wrapped)
 *   rlimit: STACK 8192k, CORE infinity, NPROC 95259, ...     (JDK 9+ "NPROC 1024/4096 ,")
 */
static const struct {
    struct span key, mark;
    enum hs_err_figure figure;
} keyed[] = {
    {SPAN_INIT("MemTotal:"), SPAN_INIT(""), HS_ERR_MEM_TOTAL},
    {SPAN_INIT("MemFree:"), SPAN_INIT(""), HS_ERR_MEM_FREE},
    {SPAN_INIT("MemAvailable:"), SPAN_INIT(""), HS_ERR_MEM_AVAILABLE},
    {SPAN_INIT("SwapTotal:"), SPAN_INIT(""), HS_ERR_SWAP_TOTAL},
    {SPAN_INIT("SwapFree:"), SPAN_INIT(""), HS_ERR_SWAP_FREE},
    {SPAN_INIT("CommitLimit:"), SPAN_INIT(""), HS_ERR_COMMIT_LIMIT},
    {SPAN_INIT("Committed_AS:"), SPAN_INIT(""), HS_ERR_COMMITTED_AS},
    {SPAN_INIT("memory_limit_in_bytes:"), SPAN_INIT(""), HS_ERR_CONTAINER_LIMIT},
    {SPAN_INIT("memory_usage_in_bytes:"), SPAN_INIT(""), HS_ERR_CONTAINER_USAGE},
    {SPAN_INIT("memory_max_usage_in_bytes:"), SPAN_INIT(""), HS_ERR_CONTAINER_PEAK},
    {SPAN_INIT("memory_limit:"), SPAN_INIT(""), HS_ERR_CONTAINER_LIMIT},
    {SPAN_INIT("memory_usage:"), SPAN_INIT(""), HS_ERR_CONTAINER_USAGE},
    {SPAN_INIT("memory_max_usage:"), SPAN_INIT(""), HS_ERR_CONTAINER_PEAK},
    {SPAN_INIT("maximum number of tasks:"), SPAN_INIT(""), HS_ERR_TASKS_MAX},
    {SPAN_INIT("current number of tasks:"), SPAN_INIT(""), HS_ERR_TASKS},
    {SPAN_INIT("Virtual Size:"), SPAN_INIT(""), HS_ERR_PROCESS_VIRTUAL},
    {SPAN_INIT("Resident Set Size:"), SPAN_INIT(""), HS_ERR_PROCESS_RSS},
    {SPAN_INIT("VmSize:"), SPAN_INIT(""), HS_ERR_PROCESS_VIRTUAL},
    {SPAN_INIT("VmRSS:"), SPAN_INIT(""), HS_ERR_PROCESS_RSS},
    {SPAN_INIT("MaxMetaspaceSize:"), SPAN_INIT(""), HS_ERR_MAX_METASPACE},
    {SPAN_INIT("CompressedClassSpaceSize:"), SPAN_INIT(""), HS_ERR_CLASS_SPACE_MAX},
    {SPAN_INIT("OutOfMemoryError java_heap_errors="), SPAN_INIT(""), HS_ERR_OOM_HEAP},
    {SPAN_INIT("OutOfMemoryError metaspace_errors="), SPAN_INIT(""), HS_ERR_OOM_METASPACE},
    {SPAN_INIT("OutOfMemoryError class_metaspace_errors="), SPAN_INIT(""), HS_ERR_OOM_CLASS_SPACE},
    {SPAN_INIT("C-Heap outstanding allocations: "), SPAN_INIT("retained: "),
     HS_ERR_MALLOC_RETAINED},
    {SPAN_INIT("rlimit"), SPAN_INIT("NPROC "), HS_ERR_NPROC},
    {SPAN_INIT("rlimit"), SPAN_INIT(" AS "), HS_ERR_ADDRESS_SPACE},
    {SPAN_INIT("current process commit charge"), SPAN_INIT(": "), HS_ERR_PROCESS_COMMIT},
    {SPAN_INIT("current process WorkingSet"), SPAN_INIT(": "), HS_ERR_PROCESS_RSS},
};

static void take_keyed(struct hs_err *file, struct span line)
{
    for (size_t i = 0; i < sizeof keyed / sizeof keyed[0]; i++) {
        int64_t value;
        if (!span_starts_with(line, keyed[i].key))
            continue;
        if (take_limit(span_behind(span_skip(line, keyed[i].key.len), keyed[i].mark), &value))
            set(file, keyed[i].figure, value);
    }
}

/* "Memory: 4k page, physical 8171540k(859308k free), swap 10256380k(10212432k free)"; Windows since
 * 9: "physical 16297M (1041M free)", and "TotalPageFile size 26025M (AvailPageFile size 5M)". */
static void take_memory(struct hs_err *file, struct span line)
{
    static const struct {
        struct span mark;
        enum hs_err_figure total, free;
    } pairs[] = {
        {SPAN_INIT("physical "), HS_ERR_MEM_TOTAL, HS_ERR_MEM_FREE},
        {SPAN_INIT("swap "), HS_ERR_SWAP_TOTAL, HS_ERR_SWAP_FREE},
        {SPAN_INIT("TotalPageFile size "), HS_ERR_SWAP_TOTAL, HS_ERR_SWAP_FREE},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct span rest = span_behind(line, pairs[i].mark);
        int64_t total, free;
        if (!java_size_take(&rest, &total))
            continue;
        set(file, pairs[i].total, total);
        span_take(&rest, SPAN_LITERAL(" "));
        if (!span_take(&rest, SPAN_LITERAL("(")))
            continue;
        span_take(&rest, SPAN_LITERAL("AvailPageFile size "));
        if (java_size_take(&rest, &free))
            set(file, pairs[i].free, free);
    }
}

/* "Metaspace       used 35308K, capacity 35915K, committed 36184K, reserved 36864K": the first one
 * is that of the moment, those of the history follow. */
static void take_metaspace(struct hs_err *file, struct span line)
{
    bool class_space = span_starts_with(line, SPAN_LITERAL("class space "));
    int64_t bytes;
    if (!class_space && !span_starts_with(line, SPAN_LITERAL("Metaspace ")))
        return;
    if (whole_size_behind(line, SPAN_LITERAL("used "), &bytes))
        set(file, class_space ? HS_ERR_CLASS_SPACE_USED : HS_ERR_METASPACE_USED, bytes);
    if (whole_size_behind(line, SPAN_LITERAL("committed "), &bytes))
        set(file, class_space ? HS_ERR_CLASS_SPACE_COMMITTED : HS_ERR_METASPACE_COMMITTED, bytes);
}

/* Of a command line; else of a line of [Global flags]:
 * "   size_t MaxMetaspaceSize       = 268435456     {product} {command line}" */
static void take_flags(struct hs_err *file, struct span line, bool arguments)
{
    static const struct {
        struct span flag, name;
        enum hs_err_figure figure;
    } flags[] = {
        {SPAN_INIT("-Xmx"), SPAN_INIT(" MaxHeapSize "), HS_ERR_XMX},
        {SPAN_INIT("-XX:MaxHeapSize="), SPAN_INIT(" MaxHeapSize "), HS_ERR_XMX},
        {SPAN_INIT("-Xms"), SPAN_INIT(" InitialHeapSize "), HS_ERR_XMS},
        {SPAN_INIT("-XX:InitialHeapSize="), SPAN_INIT(" InitialHeapSize "), HS_ERR_XMS},
        {SPAN_INIT("-Xss"), SPAN_INIT(""), HS_ERR_XSS}, /* the other is in KB */
        {SPAN_INIT("-XX:MaxMetaspaceSize="), SPAN_INIT(" MaxMetaspaceSize "), HS_ERR_MAX_METASPACE},
        {SPAN_INIT("-XX:CompressedClassSpaceSize="), SPAN_INIT(" CompressedClassSpaceSize "),
         HS_ERR_CLASS_SPACE_MAX},
        {SPAN_INIT("-XX:MaxDirectMemorySize="), SPAN_INIT(" MaxDirectMemorySize "),
         HS_ERR_MAX_DIRECT},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        int64_t bytes;
        if (arguments
                ? java_flag_size(line, flags[i].flag, &bytes)
                : flags[i].name.len > 0 &&
                      number_behind(span_behind(line, flags[i].name), SPAN_LITERAL("= "), &bytes) &&
                      bytes > 0)
            set(file, flags[i].figure,
                arguments || bytes < INT64_MAX / 2 ? bytes : HS_ERR_UNLIMITED);
    }
}

/* --- how it ended -------------------------------------------------------------------- */

static struct span without_dot(struct span text)
{
    return span_ends_with(text, SPAN_LITERAL(".")) ? span_of(text.ptr, text.len - 1) : text;
}

/* "failed to allocate 958496 bytes for Chunk::new", JDK 21+ "... bytes. Error detail: Chunk::new" */
static void take_request(struct hs_err *file, struct span line)
{
    static const struct span marks[] = {
        SPAN_INIT("failed to allocate "), SPAN_INIT("failed to map "),
        SPAN_INIT("failed to protect "), SPAN_INIT("failed to commit ")};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        struct span rest = span_behind(line, marks[i]);
        int64_t bytes;
        if (!whole_size_take(&rest, &bytes))
            continue;
        set(file, HS_ERR_REQUEST, bytes);
        struct span detail = span_behind(rest, SPAN_LITERAL("Error detail: "));
        rest = detail.ptr != NULL ? detail : span_behind(rest, SPAN_LITERAL(" for "));
        if (file->what.ptr == NULL && rest.ptr != NULL)
            file->what = without_dot(span_trim(rest));
    }
}

static bool is_thread_failure(struct span line)
{
    static const struct span marks[] = {
        SPAN_INIT("Cannot create worker GC thread"),
        SPAN_INIT("Cannot create GC thread"),
        SPAN_INIT("Cannot create VM thread"),
        SPAN_INIT("unable to create native thread"),
        SPAN_INIT("unable to create new native thread"),
        SPAN_INIT("pthread_create failed"),
        SPAN_INIT("Failed to start thread"),
        SPAN_INIT("Cannot create worker thread"),
        SPAN_INIT("_beginthreadex"),
        SPAN_INIT("to start a thread"),
    };
    return span_row(line, span_contains, SPAN_TABLE(marks)) >= 0;
}

static void take_head(struct hs_err *file, struct span line)
{
    static const struct span reasons[] = {SPAN_INIT("fatal error"), SPAN_INIT("guarantee("),
                                          SPAN_INIT("assert("), SPAN_INIT("Error: ")};
    if (span_starts_with(line, SPAN_LITERAL("There is insufficient memory for the Java Runtime")) ||
        span_starts_with(line, SPAN_LITERAL("Out of Memory Error"))) {
        file->end = HS_ERR_NATIVE_OOM;
        return;
    }
    if (file->end == HS_ERR_NATIVE_OOM) {
        if (file->how.ptr == NULL && (span_starts_with(line, SPAN_LITERAL("Native memory alloc")) ||
                                      is_thread_failure(line)))
            file->how = line;
        file->thread_failed = file->thread_failed || is_thread_failure(line);
        take_request(file, line);
        return;
    }
    if (span_starts_with(line, SPAN_LITERAL("Native memory allocation ("))) { /* without its head */
        file->end = HS_ERR_NATIVE_OOM;
        file->how = line;
        take_request(file, line);
    } else if (span_starts_with(line, SPAN_LITERAL("fatal error: OutOfMemory encountered"))) {
        file->end = HS_ERR_JAVA_OOM;
        file->how = line;
    } else if (file->end == HS_ERR_NO_END &&
               (span_starts_with(line, SPAN_LITERAL("SIG")) ||
                span_starts_with(line, SPAN_LITERAL("EXCEPTION_"))) &&
               span_find(line, SPAN_LITERAL(" at pc=")) > 0) {
        file->end = HS_ERR_SIGNAL;
        file->signal = span_of(line.ptr, (size_t)span_find(line, SPAN_LITERAL(" at pc=")));
    } else if (file->end == HS_ERR_NO_END &&
               span_starts_with(line, SPAN_LITERAL("Internal Error ("))) {
        file->end = HS_ERR_INTERNAL;
        file->signal = span_until(line, ",");
    } else if (file->end == HS_ERR_INTERNAL && file->how.ptr == NULL && line.len > 0 &&
               span_row(line, span_starts_with, SPAN_TABLE(reasons)) >= 0) {
        file->how = line;
    }
}

/* "C  [libc.so.6+0x9ee76]  memcpy+0x1b6": "libc.so.6". */
static struct span library_of(struct span frame)
{
    struct span name = span_behind(frame, SPAN_LITERAL("["));
    if (frame.len < 2 || strchr("CVv", frame.ptr[0]) == NULL || frame.ptr[1] != ' ' ||
        name.ptr == NULL || span_starts_with(name, SPAN_LITERAL("0x")))
        return span_of(NULL, 0);
    ptrdiff_t plus = span_find(name, SPAN_LITERAL("+0x"));
    return plus > 0 ? span_of(name.ptr, (size_t)plus) : span_until(name, "]");
}

static bool is_of_the_system(struct span library)
{
    static const struct span names[] = {
        SPAN_INIT("libc."),      SPAN_INIT("libc-"),      SPAN_INIT("libpthread"),
        SPAN_INIT("ld-"),        SPAN_INIT("ntdll"),      SPAN_INIT("KERNEL"),
        SPAN_INIT("kernel32"),   SPAN_INIT("ucrtbase"),   SPAN_INIT("msvcr"),
        SPAN_INIT("MSVCR"),      SPAN_INIT("libsystem_"), SPAN_INIT("VCRUNTIME"),
        SPAN_INIT("vcruntime"),  SPAN_INIT("libstdc++"),  SPAN_INIT("libgcc_s"),
        SPAN_INIT("linux-vdso"), SPAN_INIT("libm."),
    };
    return span_row(library, span_starts_with, SPAN_TABLE(names)) >= 0;
}

/* --- threads ------------------------------------------------------------------------- */

static void count_stem(struct hs_err *file, struct span name)
{
    char stem[HS_ERR_STEM_MAX];
    span_copy_stem(name, stem, sizeof stem);
    for (int i = 0; i < file->stem_count; i++) {
        if (strcmp(file->stem[i].name, stem) == 0) {
            file->stem[i].threads++;
            return;
        }
    }
    if (file->stem_count == HS_ERR_STEMS_MAX) {
        file->other_stems_threads++;
        return;
    }
    memcpy(file->stem[file->stem_count].name, stem, sizeof stem);
    file->stem[file->stem_count++].threads = 1;
}

/* The name in the line's first quotes; empty when there are none. */
static struct span quoted(struct span line)
{
    return span_until(span_behind(line, SPAN_LITERAL("\"")), "\"");
}

/* --- the walk ------------------------------------------------------------------------ */

enum section {
    IN_NOTHING,
    IN_JAVA_THREADS,
    IN_OTHER_THREADS,
    IN_LIBRARIES,
    IN_NATIVE_FRAMES,
    IN_EXCEPTIONS,
    IN_UNLOADED,
    IN_REDEFINED,
    IN_OS
};

static enum section section_of(struct span line, enum section now)
{
    static const struct {
        struct span heading;
        enum section section;
    } headings[] = {
        {SPAN_INIT("Java Threads: ("), IN_JAVA_THREADS},
        {SPAN_INIT("Other Threads:"), IN_OTHER_THREADS},
        {SPAN_INIT("Threads with active compile tasks:"), IN_NOTHING},
        {SPAN_INIT("VM state:"), IN_NOTHING},
        {SPAN_INIT("Dynamic libraries:"), IN_LIBRARIES},
        {SPAN_INIT("VM Arguments:"), IN_NOTHING},
        {SPAN_INIT("dbghelp: "), IN_NOTHING},
        {SPAN_INIT("Native frames: ("), IN_NATIVE_FRAMES},
        {SPAN_INIT("Java frames: ("), IN_NOTHING},
        {SPAN_INIT("Internal exceptions ("), IN_EXCEPTIONS},
        {SPAN_INIT("Classes unloaded ("), IN_UNLOADED},
        {SPAN_INIT("Classes redefined ("), IN_REDEFINED},
        {SPAN_INIT("Events ("), IN_NOTHING},
        {SPAN_INIT("VM Operations ("), IN_NOTHING},
        {SPAN_INIT("---------------"), IN_NOTHING},
        {SPAN_INIT("OS:"), IN_OS},
    };
    int i = span_row(line, span_starts_with, SPAN_TABLE(headings));
    return i < 0 ? now : headings[i].section;
}

static bool more(struct hs_err *file, enum hs_err_figure figure, bool one)
{
    if (one)
        file->figure[figure] = file->figure[figure] < 0 ? 1 : file->figure[figure] + 1;
    return one;
}

static bool is_mapping(struct span line)
{
    uint64_t low, high;
    span_take(&line, SPAN_LITERAL("0x"));
    if (!span_take_hex(&line, &low))
        return false;
    span_take(&line, SPAN_LITERAL(" "));
    if (!span_take(&line, SPAN_LITERAL("-")))
        return false;
    span_take(&line, SPAN_LITERAL(" "));
    span_take(&line, SPAN_LITERAL("0x"));
    return span_take_hex(&line, &high);
}

static void take_in_section(struct hs_err *file, enum section section, struct span line)
{
    bool event = span_starts_with(line, SPAN_LITERAL("Event: "));
    switch (section) {
    case IN_JAVA_THREADS:
        if (more(file, HS_ERR_JAVA_THREADS, span_find(line, SPAN_LITERAL("Thread \"")) > 0))
            count_stem(file, quoted(line));
        break;
    case IN_OTHER_THREADS:
        more(file, HS_ERR_OTHER_THREADS, span_find(line, SPAN_LITERAL("Thread")) > 0);
        break;
    case IN_LIBRARIES:
        more(file, HS_ERR_MAPPINGS, is_mapping(line));
        break;
    case IN_NATIVE_FRAMES:
        if (file->caller.ptr == NULL) {
            struct span library = library_of(line);
            if (library.len > 0 && !is_of_the_system(library))
                file->caller = library;
        }
        break;
    case IN_EXCEPTIONS:
        more(file, HS_ERR_EXCEPTIONS, event);
        more(file, HS_ERR_OOM_EVENTS,
             event && span_contains(line, SPAN_LITERAL("OutOfMemoryError")));
        break;
    case IN_UNLOADED:
        more(file, HS_ERR_UNLOADED, event);
        break;
    case IN_REDEFINED:
        more(file, HS_ERR_REDEFINED, event);
        break;
    case IN_OS:
        if (file->os.ptr == NULL && (span_contains(line, SPAN_LITERAL("PRETTY_NAME=")) ||
                                     span_contains(line, SPAN_LITERAL("DISTRIB_DESCRIPTION="))))
            file->os = quoted(line);
        break;
    case IN_NOTHING:
        break;
    }
}

static void take_identity(struct hs_err *file, struct span line)
{
    int64_t pid;
    struct span rest = span_behind(line, SPAN_LITERAL(", pid="));
    if (file->pid < 0 && rest.ptr != NULL && span_take_unsigned(&rest, &pid) &&
        rest.len > 0) /* else it may have been cut off */
        file->pid = pid;
    if (file->jre.ptr == NULL && span_starts_with(line, SPAN_LITERAL("JRE version:"))) {
        file->jre = span_trim(span_skip(line, 12));
        file->jdk_major = hs_err_jdk(file->jre);
    } else if (span_starts_with(line, SPAN_LITERAL("Java VM: "))) {
        take_vm(file, span_skip(line, 9));
    } else if (span_starts_with(line, SPAN_LITERAL("vm_info: "))) {
        if (file->vm.ptr == NULL)
            take_vm(file, span_skip(line, 9));
        if (file->jdk_major == 0)
            file->jdk_major = major_of(span_behind(line, SPAN_LITERAL(" JRE (")));
    } else if (file->thread.ptr == NULL && span_starts_with(line, SPAN_LITERAL("Current thread"))) {
        file->thread = quoted(line);
    } else if (file->os.ptr == NULL && span_starts_with(line, SPAN_LITERAL("OS:"))) {
        struct span words = span_trim(span_skip(line, 3));
        if (words.len > 0 && span_find(words, SPAN_LITERAL("NAME=")) < 0)
            file->os = words;
    } else if (span_starts_with(line, SPAN_LITERAL("Host: "))) {
        /* "Host: AMD Ryzen 7, 8 cores, 7G, Ubuntu 22.04.5 LTS" */
        struct span words = span_behind(line, SPAN_LITERAL(" cores, "));
        int64_t bytes;
        if (size_behind(line, SPAN_LITERAL(" cores, "), &bytes))
            set(file, HS_ERR_MEM_TOTAL, bytes);
        words = span_behind(words, SPAN_LITERAL(", "));
        if (words.ptr != NULL)
            file->os = span_trim(words);
    }
}

/* The value of these stands on the next line. */
static enum hs_err_figure figure_below(struct span line)
{
    static const struct {
        struct span key;
        enum hs_err_figure figure;
    } keys[] = {
        {SPAN_INIT("/proc/sys/kernel/threads-max"), HS_ERR_THREADS_MAX},
        {SPAN_INIT("/proc/sys/vm/max_map_count"), HS_ERR_MAP_COUNT_MAX},
        {SPAN_INIT("/proc/sys/kernel/pid_max"), HS_ERR_PID_MAX},
        {SPAN_INIT("/proc/sys/vm/overcommit_memory"), HS_ERR_OVERCOMMIT},
    };
    int i = span_row(line, span_starts_with, SPAN_TABLE(keys));
    return i < 0 ? HS_ERR_FIGURE_COUNT : keys[i].figure;
}

void hs_err_read(struct hs_err *file, struct span text)
{
    memset(file, 0, sizeof *file);
    file->pid = -1;
    for (int i = 0; i < HS_ERR_FIGURE_COUNT; i++)
        file->figure[i] = HS_ERR_UNKNOWN;
    enum section section = IN_NOTHING;
    enum hs_err_figure below = HS_ERR_FIGURE_COUNT;
    bool frame_below = false, in_body = false;
    struct span raw, rest = text;
    file->consumed = text.len;
    while (span_take_line(&rest, &raw)) {
        struct span line = bare(raw);
        if (hs_err_is_head(line) && (in_body || file->jre.ptr != NULL)) { /* the next file */
            file->consumed = (size_t)(raw.ptr - text.ptr);
            break;
        }
        if (line.len == 0)
            continue;
        in_body = in_body || span_starts_with(line, SPAN_LITERAL("---------------  "));
        if (!in_body)
            take_head(file, line);
        take_identity(file, line);
        if (frame_below) {
            file->frame = line;
            file->library = library_of(line);
            if (file->library.len > 0 && !is_of_the_system(file->library))
                file->caller = file->library;
        }
        frame_below = span_starts_with(line, SPAN_LITERAL("Problematic frame:"));
        int64_t value;
        if (below != HS_ERR_FIGURE_COUNT && take_limit(line, &value))
            set(file, below, value);
        below = figure_below(line); /* "...: 65530" on the same line as well */
        if (below != HS_ERR_FIGURE_COUNT &&
            take_limit(span_behind(line, SPAN_LITERAL(": ")), &value))
            set(file, below, value);
        enum section before = section;
        section = section_of(line, before);
        if (section == before) /* no heading */
            take_in_section(file, section, line);
        take_keyed(file, line);
        take_metaspace(file, line);
        if (span_starts_with(line, SPAN_LITERAL("Memory: ")) ||
            span_starts_with(line, SPAN_LITERAL("TotalPageFile size ")))
            take_memory(file, line);
        else if (span_starts_with(line, SPAN_LITERAL("jvm_args:")) ||
                 span_starts_with(line, SPAN_LITERAL("Command Line:")))
            take_flags(file, line, true);
        else if (span_ends_with(line, SPAN_LITERAL("}")))
            take_flags(file, line, false);
    }
    if (file->platform == HS_ERR_PLATFORM_UNKNOWN &&
        (file->figure[HS_ERR_COMMIT_LIMIT] >= 0 || file->figure[HS_ERR_NPROC] != HS_ERR_UNKNOWN))
        file->platform = HS_ERR_LINUX;
}
