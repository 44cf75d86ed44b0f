#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/html.h"
#include "tests/unit/reports/story_fixture.h"

#include <string.h>

static char *page(const struct story *story, const struct html_picture *pictures, int count,
                  const char *no_pictures)
{
    return FIXTURE_PRINTED(assert_true(html_write(story, pictures, count, no_pictures, out)));
}

static void test_the_verdict_and_the_sections_are_there(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    char *html = page(story, NULL, 0, "Pictures are left out: gnuplot is not installed.");
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
    static const char *const ways[] = {"http://", "https://", "<link", "@import", "src="};
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
    struct html_picture pictures[] = {{"One", "first", svg}, {"Two & more", "second", svg}};
    char *html = page(story, pictures, 2, NULL);
    assert_null(strstr(html, "<?xml"));
    assert_null(strstr(html, "plot_1"));
    assert_non_null(strstr(html, "aria-label=\"Two &amp; more\""));
    for (int i = 1; i <= 2; i++) {
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
    struct html_picture pictures[] = {{"A", "a", ""}, {"B", "b", "<svg><title>never ends"}};
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
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    struct story *story = fixture_explosion();
    assert_false(html_write(story, NULL, 0, NULL, full));
    fclose(full);
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
    };
    return cmocka_run_group_tests_name("reports/html", tests, NULL, NULL);
}
