#include "nmtwatch/top/top.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- its result ------------------------------------------------------------------------------- */

static void forget_result(struct job *job)
{
    if (job->folder[0] == '\0')
        return;
    unlink(job->result);
    rmdir(job->folder);
    job->folder[0] = '\0';
}

static bool make_result(struct job *job)
{
    snprintf(job->folder, sizeof job->folder, "/tmp/nmtwatch-top.XXXXXX");
    if (mkdtemp(job->folder) == NULL) {
        job->folder[0] = '\0';
        return false;
    }
    snprintf(job->result, sizeof job->result, "%s/result.top", job->folder);
    return true;
}

/* Keeps as much as there is room for. False when out of memory. */
static bool append(struct job *job, const char *data, size_t count)
{
    size_t room = JOB_TEXT_MAX - job->length;
    job->cut = job->cut || count > room;
    count = count > room ? room : count;
    char *text = realloc(job->text, job->length + count + 1);
    if (text == NULL)
        return false;
    memcpy(text + job->length, data, count);
    job->text = text;
    job->length += count;
    text[job->length] = '\0';
    return true;
}

static void append_result(struct job *job)
{
    char part[8192];
    ssize_t got;
    int fd = job->folder[0] != '\0' ? open(job->result, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    while (fd >= 0 && (got = read(fd, part, sizeof part)) > 0 && append(job, part, (size_t)got)) {
    }
    if (fd >= 0)
        close(fd);
    forget_result(job);
}

/* --- the child -------------------------------------------------------------------------------- */

static void be_child(char *const *words, int out, pid_t parent)
{
    int nothing = open("/dev/null", O_RDONLY);
    sigset_t none;
    setpgid(0, 0); /* a Ctrl-C at the terminal is for the screen */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGTSTP, SIG_DFL);
    signal(SIGWINCH, SIG_DFL);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv("/proc/self/exe", words);
    dprintf(STDERR_FILENO, "nmtwatch cannot be started again: %s\n", strerror(errno));
    _exit(127);
}

bool job_begin(struct job *job, const char *title, const char *const *words, char *error,
               size_t size)
{
    char *argv[JOB_WORDS_MAX + 2] = {"nmtwatch"};
    int ends[2], count = 1;
    job_free(job);
    snprintf(job->title, sizeof job->title, "%s", title);
    for (; words[count - 1] != NULL && count <= JOB_WORDS_MAX; count++) {
        bool result = strcmp(words[count - 1], "%r") == 0;
        if (result && !make_result(job))
            return text_error(error, size, "no folder for the result below /tmp: %s",
                              strerror(errno));
        argv[count] = result ? job->result : (char *)words[count - 1];
    }
    argv[count] = NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(error, size, "no child process: %s", strerror(errno));
        forget_result(job);
        return false;
    }
    pid_t parent = getpid();
    job->pid = fork();
    if (job->pid == 0)
        be_child(argv, ends[1], parent);
    int reason = errno;
    close(ends[1]);
    if (job->pid < 0) {
        close(ends[0]);
        forget_result(job);
        job->pid = 0;
        return text_error(error, size, "no child process: %s", strerror(reason));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    job->fd = ends[0];
    job->ended = false;
    return true;
}

bool job_step(struct job *job)
{
    char part[8192];
    ssize_t got = 0;
    bool news = false;
    if (!job_runs(job))
        return false;
    while (job->fd >= 0 && (got = read(job->fd, part, sizeof part)) > 0) {
        news = true;
        append(job, part, (size_t)got);
    }
    if (job->fd >= 0 && (got == 0 || (errno != EAGAIN && errno != EINTR))) {
        close(job->fd);
        job->fd = -1;
    }
    if (job->fd < 0 && waitpid(job->pid, &job->status, WNOHANG) != 0) {
        job->ended = true;
        append_result(job);
        if (job->cut) {
            static const char rest[] = "\n[the rest of the text is left out]\n";
            job->length = job->length > sizeof rest ? job->length - sizeof rest : 0;
            append(job, rest, sizeof rest - 1);
        }
        news = true;
    }
    return news;
}

void job_stop(const struct job *job)
{
    if (job_runs(job))
        kill(job->pid, SIGINT);
}

void job_free(struct job *job)
{
    int64_t until_ms = clock_ms(CLOCK_MONOTONIC) + JOB_END_MS;
    job_stop(job);
    while (job_runs(job) && clock_ms(CLOCK_MONOTONIC) < until_ms) {
        struct pollfd out = {.fd = job->fd, .events = POLLIN};
        poll(&out, 1, 50); /* a full pipe would block it */
        job_step(job);
    }
    if (job_runs(job))
        left_behind(job->pid);
    if (job->pid > 0 && job->fd >= 0)
        close(job->fd);
    forget_result(job);
    free(job->text);
    *job = (struct job){.fd = -1};
}
