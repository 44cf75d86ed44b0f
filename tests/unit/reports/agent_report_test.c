/* agent_terminal: answers as text; hostile and incomplete ones too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/profile/agent_report.h"

#include <stdlib.h>
#include <string.h>

typedef bool print_fn(const char *json, FILE *out);

/* What print made of it; NULL when it refused. */
static const char *printed(print_fn *print, const char *json)
{
    static char text[16384];
    FILE *out = fmemopen(text, sizeof text, "w");
    bool good = print(json, out);
    fclose(out);
    return good ? text : NULL;
}

static void has(const char *text, const char *part)
{
    assert_non_null(text);
    if (strstr(text, part) == NULL)
        fail_msg("lacks '%s':\n%s", part, text);
}

static void status(void **state)
{
    (void)state;
    const char *text = printed(
        agent_print_status,
        "{\"running\":true,\"timer\":\"perf\",\"engine\":\"agct\",\"samples\":1200,\"stored\":1190,"
        "\"dropped\":{\"gate\":10,\"slots\":0},\"walks\":{\"ok\":1100,\"unknown_java\":90},"
        "\"file\":\"/tmp/x.jfr\",\"chunks\":2,\"file_bytes\":2048,\"recording_error\":null,"
        "\"native\":false,\"threads\":5,\"timers\":4,\"failed_timers\":1}");
    has(text, "state         running\n");
    has(text, "timer         perf\n");
    has(text, "samples       1 200, stored 1 190\n");
    has(text, "dropped       gate 10\n"); /* no slots */
    has(text, "walks         ok 1 100, unknown_java 90\n");
    has(text, "threads       5, timers 4, failed 1\n");
    has(text, "chunks        2, 2 KB\n");
    has(text, "no native frames");
    assert_null(strstr(text, "error"));

    text = printed(agent_print_status, "{\"running\":false}");
    assert_string_equal(text, "state         not running\n");
}

static void what_it_may_cost(void **state)
{
    (void)state;
    const char *text = printed(
        agent_print_started,
        "{\"timer\":\"perf\",\"engine\":\"agct\",\"file\":\"/tmp/x\",\"jmethodid\":{\"policy\":"
        "\"all\",\"budget_bytes\":null,\"predicted_bytes\":661600,\"asked_bytes\":661600,"
        "\"prepared_classes\":2846,\"skipped_classes\":0},\"unnamed_frames\":0}");
    has(text, "method ids    all: 2 846 classes, 646.1 KB in the JVM\n");
    assert_null(strstr(text, "without name"));
    text =
        printed(agent_print_status,
                "{\"running\":true,\"jmethodid\":{\"policy\":\"budget\",\"budget_bytes\":262144,"
                "\"predicted_bytes\":661600,\"asked_bytes\":262200,\"prepared_classes\":1100,"
                "\"skipped_classes\":1746},\"unnamed_frames\":12,\"breaker\":{\"state\":\"warned\","
                "\"reason\":\"jmethodIDs\\u001b take 1 MB\"}}");
    has(text, "method ids    budget 256 KB: 1 100 classes, 256.1 KB in the JVM; 1 746 beyond the "
              "budget; all that were loaded at the start would take 646.1 KB\n");
    has(text, "without name  12\n");
    has(text, "breaker       warned: jmethodIDs");
    assert_null(strchr(text, 0x1b));
    text = printed(agent_print_status, "{\"running\":false,\"jmethodid\":null,\"breaker\":{"
                                       "\"state\":\"normal\",\"reason\":null}}");
    assert_string_equal(text, "state         not running\n");
}

/* Between the ends of chunks the count of allocations stands still: that is said, not "0". */
static void allocations_are_counted_by_chunks(void **state)
{
    (void)state;
    const char *text = printed(agent_print_status,
                               "{\"running\":true,\"chunks\":0,\"alloc\":{\"interval_bytes\":"
                               "524288,\"interval_changes\":0,\"samples\":0,\"total_bytes\":0}}");
    has(text, "allocations   one each 512 KB; counted when the first chunk ends\n");
    text = printed(agent_print_status,
                   "{\"running\":true,\"chunks\":2,\"alloc\":{\"interval_bytes\":65536,"
                   "\"interval_changes\":1,\"samples\":12,\"total_bytes\":1048576}}");
    has(text,
        "allocations   12 samples, one each 64 KB now; 1 MB allocated, up to the last chunk\n");
}

