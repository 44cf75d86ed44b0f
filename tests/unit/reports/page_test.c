#include "reports/page/page.h"
#include "tests/unit/skip.h"

#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct texts texts; /* of all findings here */

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
    struct finding finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_family(&finding, "unknown:" HOSTILE);
    finding_title(&finding, "%s", "explosion of " HOSTILE);
    finding_add_text(&finding, "example", HOSTILE);
    finding_add_int(&finding, "loads", 1200);
    page_begin(page, "title " HOSTILE, "CRITICAL", SEVERITY_CRITICAL);
    page_heading(page, "Findings");
    page_finding(page, &finding);
    page_heading(page, "Names");
    page_text(page, "%s is one", HOSTILE);
    page_table(page, "family", "#classes");
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

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

static void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("missing: %s in\n%s", part, text);
}

static void fill_every_block(struct page *page)
{
    struct finding finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_add_int(&finding, "max_same_name", 3);
    page_begin(page, "title", "UNKNOWN", SEVERITY_INFO);
    page_set_tone(page, PAGE_UNKNOWN);
    page_set_name(page, "window");
    page_lead(page, "the lead");
    page_origin(page, "from %d", 7);
    page_footer(page, "the footer");
    page_runbooks(page, "javascript:alert(1)");
    page_link(page, "metrics", "/metrics?a=\"b\"");
    page_text(page, "a box");
    page_tone(page, PAGE_WARNING);
    page_code(page, "java -Xmx64m %s", "<Main>");
    page_facts(page);
    page_fact(page, "name", "value of a fact");
    page_fact(page, "nothing", "");
    page_finding(page, &finding);
    page_finding_number(page, 2);
    page_finding_about(page, "orders", "#t1");
    page_finding_when(page, "for %d s", 5);
    page_table(page, "who", "#rate");
    page_row(page, "first", "12.5");
    page_row_tone(page, PAGE_CRITICAL);
    page_row_fact(page, "producer", "a generator");
    page_cell_link(page, 0, "#t1");
    page_cell_note(page, 1, PAGE_CRITICAL, "growing");
    page_cell_chart(page, 1, "<svg class=\"spark\"></svg>");
    page_cell_note(page, 2, PAGE_PLAIN, "no such column");
    page_row(page, "second", "");
    page_chart(page, "Chart", "its caption", "<?xml?><svg><g id=\"a\"/></svg>", "chart.png");
    page_details(page, "summary", true);
    page_anchor(page, "t%d", 1);
    page_tone(page, PAGE_OK);
    page_text(page, "folded");
    page_details_end(page);
    assert_false(page->failed);
}

