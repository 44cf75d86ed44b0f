#include "nmtwatch/profile/story_shot.h"

#include "nmtwatch/jfr/jfr_classes.h"
#include "nmtwatch/jfr/jfr_live.h"
#include "nmtwatch/process/files.h"
#include "reports/profile/call_tree.h"
#include "reports/text/escape.h"
#include "reports/profile/flamegraph.h"
#include "nmtwatch/process/tell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROWS 15 /* on a terminal; a file has them all */

/* A recording summed up, whatever it was asked for. */
struct story {
    enum story_kind kind;
    struct jfr_classes classes;
    struct jfr_live live;
};

static const struct {
    const char *word, *unit;
} stories[STORY_KINDS] = {
    [STORY_CLASSES] = {"classes", "classes defined"},
    [STORY_LIVE] = {"live", "bytes of objects that have survived a collection"},
};

bool story_shot_kind(const char *word, enum story_kind *kind)
{
    for (int i = 0; i < STORY_KINDS; i++) {
        if (strcmp(stories[i].word, word) == 0) {
            *kind = (enum story_kind)i;
            return true;
        }
    }
    return false;
}

void story_shot_options(enum story_kind kind, struct start_options *options)
{
    /* No samples of CPU time, so nothing that these would need: ids that stay in the JVM,
     * libunwind.
     */
    if (options->value[OPTION_CPU] == NULL) {
        options->value[OPTION_CPU] = "0";
        if (options->value[OPTION_JMETHODID] == NULL)
            options->value[OPTION_JMETHODID] = "none";
        if (options->value[OPTION_NATIVE] == NULL)
            options->negated[OPTION_NATIVE] = true;
    }
    if (kind == STORY_CLASSES)
        options->value[OPTION_CLASSES] = "true";
    else if (options->value[OPTION_LIVE] == NULL)
        options->value[OPTION_LIVE] = "10000";
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool read_story(struct story *story, int recording, char *error, size_t error_size)
{
    return story->kind == STORY_CLASSES
               ? jfr_classes_read(&story->classes, recording, "the recording", error, error_size)
               : jfr_live_read(&story->live, recording, "the recording", error, error_size);
}

static void free_story(struct story *story)
{
    if (story->kind == STORY_CLASSES)
        jfr_classes_free(&story->classes);
    else
        jfr_live_free(&story->live);
}

static void print_table(const struct story *story, size_t rows, FILE *out)
{
    if (story->kind == STORY_CLASSES)
        jfr_classes_print(&story->classes, rows, out);
    else
        jfr_live_print(&story->live, rows, out);
}

static bool write_json(const struct story *story, FILE *out)
{
    return story->kind == STORY_CLASSES ? jfr_classes_json(&story->classes, out)
                                        : jfr_live_json(&story->live, out);
}

static bool write_flamegraph(const struct story *story, const char *title, FILE *out)
{
    const char *damage = story->kind == STORY_CLASSES ? story->classes.damage : story->live.damage;
    const struct flamegraph_page page = {
        .title = title,
        .unit = stories[story->kind].unit,
        .notes = &damage,
        .note_count = damage[0] != '\0',
    };
    return flamegraph_write(story->kind == STORY_CLASSES ? story->classes.tree : story->live.tree,
                            &page, out);
}

static bool write_format(const struct story *story, enum profile_format format, const char *title,
                         FILE *out)
{
    switch (format) {
    case PROFILE_HTML:
        return write_flamegraph(story, title, out);
    case PROFILE_COLLAPSED:
        return collapsed_write(
            story->kind == STORY_CLASSES ? story->classes.tree : story->live.tree, out);
    case PROFILE_TOP:
        return write_json(story, out);
    case PROFILE_TOP_TEXT:
        print_table(story, SIZE_MAX, out);
        return !ferror(out);
    case PROFILE_JFR:
        break;
    }
    return false;
}

static int cannot_write(const char *output)
{
    tell_error("nmtwatch profile: %s: %s\n", output,
               errno != 0 ? strerror(errno) : "it could not be written");
    return EXIT_IO;
}

static int write_file(const struct story *story, const struct one_shot *shot, const char *title)
{
    errno = 0;
    int fd = create_private(shot->output);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL)
        return cannot_write(shot->output);
    bool good = write_format(story, shot->format, title, out);
    if (fclose(out) == 0 && good)
        return 0;
    int code = cannot_write(shot->output);
    unlink(shot->output);
    return code;
}

static int tell(enum story_kind kind, const struct one_shot *shot, int recording, const char *title)
{
    struct story story = {.kind = kind};
    char error[400];
    int code = 0;
    if (shot->output != NULL && shot->format == PROFILE_JFR) {
        if (!profile_output_write(recording, PROFILE_JFR, shot->output, title, error,
                                  sizeof error)) {
            tell_error("nmtwatch profile: %s\n", error);
            return EXIT_IO;
        }
    }
    if (!read_story(&story, recording, error, sizeof error)) {
        tell_error("nmtwatch profile: %s\n", escape_name(error).text);
        return EXIT_IO;
    }
    if (shot->output != NULL && shot->format != PROFILE_JFR)
        code = write_file(&story, shot, title);
    if (!shot->json)
        print_table(&story, ROWS, stdout);
    else if (!write_json(&story, stdout))
        code = EXIT_IO;
    free_story(&story);
    return code;
}

static int tell_classes(const struct one_shot *shot, int recording, const char *title,
                        const char *answer)
{
    (void)answer;
    return tell(STORY_CLASSES, shot, recording, title);
}

static int tell_live(const struct one_shot *shot, int recording, const char *title,
                     const char *answer)
{
    (void)answer;
    return tell(STORY_LIVE, shot, recording, title);
}

int story_shot_run(enum story_kind kind, struct one_shot *shot, const struct target *target)
{
    shot->use = kind == STORY_CLASSES ? tell_classes : tell_live;
    return one_shot_run(shot, target);
}
