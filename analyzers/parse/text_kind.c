#include "analyzers/parse/text_kind.h"

#include "analyzers/parse/class_log.h"
#include "analyzers/parse/class_tables.h"
#include "analyzers/parse/hs_err.h"
#include "analyzers/parse/nmt_summary.h"
#include "analyzers/parse/oom_lines.h"
#include "analyzers/parse/proc_text.h"
#include "analyzers/parse/thread_dump.h"
#include "analyzers/parse/tool_lines.h"
#include "analyzers/parse/tool_tables.h"

static const char *const keys[TEXT_KIND_COUNT] = {
#define TEXT_KIND(id, key, what) [TEXT_##id] = key,
#include "analyzers/parse/text_kinds.def"
};

const char *text_kind_key(enum text_kind kind)
{
    return (unsigned)kind < TEXT_KIND_COUNT ? keys[kind] : "?";
}

/* --- headings --------------------------------------------------------------------------------- */

static bool is_javacore(struct span line)
{
    static const struct span marks[] = {SPAN_INIT("0SECTION "), SPAN_INIT("1TISIGINFO "),
                                        SPAN_INIT("1CIJAVAVERSION "), SPAN_INIT("1TIDATETIME "),
                                        SPAN_INIT("0MEMUSER")};
    return span_row(line, span_starts_with, SPAN_TABLE(marks)) >= 0;
}

/* The first line of a file of -Xloggc. */
static bool is_gc_log_head(struct span line)
{
    ptrdiff_t name_ends = span_find(line, SPAN_LITERAL(" VM ("));
    return name_ends > 0 && span_contains(line, SPAN_LITERAL(" JRE (")) &&
           span_contains(line, SPAN_LITERAL("), built on ")) &&
           memchr(line.ptr, ':', (size_t)name_ends) == NULL && /* vm_info, a value of hsperfdata */
           memchr(line.ptr, '\0', line.len) == NULL;
}

/* The heading of a text that stands beside a JVM's own in a ticket: an error file or a section of one,
 * the kernel's log, a process table, pmap, lines of a console, a javacore. `in`: the part it would
 * interrupt. */
enum text_kind ticket_text_heading(struct span line, enum text_kind in)
{
    if (in == TEXT_JAVACORE || in == TEXT_RECORDING)
        return TEXT_UNRECOGNISED;
    /* Error files have tables of other kinds in them, which end at their own lines. */
    bool in_table = in == TEXT_FLAGS || in == TEXT_NMT_SUMMARY;
    bool in_gc_log = in == TEXT_CONSOLE && span_starts_with(line, SPAN_LITERAL("Memory: "));
    if (in_table ? hs_err_is_head(line) : hs_err_is_section(line) && !in_gc_log)
        return TEXT_HS_ERR;
    if (in == TEXT_CLASS_LOG) /* read with it */
        return TEXT_UNRECOGNISED;
    if (is_gc_log_head(line))
        return TEXT_CONSOLE;
    if (in == TEXT_HS_ERR) /* behind the head that was pasted */
        return oom_killer_is_line(line)     ? TEXT_OOM_KILLER
               : process_row_is_table(line) ? TEXT_PROCESS
                                            : TEXT_UNRECOGNISED;
    if (is_javacore(line))
        return TEXT_JAVACORE;
    if (oom_killer_is_line(line))
        return TEXT_OOM_KILLER;
    if (process_row_is_heading(line) || process_row_is_top(line))
        return TEXT_PROCESS;
    if (in != TEXT_SMAPS && (pmap_is_head(line) || pmap_is_row(line)))
        return TEXT_PMAP;
    if (jstat_is_heading(line))
        return TEXT_JSTAT;
    if (methods_table_is_heading(line))
        return TEXT_METHODS;
    if (mat_table_is_heading(line))
        return TEXT_MAT_TABLE;
    if (in == TEXT_MAT_TABLE) /* names of classes may be those of errors */
        return TEXT_UNRECOGNISED;
    if (thread_dump_is_head(line) || (in != TEXT_THREAD_DUMP && thread_dump_is_thread(line)))
        return TEXT_THREAD_DUMP;
    if (oom_line_kind(line) != OOM_LINE_NONE)
        return TEXT_CONSOLE;
    if (tool_line_is(line))
        return TEXT_TOOL_LINES;
    if (gc_log_is_line(line))
        return TEXT_CONSOLE;
    struct span function;
    int64_t bytes;
    if (malloc_profile_row(line, &function, &bytes))
        return TEXT_MALLOC_PROFILE;
    return TEXT_UNRECOGNISED;
}

