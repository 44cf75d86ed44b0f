#include "reports/json/event_json.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <time.h>

static struct texts texts; /* of all findings here */

static struct json_out out;
static struct event_line line;
static char error[300];

static enum event_line_kind read_back(const char *text)
{
    error[0] = '\0';
    assert_non_null(text);
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
    return event_json_read(text, strlen(text), &line, error, sizeof error);
}

static enum event_line_kind read_text(const char *text)
{
    error[0] = '\0';
    return event_json_read(text, strlen(text), &line, error, sizeof error);
}

static void test_header_comes_back(void **state)
{
    struct recording_header header = {
        .wall_start_ms = INT64_C(1754556000123),
        .warmup_s = -1,
        .target = {4711, 1, 123456789, 5000, 17, "17.0.19+10-Debian", "org.example.Main",
                   "summary"},
    };
    (void)state;

    thresholds_default(&header.thresholds);
    header.thresholds.value[TH_FAMILY_LOADS] = 77;
    assert_int_equal(read_back(event_json_header(&out, &header)), EVENT_LINE_HEADER);
    assert_int_equal(line.header.schema, EVENT_JSON_SCHEMA);
    assert_string_equal(line.header.nmtwatch, NMTWATCH_VERSION);
    assert_int_equal(line.header.wall_start_ms, header.wall_start_ms);
    assert_int_equal(line.header.warmup_s, -1);
    assert_memory_equal(&line.header.target, &header.target, sizeof header.target);
    assert_memory_equal(&line.header.thresholds, &header.thresholds, sizeof header.thresholds);
}

/* Every field and category alone, and all together, with values at the ends of int64_t. */
static void test_samples_come_back_bit_by_bit(void **state)
{
    static const int64_t VALUES[] = {0, 1, -1, 4096, INT64_MAX, INT64_MIN};
    struct event all = {.kind = EVENT_SAMPLE, .ms = 99};
    (void)state;

    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        struct event event = {.kind = EVENT_SAMPLE, .ms = i};
        sample_set(&event.sample, (enum sample_field)i, VALUES[i % 6]);
        sample_set(&all.sample, (enum sample_field)i, VALUES[i % 6]);
        assert_int_equal(read_back(event_json_event(&out, 7, &event, NULL)), EVENT_LINE_EVENT);
        assert_memory_equal(&line.event.sample, &event.sample, sizeof event.sample);
        assert_int_equal(line.pid, 7);
    }
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        struct event event = {.kind = EVENT_SAMPLE};
        struct nmt_amount amount = {VALUES[i % 6], VALUES[(i + 1) % 6]};
        sample_set_nmt(&event.sample, (enum nmt_category)i, amount);
        sample_set_nmt(&all.sample, (enum nmt_category)i, amount);
        assert_int_equal(read_back(event_json_event(&out, 7, &event, NULL)), EVENT_LINE_EVENT);
        assert_memory_equal(&line.event.sample, &event.sample, sizeof event.sample);
    }
    for (int i = 0; i < SAMPLE_EXTRA_CATEGORIES; i++) {
        snprintf(all.sample.extra[i].name, sizeof all.sample.extra[i].name, "New \"%d\"", i);
        all.sample.extra[i].amount = (struct nmt_amount){i, 2 * i};
        all.sample.extra_count++;
    }
    assert_int_equal(read_back(event_json_event(&out, 7, &all, NULL)), EVENT_LINE_EVENT);
    assert_memory_equal(&line.event.sample, &all.sample, sizeof all.sample);
    assert_int_equal(line.event.ms, 99);
}

static void test_an_empty_sample_stays_empty(void **state)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = 5};
    (void)state;

    assert_string_equal(event_json_event(&out, 9, &event, NULL),
                        "{\"type\":\"tick\",\"ms\":5,\"pid\":9}\n");
    assert_int_equal(read_back(out.text), EVENT_LINE_EVENT);
    assert_false(sample_has_nmt(&line.event.sample));
    assert_int_equal(line.event.sample.present, 0);
}

