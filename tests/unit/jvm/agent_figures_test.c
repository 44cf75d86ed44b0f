/* agent_figures: what is believed of the file that an agent publishes, and what is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "floor/wire/wire_formats.h"
#include "nmtwatch/jvm/agent_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PID 4711

static struct target target;
static char tmp[96], path[128];

static struct published honest(void)
{
    struct published published = {
        .start_time_ticks = 99,
        .reserved_bytes = 3000000,
        .resident_bytes = 2000000,
        .jmethod_id_bytes = 1000000,
        .methods = {.methods = 31000,
                    .classes = 2000,
                    .family_count = 2,
                    .family = {{"java.lang", 300, 9000}, {"com.acme.Gen#", 1000, 8000}}}};
    memcpy(published.magic, PUBLISHED_MAGIC, sizeof published.magic);
    published.checksum = published_checksum(&published);
    return published;
}

static void save(const struct published *published, size_t size)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(published, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* -1: missing. */
static int64_t resident(void)
{
    struct sample sample;
    int64_t value = -1;
    sample_clear(&sample);
    agent_figures_sample(&target, &sample);
    sample_get(&sample, SAMPLE_AGENT_RESIDENT_BYTES, &value);
    assert_true(value != -1 || sample.present == 0);
    return value;
}

static void is_read(void **state)
{
    (void)state;
    struct published published = honest();
    struct sample sample;
    int64_t value;
    save(&published, sizeof published);
    sample_clear(&sample);
    agent_figures_sample(&target, &sample);
    assert_true(sample_get(&sample, SAMPLE_AGENT_RESERVED_BYTES, &value));
    assert_int_equal(value, 3000000);
    struct kept_methods methods;
    assert_true(agent_figures_methods(&target, &methods));
    assert_int_equal(methods.event.methods, 31000);
    assert_int_equal(methods.event.row_count, 2);
    assert_string_equal(methods.event.rows[1].family, "com.acme.Gen#");
    assert_int_equal(methods.event.rows[1].methods, 8000);
    published.methods.family_count = INT64_MAX; /* a liar's */
    memset(published.methods.family[0].name, 'x', sizeof published.methods.family[0].name);
    published.checksum = published_checksum(&published);
    save(&published, sizeof published);
    assert_true(agent_figures_methods(&target, &methods));
    assert_int_equal(methods.event.row_count, PUBLISHED_FAMILIES);
    assert_int_equal(strlen(methods.event.rows[0].family), sizeof published.methods.family[0].name);
    published.methods.methods = -1;
    published.checksum = published_checksum(&published);
    save(&published, sizeof published);
    assert_false(agent_figures_methods(&target, &methods));
    published = honest();
    save(&published, sizeof published);
    assert_true(sample_get(&sample, SAMPLE_AGENT_RESIDENT_BYTES, &value));
    assert_int_equal(value, 2000000);
    assert_true(sample_get(&sample, SAMPLE_AGENT_JMETHOD_ID_BYTES, &value));
    assert_int_equal(value, 1000000);
    assert_true(sample_get(&sample, SAMPLE_AGENT_BREAKER, &value));
    assert_int_equal(value, 0);
}

static void why_the_breaker_tripped(void **state)
{
    (void)state;
    struct published published = honest();
    char reason[200] = "untouched", small[5];
    save(&published, sizeof published);
    assert_false(agent_figures_reason(&target, reason, sizeof reason));
    published.breaker_state = 2;
    memset(published.breaker_reason, 'x', sizeof published.breaker_reason); /* without an end */
    published.checksum = published_checksum(&published);
    save(&published, sizeof published);
    assert_true(agent_figures_reason(&target, reason, sizeof reason));
    assert_int_equal(strlen(reason), sizeof published.breaker_reason);
    assert_true(agent_figures_reason(&target, small, sizeof small));
    assert_string_equal(small, "xxxx");
    assert_int_equal(resident(), 2000000);
    published.breaker_state = 5; /* of an agent to come */
    published.checksum = published_checksum(&published);
    save(&published, sizeof published);
    assert_int_equal(resident(), -1);
    assert_false(agent_figures_reason(&target, reason, sizeof reason));
}

static void without_an_agent_it_is_missing(void **state)
{
    (void)state;
    unlink(path);
    assert_int_equal(resident(), -1);
}

static void of_another_process_it_is_missing(void **state)
{
    (void)state;
    struct published published = honest();
    published.start_time_ticks = 98;
    published.checksum = published_checksum(&published);
    save(&published, sizeof published);
    assert_int_equal(resident(), -1);
}

static void half_written_or_lying_it_is_missing(void **state)
{
    (void)state;
    struct published published = honest();
    published.resident_bytes++; /* read between two writes */
    save(&published, sizeof published);
    assert_int_equal(resident(), -1);
    published.resident_bytes = -5;
    published.checksum = published_checksum(&published);
    save(&published, sizeof published);
    assert_int_equal(resident(), -1);
    published = honest();
    published.magic[7]++;
    published.checksum = published_checksum(&published);
    save(&published, sizeof published);
    assert_int_equal(resident(), -1);
    published = honest();
    save(&published, sizeof published - 1);
    assert_int_equal(resident(), -1);
    save(&published, 0);
    assert_int_equal(resident(), -1);
    char longer[sizeof published + 1] = "";
    memcpy(longer, &published, sizeof published);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fwrite(longer, 1, sizeof longer, file);
    fclose(file);
    assert_int_equal(resident(), -1);
}

static void what_is_not_a_file_of_its_own_is_missing(void **state)
{
    (void)state;
    struct published published = honest();
    char real[160];
    save(&published, sizeof published);
    assert_int_equal(resident(), 2000000);
    target.uid++;
    assert_int_equal(resident(), -1);
    target.uid--;
    snprintf(real, sizeof real, "%s.real", path);
    assert_int_equal(rename(path, real), 0);
    assert_int_equal(symlink(real, path), 0);
    assert_int_equal(resident(), -1);
    unlink(path);
    unlink(real);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes: it must not wait either */
    assert_int_equal(resident(), -1);
    unlink(path);
}

static int set_up(void **state)
{
    (void)state;
    target = (struct target){.pid = 1, .nspid = PID, .uid = geteuid(), .start_time_ticks = 99};
    snprintf(target.root, sizeof target.root, "/tmp/nmtwatch-figures.XXXXXX");
    if (mkdtemp(target.root) == NULL)
        return -1;
    snprintf(tmp, sizeof tmp, "%s/tmp", target.root);
    snprintf(target.tmp, sizeof target.tmp, "%s", tmp);
    snprintf(path, sizeof path, "%s" PUBLISHED_PATH, target.root, PID);
    return mkdir(tmp, 0700);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    rmdir(tmp);
    return rmdir(target.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read),
        cmocka_unit_test(why_the_breaker_tripped),
        cmocka_unit_test(without_an_agent_it_is_missing),
        cmocka_unit_test(of_another_process_it_is_missing),
        cmocka_unit_test(half_written_or_lying_it_is_missing),
        cmocka_unit_test(what_is_not_a_file_of_its_own_is_missing),
    };
    return cmocka_run_group_tests_name("jvm/agent_figures", tests, set_up, tear_down);
}