/* Lines that begin so (leading blanks aside) are the heading of a kind. */
static const struct {
    struct span prefix;
    enum text_kind kind;
} headings[] = {
    {SPAN_INIT("Native Memory Tracking Statistics:"), TEXT_NMT_STATISTICS},
    {SPAN_INIT("Native Memory Tracking:"), TEXT_NMT_SUMMARY},
    {SPAN_INIT("ClassLoader         Parent"), TEXT_CLASSLOADER_STATS},
    {SPAN_INIT("class_loader\tclasses\tbytes"), TEXT_JMAP_CLSTATS},
    {SPAN_INIT("num     #instances"), TEXT_CLASS_HISTOGRAM},
    {SPAN_INIT("java.lang.Object/"), TEXT_CLASS_HIERARCHY},
    {SPAN_INIT("KlassAddr"), TEXT_CLASSES},
    {SPAN_INIT("+-- <bootstrap>"), TEXT_CLASSLOADERS},
    {SPAN_INIT("Total Usage - "), TEXT_METASPACE},
    {SPAN_INIT("Total Usage ("), TEXT_METASPACE},
    {SPAN_INIT("Usage per loader:"), TEXT_METASPACE},
    {SPAN_INIT("Usage per space type:"), TEXT_METASPACE},
    {SPAN_INIT("Usage:"), TEXT_METASPACE},
    {SPAN_INIT("garbage-first heap"), TEXT_HEAP_INFO},
    {SPAN_INIT("PSYoungGen"), TEXT_HEAP_INFO},
    {SPAN_INIT("def new generation"), TEXT_HEAP_INFO},
    {SPAN_INIT("DefNew "), TEXT_HEAP_INFO},
    {SPAN_INIT("par new generation"), TEXT_HEAP_INFO},
    {SPAN_INIT("Shenandoah Heap"), TEXT_HEAP_INFO},
    {SPAN_INIT("ZHeap "), TEXT_HEAP_INFO},
    {SPAN_INIT("The following commands are available:"), TEXT_HELP},
    {SPAN_INIT("OpenJDK 64-Bit Server VM version"), TEXT_VERSION},
    {SPAN_INIT("OpenJDK Server VM version"), TEXT_VERSION},
    {SPAN_INIT("Java HotSpot(TM) 64-Bit Server VM version"), TEXT_VERSION},
    {SPAN_INIT("openjdk version \""), TEXT_VERSION},
    {SPAN_INIT("java version \""), TEXT_VERSION},
    {SPAN_INIT("Loaded  Bytes  Unloaded"), TEXT_JSTAT},
    {SPAN_INIT("MCMN "), TEXT_JSTAT},
    {SPAN_INIT("VM Arguments:"), TEXT_FLAGS},
    {SPAN_INIT("jvm_args:"), TEXT_FLAGS},
    {SPAN_INIT("[Global flags]"), TEXT_FLAGS},
    {SPAN_INIT("-XX:"), TEXT_FLAGS},
    {SPAN_INIT("{\"type\":\"header\""), TEXT_RECORDING},
    {SPAN_INIT("[stderr]"), TEXT_REFUSAL},
    {SPAN_INIT("This option is deprecated and will be ignored"), TEXT_REFUSAL},
    {SPAN_INIT("Native memory tracking has been turned off"), TEXT_REFUSAL},
};

static bool is_gap(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_';
}

/* "java.cls.loadedClasses=604": at least two dots in front of the equals sign. */
static bool is_perfcounter(struct span line)
{
    static const struct span roots[] = {SPAN_INIT("java."), SPAN_INIT("sun."),
                                        SPAN_INIT("com.sun.")};
    bool rooted = span_row(line, span_starts_with, SPAN_TABLE(roots)) >= 0;
    int dots = 0;
    for (size_t i = 0; rooted && i < line.len; i++) {
        if (line.ptr[i] == '=')
            return dots >= 2;
        dots += line.ptr[i] == '.';
        if (line.ptr[i] != '.' && !is_word(line.ptr[i]))
            return false;
    }
    return false;
}

