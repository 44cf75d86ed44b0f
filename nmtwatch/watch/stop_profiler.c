#include "nmtwatch/watch/session.h"

#include "nmtwatch/profile/agent_call.h"
#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SENTENCES_BYTES 4096 /* a pipe takes them whole */

struct stop_profiler {
    pid_t child;
    int fd;
    int64_t until_ms;
    bool ended; /* the child is exiting */
    size_t length;
    char text[SENTENCES_BYTES]; /* a line a sentence */
};

/* --- others ----------------------------------------------------------------------------------- */

/* Libraries by the beginning of their file names, and what stops them. */
static const struct {
    const char *library, *name, *way;
} PROFILERS[] = {
    {"libasyncProfiler", "async-profiler",
     "`asprof stop PID` does, unless another agent drives it"},
    {"libjavaProfiler", "the profiler of Datadog's agent",
     "the application has to be started with -Ddd.profiling.enabled=false"},
    {"libyjpagent", "YourKit", "its own user interface does"},
    {"libjprofilerti", "JProfiler", "its own user interface does"},
};
#define PROFILER_COUNT (sizeof PROFILERS / sizeof *PROFILERS)

static size_t profiler_of(const struct proc_map *map)
{
    struct span name = proc_map_file_name(map);
    size_t i = 0;
    while (i < PROFILER_COUNT && !span_starts_with(name, span_from_cstr(PROFILERS[i].library)))
        i++;
    return i;
}

void stop_profiler_others(struct proc_maps *maps, stop_profiler_report_fn *report, void *context)
{
    bool reported[PROFILER_COUNT] = {false};
    char sentence[400], path[200];
    struct proc_map map;
    while (proc_maps_next(maps, "/", &map)) {
        size_t which = profiler_of(&map);
        if (which == PROFILER_COUNT || reported[which])
            continue;
        reported[which] = true;
        span_copy(map.path, path, sizeof path);
        snprintf(sentence, sizeof sentence, "%s is loaded (%s): nmtwatch cannot stop it; %s",
                 PROFILERS[which].name, path, PROFILERS[which].way);
        report(context, sentence);
    }
}

/* --- the child -------------------------------------------------------------------------------- */

static void put_line(void *context, const char *sentence)
{
    dprintf(*(const int *)context, "%s\n", escape_name(sentence).text);
}

static void stop_ours(const struct target *target, int out)
{
    struct agent_session session;
    struct failure failure;
    char library[4096], sentence[700], *answer = NULL;
    if (agent_library_loaded(target, NULL, library, sizeof library) == AGENT_NOT_LOADED) {
        put_line(&out, "libnmtagent.so is not loaded: nmtwatch has no profiler to stop");
        return;
    }
    bool good = agent_session_open(&session, target, AGENT_STOP, NULL, &failure) == FAILURE_NONE;
    if (good) {
        good = agent_call(&session, "stop", &answer, &failure) == FAILURE_NONE;
        agent_session_close(&session);
    }
    free(answer);
    if (good)
        snprintf(sentence, sizeof sentence,
                 "libnmtagent.so has stopped profiling, as --on-unacceptable asked");
    else
        snprintf(sentence, sizeof sentence, "libnmtagent.so could not be stopped: %s",
                 failure.sentence);
    put_line(&out, sentence);
}

static void be_child(const struct target *target, int out)
{
    struct proc_maps maps;
    setpgid(0, 0); /* a Ctrl-C at the terminal is not for it */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    stop_ours(target, out);
    if (proc_maps_open(&maps, target->pid))
        stop_profiler_others(&maps, put_line, &out);
    _exit(0);
}

/* --- the watch's side ------------------------------------------------------------------------- */

struct stop_profiler *stop_profiler_begin(const struct target *target, int64_t now_ms)
{
    int ends[2];
    struct stop_profiler *stop = calloc(1, sizeof *stop);
    if (stop == NULL)
        return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(stop);
        return NULL;
    }
    fflush(NULL); /* what is buffered is not written twice */
    stop->child = fork();
    if (stop->child == 0)
        be_child(target, ends[1]);
    int error = errno;
    close(ends[1]);
    if (stop->child < 0) {
        close(ends[0]);
        free(stop);
        errno = error;
        return NULL;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stop->fd = ends[0];
    stop->until_ms = now_ms + STOP_PROFILER_WAIT_MS;
    return stop;
}

static void report_all(struct stop_profiler *stop, stop_profiler_report_fn *report, void *context)
{
    char *rest = stop->text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0')
            report(context, line);
}

bool stop_profiler_step(struct stop_profiler *stop, int64_t now_ms, stop_profiler_report_fn *report,
                        void *context)
{
    ssize_t got;
    while ((got = read(stop->fd, stop->text + stop->length, sizeof stop->text - 1 - stop->length)) >
           0)
        stop->length += (size_t)got;
    if (got < 0 && errno != EINTR && errno != EAGAIN)
        got = 0;
    if (got < 0 && now_ms < stop->until_ms)
        return false;
    stop->ended = got == 0;
    report_all(stop, report, context);
    if (stop->length == 0)
        report(context, got < 0 ? "stopping the profiler timed out"
                                : "stopping the profiler failed without a result");
    return true;
}

void stop_profiler_destroy(struct stop_profiler *stop)
{
    if (stop == NULL)
        return;
    close(stop->fd);
    waitpid(stop->child, NULL, stop->ended ? 0 : WNOHANG);
    free(stop);
}
