#include "nmtwatch/profile/agent_call.h"

#include "floor/wire/wire_formats.h"
#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"
#include "reports/text/units.h"
#include "nmtwatch/jvm/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* --- timed ------------------------------------------------------------------------------------ */

#define LOOK_MS     200
#define PROGRESS_MS 1000

static void show_progress(const char *what, const struct target *const *targets, size_t count,
                          int64_t passed_ms, int64_t of_ms)
{
    char who[48];
    if (count == 1)
        snprintf(who, sizeof who, "pid %d", (int)targets[0]->pid);
    else
        snprintf(who, sizeof who, "%zu JVMs", count);
    fprintf(stderr, "\r%s %s: %s of %s ", what, who, units_duration(passed_ms / 1000 * 1000).text,
            units_duration(of_ms).text);
}

static bool any_left(const struct target *const *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (target_still_same(targets[i]))
            return true;
    return false;
}

void timed_wait(const char *what, struct timed *timed, int64_t duration_ms)
{
    bool terminal = isatty(STDERR_FILENO);
    int64_t began_ms = clock_ms(CLOCK_MONOTONIC), shown_ms = -PROGRESS_MS, passed_ms;
    while ((passed_ms = clock_ms(CLOCK_MONOTONIC) - began_ms) < duration_ms &&
           signals_asked() == 0 &&
           (timed->look != NULL || any_left(timed->targets, timed->count))) {
        if (timed->look != NULL)
            timed->look(timed->context, timed);
        if (terminal && passed_ms - shown_ms >= PROGRESS_MS) {
            show_progress(what, timed->targets, timed->count, passed_ms, duration_ms);
            shown_ms = passed_ms;
        }
        int64_t left_ms = duration_ms - passed_ms;
        int64_t sleep_ms = left_ms < LOOK_MS ? left_ms : LOOK_MS;
        nanosleep(&(struct timespec){.tv_nsec = sleep_ms * 1000000}, NULL);
    }
    if (terminal)
        fprintf(stderr, "\r%*s\r", 78, "");
}

#define ANSWER_MAX_BYTES ((size_t)16 << 20)

static enum failure_kind fail(const struct agent_session *session, struct failure *failure,
                              enum failure_kind kind, const char *detail)
{
    char who[32];
    snprintf(who, sizeof who, "pid %d", (int)session->target.pid);
    return failure_set(failure, kind, who, detail);
}

static enum failure_kind fail_errno(const struct agent_session *session, struct failure *failure,
                                    const char *doing)
{
    char detail[160];
    snprintf(detail, sizeof detail, "%s: %s", doing, strerror(errno));
    return fail(session, failure, FAILURE_SYSTEM, detail);
}

static enum failure_kind fail_exchange(const struct agent_session *session, struct failure *failure)
{
    switch (errno) {
    case EROFS:
    case ENOENT:
    case ENOTDIR:
        return fail(session, failure, FAILURE_NO_TMP, strerror(errno));
    case EACCES:
        return fail(session, failure, FAILURE_NO_TMP, "its user may not write there");
    case EINVAL: /* its user has no number here */
        return fail(session, failure, FAILURE_FOREIGN_USERS, NULL);
    case EXDEV:
    case ELOOP:
        return fail(session, failure, FAILURE_SYSTEM,
                    "the new folder in its /tmp was replaced: nothing was written");
    default:
        return fail_errno(session, failure, "making a folder in its /tmp");
    }
}

/* --- the library ------------------------------------------------------------------------------ */

/* Into the private folder, which goes when the session does: the JVM has it mapped by then. */
static enum failure_kind copy_library(struct agent_session *session, struct failure *failure)
{
    struct statvfs folder;
    if (fstatvfs(session->exchange.folder_fd, &folder) == 0 && (folder.f_flag & ST_NOEXEC) != 0)
        return fail(session, failure, FAILURE_AGENT_PLACE, NULL);
    int from = agent_library_read(session->local);
    if (from < 0)
        return fail_errno(session, failure, session->local);
    int into = exchange_file(&session->exchange, AGENT_LIBRARY, 0700);
    bool good = into >= 0 && copy_all(from, into);
    int error = errno;
    close(from);
    if (into >= 0)
        close(into);
    errno = error;
    if (!good)
        return fail_errno(session, failure, "copying the agent into its /tmp");
    snprintf(session->library, sizeof session->library, "%s/" AGENT_LIBRARY,
             session->exchange.theirs);
    return FAILURE_NONE;
}

