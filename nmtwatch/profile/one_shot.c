#include "nmtwatch/profile/one_shot.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/jfr/jfr_live.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"
#include "reports/profile/agent_report.h"
#include "reports/text/escape.h"
#include "nmtwatch/jfr/jfr_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- story shot ------------------------------------------------------------------------------- */

#define BY_STATE_WALL "10ms"
#define RECORDING_MAX (64 << 20) /* bytes of one that goes to a store */

#define ROWS 15 /* on a terminal; a file has them all */

/* A recording summed up, whatever it was asked for. */
struct story {
    enum story_kind kind;
    struct class_makers classes;
    struct jfr_live live;
    struct profile profile; /* of the one of the two that it is */
    const char *damage;     /* of the recording; "" */
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

static bool read_story(struct story *story, int recording, const char *title, char *error,
                       size_t error_size)
{
    bool classes = story->kind == STORY_CLASSES;
    if (!(classes ? jfr_classes_read(&story->classes, recording, "the recording", error, error_size)
                  : jfr_live_read(&story->live, recording, "the recording", error, error_size)))
        return false;
    story->damage = classes ? story->classes.damage : story->live.damage;
    story->profile = (struct profile){
        .tree = classes ? story->classes.tree : story->live.tree,
        .page = {.title = title,
                 .unit = stories[story->kind].unit,
                 .notes = &story->damage,
                 .note_count = story->damage[0] != '\0'},
        .about = {.type = classes ? "classes" : "inuse_space",
                  .unit = classes ? "count" : "bytes",
                  .duration_ns =
                      (classes ? story->classes.duration_ms : story->live.duration_ms) * 1000000},
    };
    return true;
}

static void free_story(struct story *story)
{
    if (story->kind == STORY_CLASSES)
        class_makers_free(&story->classes);
    else
        jfr_live_free(&story->live);
}

static void print_table(const struct story *story, size_t rows, FILE *out)
{
    if (story->kind == STORY_CLASSES)
        class_makers_print(&story->classes, rows, out);
    else
        jfr_live_print(&story->live, rows, out);
}

static bool write_json(const struct story *story, FILE *out)
{
    return story->kind == STORY_CLASSES ? class_makers_json(&story->classes, out)
                                        : jfr_live_json(&story->live, out);
}

static bool write_format(const struct story *story, enum profile_format format, FILE *out)
{
    if (format == PROFILE_TOP)
        return write_json(story, out);
    if (format != PROFILE_TOP_TEXT)
        return profile_write(&story->profile, format, out);
    print_table(story, SIZE_MAX, out);
    return !ferror(out);
}

static int write_file(const struct story *story, const struct one_shot *shot)
{
    FILE *out = result_open(shot->output, 0);
    if (result_close(out, shot->output, out != NULL && write_format(story, shot->format, out)))
        return 0;
    return print_failure(EXIT_IO, "nmtwatch profile: %s: %s\n", shot->output, strerror(errno));
}

static int print_story(enum story_kind kind, const struct one_shot *shot, int recording,
                       const char *title)
{
    struct story story = {.kind = kind};
    char error[400];
    int code = 0;
    if (shot->output != NULL && shot->format == PROFILE_JFR) {
        if (!profile_output_write(recording, PROFILE_JFR, false, shot->output, title, error,
                                  sizeof error))
            return print_failure(EXIT_IO, "nmtwatch profile: %s\n", error);
    }
    if (!read_story(&story, recording, title, error, sizeof error))
        return print_failure(EXIT_IO, "nmtwatch profile: %s\n", escape_name(error).text);
    if (shot->output != NULL && shot->format != PROFILE_JFR)
        code = write_file(&story, shot);
    if (!shot->json)
        print_table(&story, ROWS, stdout);
    else if (!write_json(&story, stdout))
        code = EXIT_IO;
    free_story(&story);
    return code;
}

static int print_classes(const struct one_shot *shot, int recording, const char *title,
                         const char *answer)
{
    (void)answer;
    return print_story(STORY_CLASSES, shot, recording, title);
}

static int print_live(const struct one_shot *shot, int recording, const char *title,
                      const char *answer)
{
    (void)answer;
    return print_story(STORY_LIVE, shot, recording, title);
}

int story_shot_run(enum story_kind kind, struct one_shot *shot, const struct target *target)
{
    shot->use = kind == STORY_CLASSES ? print_classes : print_live;
    return one_shot_run(shot, target);
}

static int complain(const struct failure *failure)
{
    print_error("nmtwatch profile: %s\n", escape_name(failure->sentence).text);
    return failure_exit_code(failure->kind);
}

/* The whole of it, as JFR. */
static int push_recording(const struct one_shot *shot, const struct target *target, int recording,
                          int64_t began_ms)
{
    struct stat status;
    char *bytes = NULL;
    int code = EXIT_IO;
    if (shot->push == NULL || shot->push->url == NULL)
        return 0;
    if (fstat(recording, &status) == 0 && status.st_size > 0 && status.st_size <= RECORDING_MAX &&
        (bytes = malloc((size_t)status.st_size)) != NULL &&
        pread(recording, bytes, (size_t)status.st_size, 0) == status.st_size) {
        const struct push_profile profile = {
            .format = "jfr",
            .what = "profile",
            .start_ms = began_ms,
            .duration_ms = clock_ms(CLOCK_REALTIME) - began_ms,
            .bytes = bytes,
            .length = (size_t)status.st_size,
        };
        code = push(shot->push, target, &profile, "profile");
    } else {
        print_error("nmtwatch profile: --push: the recording cannot be read, or is larger than "
                    "%d MB\n",
                    RECORDING_MAX >> 20);
    }
    free(bytes);
    return code;
}

static int write_output(const struct one_shot *shot, const struct agent_session *session,
                        const char *answer, int64_t began_ms)
{
    char error[300], title[320];
    int recording = exchange_read(&session->exchange, EXCHANGE_RECORDING);
    if (recording < 0)
        return print_failure(EXIT_IO, "nmtwatch profile: pid %d left no recording: %s\n",
                             (int)session->target.pid, strerror(errno));
    snprintf(title, sizeof title, "%.200s (pid %d)", session->target.identity.main,
             (int)session->target.pid);
    int code = 0;
    if (shot->use != NULL) {
        code = shot->use(shot, recording, title, answer);
    } else if (shot->output != NULL &&
               !profile_output_write(recording, shot->format, shot->by_state, shot->output, title,
                                     error, sizeof error)) {
        print_error("nmtwatch profile: %s\n", error);
        code = EXIT_IO;
    }
    int pushed = push_recording(shot, &session->target, recording, began_ms);
    close(recording);
    return code != 0 ? code : pushed;
}

static int run_session(const struct one_shot *shot, struct agent_session *session)
{
    struct failure failure;
    char file[256], text[AGENT_WHOLE_MAX], error[400], *answer = NULL;
    snprintf(file, sizeof file, "%s/" EXCHANGE_RECORDING, session->exchange.theirs);
    if (!start_options_text(shot->start, AGENT_START, file, text, sizeof text, error, sizeof error))
        return print_failure(EXIT_USAGE, "nmtwatch profile: %s\n", error);
    signals_catch(SIGNALS_END);
    if (agent_call(session, text, &answer, &failure) != FAILURE_NONE)
        return complain(&failure);
    free(answer);
    int64_t began_ms = clock_ms(CLOCK_REALTIME);
    const struct target *target = &session->target;
    timed_wait("profiling", &(struct timed){.targets = &target, .count = 1}, shot->duration_ms);

    int code = 0;
    if (agent_call(session, "stop", &answer, &failure) != FAILURE_NONE)
        code = complain(&failure);
    if (answer != NULL && agent_print_lost(answer, stderr))
        code = EXIT_IO;
    int written = write_output(shot, session, answer, began_ms);
    if (shot->use != NULL) {
        free(answer);
        return code != 0 ? code : written;
    }
    if (written == 0 && answer != NULL && shot->json)
        agent_print_json(answer, stdout);
    else if (written == 0 && shot->output == NULL)
        puts("The recording was delivered.");
    else if (written == 0 && answer != NULL)
        agent_print_written(answer, shot->output, stdout);
    else if (written == 0) /* it ended before it could be asked to stop */
        print_error("nmtwatch profile: %s has what was recorded until then\n", shot->output);
    free(answer);
    return code != 0 ? code : written;
}

void one_shot_by_state(struct start_options *options)
{
    if (options->value[OPTION_WALL] == NULL)
        options->value[OPTION_WALL] = BY_STATE_WALL;
    if (options->value[OPTION_CPU] == NULL)
        options->value[OPTION_CPU] = "0";
}

int one_shot_run(const struct one_shot *shot, const struct target *target)
{
    struct agent_session session;
    struct failure failure;
    if (agent_session_open(&session, target, AGENT_START, shot->library, &failure) != FAILURE_NONE)
        return complain(&failure);
    int code = run_session(shot, &session);
    agent_session_close(&session);
    return code;
}

/* --- profile output -------------------------------------------------------------------------- */

#define TOP_ROWS 60

bool profile_output_format(const char *name, enum profile_format *format)
{
    static const struct {
        const char *suffix;
        enum profile_format format;
    } suffixes[] = {{".jfr", PROFILE_JFR},  {".html", PROFILE_HTML},    {".txt", PROFILE_COLLAPSED},
                    {".json", PROFILE_TOP}, {".top", PROFILE_TOP_TEXT}, {".pb.gz", PROFILE_PPROF}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t suffix = strlen(suffixes[i].suffix);
        if (length > suffix && strcmp(name + length - suffix, suffixes[i].suffix) == 0) {
            *format = suffixes[i].format;
            return true;
        }
    }
    return false;
}

bool profile_output_possible(const char *output, char *error, size_t error_size)
{
    int fd = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        unlink(output);
        return true;
    }
    if (errno == EEXIST && access(output, W_OK) == 0)
        return true;
    return text_error(error, error_size, "%s: %s", output, strerror(errno));
}

bool profile_output_write(int recording, enum profile_format format, bool by_state,
                          const char *output, const char *title, char *error, size_t error_size)
{
    struct jfr_profile profile = {0};
    if (format != PROFILE_JFR &&
        !jfr_profile_read(&profile, recording, "the recording", by_state, error, error_size))
        return false;
    FILE *out = result_open(output, 0);
    bool good = out != NULL;
    if (good && format == PROFILE_JFR)
        good = lseek(recording, 0, SEEK_SET) == 0 && copy_all(recording, fileno(out));
    else if (good)
        good = jfr_profile_write(&profile, format, TOP_ROWS, title, out);
    good = result_close(out, output, good);
    if (!good)
        snprintf(error, error_size, "%s: %s", output, strerror(errno));
    jfr_profile_free(&profile);
    return good;
}
