/* Any text is read to its end as lines of other tools, as a thread dump, as a log of collections. */
#include "analyzers/parse/oom_lines.h"
#include "analyzers/parse/thread_dump.h"
#include "analyzers/parse/tool_lines.h"
#include "analyzers/parse/tool_tables.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct thread_dump dump;
    static struct tool_lines tools;
    static struct oom_lines lines;
    struct span text = span_of((const char *)data, size), line, name;
    int64_t bytes;
    thread_dump_read(&dump, text);
    tool_lines_read(&tools, text);
    oom_lines_read(&lines, text);
    while (span_take_line(&text, &line)) {
        gc_log_is_line(line);
        gc_log_line(&lines.gc, line);
        malloc_profile_row(line, &name, &bytes);
    }
    return 0;
}
