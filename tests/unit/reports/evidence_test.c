/* One label a figure: every key that the analyzers give a finding has its row, and no row is left
 * over; terminal, Markdown, HTML and serve's page show that label. */
#include "reports/page/terminal.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct texts texts; /* of all findings here */

static const char *const KEYS[] = {
#define EVIDENCE(key, label) key,
#include "reports/page/evidence.def"
#undef EVIDENCE
};
#define KEY_COUNT (sizeof KEYS / sizeof *KEYS)

static char *load(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    assert_true(length < (1 << 20) - 1);
    fclose(file);
    return text;
}

/* The first literal of each finding_add_ call of a source. */
static int check_calls(const char *source, const char *path)
{
    int calls = 0;
    for (const char *at = source; (at = strstr(at, "finding_add_")) != NULL; at++) {
        const char *comma = strchr(at, ',');
        const char *quote = comma != NULL ? comma + 1 + strspn(comma + 1, " \n") : "";
        char key[64 + 2];
        if (sscanf(quote, "\"%63[a-z0-9_]\"", key) != 1)
            continue; /* a variable: its literals are found below */
        calls++;
        if (strncmp(at, "finding_add_listed", 18) == 0)
            strcat(key, "_1");
        if (evidence_label(key) == NULL)
            fail_msg("%s: \"%s\" is no row of reports/page/evidence.def", path, key);
    }
    return calls;
}

static void every_key_has_a_label(void **context)
{
    (void)context;
    glob_t found;
    int calls = 0;
    assert_int_equal(glob("analyzers/*/*.c", 0, NULL, &found), 0);
    assert_int_equal(glob("nmtwatch/*/*.c", GLOB_APPEND, NULL, &found), 0);
    bool used[KEY_COUNT] = {false};
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *source = load(found.gl_pathv[i]);
        calls += check_calls(source, found.gl_pathv[i]);
        for (size_t k = 0; k < KEY_COUNT; k++) {
            char literal[64];
            int length = (int)strlen(KEYS[k]); /* "mapping_1": finding_add_listed adds the number */
            if (KEYS[k][length - 1] >= '1' && KEYS[k][length - 1] <= '9')
                length -= 2;
            snprintf(literal, sizeof literal, "\"%.*s\"", length, KEYS[k]);
            used[k] = used[k] || strstr(source, literal) != NULL;
        }
        free(source);
    }
    globfree(&found);
    assert_true(calls > 100);
    for (size_t k = 0; k < KEY_COUNT; k++) {
        if (!used[k])
            fail_msg("reports/page/evidence.def: nobody uses \"%s\"", KEYS[k]);
    }
}

static void no_key_has_two_rows(void **context)
{
    (void)context;
    for (size_t k = 1; k < KEY_COUNT; k++)
        assert_true(strcmp(KEYS[k - 1], KEYS[k]) < 0);
}

static void the_unit_stands_behind_the_figure(void **context)
{
    (void)context;
    struct finding finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_add_int(&finding, "slope_low_bytes_per_h", 1 << 20);
    finding_add_real(&finding, "rate_per_s", 20.11);
    finding_add_text(&finding, "new_in_2031_bytes", "text");
    struct evidence_text text = evidence_text(&finding.evidence[0]);
    assert_string_equal(text.label, "slope, at least");
    assert_string_equal(text.value, "+1 MB/h");
    assert_string_equal(evidence_text(&finding.evidence[1]).value, "20.1/s");
    assert_string_equal(evidence_text(&finding.evidence[2]).label, "new in 2031 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_a_label),
        cmocka_unit_test(no_key_has_two_rows),
        cmocka_unit_test(the_unit_stands_behind_the_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
