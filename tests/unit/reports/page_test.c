#include "reports/page.h"

#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define HOSTILE "<script>alert(1)</script>|[x](http://e.vil)\n\x1b[31mred\xe2\x80\xae"

typedef bool writer(const struct page *page, FILE *out);

static bool to_terminal(const struct page *page, FILE *out)
{
    const struct terminal terminal = {.out = out, .width = 80};
    return page_terminal(page, &terminal);
}

static char *written(const struct page *page, writer *write)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_true(write(page, out));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strlen(text), length);
    return text;
}

static void fill(struct page *page)
{
    static const char *const heads[] = {"family", "#classes", NULL};
    struct finding finding;
    finding_init(&finding, FINDING_CLASS_EXPLOSION);
    snprintf(finding.family, sizeof finding.family, "%s", "unknown:" HOSTILE);
    snprintf(finding.title, sizeof finding.title, "%s", "explosion of " HOSTILE);
    finding_add_text(&finding, "example", HOSTILE);
    finding_add_int(&finding, "loads", 1200);
    page_begin(page, "title " HOSTILE, "CRITICAL", SEVERITY_CRITICAL);
    page_heading(page, "Findings");
    page_finding(page, &finding);
    page_heading(page, "Names");
    page_text(page, "%s is one", HOSTILE);
    page_table(page, heads);
    page_row(page, HOSTILE, "1200");
    page_row(page, "plain.Name", "7");
    assert_false(page->failed);
}

static void hostile_names_do_nothing(void **state)
{
    (void)state;
    static writer *const writers[] = {to_terminal, page_markdown, page_html};
    struct page page;
    fill(&page);
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        char *text = written(&page, writers[i]);
        assert_null(strchr(text, '\x1b'));
        assert_null(strstr(text, "\xe2\x80\xae"));
        assert_non_null(strstr(text, "plain.Name"));
        assert_non_null(strstr(text, "1200"));
        if (writers[i] != to_terminal)
            assert_null(strstr(text, "<script>alert"));
        if (writers[i] == page_markdown) {
            assert_null(strstr(text, "[x](http"));
            char *row = strstr(text, "plain.Name");
            while (row > text && row[-1] != '\n')
                row--;
            int bars = 0; /* a row has as many cells as the table, whatever is in them */
            for (const char *at = row; *at != '\n'; at++)
                bars += *at == '|' && (at == row || at[-1] != '\\');
            assert_int_equal(bars, 3);
        }
        free(text);
    }
    page_free(&page);
}

static void the_three_say_the_same(void **state)
{
    (void)state;
    static writer *const writers[] = {to_terminal, page_markdown, page_html};
    struct page page;
    page_begin(&page, "one title", "OK", SEVERITY_INFO);
    page_heading(&page, "One heading");
    page_text(&page, "%d sentences.", 3);
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        char *text = written(&page, writers[i]);
        assert_non_null(strstr(text, "one title"));
        assert_non_null(strstr(text, "One heading"));
        assert_non_null(strstr(text, "3 sentences."));
        free(text);
    }
    page_free(&page);
}

static void a_page_of_nothing(void **state)
{
    (void)state;
    struct page page;
    page_begin(&page, "t", "OK", SEVERITY_INFO);
    page_row(&page, "no table is there"); /* ignored */
    char *text = written(&page, page_html);
    assert_non_null(strstr(text, "</html>"));
    free(text);
    page_free(&page);
    page_free(&page); /* twice is no harm */
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    struct page page;
    if (full == NULL)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    fill(&page);
    assert_false(page_markdown(&page, full));
    clearerr(full);
    assert_false(page_html(&page, full));
    fclose(full);
    page_free(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_names_do_nothing),
        cmocka_unit_test(the_three_say_the_same),
        cmocka_unit_test(a_page_of_nothing),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