/* The first copy stays the one; a copy of the named file, made for another root, may well be it. */
static void say_other(const struct agent_session *session, const char *named)
{
    if (strncmp(session->library, "/tmp/nmtwatch-", 14) != 0)
        print_error("nmtwatch profile: --agent %s: %s is loaded already and is asked\n", named,
                    session->library);
}

static enum failure_kind choose_library(struct agent_session *session, enum agent_command first,
                                        const char *named, struct failure *failure)
{
    char error[300];
    enum agent_loaded loaded =
        agent_library_loaded(&session->target, named, session->library, sizeof session->library);
    session->loaded = loaded == AGENT_LOADED;
    session->named = named != NULL && strcmp(named, session->library) == 0;
    if (session->loaded) {
        if (named != NULL && !session->named)
            say_other(session, named);
        return FAILURE_NONE;
    }
    if (loaded == AGENT_NOT_LOADED && first != AGENT_START)
        return fail(session, failure, FAILURE_AGENT,
                    "it is not loaded: no profiler was started in this JVM");
    bool inside = named != NULL && agent_library_inside(&session->target, named);
    if (named != NULL && !inside && errno == EFBIG)
        return fail_errno(session, failure, "the library in its root");
    if (inside)
        snprintf(session->library, sizeof session->library, "%s", named);
    else if (!agent_library_find(named, session->local, sizeof session->local, error, sizeof error))
        return fail(session, failure, FAILURE_SYSTEM, error);
    else
        memcpy(session->library, session->local, sizeof session->library);
    enum failure_kind kind =
        agent_library_obstacle(&session->target, session->library, inside, error, sizeof error);
    return kind != FAILURE_NONE ? fail(session, failure, kind, error) : FAILURE_NONE;
}

enum failure_kind agent_session_open(struct agent_session *session, const struct target *target,
                                     enum agent_command first, const char *named,
                                     struct failure *failure)
{
    *session =
        (struct agent_session){.target = *target, .exchange = {.tmp_fd = -1, .folder_fd = -1}};
    *failure = (struct failure){.kind = FAILURE_NONE};
    if (geteuid() != target->uid && !as_target_possible(target->uid, target->gid))
        return fail(session, failure, FAILURE_PERMISSION, NULL);
    if (choose_library(session, first, named, failure) != FAILURE_NONE)
        return failure->kind;
    const struct attach_limits limits = {.timeout_ms = AGENT_TIMEOUT_MS};
    session->attach = attach_create(target, &limits);
    if (session->attach == NULL)
        return fail(session, failure, FAILURE_SYSTEM, strerror(ENOMEM));
    if (!exchange_open(&session->exchange, target))
        fail_exchange(session, failure);
    else if (session->local[0] != '\0' && !agent_library_reachable(target, session->local))
        copy_library(session, failure);
    if (failure->kind != FAILURE_NONE)
        agent_session_close(session);
    return failure->kind;
}

void agent_session_close(struct agent_session *session)
{
    attach_destroy(session->attach);
    session->attach = NULL;
    exchange_close(&session->exchange);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* "nmtagent 1 done 512\n" and 512 bytes. *text is allocated, or *refusal. */
static enum failure_kind read_answer(const struct agent_session *session, int fd, char **text,
                                     char **refusal, struct failure *failure)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail_errno(session, failure, "reading its answer");
    size_t size = (size_t)status.st_size;
    if (status.st_size > (off_t)ANSWER_MAX_BYTES)
        return fail(session, failure, FAILURE_REPLY_TOO_LARGE, "the agent's answer");
    char *bytes = malloc(size + 1);
    if (bytes == NULL)
        return fail(session, failure, FAILURE_SYSTEM, strerror(ENOMEM));
    ssize_t got = pread(fd, bytes, size, 0);
    struct span rest = span_of(bytes, got > 0 ? (size_t)got : 0);
    bool done = false;
    int64_t length = -1;
    if (span_take(&rest, SPAN_LITERAL(ANSWER_MAGIC))) {
        done = span_take(&rest, SPAN_LITERAL(ANSWER_DONE " "));
        if ((!done && !span_take(&rest, SPAN_LITERAL(ANSWER_REFUSED " "))) ||
            !span_take_i64(&rest, &length) || !span_take(&rest, SPAN_LITERAL("\n")))
            length = -1;
    }
    if (length < 0 || (uint64_t)length != rest.len) {
        free(bytes);
        return fail(session, failure, FAILURE_SYSTEM,
                    size == 0 ? "the agent left no answer" : "the agent's answer is not whole");
    }
    memmove(bytes, rest.ptr, rest.len);
    bytes[length] = '\0';
    *(done ? text : refusal) = bytes;
    return done ? FAILURE_NONE : fail(session, failure, FAILURE_AGENT, bytes);
}

