#include "nmtwatch/report/gnuplot.h"

#include "nmtwatch/process/files.h"
#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GNUPLOT_TIMEOUT_MS 20000 /* a picture takes 50 ms */
#define POLL_MS            5

extern char **environ;

/* Files in memory: no pipe that could fill up, nothing left behind. */
struct streams {
    int script, picture, complaints;
};

static void close_streams(struct streams *streams)
{
    if (streams->script >= 0)
        close(streams->script);
    if (streams->picture >= 0)
        close(streams->picture);
    if (streams->complaints >= 0)
        close(streams->complaints);
}

static bool open_streams(struct streams *streams, const char *script, size_t script_size)
{
    streams->script = memfd_create("gnuplot-script", MFD_CLOEXEC);
    streams->picture = memfd_create("gnuplot-picture", MFD_CLOEXEC);
    streams->complaints = memfd_create("gnuplot-complaints", MFD_CLOEXEC);
    return streams->script >= 0 && streams->picture >= 0 && streams->complaints >= 0 &&
           write_all(streams->script, script, script_size) &&
           lseek(streams->script, 0, SEEK_SET) == 0;
}

static int spawn(const struct streams *streams, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    /* -d: defaults, not the user's start-up file. */
    char *argv[] = {"gnuplot", "-d", "-", NULL};
    if ((error = posix_spawn_file_actions_adddup2(&actions, streams->script, 0)) == 0 &&
        (error = posix_spawn_file_actions_adddup2(&actions, streams->picture, 1)) == 0 &&
        (error = posix_spawn_file_actions_adddup2(&actions, streams->complaints, 2)) == 0)
        error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* False when it had to be killed. */
static bool wait_for(pid_t pid, int *status)
{
    for (int waited_ms = 0; waited_ms < GNUPLOT_TIMEOUT_MS; waited_ms += POLL_MS) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid)
            return true;
        if (ended < 0 && errno != EINTR)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return false;
}

/* The line of gnuplot's complaints that says what is wrong: it repeats the input before it. */
static void complaint(int fd, char *out, size_t size)
{
    char text[1024], *line = text, *last = text;
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    for (char *next; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        line += strspn(line, " \t");
        if (*line != '\0')
            last = line;
    }
    snprintf(out, size, "gnuplot: %.230s", *last != '\0' ? escape_name(last).text : "it failed");
}

static char *read_picture(int fd, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return NULL;
    char *picture = malloc((size_t)status.st_size + 1);
    if (picture == NULL)
        return NULL;
    *size = 0;
    while (*size < (size_t)status.st_size) {
        ssize_t got = pread(fd, picture + *size, (size_t)status.st_size - *size, (off_t)*size);
        if (got <= 0)
            break;
        *size += (size_t)got;
    }
    picture[*size] = '\0';
    return picture;
}

static enum gnuplot_result run_gnuplot(const struct streams *streams, char **picture, size_t *size,
                                       char *error, size_t error_size)
{
    pid_t pid;
    int status;
    int problem = spawn(streams, &pid);
    if (problem != 0) {
        bool missing = problem == ENOENT;
        snprintf(error, error_size, "gnuplot: %s", missing ? "not installed" : strerror(problem));
        return missing ? GNUPLOT_MISSING : GNUPLOT_FAILED;
    }
    if (!wait_for(pid, &status)) {
        snprintf(error, error_size, "gnuplot: not done within %d s", GNUPLOT_TIMEOUT_MS / 1000);
        return GNUPLOT_FAILED;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        complaint(streams->complaints, error, error_size);
        return GNUPLOT_FAILED;
    }
    *picture = read_picture(streams->picture, size);
    if (*picture != NULL && *size > 0)
        return GNUPLOT_OK;
    free(*picture);
    *picture = NULL;
    snprintf(error, error_size, "gnuplot: it made no image");
    return GNUPLOT_FAILED;
}

enum gnuplot_result gnuplot_draw(const char *script, size_t script_size, char **picture,
                                 size_t *size, char *error, size_t error_size)
{
    struct streams streams = {-1, -1, -1};
    *picture = NULL;
    enum gnuplot_result result = GNUPLOT_FAILED;
    if (open_streams(&streams, script, script_size))
        result = run_gnuplot(&streams, picture, size, error, error_size);
    else
        snprintf(error, error_size, "gnuplot: %s", strerror(errno));
    close_streams(&streams);
    return result;
}
