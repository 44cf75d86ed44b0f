#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/story/story.h"
#include "tests/unit/reports/story_fixture.h"
#include "tests/unit/skip.h"

#include <string.h>

typedef bool page_writer(const struct page *page, FILE *out);

static char *written(const struct story *story, const struct story_chart *pictures, int count,
                     const char *no_charts, page_writer *write)
{
    struct page page;
    story_page(story, pictures, count, no_charts, &page);
    char *text = FIXTURE_PRINTED(assert_true(write(&page, out)));
    page_free(&page);
    return text;
}

static char *page(const struct story *story, const struct story_chart *pictures, int count,
                  const char *no_charts)
{
    return written(story, pictures, count, no_charts, page_html);
}

static char *ticket(const struct story *story, const struct story_chart *pictures, int count)
{
    return written(story, pictures, count, NULL, page_markdown);
}

static void test_the_verdict_and_the_sections_are_there(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    char *html = page(story, NULL, 0, "Charts are left out: gnuplot is not installed.");
    static const char *const parts[] = {
        "<header class=\"critical\">",
        "Classes of family groovy-shell are generated without end",
        "gnuplot is not installed",
        "id=\"alert-3\"",
        "<dt>The agent, outside of NMT</dt><dd>1 MB → 3 MB</dd>",
        "Families of generated classes",
        "20.0/s",
        "groovy.lang.GroovyClassLoader$InnerLoader",
        "10 800",
        "predicted 260 ms",
        "internal_investigate_bytes",
        "class-load log switched on",
        "31 s into the watch",
        "</html>",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(html, parts[i]) == NULL)
            fail_msg("missing: %s", parts[i]);
    free(html);
    story_destroy(story);
}

/* Tags the page may hold are its own; every '<' of the target is an entity. */
static void test_foreign_text_is_escaped(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    snprintf(story->damage, sizeof story->damage, "<script>alert(1)</script>");
    snprintf(story->identity.jdk, sizeof story->identity.jdk, "17<img src=x onerror=alert(1)>");
    char *html = page(story, NULL, 0, NULL);
    static const char *const tags[] = {"<script", "<img", "<i>", "<b>", "<watched>", "<boot"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (strstr(html, tags[i]) != NULL)
            fail_msg("not escaped: %s", tags[i]);
    assert_non_null(strstr(html, "&lt;script&gt;"));
    assert_null(strchr(html, '\x1b'));
    free(html);
    story_destroy(story);
}

static void test_nothing_comes_from_the_network(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    char *html = page(story, NULL, 0, NULL);
    static const char *const ways[] = {"http://", "https://", "<link",
                                       "@import", "src=\"",   "src='"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strstr(html, ways[i]) != NULL)
            fail_msg("the page refers to something: %s", ways[i]);
    free(html);
    story_destroy(story);
}

static void test_ids_of_pictures_are_made_unique(void **state)
{
    (void)state;
    static const char svg[] =
        "<?xml version=\"1.0\"?>\n<svg viewBox='0 0 1 1'>\n<title>plot_1</title>"
        "<g id=\"canvas\"><circle id='dot'/><use xlink:href='#dot'/>"
        "<rect filter=\"url(#box)\"/></g></svg>";
    struct story *story = fixture_explosion();
    struct story_chart pictures[] = {{"One", "first", svg, NULL, 0},
                                     {"Two & more", "second", svg, NULL, 0}};
    char *html = page(story, pictures, 2, NULL);
    assert_null(strstr(html, "<?xml"));
    assert_null(strstr(html, "plot_1"));
    assert_non_null(strstr(html, "aria-label=\"Two &amp; more\""));
    for (int i = 2; i <= 3; i++) { /* the first is the timeline */
        static const char *const forms[] = {"id=\"p%d-canvas\"", "id='p%d-dot'", "href='#p%d-dot'",
                                            "url(#p%d-box)"};
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
            char text[64], number[2] = {(char)('0' + i), '\0'};
            const char *mark = strstr(forms[f], "%d");
            snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - forms[f]), forms[f], number,
                     mark + 2);
            if (strstr(html, text) == NULL)
                fail_msg("missing: %s", text);
        }
    }
    free(html);
    story_destroy(story);
}

static void test_a_damaged_picture_does_no_harm(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    struct story_chart pictures[] = {{"A", "a", "", NULL, 0},
                                     {"B", "b", "<svg><title>never ends", NULL, 0}};
    char *html = page(story, pictures, 2, NULL);
    assert_non_null(strstr(html, "</html>"));
    free(html);
    story_destroy(story);
}

static void test_an_empty_story_is_a_page_too(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    char *html = page(story, NULL, 0, NULL);
    assert_non_null(strstr(html, "<header class=\"unknown\">"));
    assert_non_null(strstr(html, "Cannot tell: the recording holds no sample."));
    assert_non_null(strstr(html, "</html>"));
    free(html);
    story_destroy(story);
}

static void test_a_full_disk_is_noticed(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL)
        skip_because("refused: no /dev/full here");
    setvbuf(full, NULL, _IONBF, 0);
    struct story *story = fixture_explosion();
    struct page page;
    story_page(story, NULL, 0, NULL, &page);
    assert_false(page_html(&page, full));
    page_free(&page);
    fclose(full);
    story_destroy(story);
}

/* --- Markdown --------------------------------------------------------------------------------- */

static void test_the_ticket_has_its_parts(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    struct story_chart pictures[] = {{"Classes", "live", NULL, "class_memory.png", 0}};
    char *text = ticket(story, pictures, 1);
    static const char *const parts[] = {"# CRITICAL: Classes of family groovy-shell",
                                        "![Classes](class_memory.png)",
                                        "### 2. WARNING: ",
                                        "`loader-growth`, raised at 0:01:20, cleared at 0:08:20",
                                        "**What to do:** Cache the parsed class",
                                        "- The agent, outside of NMT: 1 MB → 3 MB",
                                        "- Its jmethodIDs, inside of NMT: 512 KB → 512 KB",
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
    char *text = ticket(story, NULL, 0);
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
    char *text = ticket(story, NULL, 0);
    assert_non_null(strstr(text, "# UNKNOWN: Cannot tell"));
    assert_non_null(strstr(text, "None was raised."));
    free(text);
    story_destroy(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_verdict_and_the_sections_are_there),
        cmocka_unit_test(test_foreign_text_is_escaped),
        cmocka_unit_test(test_nothing_comes_from_the_network),
        cmocka_unit_test(test_ids_of_pictures_are_made_unique),
        cmocka_unit_test(test_a_damaged_picture_does_no_harm),
        cmocka_unit_test(test_an_empty_story_is_a_page_too),
        cmocka_unit_test(test_a_full_disk_is_noticed),
        cmocka_unit_test(test_the_ticket_has_its_parts),
        cmocka_unit_test(test_hostile_names_do_not_break_tables),
        cmocka_unit_test(test_an_empty_story_is_a_ticket_too),
    };
    return cmocka_run_group_tests_name("reports/story_page", tests, NULL, NULL);
}