/* "75.302 s", "2026-11-20T21:57:58.752+0000: 75.691 s" */
static bool is_uptime(struct span line)
{
    if (!span_ends_with(line, SPAN_LITERAL(" s")) || line.len > 64)
        return false;
    line.len -= 2;
    ptrdiff_t stamp = span_find(line, SPAN_LITERAL(": "));
    if (stamp > 0)
        line = span_skip(line, (size_t)stamp + 2);
    int64_t whole, part;
    return span_take_unsigned(&line, &whole) && span_take(&line, SPAN_LITERAL(".")) &&
           span_take_unsigned(&line, &part) && line.len == 0;
}

/* "Metaspace        used 2477K, committed ..." in front of VM.metaspace of 25; GC.heap_info prints
 * the same line behind its heap. */
static bool is_metaspace_line(struct span line)
{
    return span_starts_with(line, SPAN_LITERAL("Metaspace ")) &&
           span_find(line, SPAN_LITERAL(" used ")) > 0;
}

/* "[0.077s][info][class,loader,data] ...", "[class,load,cause]": of a log about classes, and no
 * load.
 */
static bool has_class_tag(struct span line)
{
    struct span rest = line;
    ptrdiff_t end;
    while (span_take(&rest, SPAN_LITERAL("[")) && (end = span_find(rest, SPAN_LITERAL("]"))) >= 0) {
        if (span_starts_with(rest, SPAN_LITERAL("class,")))
            return true;
        rest = span_skip(rest, (size_t)end + 1);
    }
    return false;
}

static bool is_class_log(struct span line)
{
    struct class_log_line parsed = class_log_parse(line);
    return parsed.kind != CLASS_LOG_OTHER || parsed.claims ||
           span_starts_with(line, SPAN_LITERAL("[Opened ")) || has_class_tag(line);
}

/* "   size_t MaxHeapSize     = 2147483648     {product} {command line}" of -XX:+PrintFlagsFinal. */
static bool is_flag_row(struct span line)
{
    return span_ends_with(line, SPAN_LITERAL("}")) && span_find(line, SPAN_LITERAL("= ")) > 0 &&
           (span_find(line, SPAN_LITERAL("product} {")) > 0 ||
            span_find(line, SPAN_LITERAL("product}")) > 0);
}

/* "java -Xmx4g -jar app.jar", "JAVA_OPTS=-Xmx4g": a JVM's options outside of its own texts. */
static bool is_command_line(struct span line)
{
    static const struct span words[] = {SPAN_INIT("java -"), SPAN_INIT("_OPTIONS"),
                                        SPAN_INIT("_OPTS"), SPAN_INIT(" -jar ")};
    static const struct span openj9[] = {SPAN_INIT("-Xscmx"), SPAN_INIT("-Xgcpolicy"),
                                         SPAN_INIT("-Xshareclasses"), SPAN_INIT("-Xquickstart")};
    int64_t bytes;
    return java_flag_size(line, SPAN_LITERAL("-Xmx"), &bytes) &&
           span_row(line, span_contains, SPAN_TABLE(words)) >= 0 &&
           span_row(line, span_contains, SPAN_TABLE(openj9)) < 0;
}

/* A heading whose columns may have been set closer: any run of blanks is like any other. */
static bool begins_with(struct span line, struct span words)
{
    size_t at = 0;
    for (size_t i = 0; i < words.len;) {
        if (!is_gap(words.ptr[i])) {
            if (at == line.len || line.ptr[at++] != words.ptr[i++])
                return false;
            continue;
        }
        size_t start = at;
        while (i < words.len && is_gap(words.ptr[i]))
            i++;
        while (at < line.len && is_gap(line.ptr[at]))
            at++;
        if (at == start)
            return false;
    }
    return true;
}

/* A piece of an NMT report that lost its heading: its total, a row of a category, a region of the
 * memory map, a frame in front of a call site, what the site holds. */
