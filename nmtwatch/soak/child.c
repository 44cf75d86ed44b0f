#include "nmtwatch/soak/soak_run.h"

#include "analyzers/parse/proc_text.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/process/messages.h"
#include "reports/text/escape.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- descendants ------------------------------------------------------------------------------ */

#define DEPTH_MAX                                                                                  \
    64 /* of a chain of parents: a table that is read while it changes may hold circles */

struct process {
    pid_t pid, parent;
    bool ended;
};

struct process_table {
    int count;
    size_t capacity;
    struct process *at; /* by pid */
};

static int by_pid(const void *a, const void *b)
{
    const struct process *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static bool add(struct process_table *table, const struct process *process)
{
    if (!array_room(&table->at, &table->capacity, (size_t)table->count + 1, sizeof *table->at))
        return false;
    table->at[table->count++] = *process;
    return true;
}

static void read_table(struct process_table *table)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(proc)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct span text = proc_read(pid, "stat");
        struct proc_stat stat;
        if (text.ptr != NULL && proc_stat_parse(&stat, text) == PARSE_OK) {
            bool ended = stat.state == 'Z' || stat.state == 'X';
            good = add(table, &(struct process){pid, (pid_t)stat.ppid, ended});
        }
        free((void *)text.ptr);
    }
    closedir(proc);
    if (table->count > 1)
        qsort(table->at, (size_t)table->count, sizeof *table->at, by_pid);
}

static bool is_marked(pid_t pid)
{
    char mark[32];
    struct span text = proc_read(pid, "environ");
    if (text.ptr == NULL)
        return false;
    struct span value = proc_environ_value(text, SPAN_LITERAL(DESCENDANTS_MARK));
    int length = snprintf(mark, sizeof mark, "%d", (int)getpid());
    bool marked =
        value.ptr != NULL && value.len == (size_t)length && memcmp(value.ptr, mark, value.len) == 0;
    free((void *)text.ptr);
    return marked;
}

/* Up the chain of parents: to the command, or to a child of ours that carries the mark. */
static bool is_ours(const struct process_table *table, const struct process *process, pid_t root)
{
    for (int depth = 0; process != NULL && depth < DEPTH_MAX; depth++) {
        if (process->pid == root)
            return true;
        if (process->parent == getpid())
            return is_marked(process->pid);
        const struct process parent = {.pid = process->parent};
        process = bsearch(&parent, table->at, (size_t)table->count, sizeof *table->at, by_pid);
    }
    return false;
}

/* root: the command; its pid may have ended. */
static void descendants_find(pid_t root, struct descendants *found)
{
    struct process_table table = {0};
    found->count = found->orphan_count = 0;
    read_table(&table);
    for (int i = 0; i < table.count; i++) {
        const struct process *process = &table.at[i];
        if (process->ended) {
            if (process->parent == getpid() && process->pid != root &&
                found->orphan_count < DESCENDANTS_MAX)
                found->orphan[found->orphan_count++] = process->pid;
        } else if (found->count < DESCENDANTS_MAX && is_ours(&table, process, root)) {
            found->pid[found->count++] = process->pid;
        }
    }
    free(table.at);
}

#define NMT_OPTION "-XX:NativeMemoryTracking=summary"

/* --- start ------------------------------------------------------------------------------------ */

static void add_to_variable(const char *name, const char *option)
{
    char text[8192];
    const char *before = getenv(name);
    if (before == NULL || before[0] == '\0')
        setenv(name, option, 1);
    else if ((size_t)snprintf(text, sizeof text, "%s %s", before, option) < sizeof text)
        setenv(name, text, 1);
}

/* Up to JDK 17 only the launcher can switch tracking on, which reads JDK_JAVA_OPTIONS (9 and
 * later); programs with a launcher of their own read JAVA_TOOL_OPTIONS, which does from 18 on. */
static void ask_for_nmt(void)
{
    add_to_variable("JDK_JAVA_OPTIONS", NMT_OPTION);
    add_to_variable("JAVA_TOOL_OPTIONS", NMT_OPTION);
}