static void test_derived_values_are_for_people(void **state)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = 5};
    struct judge_view view = {.warm = true,
                              .have_rates = true,
                              .load_per_s = 20.126,
                              .unload_per_s = -0.004,
                              .net_per_s = NAN,
                              .have_internal = true,
                              .internal_growth_bytes = -5};
    (void)state;

    assert_string_equal(event_json_event(&out, 9, &event, &view),
                        "{\"type\":\"tick\",\"ms\":5,\"pid\":9,\"warm\":true,\"load_per_s\":20.13,"
                        "\"unload_per_s\":0.00,\"net_per_s\":null,\"internal_growth_bytes\":-5}\n");
    assert_int_equal(read_back(out.text), EVENT_LINE_EVENT);
    assert_int_equal(line.event.sample.present, 0);
    view.baseline_ms = -1; /* growth since nothing is not zero */
    assert_null(strstr(event_json_event(&out, 9, &event, &view), "growth"));
}

static void fill(char *field, size_t size, const char *piece)
{
    size_t length = strlen(piece), at = 0;

    for (; at + length < size; at += length)
        memcpy(field + at, piece, length);
    field[at] = '\0';
}

static void test_hostile_names_come_back(void **state)
{
    static struct family_row rows[EVENT_ROWS_MAX];
    static const char *const PIECES[] = {"\"\\", "\n\033", "\xe2\x80\xae", "\xf0\x9f\x98\x80", "x"};
    struct event event = {.kind = EVENT_NAMES, .ms = 1};
    (void)state;

    event.names =
        (struct names_event){CENSUS_CLASS_HIERARCHY, 3, true, 9, 8, 7, 6, EVENT_ROWS_MAX, rows};
    for (int i = 0; i < EVENT_ROWS_MAX; i++) {
        const char *piece = PIECES[i % 5];
        memset(&rows[i], 0, sizeof rows[i]);
        fill(rows[i].family, sizeof rows[i].family, piece);
        fill(rows[i].stem, sizeof rows[i].stem, piece);
        fill(rows[i].example, sizeof rows[i].example, piece); /* source stays empty */
        rows[i].loads = i;
        rows[i].unloads = 2 * i;
        rows[i].names = 3 * i;
        rows[i].max_same_name = 4 * i;
        rows[i].repeating = 5 * i;
    }
    assert_int_equal(read_back(event_json_event(&out, 1, &event, NULL)), EVENT_LINE_EVENT);
    assert_int_equal(line.event.names.row_count, EVENT_ROWS_MAX);
    for (int i = 0; i < EVENT_ROWS_MAX; i++) {
        const struct family_row *row = &line.event.names.rows[i];
        assert_string_equal(row->family, rows[i].family);
        assert_string_equal(row->stem, rows[i].stem);
        assert_string_equal(row->example, rows[i].example);
        assert_int_equal(row->repeating, rows[i].repeating);
    }
    assert_int_equal(line.event.names.method, CENSUS_CLASS_HIERARCHY);
    assert_true(line.event.names.last);
    assert_int_equal(line.event.names.lost_bytes, 6);
}

/* Bytes that are not UTF-8 grow on the way out; what was written is still what comes back, and
 * writing that again gives the same line. */
static void test_bad_bytes_are_written_once_and_for_all(void **state)
{
    struct family_row row = {.loads = 1};
    struct event event = {.kind = EVENT_NAMES, .names = {.row_count = 1, .rows = &row}};
    char first[8192];
    (void)state;

    fill(row.family, sizeof row.family, "\xff");
    fill(row.stem, sizeof row.stem, "\xed\xa0\x80");
    snprintf(first, sizeof first, "%s", event_json_event(&out, 1, &event, NULL));
    assert_int_equal(read_back(first), EVENT_LINE_EVENT);
    struct event again = line.event;
    assert_string_equal(event_json_event(&out, 1, &again, NULL), first);
}