static bool is_nmt_piece(struct span line)
{
    if (span_starts_with(line, SPAN_LITERAL("[0x"))) {
        ptrdiff_t close = span_find(line, SPAN_LITERAL("]"));
        return close > 0 && close < 64 && (size_t)close + 1 < line.len &&
               (span_find(line, SPAN_LITERAL("] reserved ")) > 0 ||
                span_find(line, SPAN_LITERAL("] committed ")) > 0 ||
                span_find(line, SPAN_LITERAL("+0x")) > 0);
    }
    if (span_find(line, SPAN_LITERAL("reserved=")) < 0 &&
        span_find(line, SPAN_LITERAL("malloc=")) < 0)
        return false;
    return nmt_is_total(line) || nmt_is_category(line) ||
           (line.ptr[0] == '(' && (span_find(line, SPAN_LITERAL(" type=")) > 0 ||
                                   span_find(line, SPAN_LITERAL(" tag=")) > 0));
}

/* TEXT_UNRECOGNISED when the line begins no part. `in`: the part it would interrupt. */
static enum text_kind heading_of(struct span raw, enum text_kind in)
{
    struct span line = span_trim(raw);
    if (line.len == 0)
        return TEXT_UNRECOGNISED;
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
        if (line.ptr[0] == headings[i].prefix.ptr[0] && begins_with(line, headings[i].prefix))
            return headings[i].kind;
    }
    if (in == TEXT_UNRECOGNISED && is_nmt_piece(line))
        return TEXT_NMT_SUMMARY;
    if (in != TEXT_FLAGS && in != TEXT_HS_ERR && is_flag_row(line))
        return TEXT_FLAGS;
    if (in != TEXT_PERFCOUNTER && is_perfcounter(line))
        return TEXT_PERFCOUNTER;
    if (in != TEXT_SMAPS && in != TEXT_HS_ERR) {
        struct proc_map map;
        if (raw.ptr[0] != ' ' && proc_map_parse(&map, raw) == PARSE_OK)
            return TEXT_SMAPS;
    }
    if (is_uptime(line))
        return TEXT_UPTIME;
    enum text_kind ticket = ticket_text_heading(line, in);
    if (ticket != TEXT_UNRECOGNISED)
        return ticket;
    if (in != TEXT_HEAP_INFO && in != TEXT_METASPACE && in != TEXT_HS_ERR &&
        is_metaspace_line(line))
        return TEXT_METASPACE;
    bool may_log = in == TEXT_UNRECOGNISED || in == TEXT_UPTIME || in == TEXT_VERSION ||
                   in == TEXT_REFUSAL || in == TEXT_NMT_SUMMARY || in == TEXT_HELP;
    if (may_log && is_class_log(raw))
        return TEXT_CLASS_LOG;
    if (in == TEXT_CONSOLE && class_log_parse(raw).kind == CLASS_LOG_LOAD)
        return TEXT_CLASS_LOG;
    if (in == TEXT_UNRECOGNISED && is_command_line(line))
        return TEXT_FLAGS;
    enum jcmd_reply_kind kind = jcmd_reply_classify(line).kind;
    return kind == JCMD_OK || kind == JCMD_EMPTY ? TEXT_UNRECOGNISED : TEXT_REFUSAL;
}

/* "32498:" alone on a line. */
static bool is_pid_line(struct span line, int64_t *pid)
{
    struct span rest = line;
    return span_take_unsigned(&rest, pid) && span_equals(rest, SPAN_LITERAL(":"));
}

/* Sub-tables of some kinds begin with lines that are headings elsewhere. */
static bool belongs(enum text_kind in, enum text_kind heading)
{
    if (heading == in && in != TEXT_NMT_SUMMARY && in != TEXT_CLASSLOADER_STATS &&
        in != TEXT_CLASS_HISTOGRAM && in != TEXT_CLASS_HIERARCHY && in != TEXT_THREAD_DUMP)
        return true;
    switch (in) {
    case TEXT_HS_ERR: /* cut only at its NMT section and its command line */
        return heading != TEXT_NMT_SUMMARY && heading != TEXT_FLAGS && heading != TEXT_OOM_KILLER &&
               heading != TEXT_PROCESS;
    case TEXT_CLASS_LOG:
        return heading == TEXT_REFUSAL || heading == TEXT_UPTIME;
    case TEXT_METASPACE:
        return heading == TEXT_METASPACE;
    case TEXT_FLAGS:
        return heading == TEXT_FLAGS;
    case TEXT_JAVACORE:
        return true;
    case TEXT_HELP:
    case TEXT_CLASSLOADERS:
    case TEXT_REFUSAL: /* "[stderr]", then the exception, then "[rc=1]" */
        return heading == TEXT_REFUSAL;
    default:
        return false;
    }
}

