#include "analyzers/parse/hs_err.h"

#define KB INT64_C(1024)

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
    line = bare(line);
    return span_starts_with(
               line,
               SPAN_LITERAL("There is insufficient memory for the Java Runtime Environment")) ||
           span_starts_with(line,
                            SPAN_LITERAL("A fatal error has been detected by the Java Runtime")) ||
           span_starts_with(line, SPAN_LITERAL("An unexpected error has been detected by"));
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
    if (hs_err_is_head(line))
        return true;
    line = bare(line);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (span_starts_with(line, sections[i]))
            return true;
    }
    /* "Event: 12.345 Thread 0x00007f... Exception <a 'java/...": of one of its lists of events */
    if (span_starts_with(line, SPAN_LITERAL("Event: ")) &&
        span_find(line, SPAN_LITERAL(" Thread 0x")) > 0)
        return true;
    return (span_starts_with(line, SPAN_LITERAL("SIG")) &&
            span_find(line, SPAN_LITERAL(" at pc=")) > 0);
}

/* --- versions ------------------------------------------------------------------------ */

static int major_of(struct span text)
{
    int64_t major;
    if (!span_take_unsigned(&text, &major) || major > 999 || text.len == 0 ||
        strchr(".+-_) ", text.ptr[0]) == NULL)
        return 0;
    if (major == 1 && span_take(&text, SPAN_LITERAL(".")) && !span_take_unsigned(&text, &major))
        return 0;
    return (int)major;
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
    for (size_t i = 0; i < sizeof platforms / sizeof platforms[0]; i++) {
        ptrdiff_t at = span_find(line, platforms[i].mark);
        if (at < 0)
            continue;
        file->platform = platforms[i].platform;
        file->arch = span_until(span_skip(line, (size_t)at), " ),");
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
    text = span_trim(text);
    if (span_starts_with(text, SPAN_LITERAL("unlimited")) ||
        span_starts_with(text, SPAN_LITERAL("infinity")) ||
        span_starts_with(text, SPAN_LITERAL("-1")) || span_starts_with(text, SPAN_LITERAL("max"))) {
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

/* Lines "key value": the first such line counts. */
static const struct {
    struct span key;
    enum hs_err_figure figure;
} keyed[] = {
    {SPAN_INIT("MemTotal:"), HS_ERR_MEM_TOTAL},
    {SPAN_INIT("MemFree:"), HS_ERR_MEM_FREE},
    {SPAN_INIT("MemAvailable:"), HS_ERR_MEM_AVAILABLE},
    {SPAN_INIT("SwapTotal:"), HS_ERR_SWAP_TOTAL},
    {SPAN_INIT("SwapFree:"), HS_ERR_SWAP_FREE},
    {SPAN_INIT("CommitLimit:"), HS_ERR_COMMIT_LIMIT},
    {SPAN_INIT("Committed_AS:"), HS_ERR_COMMITTED_AS},
    {SPAN_INIT("memory_limit_in_bytes:"), HS_ERR_CONTAINER_LIMIT},
    {SPAN_INIT("memory_usage_in_bytes:"), HS_ERR_CONTAINER_USAGE},
    {SPAN_INIT("memory_max_usage_in_bytes:"), HS_ERR_CONTAINER_PEAK},
    {SPAN_INIT("memory_limit:"), HS_ERR_CONTAINER_LIMIT},
    {SPAN_INIT("memory_usage:"), HS_ERR_CONTAINER_USAGE},
    {SPAN_INIT("memory_max_usage:"), HS_ERR_CONTAINER_PEAK},
    {SPAN_INIT("maximum number of tasks:"), HS_ERR_TASKS_MAX},
    {SPAN_INIT("current number of tasks:"), HS_ERR_TASKS},
    {SPAN_INIT("Virtual Size:"), HS_ERR_PROCESS_VIRTUAL},
    {SPAN_INIT("Resident Set Size:"), HS_ERR_PROCESS_RSS},
    {SPAN_INIT("VmSize:"), HS_ERR_PROCESS_VIRTUAL},
    {SPAN_INIT("VmRSS:"), HS_ERR_PROCESS_RSS},
    {SPAN_INIT("MaxMetaspaceSize:"), HS_ERR_MAX_METASPACE},
    {SPAN_INIT("CompressedClassSpaceSize:"), HS_ERR_CLASS_SPACE_MAX},
    {SPAN_INIT("OutOfMemoryError java_heap_errors="), HS_ERR_OOM_HEAP},
    {SPAN_INIT("OutOfMemoryError metaspace_errors="), HS_ERR_OOM_METASPACE},
    {SPAN_INIT("OutOfMemoryError class_metaspace_errors="), HS_ERR_OOM_CLASS_SPACE},
};

static void take_keyed(struct hs_err *file, struct span line)
{
    for (size_t i = 0; i < sizeof keyed / sizeof keyed[0]; i++) {
        int64_t value;
        if (span_starts_with(line, keyed[i].key) &&
            take_limit(span_skip(line, keyed[i].key.len), &value))
            set(file, keyed[i].figure, value);
    }
}

/* "C-Heap outstanding allocations: 46526K, retained: 2104565K (may have wrapped)" */
static void take_retained(struct hs_err *file, struct span line)
{
    int64_t bytes;
    struct span rest = span_behind(line, SPAN_LITERAL("outstanding allocations: "));
    rest = rest.ptr == NULL ? rest : span_behind(rest, SPAN_LITERAL("retained: "));
    if (rest.ptr != NULL && java_size_take(&rest, &bytes))
        set(file, HS_ERR_MALLOC_RETAINED, bytes);
}

/* "rlimit: STACK 8192k, CORE infinity, NPROC 95259, ...", JDK 9+ "NPROC 1024/4096 ," */
static void take_rlimits(struct hs_err *file, struct span line)
{
    int64_t value;
    struct span nproc = span_behind(line, SPAN_LITERAL("NPROC "));
    struct span space = span_behind(line, SPAN_LITERAL(" AS "));
    if (nproc.ptr != NULL && take_limit(nproc, &value))
        set(file, HS_ERR_NPROC, value);
    if (space.ptr != NULL && take_limit(space, &value))
        set(file, HS_ERR_ADDRESS_SPACE, value);
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
        if (rest.ptr == NULL || !java_size_take(&rest, &total))
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
    if (!class_space && !span_starts_with(line, SPAN_LITERAL("Metaspace ")))
        return;
    struct span used = span_behind(line, SPAN_LITERAL("used "));
    struct span committed = span_behind(line, SPAN_LITERAL("committed "));
    int64_t bytes;
    if (used.ptr != NULL && whole_size_take(&used, &bytes))
        set(file, class_space ? HS_ERR_CLASS_SPACE_USED : HS_ERR_METASPACE_USED, bytes);
    if (committed.ptr != NULL && whole_size_take(&committed, &bytes))
        set(file, class_space ? HS_ERR_CLASS_SPACE_COMMITTED : HS_ERR_METASPACE_COMMITTED, bytes);
}

static void take_flags(struct hs_err *file, struct span line)
{
    static const struct {
        struct span flag;
        enum hs_err_figure figure;
    } flags[] = {
        {SPAN_INIT("-Xmx"), HS_ERR_XMX},
        {SPAN_INIT("-XX:MaxHeapSize="), HS_ERR_XMX},
        {SPAN_INIT("-Xms"), HS_ERR_XMS},
        {SPAN_INIT("-XX:InitialHeapSize="), HS_ERR_XMS},
        {SPAN_INIT("-Xss"), HS_ERR_XSS},
        {SPAN_INIT("-XX:MaxMetaspaceSize="), HS_ERR_MAX_METASPACE},
        {SPAN_INIT("-XX:CompressedClassSpaceSize="), HS_ERR_CLASS_SPACE_MAX},
        {SPAN_INIT("-XX:MaxDirectMemorySize="), HS_ERR_MAX_DIRECT},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        int64_t bytes;
        if (java_flag_size(line, flags[i].flag, &bytes))
            set(file, flags[i].figure, bytes);
    }
}

/* "   size_t MaxMetaspaceSize       = 268435456     {product} {command line}" of [Global flags]. */
static void take_global_flag(struct hs_err *file, struct span line)
{
    static const struct {
        struct span name;
        enum hs_err_figure figure;
    } flags[] = {
        {SPAN_INIT(" MaxHeapSize "), HS_ERR_XMX},
        {SPAN_INIT(" InitialHeapSize "), HS_ERR_XMS},
        {SPAN_INIT(" MaxMetaspaceSize "), HS_ERR_MAX_METASPACE},
        {SPAN_INIT(" CompressedClassSpaceSize "), HS_ERR_CLASS_SPACE_MAX},
        {SPAN_INIT(" MaxDirectMemorySize "), HS_ERR_MAX_DIRECT},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct span value = span_behind(span_behind(line, flags[i].name), SPAN_LITERAL("= "));
        int64_t bytes;
        if (value.ptr != NULL && span_take_unsigned(&value, &bytes) && bytes > 0)
            set(file, flags[i].figure, bytes < INT64_MAX / 2 ? bytes : HS_ERR_UNLIMITED);
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
        if (rest.ptr == NULL || !whole_size_take(&rest, &bytes))
            continue;
        set(file, HS_ERR_REQUEST, bytes);
        if (span_find(rest, SPAN_LITERAL("Error detail: ")) >= 0)
            rest = span_behind(rest, SPAN_LITERAL("Error detail: "));
        else
            rest = span_behind(rest, SPAN_LITERAL(" for "));
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
    return span_contains_any(line, marks, sizeof marks / sizeof marks[0]);
}

static void take_head(struct hs_err *file, struct span line)
{
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
    } else if (span_starts_with(line, SPAN_LITERAL("fatal error: OutOfMemory encountered")) ||
               span_starts_with(line, SPAN_LITERAL("Internal Error (debug.cpp"))) {
        if (span_starts_with(line, SPAN_LITERAL("fatal"))) {
            file->end = HS_ERR_JAVA_OOM;
            file->how = line;
        } else if (file->end == HS_ERR_NO_END) {
            file->end = HS_ERR_INTERNAL;
            file->signal = span_until(line, ",");
        }
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
               (span_starts_with(line, SPAN_LITERAL("fatal error")) ||
                span_starts_with(line, SPAN_LITERAL("guarantee(")) ||
                span_starts_with(line, SPAN_LITERAL("assert(")) ||
                span_starts_with(line, SPAN_LITERAL("Error: ")))) {
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
    return span_starts_with_any(library, names, sizeof names / sizeof names[0]);
}

/* --- threads ------------------------------------------------------------------------- */

static void count_stem(struct hs_err *file, struct span name)
{
    char stem[HS_ERR_STEM_MAX];
    size_t length = 0;
    for (size_t i = 0; i < name.len && length + 1 < sizeof stem; i++) {
        char c = name.ptr[i];
        bool digit = c >= '0' && c <= '9';
        if (digit && length > 0 && stem[length - 1] == '#')
            continue;
        stem[length++] = digit ? '#' : c;
    }
    stem[length] = '\0';
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
    span_copy(span_of(stem, length), file->stem[file->stem_count].name, HS_ERR_STEM_MAX);
    file->stem[file->stem_count++].threads = 1;
}

/* The name in the line's first quotes; empty when there are none. */
static struct span quoted(struct span line)
{
    struct span name = span_behind(line, SPAN_LITERAL("\""));
    return name.ptr == NULL ? span_of(NULL, 0) : span_until(name, "\"");
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
        {SPAN_INIT("VM state: "), IN_NOTHING},
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
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
        if (span_starts_with(line, headings[i].heading))
            return headings[i].section;
    }
    return now;
}

static void more(struct hs_err *file, enum hs_err_figure figure)
{
    file->figure[figure] = file->figure[figure] < 0 ? 1 : file->figure[figure] + 1;
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
        if (span_find(line, SPAN_LITERAL("Thread \"")) > 0) {
            more(file, HS_ERR_JAVA_THREADS);
            count_stem(file, quoted(line));
        }
        break;
    case IN_OTHER_THREADS:
        if (span_find(line, SPAN_LITERAL("Thread")) > 0)
            more(file, HS_ERR_OTHER_THREADS);
        break;
    case IN_LIBRARIES:
        if (is_mapping(line))
            more(file, HS_ERR_MAPPINGS);
        break;
    case IN_NATIVE_FRAMES:
        if (file->caller.ptr == NULL) {
            struct span library = library_of(line);
            if (library.len > 0 && !is_of_the_system(library))
                file->caller = library;
        }
        break;
    case IN_EXCEPTIONS:
        if (event) {
            more(file, HS_ERR_EXCEPTIONS);
            if (span_find(line, SPAN_LITERAL("OutOfMemoryError")) > 0)
                more(file, HS_ERR_OOM_EVENTS);
        }
        break;
    case IN_UNLOADED:
        if (event)
            more(file, HS_ERR_UNLOADED);
        break;
    case IN_REDEFINED:
        if (event)
            more(file, HS_ERR_REDEFINED);
        break;
    case IN_OS:
        if (file->os.ptr == NULL) {
            struct span pretty = span_behind(line, SPAN_LITERAL("PRETTY_NAME="));
            struct span lsb = span_behind(line, SPAN_LITERAL("DISTRIB_DESCRIPTION="));
            if (pretty.ptr != NULL || lsb.ptr != NULL)
                file->os = quoted(line);
        }
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
        struct span jre = span_behind(line, SPAN_LITERAL(" JRE ("));
        if (file->vm.ptr == NULL)
            take_vm(file, span_skip(line, 9));
        if (file->jdk_major == 0 && jre.ptr != NULL)
            file->jdk_major = major_of(jre);
    } else if (file->thread.ptr == NULL && span_starts_with(line, SPAN_LITERAL("Current thread"))) {
        file->thread = quoted(line);
    } else if (file->os.ptr == NULL && span_starts_with(line, SPAN_LITERAL("OS:"))) {
        struct span words = span_trim(span_skip(line, 3));
        if (words.len > 0 && span_find(words, SPAN_LITERAL("NAME=")) < 0)
            file->os = words;
    } else if (span_starts_with(line, SPAN_LITERAL("Host: "))) {
        /* "Host: AMD Ryzen 7, 8 cores, 7G, Ubuntu 22.04.5 LTS" */
        struct span words =
            span_behind(span_behind(line, SPAN_LITERAL(" cores, ")), SPAN_LITERAL(", "));
        int64_t bytes;
        if (words.ptr != NULL)
            file->os = span_trim(words);
        words = span_behind(line, SPAN_LITERAL(" cores, "));
        if (words.ptr != NULL && java_size_take(&words, &bytes) &&
            file->figure[HS_ERR_MEM_TOTAL] == HS_ERR_UNKNOWN)
            file->figure[HS_ERR_MEM_TOTAL] = bytes;
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
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (span_starts_with(line, keys[i].key))
            return keys[i].figure;
    }
    return HS_ERR_FIGURE_COUNT;
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
        if (below != HS_ERR_FIGURE_COUNT) {
            int64_t value;
            if (take_limit(line, &value))
                set(file, below, value);
        }
        below = figure_below(line);
        if (below != HS_ERR_FIGURE_COUNT) { /* "...: 65530" on the same line as well */
            struct span same = span_behind(line, SPAN_LITERAL(": "));
            int64_t value;
            if (same.ptr != NULL && take_limit(same, &value))
                set(file, below, value);
        }
        enum section before = section;
        section = section_of(line, before);
        if (section == before) /* no heading */
            take_in_section(file, section, line);
        take_keyed(file, line);
        take_retained(file, line);
        take_metaspace(file, line);
        if (span_starts_with(line, SPAN_LITERAL("rlimit")))
            take_rlimits(file, line);
        else if (span_starts_with(line, SPAN_LITERAL("Memory: ")) ||
                 span_starts_with(line, SPAN_LITERAL("TotalPageFile size ")))
            take_memory(file, line);
        else if (span_starts_with(line, SPAN_LITERAL("jvm_args:")) ||
                 span_starts_with(line, SPAN_LITERAL("Command Line:")))
            take_flags(file, line);
        else if (span_ends_with(line, SPAN_LITERAL("}")))
            take_global_flag(file, line);
        else if (span_starts_with(line, SPAN_LITERAL("current process commit charge"))) {
            struct span bytes = span_behind(line, SPAN_LITERAL(": "));
            int64_t value;
            if (bytes.ptr != NULL && java_size_take(&bytes, &value))
                set(file, HS_ERR_PROCESS_COMMIT, value);
        } else if (span_starts_with(line, SPAN_LITERAL("current process WorkingSet"))) {
            struct span bytes = span_behind(line, SPAN_LITERAL(": "));
            int64_t value;
            if (bytes.ptr != NULL && java_size_take(&bytes, &value))
                set(file, HS_ERR_PROCESS_RSS, value);
        }
    }
    if (file->platform == HS_ERR_PLATFORM_UNKNOWN &&
        (file->figure[HS_ERR_COMMIT_LIMIT] >= 0 || file->figure[HS_ERR_NPROC] != HS_ERR_UNKNOWN))
        file->platform = HS_ERR_LINUX;
}