_Noreturn static void exec_command(char *const *command, bool nmt, pid_t parent, int report_fd)
{
    static const int restored[] = {SIGPIPE, SIGXFSZ, SIGINT,  SIGTERM,
                                   SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    char mark[32];
    for (size_t i = 0; i < sizeof restored / sizeof restored[0]; i++)
        signal(restored[i], SIG_DFL);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        signal(SIGHUP, SIG_DFL); /* nohup has us ignore it: that is inherited */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CHILD_CANNOT_RUN);
    snprintf(mark, sizeof mark, "%d", (int)parent);
    setenv(DESCENDANTS_MARK, mark, 1);
    if (nmt)
        ask_for_nmt();
    execvp(command[0], command);
    int error = errno;
    ssize_t ignored = write(report_fd, &error, sizeof error);
    (void)ignored;
    _exit(CHILD_CANNOT_RUN);
}

int child_start(struct child *child, char *const *command, bool nmt, char *error, size_t error_size)
{
    int ends[2];
    memset(child, 0, sizeof *child);
    pid_t self = getpid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(error, error_size, "the command cannot be started: %s", strerror(errno));
        return EXIT_IO;
    }
    child->pid = fork();
    if (child->pid == 0)
        exec_command(command, nmt, self, ends[1]);
    close(ends[1]);
    if (child->pid < 0) {
        snprintf(error, error_size, "the command cannot be started: %s", strerror(errno));
        close(ends[0]);
        return EXIT_IO;
    }
    int reason = 0;
    ssize_t got;
    do
        got = read(ends[0], &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    close(ends[0]);
    if (got == 0)
        return 0; /* closed by exec */
    waitpid(child->pid, NULL, 0);
    snprintf(error, error_size, "%s cannot be started: %s", escape_name(command[0]).text,
             strerror(reason));
    return reason == ENOENT || reason == ENOTDIR ? CHILD_NOT_FOUND : CHILD_CANNOT_RUN;
}

/* --- while it runs ---------------------------------------------------------------------------- */

static void reap(struct child *child)
{
    int status;
    if (!child->ended && waitpid(child->pid, &status, WNOHANG) == child->pid) {
        child->ended = true;
        child->status = status;
    }
}

/* A helper that has just ended is reaped by its starter; who is still there at the next poll
 * was left to us. */
static void reap_orphans(struct child *child, const struct descendants *family)
{
    for (int i = 0; i < family->orphan_count; i++) {
        for (int j = 0; j < child->orphan_count; j++)
            if (family->orphan[i] == child->orphans[j])
                waitpid(family->orphan[i], NULL, WNOHANG);
    }
    child->orphan_count = family->orphan_count;
    memcpy(child->orphans, family->orphan, (size_t)family->orphan_count * sizeof child->orphans[0]);
}

void child_step(struct child *child, struct descendants *family)
{
    reap(child);
    /* Another process may have its number once it is reaped. */
    descendants_find(child->ended ? 0 : child->pid, family);
    reap_orphans(child, family);
}

void child_signal(const struct child *child, int signal_number)
{
    if (!child->ended)
        kill(child->pid, signal_number);
}

void child_signal_all(struct child *child, const struct descendants *family, int signal_number)
{
    if (!child->ended)
        child->stopped_by_us = true;
    for (int i = 0; i < family->count; i++)
        kill(family->pid[i], signal_number);
}

/* --- its end ---------------------------------------------------------------------------------- */

bool child_failed(const struct child *child)
{
    return child->ended && !child->stopped_by_us &&
           !(WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0);
}

void child_death(const struct child *child, char *out, size_t size)
{
    const char *who =
        child->stopped_by_us ? "the command was stopped and ended" : "the command ended by itself,";
    if (!child->ended) {
        snprintf(out, size, "%s", "");
    } else if (WIFSIGNALED(child->status)) {
        const char *name = sigabbrev_np(WTERMSIG(child->status));
        snprintf(out, size, "%s by signal %d (SIG%s)%s", who, WTERMSIG(child->status),
                 name != NULL ? name : "?", WCOREDUMP(child->status) ? ", core dumped" : "");
    } else {
        snprintf(out, size, "%s with exit code %d", who, WEXITSTATUS(child->status));
    }
}