void text_parts_begin(struct text_parts *parts, struct span text)
{
    memset(parts, 0, sizeof *parts);
    parts->rest = text;
}

/* " +12KB", " -3" behind a figure of a line of NMT. */
static bool has_change(struct span line)
{
    for (size_t i = 1; i + 2 < line.len; i++) {
        char before = line.ptr[i - 1];
        if (line.ptr[i] == ' ' && (line.ptr[i + 1] == '+' || line.ptr[i + 1] == '-') &&
            is_digit(line.ptr[i + 2]) && is_word(before) && before != '_')
            return true;
    }
    return false;
}

/* Summary or detail, table or difference: the lines decide. */
static enum text_kind nmt_kind(struct span text)
{
    bool sites = false, diff = false, detail = false, map = false, site_diff = false;
    bool rows = false, bare = false;
    bool headed = span_find(text, SPAN_LITERAL("Native Memory Tracking:")) >= 0;
    struct span line;
    while (span_take_line(&text, &line)) {
        struct span content = span_trim(line);
        rows = rows || nmt_is_total(content) || nmt_is_category(content);
        bool figures = span_find(content, SPAN_LITERAL("reserved=")) >= 0 ||
                       span_find(content, SPAN_LITERAL("malloc=")) >= 0 ||
                       span_find(content, SPAN_LITERAL("arena=")) >= 0;
        if (span_equals(content, SPAN_LITERAL("Virtual memory map:")) ||
            span_equals(content, SPAN_LITERAL("Details:"))) {
            detail = true;
        } else if (span_starts_with(content, SPAN_LITERAL("[0x"))) {
            sites = true;
            map = map || span_find(content, SPAN_LITERAL(" - 0x")) > 0;
        } else if (figures) {
            bool change = has_change(content);
            bool typed = span_find(content, SPAN_LITERAL("ype=")) > 0 ||
                         span_find(content, SPAN_LITERAL("ag=")) > 0;
            bare = bare || (typed && content.ptr[0] == '(');
            diff = diff || (change && !detail);
            site_diff = site_diff || (change && typed);
        }
    }
    sites = sites || (bare && !rows); /* rows of JDK 25 name their tag, too */
    if (detail || (map && !site_diff))
        return TEXT_NMT_DETAIL;
    if (sites) /* a difference prints its sites without headings */
        return diff || site_diff || headed ? TEXT_NMT_DETAIL_DIFF : TEXT_NMT_DETAIL;
    return diff ? TEXT_NMT_SUMMARY_DIFF : TEXT_NMT_SUMMARY;
}

static void count_unclaimed(struct text_parts *parts, struct span line)
{
    if (span_trim(line).len > 0 && parts->unclaimed_lines++ == 0)
        parts->first_unclaimed = line;
}

bool text_parts_next(struct text_parts *parts, struct text_part *part)
{
    memset(part, 0, sizeof *part);
    part->pid = -1;
    struct span line, pid_line = {NULL, 0};
    const char *from = NULL;
    int totals = 0; /* in this part */
    while (true) {
        const char *at = parts->rest.ptr;
        int64_t pid;
        struct span before = parts->rest;
        if (!span_take_line(&parts->rest, &line))
            break;
        enum text_kind heading = heading_of(line, part->kind);
        /* The head of a file of -Xloggc names the memory of the host, as an error file does. */
        if (heading == TEXT_HS_ERR &&
            span_starts_with(parts->rest, SPAN_LITERAL("CommandLine flags:")))
            heading = TEXT_CONSOLE;
        bool numbered = is_pid_line(line, &pid);
        if (from == NULL) {
            if (numbered) {
                part->pid = pid;
                pid_line = line;
            } else if (heading != TEXT_UNRECOGNISED) {
                part->kind = heading;
                totals = heading == TEXT_NMT_SUMMARY && nmt_is_total(line);
                from = pid_line.ptr != NULL ? pid_line.ptr : at;
            } else if (!span_equals(span_trim(line), SPAN_LITERAL("#"))) { /* an error file's */
                count_unclaimed(parts, line);
                if (span_trim(line).len > 0) {
                    pid_line = span_of(NULL, 0);
                    part->pid = -1;
                }
            }
            continue;
        }
        bool next_reply = numbered && part->kind != TEXT_CLASS_LOG && part->kind != TEXT_HS_ERR;
        if (part->kind == TEXT_NMT_SUMMARY && nmt_is_total(line) && totals++ > 0)
            next_reply = true;
        if (next_reply || (heading != TEXT_UNRECOGNISED && !belongs(part->kind, heading))) {
            parts->rest = before;
            break;
        }
    }
    if (from == NULL)
        return false;
    part->text = span_of(from, (size_t)(parts->rest.ptr - from));
    part->onward = span_of(from, part->text.len + parts->rest.len);
    if (part->kind == TEXT_NMT_SUMMARY)
        part->kind = nmt_kind(part->text);
    if (part->kind == TEXT_REFUSAL) {
        struct span text = jcmd_reply_skip_pid(part->text);
        while (span_take_line(&text, &line)) {
            if (span_trim(line).len > 0 && span_trim(line).ptr[0] != '[') {
                part->reply = span_trim(line);
                break;
            }
        }
    }
    return true;
}

