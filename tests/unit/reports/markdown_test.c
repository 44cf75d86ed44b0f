#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/markdown.h"
#include "tests/unit/reports/story_fixture.h"

#include <string.h>

static void test_the_ticket_has_its_parts(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    struct markdown_picture pictures[] = {{"Classes", "classes.png"}};
    char *text = FIXTURE_PRINTED(assert_true(markdown_write(story, pictures, 1, out)));
    static const char *const parts[] = {
        "# nmtwatch: CRITICAL\n",
        "Classes of family groovy-shell",
        "![Classes](classes.png)",
        "2. **WARNING** `loader-growth` at 0:01:20, cleared at 0:08:20",
        "- the agent, outside of NMT: 1 MB at first, 3 MB at last",
        "- its jmethodIDs, inside of NMT: 512 KB at first, 512 KB at last",
        "| groovy-shell |",
        "| 10 800 |",
        "VM.class\\_hierarchy"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(text, parts[i]) == NULL)
            fail_msg("missing: %s", parts[i]);
    free(text);
    story_destroy(story);
}

/* Every row of a table has the columns of its head, whatever the names hold. */
static void test_hostile_names_do_not_break_tables(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    char *text = FIXTURE_PRINTED(assert_true(markdown_write(story, NULL, 0, out)));
    int wanted = 0, rows = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] != '|') {
            wanted = 0;
            continue;
        }
        int cells = 0;
        for (const char *at = line; *at != '\0'; at++)
            cells += *at == '|' && (at == line || at[-1] != '\\');
        if (wanted == 0)
            wanted = cells;
        assert_int_equal(cells, wanted);
        rows++;
    }
    assert_true(rows >= 12);
    free(text);
    story_destroy(story);
}

static void test_an_empty_story_is_a_ticket_too(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    char *text = FIXTURE_PRINTED(assert_true(markdown_write(story, NULL, 0, out)));
    assert_non_null(strstr(text, "# nmtwatch: UNKNOWN\n"));
    assert_non_null(strstr(text, "None was raised."));
    free(text);
    story_destroy(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_ticket_has_its_parts),
        cmocka_unit_test(test_hostile_names_do_not_break_tables),
        cmocka_unit_test(test_an_empty_story_is_a_ticket_too),
    };
    return cmocka_run_group_tests_name("reports/markdown", tests, NULL, NULL);
}
