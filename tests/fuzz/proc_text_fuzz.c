/* Any text through every parser of proc_text. */
#include "analyzers/parse/proc_text.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct proc_stat stat;
    if (proc_stat_parse(&stat, text) == PARSE_OK) {
        promise_inside(text, stat.comm);
        promise(stat.pid >= 0 && stat.threads >= 0 && stat.utime_ticks >= 0);
    }
    struct proc_statm statm;
    if (proc_statm_parse(&statm, text) == PARSE_OK)
        promise(statm.resident_pages >= 0);
    struct proc_status status;
    if (proc_status_parse(&status, text) == PARSE_OK)
        promise(status.nspid_depth >= 0);
    struct proc_map map;
    if (proc_map_parse(&map, text) == PARSE_OK) {
        promise_inside(text, map.path);
        promise(map.start_address <= map.end_address);
    }
    promise_inside(text, proc_environ_value(text, SPAN_LITERAL("A")));
    struct jvm_options options = {0};
    promise_inside(text, proc_emulated_cmdline(text));
    jvm_options_from_cmdline(&options, text);
    promise_inside(text, options.main);
    jvm_options_from_string(&options, text);
    return 0;
}
