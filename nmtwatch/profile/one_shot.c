#include "nmtwatch/profile/one_shot.h"

#include "nmtwatch/profile/timed.h"
#include "reports/profile/agent_report.h"
#include "reports/text/escape.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int complain(const struct failure *failure)
{
    tell_error("nmtwatch profile: %s\n", escape_name(failure->sentence).text);
    return failure_exit_code(failure->kind);
}

static int write_output(const struct one_shot *shot, const struct agent_session *session,
                        const char *answer)
{
    char error[300], title[320];
    int recording = exchange_read(&session->exchange, EXCHANGE_RECORDING);
    if (recording < 0) {
        tell_error("nmtwatch profile: pid %d left no recording: %s\n", (int)session->target.pid,
                   strerror(errno));
        return EXIT_IO;
    }
    snprintf(title, sizeof title, "%.200s (pid %d)", session->target.identity.main,
             (int)session->target.pid);
    if (shot->use != NULL) {
        int code = shot->use(shot, recording, title, answer);
        close(recording);
        return code;
    }
    bool good =
        profile_output_write(recording, shot->format, shot->output, title, error, sizeof error);
    close(recording);
    if (good)
        return 0;
    tell_error("nmtwatch profile: %s\n", error);
    return EXIT_IO;
}

static int run_session(const struct one_shot *shot, struct agent_session *session)
{
    struct failure failure;
    char file[256], text[AGENT_WHOLE_MAX], error[400], *answer = NULL;
    snprintf(file, sizeof file, "%s/" EXCHANGE_RECORDING, session->exchange.theirs);
    if (!start_options_text(shot->start, AGENT_START, file, text, sizeof text, error,
                            sizeof error)) {
        tell_error("nmtwatch profile: %s\n", error);
        return EXIT_USAGE;
    }
    signals_catch(SIGNALS_END);
    if (agent_call(session, text, &answer, &failure) != FAILURE_NONE)
        return complain(&failure);
    free(answer);
    const struct target *target = &session->target;
    timed_wait("profiling", &target, 1, shot->duration_ms);

    int code = 0;
    if (agent_call(session, "stop", &answer, &failure) != FAILURE_NONE)
        code = complain(&failure);
    if (answer != NULL && agent_print_lost(answer, stderr))
        code = EXIT_IO;
    int written = write_output(shot, session, answer);
    if (shot->use != NULL) {
        free(answer);
        return code != 0 ? code : written;
    }
    if (written == 0 && answer != NULL && shot->json)
        agent_print_json(answer, stdout);
    else if (written == 0 && answer != NULL)
        agent_print_written(answer, shot->output, stdout);
    else if (written == 0) /* it ended before it could be asked to stop */
        tell_error("nmtwatch profile: %s has what was recorded until then\n", shot->output);
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