static void test_loaders_cost_and_words_come_back(void **state)
{
    struct loader_row rows[] = {{"groovy.lang.GroovyClassLoader$InnerLoader", 3, 2, 1},
                                {"<boot>", 1, 3000, 1 << 20}};
    struct event event = {.kind = EVENT_LOADERS, .ms = 4, .loaders = {4, 3002, 99, 2, rows}};
    (void)state;

    assert_int_equal(read_back(event_json_event(&out, 1, &event, NULL)), EVENT_LINE_EVENT);
    assert_int_equal(line.event.kind, EVENT_LOADERS);
    assert_int_equal(line.event.loaders.classes, 3002);
    assert_int_equal(line.event.loaders.row_count, 2);
    assert_memory_equal(&line.event.loaders.rows[1], &rows[1], sizeof rows[1]);

    static struct histogram_class classes[HISTOGRAM_ROWS_MAX] = {
        {"[B", "", 1, 9, 900, -3, -300}, {"Gen#", "unknown:Gen#", 8, 8, 128, 2, 32}};
    event = (struct event){.kind = EVENT_HISTOGRAM,
                           .ms = 5,
                           .histogram = {1, 2, 17, 1028, HISTOGRAM_ROWS_MAX, classes}};
    assert_int_equal(read_back(event_json_event(&out, 1, &event, NULL)), EVENT_LINE_EVENT);
    assert_int_equal(line.event.histogram.instances, 17);
    assert_int_equal(line.event.histogram.row_count, HISTOGRAM_ROWS_MAX);
    assert_memory_equal(line.event.histogram.rows, classes, sizeof classes);

    static struct caller_row callers[EVENT_ROWS_MAX] = {{"com.acme.Foo$$EnhancerByCGLIB$$*",
                                                         "com.acme.Rules.eval:88",
                                                         "net.sf.cglib.Enhancer.create:9", 60, 59}};
    event = (struct event){.kind = EVENT_CALLERS,
                           .ms = 6,
                           .callers = {true, 1, 5000, 70, "no", EVENT_ROWS_MAX, callers}};
    assert_int_equal(read_back(event_json_event(&out, 1, &event, NULL)), EVENT_LINE_EVENT);
    assert_true(line.event.callers.last);
    assert_int_equal(line.event.callers.classes, 70);
    assert_memory_equal(line.event.callers.rows, callers, sizeof callers);

    static struct method_family families[EVENT_ROWS_MAX] = {{"Gen#", 8, 120},
                                                            {"java.lang.*", 3, 9}};
    event = (struct event){.kind = EVENT_METHODS, .methods = {2, 11, 129, 8, 120, 2, families}};
    assert_int_equal(read_back(event_json_event(&out, 1, &event, NULL)), EVENT_LINE_EVENT);
    assert_int_equal(line.event.methods.own_methods, 120);
    assert_int_equal(line.event.methods.row_count, 2);
    assert_memory_equal(line.event.methods.rows, families, sizeof families);

    event = (struct event){.kind = EVENT_COST, .cost = {"VM.classes", 20000, -1, "over budget"}};
    assert_int_equal(read_back(event_json_event(&out, 1, &event, NULL)), EVENT_LINE_EVENT);
    assert_memory_equal(&line.event.cost, &event.cost, sizeof event.cost);

    event = (struct event){.kind = EVENT_GONE};
    fill(event.text, sizeof event.text, "\xe2\x82\xac");
    assert_int_equal(read_back(event_json_event(&out, 1, &event, NULL)), EVENT_LINE_EVENT);
    assert_int_equal(line.event.kind, EVENT_GONE);
    assert_string_equal(line.event.text, event.text);
}