/* No answer: what the JVM says of it. "return code: 0" (JDK 8: "0") is the agent's own code. */
static enum failure_kind explain(const struct agent_session *session, struct failure *failure)
{
    struct span reply = span_trim(attach_reply(session->attach, NULL));
    if (reply.len == 0 || span_starts_with(reply, SPAN_LITERAL("return code:")) ||
        span_equals(reply, SPAN_LITERAL("0")))
        return failure->kind; /* keeps "left no answer" */
    char detail[260];
    span_copy(reply, detail, sizeof detail);
    return fail(session, failure, FAILURE_AGENT, detail);
}

static enum failure_kind load(struct agent_session *session, const char *options,
                              struct failure *failure)
{
    const char *args[3] = {session->library, "true", options};
    if (attach_ask_operation(session->attach, "load", args) != 0)
        return errno == E2BIG
                   ? fail(session, failure, FAILURE_SYSTEM, "the options are too long for this JDK")
                   : fail_errno(session, failure, "attaching");
    while (attach_step(session->attach) == ATTACH_BUSY) {
        struct pollfd ready = {.fd = -1};
        ready.fd = attach_fd(session->attach, &ready.events);
        poll(&ready, 1, attach_wait_ms(session->attach));
    }
    *failure = *attach_failure(session->attach);
    return failure->kind;
}

/* Another copy of the agent is at work, loaded by another asker a moment ago or by hand: that one
 * is asked from now on. Not where the user has named the library: the refusal says which one it is.
 */
static bool turn_to_other_copy(struct agent_session *session, const struct failure *failure,
                               const char *refusal)
{
    size_t length = strlen(ANSWER_OTHER_COPY);
    if (failure->kind != FAILURE_AGENT || session->named || refusal == NULL ||
        strncmp(refusal, ANSWER_OTHER_COPY, length) != 0 ||
        strcmp(refusal + length, session->library) == 0)
        return false;
    snprintf(session->library, sizeof session->library, "%s", refusal + length);
    return true;
}

static enum failure_kind call(struct agent_session *session, const char *options, char **json,
                              char **refusal, struct failure *failure)
{
    char name[32], text[AGENT_WHOLE_MAX], fitting[AGENT_WHOLE_MAX];
    *json = NULL;
    *failure = (struct failure){.kind = FAILURE_NONE};
    snprintf(name, sizeof name, "answer-%d", ++session->calls);
    snprintf(fitting, sizeof fitting, "%s", options);
    if (agent_filter_fit(&session->target, fitting, sizeof fitting, failure) != FAILURE_NONE)
        return failure->kind;
    int len =
        snprintf(text, sizeof text, "%s,answer=%s/%s", fitting, session->exchange.theirs, name);
    if (len < 0 || (size_t)len >= sizeof text)
        return fail(session, failure, FAILURE_SYSTEM, "the options are too long");
    int fd = exchange_file(&session->exchange, name, 0600);
    if (fd < 0)
        return fail_errno(session, failure, "making a file for the answer");
    if (load(session, text, failure) == FAILURE_NONE &&
        read_answer(session, fd, json, refusal, failure) == FAILURE_SYSTEM)
        explain(session, failure);
    close(fd);
    exchange_remove(&session->exchange, name);
    return failure->kind;
}