/* --- the JDK of a text ------------------------------------------------------------------------ */

int text_jdk_major(enum text_kind kind, struct span text)
{
    int major = 0;
    if (kind == TEXT_VERSION) {
        major = java_major(span_behind(text, SPAN_LITERAL("\nJDK ")));
        if (major == 0)
            major = java_major(span_behind(text, SPAN_LITERAL("version \"")));
    } else if (kind == TEXT_HS_ERR) {
        struct hs_err file;
        hs_err_read(&file, text);
        major = file.jdk_major != 0 ? file.jdk_major
                                    : java_major(span_behind(text, SPAN_LITERAL("(build ")));
    } else if (kind == TEXT_CLASS_HISTOGRAM || kind == TEXT_CLASS_LOG) {
        major = java_major(span_behind(text, SPAN_LITERAL("(java.base@")));
    } else if (kind == TEXT_PERFCOUNTER) {
        major = java_major(span_behind(text, SPAN_LITERAL("java.property.java.version=\"")));
    }
    return major;
}

/* "Total: reserved=1723354KB": in MB and GB most of the digits are rounded away. */
static bool is_fine(struct span text)
{
    struct span rest = span_behind(text, SPAN_LITERAL("Total: reserved="));
    int64_t number;
    return span_take_unsigned(&rest, &number) && !span_starts_with(rest, SPAN_LITERAL("MB")) &&
           !span_starts_with(rest, SPAN_LITERAL("GB"));
}

/* Newest first: each form has what those below it have not. */
static int nmt_form(struct span text, bool difference)
{
    static const struct {
        struct span mark;
        int major;
    } marks[] = {
        {SPAN_INIT(" JNI (reserved="), 26},
        {SPAN_INIT(" tag="), 25},
        {SPAN_INIT(" Tag="), 25},
        {SPAN_INIT("\nmalloc="), 25}, /* the total of a difference */
        {SPAN_INIT("(threads #"), 21},
        {SPAN_INIT(" GCCardSet (reserved="), 21},
        {SPAN_INIT(", at peak)"), 21},
        {SPAN_INIT("\n       malloc: "), 17},
        {SPAN_INIT(" Metaspace (reserved="), 17},
        {SPAN_INIT(": (  Metadata)"), 17},
        {SPAN_INIT("instance classes #"), 11},
    };
    for (size_t i = 0; is_fine(text) && i < sizeof marks / sizeof marks[0]; i++) {
        if (!span_contains(text, marks[i].mark))
            continue;
        /* The differences of 17 and 21 have the same form when no card set is in them. */
        return difference && marks[i].major == 17 ? 0 : marks[i].major;
    }
    /* "(classes #391)", below it "(malloc=": a text that ends in between may be of any JDK. */
    struct span below =
        span_behind(span_behind(text, SPAN_LITERAL("(classes #")), SPAN_LITERAL("("));
    return is_fine(text) && below.len > 0 && below.ptr[0] != ' ' ? 8 : 0;
}

static bool is_jdk8_log(struct span text)
{
    struct span line;
    for (int i = 0; i < 100 && span_take_line(&text, &line); i++) {
        struct class_log_line parsed = class_log_parse(line);
        if (parsed.kind != CLASS_LOG_OTHER)
            return parsed.form == CLASS_LOG_JDK8;
    }
    return false;
}