static void missing_is_not_zero(void **state)
{
    (void)state;
    const char *text = printed(agent_print_status, "{\"running\":true,\"samples\":3}");
    has(text, "threads       ?, timers ?\n");
    has(text, "samples       3, stored ?\n");
    text = printed(agent_print_memory, "{\"components\":[{\"name\":\"x\"}]}");
    has(text, "  x                   ?          ?         ?");
}

static void stop_and_written(void **state)
{
    (void)state;
    const char *json = "{\"notes\":\"cannot be given back: much\",\"status\":{\"running\":false,"
                       "\"samples\":7,\"stored\":7,\"file\":\"/tmp/theirs\"}}";
    const char *text = printed(agent_print_stopped, json);
    has(text, "stopped\n");
    has(text, "file          /tmp/theirs\n");
    has(text, "note          cannot be given back: much\n");

    char buffer[512];
    FILE *out = fmemopen(buffer, sizeof buffer, "w");
    assert_true(agent_print_written(json, "ours.html", out));
    fclose(out);
    has(buffer, "file          ours.html\n");
    assert_null(strstr(buffer, "theirs"));
}

static void memory(void **state)
{
    (void)state;
    const char *text = printed(
        agent_print_memory,
        "{\"components\":[{\"name\":\"refcount_slots\",\"documented_bytes\":524288,"
        "\"requested_bytes\":524288,\"reserved_bytes\":524288,\"resident_bytes\":4096,"
        "\"peak_bytes\":524288,\"allocations\":1,\"frees\":0},{\"name\":\"method_map\","
        "\"documented_bytes\":null,\"requested_bytes\":100,\"reserved_bytes\":128,"
        "\"resident_bytes\":128,\"peak_bytes\":128,\"allocations\":2,\"frees\":1}],"
        "\"total\":{\"requested_bytes\":524388,\"reserved_bytes\":524416,\"resident_bytes\":4224,"
        "\"peak_bytes\":524416,\"allocations\":3,\"frees\":1},"
        "\"damaged_blocks\":2,\"jvm\":{\"jmethod_ids\":{\"classes\":3,\"methods\":45,"
        "\"loaded_bytes\":864,\"kept_after_unload_bytes\":0},\"jvmti_bytes\":0},"
        "\"rss\":{\"process_bytes\":10485760,\"before_agent_bytes\":9437184,"
        "\"explained_bytes\":5088,\"unexplained_growth_bytes\":-1024}}");
    has(text, "  refcount_slots      512 KB     512 KB    512 KB      4 KB    512 KB            1  "
              "    0\n");
    has(text, "  method_map                      100 B     128 B");
    has(text, "total");
    has(text, "2 blocks were overwritten");
    has(text, "864 B, 45 methods of 3 classes");
    has(text, "other growth -1 KB");
}

static void hostile(void **state)
{
    (void)state;
    const char *text =
        printed(agent_print_status, "{\"running\":true,\"timer\":\"\\u001b[31m\\u202e\","
                                    "\"dropped\":{\"\\u001b]0;x\":5},\"walks\":[1,2],"
                                    "\"samples\":\"many\",\"file\":7}");
    assert_non_null(text);
    assert_null(strchr(text, '\x1b'));
    assert_null(strstr(text, "\xe2\x80\xae"));
    text = printed(agent_print_json, "{ \"a\" : \"\\u001b\xe2\x80\xae\" }");
    assert_string_equal(text, "{\"a\":\"\\u001b\\u202e\"}\n");

    static const char *const bad[] = {"",        "[]", "7", "{", "{\"a\":1", "{\"a\":1,\"a\":2}",
                                      "nonsense"};
    static print_fn *const printers[] = {agent_print_started, agent_print_stopped,
                                         agent_print_dumped,  agent_print_status,
                                         agent_print_memory,  agent_print_json};
    static const char *const strange[] = {"{}", "{\"status\":5,\"notes\":[]}",
                                          "{\"components\":{},\"total\":[],\"jvm\":1,\"rss\":null}",
                                          "{\"components\":[1,null,[]]}"};
    for (size_t p = 0; p < sizeof printers / sizeof printers[0]; p++) {
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
            assert_null(printed(printers[p], bad[i]));
        for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
            assert_non_null(printed(printers[p], strange[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status),
        cmocka_unit_test(what_it_may_cost),
        cmocka_unit_test(allocations_are_counted_by_chunks),
        cmocka_unit_test(missing_is_not_zero),
        cmocka_unit_test(stop_and_written),
        cmocka_unit_test(memory),
        cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests_name("agent_terminal", tests, NULL, NULL);
}