enum failure_kind agent_call(struct agent_session *session, const char *options, char **json,
                             struct failure *failure)
{
    char *refusal = NULL;
    enum failure_kind kind = call(session, options, json, &refusal, failure);
    bool again = turn_to_other_copy(session, failure, refusal);
    free(refusal);
    refusal = NULL;
    if (again)
        kind = call(session, options, json, &refusal, failure);
    free(refusal);
    return kind;
}

/* --- exchange -------------------------------------------------------------------------------- */

/* What may be left when the session ends: the library, the agent's recording, the chunk it is
 * writing and what the file was before. Nothing else is ever removed; a folder with more in it
 * stays, the target's as it is. */
static const char *const leftovers[] = {AGENT_LIBRARY, EXCHANGE_RECORDING,
                                        EXCHANGE_RECORDING ".chunk", EXCHANGE_RECORDING ".1"};

static bool begin(struct as_target *self, const struct exchange *exchange)
{
    return as_target_begin(self, exchange->target.uid, exchange->target.gid);
}

static void close_both(struct exchange *exchange)
{
    int error = errno;
    if (exchange->folder_fd >= 0)
        close(exchange->folder_fd);
    if (exchange->tmp_fd >= 0)
        close(exchange->tmp_fd);
    exchange->folder_fd = exchange->tmp_fd = -1;
    errno = error;
}

/* After a name was made another one may stand there: a mount, a link. Then it is left alone. */
static bool make_folder(struct exchange *exchange)
{
    struct as_target self;
    if (!begin(&self, exchange))
        return false;
    if (mkdirat(exchange->tmp_fd, exchange->name, 0700) == 0)
        exchange->folder_fd = rooted_new_folder(exchange->tmp_fd, exchange->name);
    as_target_end(&self);
    struct stat status;
    if (exchange->folder_fd < 0)
        return false;
    if (fstat(exchange->folder_fd, &status) == 0 && status.st_uid == exchange->target.uid)
        return true;
    errno = EXDEV;
    return false;
}

bool exchange_open(struct exchange *exchange, const struct target *target)
{
    uint64_t random;
    *exchange = (struct exchange){.tmp_fd = -1, .folder_fd = -1, .target = *target};
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(exchange->name, sizeof exchange->name, "nmtwatch-%016llx", (unsigned long long)random);
    /* The dynamic linker knows the agent again by its name, and the kernel's has no links in it. */
    snprintf(exchange->theirs, sizeof exchange->theirs, "%s/%s", rooted_below(target, target->tmp),
             exchange->name);
    exchange->tmp_fd = rooted_folder(target->root, "/tmp", O_PATH);
    if (exchange->tmp_fd >= 0 && make_folder(exchange))
        return true;
    close_both(exchange);
    return false;
}

int exchange_file(const struct exchange *exchange, const char *name, mode_t mode)
{
    struct as_target self;
    if (!begin(&self, exchange))
        return -1;
    int fd =
        openat(exchange->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && fchmod(fd, mode) != 0) {
        int error = errno;
        close(fd);
        unlinkat(exchange->folder_fd, name, 0);
        errno = error;
        fd = -1;
    }
    as_target_end(&self);
    return fd;
}

int exchange_read(const struct exchange *exchange, const char *name)
{
    return rooted_read_at(&exchange->target, exchange->folder_fd, name, ROOTED_OWN | ROOTED_SINGLE,
                          INT64_MAX, NULL);
}

bool exchange_remove(const struct exchange *exchange, const char *name)
{
    struct as_target self;
    if (!begin(&self, exchange))
        return false;
    bool good = unlinkat(exchange->folder_fd, name, 0) == 0;
    as_target_end(&self);
    return good;
}

void exchange_close(struct exchange *exchange)
{
    struct as_target self;
    if (exchange->folder_fd >= 0 && begin(&self, exchange)) {
        for (size_t i = 0; i < sizeof leftovers / sizeof leftovers[0]; i++)
            unlinkat(exchange->folder_fd, leftovers[i], 0);
        unlinkat(exchange->tmp_fd, exchange->name, AT_REMOVEDIR);
        as_target_end(&self);
    }
    close_both(exchange);
}