static void test_alerts_come_back(void **state)
{
    struct alert alert = {.state = ALERT_CLEARED, .ms = 41000, .started_ms = 1000};
    (void)state;

    alert.finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_family(&alert.finding, "groovy-shell");
    finding_add_int(&alert.finding, "loads", 824);
    finding_add_real(&alert.finding, "rate_per_s", 20.25);
    finding_add_text(&alert.finding, "example", "Script1|\"<b>");
    assert_int_equal(read_back(event_json_alert(&out, 5, &alert)), EVENT_LINE_ALERT);
    assert_int_equal(line.alert.state, ALERT_CLEARED);
    assert_int_equal(line.alert.ms, 41000);
    assert_int_equal(line.alert.started_ms, 1000);
    const struct finding *back = &line.alert.finding;
    assert_int_equal(back->kind, alert.finding.kind);
    assert_int_equal(back->severity, alert.finding.severity);
    assert_string_equal(back->family, "groovy-shell");
    assert_string_equal(back->title, alert.finding.title);
    assert_string_equal(back->advice, alert.finding.advice);
    assert_int_equal(back->evidence_count, 3);
    assert_int_equal(finding_evidence(back, "loads")->number, 824);
    assert_true(finding_evidence(back, "rate_per_s")->real == 20.25);
    assert_string_equal(finding_evidence(back, "example")->text, "Script1|\"<b>");

    alert.finding.family = "";
    assert_non_null(strstr(event_json_alert(&out, 5, &alert), "\"family\":null"));
    assert_int_equal(read_back(out.text), EVENT_LINE_ALERT);
    assert_string_equal(line.alert.finding.family, "");

    json_out_reset(&out);
    finding_json(&out, NULL, &alert.finding);
    size_t length;
    assert_null(strstr(json_out_line(&out, &length), "\"family\""));
}

static void test_end_comes_back(void **state)
{
    struct watch_cost cost = {120, 5 << 20, 600, 4200, 1, {{"VM.classes", 1, 2, 4200}}};
    (void)state;

    assert_int_equal(read_back(event_json_end(&out, 600000, &cost)), EVENT_LINE_END);
    assert_int_equal(line.ms, 600000);
    assert_memory_equal(&line.cost, &cost, sizeof cost);
}

static void test_unknown_things_are_passed_over(void **state)
{
    (void)state;

    assert_int_equal(read_text("{\"type\":\"weather\",\"ms\":1}"), EVENT_LINE_UNKNOWN);
    assert_int_equal(read_text("{\"type\":\"tick\",\"ms\":1,\"new\":{},\"rss_bytes\":2}"),
                     EVENT_LINE_EVENT);
    assert_int_equal(line.event.sample.value[SAMPLE_RSS_BYTES], 2);
    assert_int_equal(read_text("{\"type\":\"alert\",\"ms\":1,\"started_ms\":1,\"state\":\"raised\","
                               "\"id\":\"of-tomorrow\"}"),
                     EVENT_LINE_UNKNOWN);
    assert_int_equal(read_text("{\"type\":\"header\",\"schema\":2}"), EVENT_LINE_HEADER);
    assert_int_equal(line.header.schema, 2);
}