static void every_block_in_html(void **state)
{
    (void)state;
    struct page page;
    fill_every_block(&page);
    char *text = written(&page, page_html);
    static const char *const parts[] = {
        "<title>window</title>",
        "<header class=\"unknown\">",
        "<p class=\"advice\">the lead</p>",
        "from 7",
        "<a href=\"/metrics?a=&quot;b&quot;\">metrics</a>",
        "<p class=\"box warning\">a box</p>",
        "<pre tabindex=\"0\"><code>java -Xmx64m &lt;Main&gt;</code></pre>",
        "<dt>name</dt><dd>value of a fact</dd>",
        "<span class=\"num\">2</span> <a href=\"#t1\">orders</a>: ",
        ", for 5 s",
        "<dt>most of one name</dt><dd>3</dd>",
        "<dt>runbook</dt><dd><a href=\"#runbook-class-explosion\">class explosion</a> "
        "(<code>nmtwatch explain class-explosion</code>)</dd>",
        "<h3 id=\"runbook-class-explosion\">class explosion</h3>",
        "<a href=\"#t1\">first</a>",
        "<small class=\"critical\">growing</small>",
        "<svg class=\"spark\"></svg>",
        "<dt>producer</dt><dd>a generator</dd>",
        "<g id=\"p1-a\"/>",
        "<figcaption>its caption</figcaption>",
        "<details class=\"ok\" open id=\"t1\">",
        "</details>",
        "<footer>the footer</footer>",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        has(text, parts[i]);
    assert_int_equal(count_of(text, "<meta http-equiv=\"Content-Security-Policy\""), 1);
    has(text, page_csp);
    assert_null(strstr(page_csp, "unsafe"));
    assert_null(strstr(text, " style="));
    assert_null(strstr(text, "javascript:"));
    assert_null(strstr(text, "<?xml"));
    assert_null(strstr(text, "no such column"));
    free(text);
    page_free(&page);
}

static void every_block_in_text(void **state)
{
    (void)state;
    struct page page;
    fill_every_block(&page);
    char *text = written(&page, page_markdown);
    static const char *const parts[] = {
        "# UNKNOWN: title\n\nthe lead\n\nfrom 7\n",
        "> a box\n",
        "    java -Xmx64m <Main>\n",
        "- name: value of a fact\n",
        "### 2. CRITICAL: orders: ",
        "`class-explosion`, for 5 s\n",
        "| most of one name | 3 |\n",
        "| who | rate |\n| -- | --: |\n| first | 12.5 |\n| second | - |\n",
        "**first**\n\n- producer: a generator\n",
        "![Chart](chart.png)\n\nits caption\n",
        "### summary\n\nfolded\n",
        "the footer\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        has(text, parts[i]);
    free(text);
    text = written(&page, to_terminal);
    static const char *const lines[] = {
        "UNKNOWN: title\n  the lead\n  from 7\n",
        "    java -Xmx64m <Main>\n",
        "  name:  value of a fact\n",
        "class-explosion, for 5 s\n  orders\n",
        "  most of one name:   3\n",
        "  who     rate\n  first   12.5\n    producer:  a generator\n  second      \n",
        "  Chart: chart.png\n",
        "\nsummary\n  folded\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        has(text, lines[i]);
    free(text);
    page_free(&page);
}

/* A finding is linked to the row, the section and the chart that show it, each of which is there; sections
 * have ids of their own, and a long page says what is on it. */
static void links_lead_somewhere(void **state)
{
    (void)state;
    struct finding finding;
    struct page page, other;
    finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_family(&finding, "groovy-shell");
    page_begin(&page, "title", "CRITICAL", SEVERITY_CRITICAL);
    page_heading(&page, "Findings");
    page_finding(&page, &finding);
    page_heading(&page, "Families: <all>");
    page_shows(&page, SUBJECT_CLASSES);
    page_table(&page, "family", "#classes");
    page_row(&page, "jdk-proxy", "1");
    page_row(&page, "groovy-shell", "7");
    page_heading(&page, "Loaded");
    page_shows(&page, SUBJECT_CLASSES | SUBJECT_HEAP);
    page_heading(&page, "Loaded");
    page_shows(&page, SUBJECT_HEAP);
    page_chart(&page, "Classes", "caption", "<svg></svg>", NULL);
    page_shows(&page, SUBJECT_CLASSES);
    char *text = written(&page, page_html);
    static const char *const parts[] = {
        "<a href=\"#table-1-row-2\">Families: &lt;all&gt;: groovy-shell</a>, "
        "<a href=\"#about-loaded\">Loaded</a>, <a href=\"#chart-classes\">chart: Classes</a></dd>",
        "<tr class=\"\" id=\"table-1-row-2\">",
        "<h2 id=\"about-families-all\">",
        "<h2 id=\"about-loaded-2\">",
        "<nav class=\"contents\" aria-label=\"Contents\">",
        "<li><a href=\"#about-loaded-2\">Loaded</a></li>",
        "<h3 id=\"family-groovy-shell\">family groovy-shell</h3>",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        has(text, parts[i]);
    int links = 0;
    for (const char *at = text; (at = strstr(at, "href=\"#")) != NULL; links++) {
        char id[200];
        at += strlen("href=\"#");
        snprintf(id, sizeof id, " id=\"%.*s", (int)strcspn(at, "\"") + 1, at);
        if (count_of(text, id) != 1)
            fail_msg("%d times%s", count_of(text, id), id);
    }
    assert_true(links > 10);
    free(text);

    /* Two pages in one file: one head, ids apart, each runbook once. */
    page_begin(&other, "other", "OK", SEVERITY_INFO);
    page_heading(&other, "Loaded");
    page_finding(&other, &finding);
    const struct page *const both[] = {&page, &other};
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_true(page_html_all(both, 2, out));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(count_of(text, "<title>"), 1);
    assert_int_equal(count_of(text, "<h3 id=\"runbook-class-explosion\">"), 1);
    has(text, "<li><a href=\"#page-2\">other</a></li>");
    has(text, "<h2 id=\"p2-about-loaded\">");
    free(text);
    page_free(&page);
    page_free(&other);
}

/* No text is cut, however long. */
static void long_texts_stay_whole(void **state)
{
    (void)state;
    static writer *const writers[] = {to_terminal, page_markdown, page_html};
    enum { LONG = 20000 };
    static char text[LONG + 5];
    struct page page;
    memset(text, 'x', LONG);
    memcpy(text + LONG, "END", 4);
    page_begin(&page, "t", "OK", SEVERITY_INFO);
    page_text(&page, "%s", text);
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        char *all = written(&page, writers[i]);
        has(all, "xEND");
        free(all);
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
        skip_because("refused: no /dev/full here");
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
        cmocka_unit_test(hostile_names_do_nothing), cmocka_unit_test(the_three_say_the_same),
        cmocka_unit_test(every_block_in_html),      cmocka_unit_test(every_block_in_text),
        cmocka_unit_test(long_texts_stay_whole),    cmocka_unit_test(a_page_of_nothing),
        cmocka_unit_test(a_full_disk_is_told),      cmocka_unit_test(links_lead_somewhere),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
