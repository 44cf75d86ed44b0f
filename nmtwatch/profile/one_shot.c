#include "nmtwatch/profile/one_shot.h"

#include "reports/agent_terminal.h"
#include "reports/escape.h"
#include "reports/units.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORDING   "recording.jfr"
#define LOOK_MS     200
#define PROGRESS_MS 1000

static volatile sig_atomic_t asked_to_end;

static void on_signal(int number)
{
    (void)number;
    asked_to_end = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void show_progress(const struct target *target, int64_t passed_ms, int64_t of_ms)
{
    fprintf(stderr, "\rprofiling pid %d: %s of %s ", (int)target->pid,
            units_duration(passed_ms / 1000 * 1000).text, units_duration(of_ms).text);
}

static void wait_for_end(const struct target *target, int64_t duration_ms)
{
    bool terminal = isatty(STDERR_FILENO);
    int64_t began_ms = now_ms(), shown_ms = -PROGRESS_MS, passed_ms;
    while ((passed_ms = now_ms() - began_ms) < duration_ms && !asked_to_end &&
           target_still_same(target)) {
        if (terminal && passed_ms - shown_ms >= PROGRESS_MS) {
            show_progress(target, passed_ms, duration_ms);
            shown_ms = passed_ms;
        }
        int64_t left_ms = duration_ms - passed_ms;
        int64_t sleep_ms = left_ms < LOOK_MS ? left_ms : LOOK_MS;
        nanosleep(&(struct timespec){.tv_nsec = sleep_ms * 1000000}, NULL);
    }
    if (terminal)
        fprintf(stderr, "\r%*s\r", 60, "");
}

static int complain(const struct failure *failure)
{
    fprintf(stderr, "nmtwatch profile: %s\n", escape_name(failure->sentence).text);
    return failure_exit_code(failure->kind);
}

static int write_output(const struct one_shot *shot, const struct agent_session *session)
{
    char error[300], title[320];
    int recording = exchange_read(&session->exchange, RECORDING);
    if (recording < 0) {
        fprintf(stderr, "nmtwatch profile: pid %d left no recording: %s\n",
                (int)session->target.pid, strerror(errno));
        return EXIT_IO;
    }
    snprintf(title, sizeof title, "%.200s (pid %d)", session->target.identity.main,
             (int)session->target.pid);
    bool good =
        profile_output_write(recording, shot->format, shot->output, title, error, sizeof error);
    close(recording);
    if (good)
        return 0;
    fprintf(stderr, "nmtwatch profile: %s\n", error);
    return EXIT_IO;
}

static int run_session(const struct one_shot *shot, struct agent_session *session)
{
    struct failure failure;
    char file[128], text[AGENT_WHOLE_MAX], error[400], *answer = NULL;
    snprintf(file, sizeof file, "%s/" RECORDING, session->exchange.theirs);
    if (!start_options_text(shot->start, AGENT_START, file, text, sizeof text, error, sizeof error))
        return options_error(&command_profile, "%s", error);
    catch_signals(); /* from here on a stop is owed */
    if (agent_call(session, text, &answer, &failure) != FAILURE_NONE)
        return complain(&failure);
    free(answer);
    wait_for_end(&session->target, shot->duration_ms);

    int code = 0;
    if (agent_call(session, "stop", &answer, &failure) != FAILURE_NONE)
        code = complain(&failure);
    int written = write_output(shot, session);
    if (written == 0 && answer != NULL && shot->json)
        agent_print_json(answer, stdout);
    else if (written == 0 && answer != NULL)
        agent_print_written(answer, shot->output, stdout);
    else if (written == 0) /* it ended before it could be asked to stop */
        fprintf(stderr, "nmtwatch profile: %s has what was recorded until then\n", shot->output);
    free(answer);
    return code != 0 ? code : written;
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