static void test_wrong_things_are_named(void **state)
{
    static const struct {
        const char *text, *named;
    } CASES[] = {
        {"", "not JSON"},
        {"[]", "not a JSON object"},
        {"{\"type\":\"tick\",\"ms\":1", "not JSON"},
        {"{\"type\":\"tick\",\"ms\":1} x", "not JSON"},
        {"{\"ms\":1}", "\"type\""},
        {"{\"type\":7}", "\"type\""},
        {"{\"type\":\"tick\"}", "\"ms\" is missing"},
        {"{\"type\":\"tick\",\"ms\":\"1\"}", "\"ms\" is not an integer"},
        {"{\"type\":\"tick\",\"ms\":1.5}", "\"ms\" is not an integer"},
        {"{\"type\":\"tick\",\"ms\":99999999999999999999}", "not JSON"},
        {"{\"type\":\"tick\",\"ms\":1,\"rss_bytes\":null}", "\"rss_bytes\""},
        {"{\"type\":\"tick\",\"ms\":1,\"nmt\":[]}", "\"nmt\""},
        {"{\"type\":\"tick\",\"ms\":1,\"nmt\":{\"GC\":5}}", "\"reserved_bytes\""},
        {"{\"type\":\"note\",\"ms\":1}", "\"text\""},
        {"{\"type\":\"names\",\"ms\":1,\"method\":\"guess\"}", "\"method\""},
        {"{\"type\":\"loaders\",\"ms\":1,\"loaders\":1,\"classes\":1,\"chunk_bytes\":1,"
         "\"types\":[1]}",
         "\"types\""},
        {"{\"type\":\"alert\",\"ms\":1,\"started_ms\":1,\"state\":\"odd\"}", "\"state\""},
        {"{\"type\":\"end\",\"ms\":1}", "\"cost\""},
        {"{\"type\":\"header\",\"schema\":1}", "\"nmtwatch\""},
    };
    (void)state;

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        assert_int_equal(read_text(CASES[i].text), EVENT_LINE_MALFORMED);
        if (strstr(error, CASES[i].named) == NULL)
            fail_msg("'%s' does not name %s", error, CASES[i].named);
        assert_null(strchr(error, '\n'));
    }
}

/* No prefix and no flipped bit of a line does harm. */
static void test_damaged_lines_are_survived(void **state)
{
    struct family_row row = {.family = "groovy-shell", .stem = "Script#", .loads = 5};
    struct event event = {.kind = EVENT_NAMES, .ms = 3, .names = {.row_count = 1, .rows = &row}};
    char text[4096];
    (void)state;

    snprintf(text, sizeof text, "%s", event_json_event(&out, 1, &event, NULL));
    size_t length = strlen(text) - 1;
    for (size_t i = 0; i < length; i++)
        assert_int_equal(event_json_read(text, i, &line, error, sizeof error),
                         EVENT_LINE_MALFORMED);
    for (size_t i = 0; i < length * 8; i++) {
        text[i / 8] ^= (char)(1 << i % 8);
        event_json_read(text, length, &line, error, sizeof error);
        text[i / 8] ^= (char)(1 << i % 8);
    }
}

/* A tick with everything in it takes well below a millisecond: the bound is far above what it
 * takes (about 10 us), for slow machines and sanitizers. */
static void test_a_tick_is_cheap(void **state)
{
    struct event event = {.kind = EVENT_SAMPLE};
    struct timespec begin, end;
    (void)state;

    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++)
        sample_set(&event.sample, (enum sample_field)i, 123456789);
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++)
        sample_set_nmt(&event.sample, (enum nmt_category)i, (struct nmt_amount){1 << 28, 1 << 27});
    event_json_event(&out, 1, &event, NULL);
    size_t capacity = out.capacity;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int i = 0; i < 1000; i++)
        event_json_event(&out, 1, &event, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    double us =
        (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    print_message("a full tick: %zu bytes, %.1f us\n", out.length, us);
    assert_true(us < 1000);
    assert_int_equal(out.capacity, capacity);
}

static int free_buffer(void **state)
{
    (void)state;
    json_out_free(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_comes_back),
        cmocka_unit_test(test_samples_come_back_bit_by_bit),
        cmocka_unit_test(test_an_empty_sample_stays_empty),
        cmocka_unit_test(test_derived_values_are_for_people),
        cmocka_unit_test(test_hostile_names_come_back),
        cmocka_unit_test(test_bad_bytes_are_written_once_and_for_all),
        cmocka_unit_test(test_loaders_cost_and_words_come_back),
        cmocka_unit_test(test_alerts_come_back),
        cmocka_unit_test(test_end_comes_back),
        cmocka_unit_test(test_unknown_things_are_passed_over),
        cmocka_unit_test(test_wrong_things_are_named),
        cmocka_unit_test(test_damaged_lines_are_survived),
        cmocka_unit_test(test_a_tick_is_cheap),
    };
    return cmocka_run_group_tests_name("reports/event_json", tests, NULL, free_buffer);
}