int text_jdk_form(enum text_kind kind, struct span text)
{
    switch (kind) {
    case TEXT_NMT_SUMMARY:
    case TEXT_NMT_DETAIL:
        return nmt_form(text, false);
    case TEXT_NMT_SUMMARY_DIFF:
    case TEXT_NMT_DETAIL_DIFF:
        return nmt_form(text, true);
    case TEXT_CLASS_LOG:
        return is_jdk8_log(text) ? 8 : 0;
    case TEXT_JMAP_CLSTATS:
        return 8;
    default:
        return 0;
    }
}

/* --- texts that nobody reads ------------------------------------------------------------------------------- */

#define FRONT_BYTES ((size_t)1 << 16)

/* mark: stands in the first lines, or at the very front of the file. The first row that fits counts. */
static const struct {
    struct span mark;
    bool front;
    struct looks_like words;
} STRANGERS[] = {
    {SPAN_INIT("FLR\0"),
     true,
     {"a recording of Flight Recorder (JFR)",
      "jfr summary FILE; nmtwatch profile makes and reads its own"}},
    {SPAN_INIT("\x1f\x8b"), true, {"a gzipped file that cannot be unpacked", "gzip -t FILE"}},
    {SPAN_INIT("PK\x03\x04"), true, {"a zip archive", "unpack it and give its folder to analyze"}},
    {SPAN_INIT("\x7f"
               "ELF"),
     true,
     {"a program or a core dump",
      "analyze reads texts: the hs_err file that lies beside a core dump"}},
    {SPAN_INIT("MDMP"),
     true,
     {"a minidump of Windows", "analyze reads texts: the hs_err file beside it"}},
    {SPAN_INIT("\xca\xfe\xba\xbe"), true, {"a class file", "analyze reads what a JVM prints"}},
    {SPAN_INIT("\x89PNG"), true, {"an image", "paste the text instead of an image of it"}},
    {SPAN_INIT("\xff\xd8\xff"), true, {"an image", "paste the text instead of an image of it"}},
    {SPAN_INIT("%PDF-"), true, {"a PDF", "paste the text"}},
    {SPAN_INIT("<?xml"),
     true,
     {"an XML document", "analyze reads what jcmd, jmap and the JVM's logs print"}},
    {SPAN_INIT("<!DOCTYPE html"), true, {"an HTML page", "paste the text of it"}},
    {SPAN_INIT("<html"), true, {"an HTML page", "paste the text of it"}},
    {SPAN_INIT("# HELP "),
     false,
     {"Prometheus metrics", "jcmd PID VM.native_memory summary has the categories"}},
    {SPAN_INIT("\tat "),
     false,
     {"a stack trace of Java",
      "the line in front of it is needed (java.lang.OutOfMemoryError: ...)"}},
    {SPAN_INIT("OutOfMemoryError"),
     false,
     {"a log with OutOfMemoryError, and no reason behind it",
      "the words behind OutOfMemoryError are needed (Java heap space, Metaspace, ...)"}},
    {SPAN_INIT("reserved="),
     false,
     {"a piece of Native Memory Tracking that is too short",
      "one whole row of a category, or jcmd PID VM.native_memory summary >FILE"}},
};

struct looks_like looks_like(struct span text)
{
    static const char *const expected =
        "jcmd PID VM.native_memory summary >FILE, the file hs_err_pidPID.log, a log with "
        "OutOfMemoryError or class loads";
    text.len = text.len < FRONT_BYTES ? text.len : FRONT_BYTES;
    if (span_trim(text).len == 0)
        return (struct looks_like){"an empty file", expected};
    for (size_t i = 0; i < sizeof STRANGERS / sizeof STRANGERS[0]; i++) {
        if ((STRANGERS[i].front ? span_starts_with : span_contains)(text, STRANGERS[i].mark))
            return STRANGERS[i].words;
    }
    if (memchr(text.ptr, '\0', text.len) != NULL)
        return (struct looks_like){"a binary file", expected};
    struct span front = span_trim(text);
    if (front.ptr[0] == '{' || front.ptr[0] == '[')
        return (struct looks_like){"JSON, or a log without a line about memory", expected};
    return (struct looks_like){"a text without a line that a JVM or the kernel prints about memory",
                               expected};
}
