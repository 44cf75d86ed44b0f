/* runbooks: each finding has a page, each page a title; sections are found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/judge/finding.h"
#include "nmtwatch/commands/runbooks.h"

#include <stdio.h>

static void test_findings(void **state)
{
    (void)state;
    for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
        const struct finding_row *row = finding_row((enum finding_kind)kind);
        const struct runbook *page = runbook_find(row->runbook);
        if (page == NULL)
            fail_msg("%s: no page %s", row->id, row->runbook);
        assert_true(runbook_text(page).len > 200);
        char id[80];
        snprintf(id, sizeof id, "%s", row->id);
        if (span_find(runbook_text(page), span_from_cstr(id)) < 0)
            fail_msg("%s is not named on its page", row->id);
    }
}

static void test_pages(void **state)
{
    (void)state;
    const struct runbook *page;
    size_t count = 0;
    for (; (page = runbook_at(count)) != NULL; count++) {
        struct span title = runbook_title(page);
        assert_true(title.len > 5 && title.ptr > page->begin && page->end[-1] == '\n');
        assert_ptr_equal(runbook_find(page->name), page);
    }
    assert_true(count > 8);
    assert_null(runbook_find(""));
}

static void test_sections(void **state)
{
    (void)state;
    const struct runbook *page = runbook_find("producers");
    struct span section = runbook_section(page, "groovy-shell");
    assert_true(span_starts_with(section, SPAN_LITERAL("## groovy-shell\n")));
    assert_true(span_find(section, SPAN_LITERAL("\n## ")) < 0);
    assert_true(span_find(section, SPAN_LITERAL("Parse each script text once")) > 0);
    assert_int_equal(runbook_section(page, "groovy-").len, 0);
    assert_int_equal(runbook_section(page, "").len, 0);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
