/* runbooks: each finding has a page, each page a title; sections are found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/judge/finding.h"
#include "reports/page/runbooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void no_link(const void *context, struct span target, char *out, size_t size)
{
    (void)context;
    snprintf(out, size, "%s", span_equals(target, SPAN_LITERAL("there")) ? "there" : "");
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

static char *html_of(struct span markdown)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    markdown_html(out, markdown, 3, no_link, NULL);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Every page as HTML: each element is closed, and no mark of Markdown is left outside of code. */
static void test_html(void **state)
{
    (void)state;
    static const char *const elements[] = {"p",  "ul", "ol",  "li",   "table", "tr",
                                           "td", "th", "pre", "code", "strong"};
    static const char *const marks[] = {"`", "**", "](", "\n#", "\n|", "\n* ", "\\_"};
    const struct runbook *page;
    for (size_t i = 0; (page = runbook_at(i)) != NULL; i++) {
        char *text = html_of(runbook_text(page));
        assert_int_equal(strncmp(text, "<h3>", 4), 0);
        for (size_t e = 0; e < sizeof elements / sizeof elements[0]; e++) {
            char bare[16], with[16], end[16];
            snprintf(bare, sizeof bare, "<%s>", elements[e]);
            snprintf(with, sizeof with, "<%s ", elements[e]);
            snprintf(end, sizeof end, "</%s>", elements[e]);
            if (count_of(text, bare) + count_of(text, with) != count_of(text, end))
                fail_msg("%s: %s", page->name, bare);
        }
        for (char *code; (code = strstr(text, "<code>")) != NULL;) {
            char *end = strstr(code, "</code>") + strlen("</code>");
            memmove(code, end, strlen(end) + 1);
        }
        for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++)
            if (strstr(text, marks[m]) != NULL)
                fail_msg("%s: %.80s", page->name, strstr(text, marks[m]));
        free(text);
    }
}

static void test_marks(void **state)
{
    (void)state;
    static const struct {
        const char *markdown, *html;
    } cases[] = {
        {"a `b*<c>*` **d *e* \\_f**",
         "<p>a <code>b*&lt;c&gt;*</code> <strong>d <em>e</em> _f</strong></p>\n"},
        {"2 * 3 [x] `open", "<p>2 * 3 [x] `open</p>\n"},
        {"[a `b`](there) [c](nowhere)", "<p><a href=\"there\">a <code>b</code></a> c</p>\n"},
        {"* one `a\n  b` more\n* two\nthen",
         "<ul>\n<li>one <code>a   b</code> more</li>\n<li>two</li>\n</ul>\n<p>then</p>\n"},
        {"    code\n\n    more\ntext",
         "<pre tabindex=\"0\"><code>code\n\nmore\n</code></pre>\n<p>text</p>\n"},
        {"```c\n**x**\n", "<pre tabindex=\"0\"><code>**x**\n</code></pre>\n"},
        {"| a | b |\n| -- | --: |\n| `x` \\| | 1 |",
         "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\">a</th>"
         "<th scope=\"col\" class=\"n\">b</th></tr></thead>\n<tbody>\n"
         "<tr><td><code>x</code> |</td><td class=\"n\">1</td></tr>\n</tbody></table></div>\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = html_of(span_from_cstr(cases[i].markdown));
        assert_string_equal(text, cases[i].html);
        free(text);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings), cmocka_unit_test(test_pages),
        cmocka_unit_test(test_sections), cmocka_unit_test(test_html),
        cmocka_unit_test(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
