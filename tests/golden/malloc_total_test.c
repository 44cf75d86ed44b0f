/* What the RSS account takes for NMT's malloc is what the JVM itself prints as its total (17 on) */
#include "analyzers/native/rss_account.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const char *const captures[] = {
    "jdk17/nmt_summary.txt",
    "jdk17/gc_SerialGC_nmt_summary.txt",
    "jdk17/gc_ZGC_nmt_summary.txt",
    "jdk21/nmt_summary.txt",
    "jdk21/gc_ParallelGC_nmt_summary.txt",
    "jdk25/nmt_summary.txt",
    "jdk25/gc_ShenandoahGC_nmt_summary.txt",
};

static void malloc_adds_up_to_the_total(void **state)
{
    (void)state;
    static char text[1 << 16];
    static struct nmt_summary summary;
    for (size_t i = 0; i < sizeof captures / sizeof captures[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/golden/%s", captures[i]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        size_t length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[length] = '\0';
        const char *line = strstr(text, "\n       malloc: ");
        assert_non_null(line);
        int64_t total_kb = strtoll(line + 16, NULL, 10);
        size_t consumed;
        assert_int_equal(nmt_summary_parse(&summary, span_of(text, length), &consumed), PARSE_OK);
        struct rss_account account;
        rss_account_begin(&account, NULL, 0);
        rss_account_compare(&account, &summary, false);
        int64_t gap_kb = (account.nmt_malloc_bytes >> 10) - total_kb;
        if (gap_kb < -8 || gap_kb > 8) /* each category is rounded */
            fail_msg("%s: %lld KB from the total", captures[i], (long long)gap_kb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(malloc_adds_up_to_the_total)};
    return cmocka_run_group_tests_name("malloc_total", tests, NULL, NULL);
}
