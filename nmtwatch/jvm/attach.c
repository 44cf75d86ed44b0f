#include "nmtwatch/jvm/attach.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/signals.h"
#include "analyzers/parse/jcmd_reply.h"
#include "nmtwatch/jvm/attach_connect.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/room.h"
#include "nmtwatch/jvm/syscall_filter.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS             5000
#define ASKED_MS               1000 /* left for a question once this process was asked to end */
#define REPLY_MAX_BYTES        ((size_t)256 << 20)
#define REPLY_FIRST_BYTES      ((size_t)16 << 10) /* an NMT summary is 4-8 KB */
/* A larger buffer is given back before the next ask. */
#define REPLY_KEEP_BYTES       ((size_t)256 << 10)
#define READ_PER_STEP_BYTES    ((size_t)4 << 20) /* then other targets have their turn */
#define OPERATION_MAX_BYTES    16                /* AttachOperation::name_length_max */
#define V1_ARG_MAX_BYTES       1024              /* AttachOperation::arg_length_max */
#define V2_REQUEST_MAX_BYTES   (256 * 1024)      /* AttachOperation's MAX_REQUEST_LEN */
#define CODE_LINE_MAX_BYTES    12                /* "-2147483648\n" */
#define ARG_COUNT              3
#define FIRST_JDK_WITH_OPTIONS 24 /* older ones need not be asked for getversion */

enum stage { STAGE_CONNECT, STAGE_SEND, STAGE_RECEIVE };

struct attach {
    struct target target;
    struct attach_limits limits;
    struct attach_connect opening;

    /* What the JVM understands: v2 and "streaming=0" came together. */
    bool probed, offers_options;

    /* The question. */
    char *operation, *args[ARG_COUNT];
    bool probing;      /* the exchange in flight asks for the version first */
    char question[48]; /* the last one, as people know it: "VM.native_memory" */
    int64_t asked_ms;  /* when it was sent; 0: nothing was */
    char end[128];     /* how the JVM ended after it, once that is known */
    bool killed;
    struct filter_sibling family; /* the JVMs that are like this one */
    char *request;
    size_t request_len, request_capacity, sent;

    /* The exchange. */
    enum attach_state state;
    enum stage stage;
    int fd;
    bool as_owner;
    int64_t deadline_ms, opened_us, elapsed_us;
    int64_t not_before_ms; /* the next connection, after an exchange that failed */

    /* The answer. */
    char *reply;
    size_t reply_len, reply_capacity;
    size_t text_at; /* behind the result code's line; 0: the line is not complete yet */
    int result_code;
    struct failure failure;
};

struct attach *attach_create(const struct target *target, const struct attach_limits *limits)
{
    struct attach *attach = calloc(1, sizeof *attach);
    if (attach == NULL)
        return NULL;
    attach->target = *target;
    if (limits != NULL)
        attach->limits = *limits;
    if (attach->limits.timeout_ms <= 0)
        attach->limits.timeout_ms = TIMEOUT_MS;
    if (attach->limits.reply_max_bytes == 0)
        attach->limits.reply_max_bytes = REPLY_MAX_BYTES;
    attach->fd = -1;
    connect_init(&attach->opening, &attach->target);
    int jdk_major = target->identity.jdk_major;
    attach->probed = jdk_major > 0 && jdk_major < FIRST_JDK_WITH_OPTIONS;
    return attach;
}

/* --- a JVM that ends after a question ---------------------------------------------------------- */

#define AFTER_QUESTION_MS 1000
#define END_KNOWN_MS      50 /* a process that ends is reported so a moment later */

/* "VM.native_memory summary scale=KB" -> "VM.native_memory" */
static void name_question(struct attach *attach)
{
    bool is_jcmd = strcmp(attach->operation, "jcmd") == 0;
    const char *name = is_jcmd                                  ? attach->args[0]
                       : strcmp(attach->operation, "load") == 0 ? "the load of an agent"
                                                                : attach->operation;
    size_t length = is_jcmd ? strcspn(name, " \n") : strlen(name);
    span_copy(span_of(name, length), attach->question, sizeof attach->question);
    attach->asked_ms = 0;
}

bool attach_killed(struct attach *attach, const char **words)
{
    int status = 0;
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC), passed_ms = now_ms - attach->asked_ms;
    *words = attach->end;
    if (attach->end[0] != '\0' || attach->asked_ms == 0 || passed_ms > AFTER_QUESTION_MS)
        return attach->killed;
    while (!proc_exit_status(attach->opening.process_fd, attach->target.pid,
                             attach->target.start_time_ticks, &status) &&
           clock_ms(CLOCK_MONOTONIC) - now_ms < END_KNOWN_MS)
        poll(NULL, 0, 5);
    int number = WTERMSIG(status);
    if (!WIFSIGNALED(status)) {
        snprintf(attach->end, sizeof attach->end, "it ended %" PRId64 " ms after %s", passed_ms,
                 attach->question);
        return false;
    }
    snprintf(attach->end, sizeof attach->end, "killed by signal %d%s, %" PRId64 " ms after %s",
             number, number == SIGSYS ? EVENT_SIGSYS : "", passed_ms, attach->question);
    if (number == SIGSYS)
        filter_sibling_killed(&attach->family, attach->question);
    /* Those are somebody's doing. */
    attach->killed = number != SIGKILL && number != SIGTERM && number != SIGINT && number != SIGHUP;
    return attach->killed;
}

/* Whether what is to be asked would end the JVM; words say why. */
static bool would_kill(struct attach *attach, char *words, size_t size)
{
    char filter_words[200];
    const char *call = NULL;
    bool is_jcmd = strcmp(attach->operation, "jcmd") == 0;
    const char *question = is_jcmd ? attach->args[0] : attach->operation;
    filter_sibling_of(&attach->target, &attach->family);
    if (syscall_filter_asked_anyway())
        return false;
    const struct syscall_filter *filter = syscall_filter_of(&attach->target);
    for (const char *at = question; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        call = syscall_filter_kills(filter, attach->target.identity.jdk_major, at);
        size_t length = strcspn(at, " \n");
        if (call != NULL) {
            syscall_filter_words(filter, filter_words, sizeof filter_words);
            snprintf(words, size, "%.*s leads to %s(); %s", (int)length, at, call, filter_words);
            return true;
        }
        if (filter_sibling_was_killed(&attach->family, at)) {
            snprintf(words, size, "a JVM of the same kind was killed (SIGSYS) after %.*s",
                     (int)length, at);
            return true;
        }
    }
    return false;
}

/* --- ends of an exchange ---------------------------------------------------------------------- */

static void close_connection(struct attach *attach)
{
    connect_cancel(&attach->opening);
    if (attach->fd >= 0)
        close(attach->fd);
    attach->fd = -1;
}

static enum attach_state give_up(struct attach *attach)
{
    if (attach->failure.kind != FAILURE_UNKNOWN_COMMAND) /* that one was an answer */
        attach->not_before_ms = clock_ms(CLOCK_MONOTONIC) + CONNECT_RETRY_MS;
    close_connection(attach);
    attach_release(attach);
    return attach->state = ATTACH_FAILED;
}

static enum attach_state fail(struct attach *attach, enum failure_kind kind, const char *detail)
{
    char who[32];
    snprintf(who, sizeof who, "pid %d", (int)attach->target.pid);
    if (kind != FAILURE_SYSTEM && !connect_process_alive(&attach->opening)) {
        /* Whatever went wrong, that is why. */
        kind = attach_killed(attach, &detail) ? FAILURE_KILLED : FAILURE_GONE;
    }
    failure_set(&attach->failure, kind, who, detail);
    return give_up(attach);
}

static enum attach_state fail_with_span(struct attach *attach, enum failure_kind kind,
                                        struct span text)
{
    char detail[200];
    span_copy(text, detail, sizeof detail);
    return fail(attach, kind, detail);
}

static enum attach_state fail_no_answer(struct attach *attach)
{
    if (target_state_now(&attach->target).stopped)
        return fail(attach, FAILURE_NO_ANSWER, TARGET_STOPPED);
    char detail[96];
    snprintf(detail, sizeof detail, "%zu bytes of an unfinished reply came within %d ms",
             attach->reply_len, attach->limits.timeout_ms);
    return fail(attach, FAILURE_NO_ANSWER, detail);
}

/* --- the request ------------------------------------------------------------------------------ */

/* v1: "1" NUL operation NUL arg NUL arg NUL arg NUL; exactly three, or the JVM waits for more.
 * v2: "2" NUL length-of-the-rest NUL operation " streaming=0" NUL arg NUL ... */
static bool build_request(struct attach *attach, bool v2, const char *operation,
                          char *const args[ARG_COUNT])
{
    char head[64];
    size_t args_len = 0;
    for (int i = 0; i < ARG_COUNT; i++)
        args_len += strlen(args[i]) + 1;
    /* Each piece ends with a NUL, which snprintf's result does not count. */
    size_t head_len = 2; /* "1" or "2" */
    if (v2)
        head_len += (size_t)snprintf(head, sizeof head, "%zu",
                                     strlen(operation) + sizeof " streaming=0" + args_len) +
                    1;
    size_t operation_len = strlen(operation);
    size_t len = head_len + operation_len + (v2 ? sizeof " streaming=0" : 1) + args_len;
    if (len > attach->request_capacity) {
        char *grown = realloc(attach->request, len);
        if (grown == NULL)
            return false;
        attach->request = grown;
        attach->request_capacity = len;
    }
    char *at = mempcpy(attach->request, v2 ? "2" : "1", 2);
    if (v2)
        at = mempcpy(at, head, head_len - 2);
    at = mempcpy(at, operation, operation_len);
    at = v2 ? mempcpy(at, " streaming=0", sizeof " streaming=0") : mempcpy(at, "", 1);
    for (int i = 0; i < ARG_COUNT; i++)
        at = mempcpy(at, args[i], strlen(args[i]) + 1);
    attach->request_len = len;
    attach->sent = 0;
    return true;
}

static enum attach_state begin_exchange(struct attach *attach)
{
    static char probe_arg[] = "options", empty[] = "";
    char *const probe_args[ARG_COUNT] = {probe_arg, empty, empty};

    attach->probing = !attach->probed;
    bool built = attach->probing ? build_request(attach, false, "getversion", probe_args)
                                 : build_request(attach, attach->offers_options, attach->operation,
                                                 attach->args);
    if (!built)
        return fail(attach, FAILURE_SYSTEM, strerror(ENOMEM));
    if (!attach->probing && attach->request_len > V2_REQUEST_MAX_BYTES)
        return fail(attach, FAILURE_SYSTEM, "the command is too long");
    attach->reply_len = 0;
    attach->text_at = 0;
    attach->stage = STAGE_CONNECT;
    connect_request(&attach->opening, attach->request, attach->request_len);
    connect_begin(&attach->opening, attach->as_owner, attach->deadline_ms);
    attach->opening.retry_ms = attach->not_before_ms;
    return ATTACH_BUSY;
}

/* Whether its own user may be tried when it does not take us: by who may, or by a helper that may. */
static bool can_become_owner(const struct attach *attach)
{
    if (privileged_apart())
        return attach->target.uid != 0;
    return connect_may_become_owner(&attach->target);
}

int attach_ask_operation(struct attach *attach, const char *operation, const char *args[ARG_COUNT])
{
    if (attach->state == ATTACH_BUSY) {
        errno = EBUSY;
        return -1;
    }
    size_t longest = 0;
    for (int i = 0; args != NULL && i < ARG_COUNT; i++)
        if (args[i] != NULL && strlen(args[i]) > longest)
            longest = strlen(args[i]);
    bool v1_only = attach->probed && !attach->offers_options;
    if (strlen(operation) > OPERATION_MAX_BYTES || longest > V2_REQUEST_MAX_BYTES - 64 ||
        (v1_only && longest > V1_ARG_MAX_BYTES)) {
        errno = E2BIG;
        return -1;
    }

    free(attach->operation);
    attach->operation = strdup(operation);
    bool copied = attach->operation != NULL;
    for (int i = 0; i < ARG_COUNT; i++) {
        free(attach->args[i]);
        attach->args[i] = strdup(args != NULL && args[i] != NULL ? args[i] : "");
        copied = copied && attach->args[i] != NULL;
    }
    if (!copied) {
        errno = ENOMEM;
        return -1;
    }

    if (attach->reply_capacity > REPLY_KEEP_BYTES)
        attach_release(attach);
    attach->failure.kind = FAILURE_NONE;
    attach->state = ATTACH_BUSY;
    attach->deadline_ms = clock_ms(CLOCK_MONOTONIC) + attach->limits.timeout_ms;
    /* JDK 8 accepts its own ids only, not even root. */
    int jdk_major = attach->target.identity.jdk_major;
    if (jdk_major > 0 && jdk_major <= 8 && can_become_owner(attach))
        attach->as_owner = true;
    name_question(attach);
    char why[300];
    const char *first =
        strcmp(attach->operation, "jcmd") == 0 ? attach->args[0] : attach->operation;
    if (would_kill(attach, why, sizeof why))
        fail(attach, FAILURE_SECCOMP, why);
    else if (room_for_question(&attach->target, first, why, sizeof why) != NULL)
        fail(attach, FAILURE_NO_ROOM, why);
    else
        begin_exchange(attach);
    return 0;
}

int attach_ask(struct attach *attach, const char *commands)
{
    return attach_ask_operation(attach, "jcmd", (const char *[ARG_COUNT]){commands});
}

/* --- the reply -------------------------------------------------------------------------------- */

/* Root is not everybody's root: when the JVM hangs up without a word, ask once more as its own
 * user. It has not run the command: a result code would have come first. */
static enum attach_state rejected(struct attach *attach)
{
    if (!connect_process_alive(&attach->opening))
        return fail(attach, FAILURE_GONE, NULL);
    if (attach->as_owner || !can_become_owner(attach))
        return fail(attach, FAILURE_REJECTED, NULL);
    close_connection(attach);
    attach->as_owner = true;
    return begin_exchange(attach);
}

static enum attach_state probe_answered(struct attach *attach, struct span text)
{
    attach->probed = true;
    attach->offers_options = attach->result_code == 0 &&
                             span_starts_with(text, SPAN_LITERAL("2")) &&
                             span_find(text, SPAN_LITERAL("streaming")) >= 0;
    close_connection(attach);
    for (int i = 0; i < ARG_COUNT; i++)
        if (!attach->offers_options && strlen(attach->args[i]) > V1_ARG_MAX_BYTES)
            return fail(attach, FAILURE_SYSTEM, "the command is too long for this JDK");
    return begin_exchange(attach);
}

/* jcmd's refusals. The exception may follow the replies of commands that went well. */
static enum attach_state command_refused(struct attach *attach, struct span text)
{
    struct span rest = text, line;
    for (struct span at = rest; span_take_line(&rest, &line); at = rest) {
        struct jcmd_reply reply = jcmd_reply_classify(at);
        if (reply.kind == JCMD_UNKNOWN_COMMAND || reply.kind == JCMD_UNKNOWN_ARGUMENT)
            return fail_with_span(attach, FAILURE_UNKNOWN_COMMAND, reply.message);
        if (reply.kind == JCMD_EXCEPTION)
            return fail_with_span(attach, FAILURE_REJECTED, reply.message);
        if (span_ends_with(line, SPAN_LITERAL("not recognized!")))
            return fail_with_span(attach, FAILURE_UNKNOWN_COMMAND, line);
    }
    char detail[64];
    snprintf(detail, sizeof detail, "result code %d", attach->result_code);
    return fail(attach, FAILURE_REJECTED, detail);
}

static enum attach_state reply_ended(struct attach *attach)
{
    if (attach->reply_len == 0)
        return rejected(attach);
    if (attach->text_at == 0)
        return fail(attach, FAILURE_BAD_REPLY, "it ends before its result code does");
    /* A JVM that dies while it writes leaves half a reply that looks whole. */
    if (!connect_process_alive(&attach->opening))
        return fail(attach, FAILURE_GONE, NULL);

    struct span text =
        span_of(attach->reply + attach->text_at, attach->reply_len - attach->text_at);
    if (attach->probing)
        return probe_answered(attach, text);
    if (attach->result_code != 0 && strcmp(attach->operation, "jcmd") == 0)
        return command_refused(attach, text);
    attach->elapsed_us = clock_us(CLOCK_MONOTONIC) - attach->opened_us;
    close_connection(attach);
    return attach->state = ATTACH_DONE;
}

/* The first line is the result code. False when it cannot become one. */
static bool read_result_code(struct attach *attach)
{
    struct span rest = span_of(attach->reply, attach->reply_len), line;
    bool terminated = false;
    int64_t code;
    if (!span_next_line(&rest, &line, &terminated) || !terminated)
        return attach->reply_len < CODE_LINE_MAX_BYTES;
    if (!span_take_i64(&line, &code) || line.len != 0 || code < INT32_MIN || code > INT32_MAX)
        return false;
    attach->result_code = (int)code;
    attach->text_at = attach->reply_len - rest.len;
    return true;
}

/* False with errno; EDQUOT: others hold what there is for replies. */
static bool make_room(struct attach *attach)
{
    struct reply_budget *replies = attach->limits.replies;
    if (attach->reply_len < attach->reply_capacity)
        return true;
    size_t capacity = attach->reply_capacity == 0 ? REPLY_FIRST_BYTES : attach->reply_capacity * 2;
    if (capacity > attach->limits.reply_max_bytes)
        capacity = attach->limits.reply_max_bytes + 1; /* one more than allowed: means too large */
    if (replies != NULL)
        capacity = reply_budget_take(replies, attach->target.accountable, attach->reply_capacity,
                                     capacity);
    if (capacity == attach->reply_capacity) {
        errno = EDQUOT;
        return false;
    }
    char *bigger = realloc(attach->reply, capacity);
    if (bigger == NULL) {
        if (replies != NULL)
            reply_budget_give(replies, attach->target.accountable,
                              capacity - attach->reply_capacity);
        errno = ENOMEM;
        return false;
    }
    attach->reply = bigger;
    attach->reply_capacity = capacity;
    return true;
}

static enum attach_state fail_no_room(struct attach *attach, int error)
{
    char detail[96];
    if (error != EDQUOT)
        return fail(attach, FAILURE_SYSTEM, strerror(error));
    snprintf(detail, sizeof detail,
             "more than %zu bytes; replies of other JVMs hold what else there is",
             attach->reply_len);
    return fail(attach, FAILURE_REPLY_TOO_LARGE, detail);
}

/* --- the stages ------------------------------------------------------------------------------- */

static enum attach_state step_connect(struct attach *attach)
{
    switch (connect_step(&attach->opening, clock_ms(CLOCK_MONOTONIC))) {
    case CONNECT_BUSY:
        return ATTACH_BUSY;
    case CONNECT_FAILED:
        if (attach->opening.signalled && attach->opening.failure.kind == FAILURE_GONE) {
            attach->asked_ms = attach->opening.signalled_ms;
            snprintf(attach->question, sizeof attach->question,
                     "the request for its attach socket");
            return fail(attach, FAILURE_GONE, NULL);
        }
        attach->failure = attach->opening.failure;
        return give_up(attach);
    case CONNECT_OPEN:
        break;
    }
    attach->asked_ms = clock_ms(CLOCK_MONOTONIC);
    attach->fd = attach->opening.fd;
    attach->opened_us = clock_us(CLOCK_MONOTONIC);
    if (attach->opening.sent_us != 0) { /* the JVM has been at work since then */
        attach->opened_us = attach->opening.sent_us;
        attach->sent = attach->request_len;
    }
    attach->stage = STAGE_SEND;
    return ATTACH_BUSY;
}

static enum attach_state step_send(struct attach *attach)
{
    while (attach->sent < attach->request_len) {
        ssize_t n = send(attach->fd, attach->request + attach->sent,
                         attach->request_len - attach->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return ATTACH_BUSY;
        if (n < 0) /* EPIPE, ECONNRESET: it hung up without reading */
            return rejected(attach);
        attach->sent += (size_t)n;
    }
    attach->stage = STAGE_RECEIVE;
    return ATTACH_BUSY;
}

static enum attach_state step_receive(struct attach *attach)
{
    size_t taken = 0;
    while (taken < READ_PER_STEP_BYTES) {
        if (!make_room(attach))
            return fail_no_room(attach, errno);
        ssize_t n = recv(attach->fd, attach->reply + attach->reply_len,
                         attach->reply_capacity - attach->reply_len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return ATTACH_BUSY;
        if (n < 0 && attach->reply_len > 0)
            return fail(attach, FAILURE_BAD_REPLY, strerror(errno));
        if (n <= 0)
            return reply_ended(attach);
        attach->reply_len += (size_t)n;
        taken += (size_t)n;
        if (attach->text_at == 0 && !read_result_code(attach))
            return fail(attach, FAILURE_BAD_REPLY, "it does not begin with a result code");
        if (attach->reply_len > attach->limits.reply_max_bytes) {
            char detail[64];
            snprintf(detail, sizeof detail, "more than %zu bytes", attach->limits.reply_max_bytes);
            return fail(attach, FAILURE_REPLY_TOO_LARGE, detail);
        }
    }
    return ATTACH_BUSY;
}

enum attach_state attach_step(struct attach *attach)
{
    if (attach->state != ATTACH_BUSY)
        return attach->state;
    if (attach->stage == STAGE_CONNECT && step_connect(attach) != ATTACH_BUSY)
        return attach->state;
    if (attach->stage == STAGE_CONNECT)
        return ATTACH_BUSY;
    if (clock_ms(CLOCK_MONOTONIC) >= attach->deadline_ms)
        return fail_no_answer(attach);
    return attach->stage == STAGE_SEND ? step_send(attach) : step_receive(attach);
}

int attach_fd(const struct attach *attach, short *events)
{
    *events = attach->stage == STAGE_SEND ? POLLOUT : POLLIN;
    if (attach->state != ATTACH_BUSY)
        return -1;
    return attach->stage == STAGE_CONNECT ? connect_fd(&attach->opening) : attach->fd;
}

int attach_wait_ms(const struct attach *attach)
{
    if (attach->state != ATTACH_BUSY)
        return -1;
    int64_t until_ms = attach->deadline_ms;
    if (attach->stage == STAGE_CONNECT && connect_fd(&attach->opening) < 0 &&
        attach->opening.retry_ms < until_ms)
        until_ms = attach->opening.retry_ms;
    int64_t wait_ms = until_ms - clock_ms(CLOCK_MONOTONIC);
    return wait_ms < 0 ? 0 : (int)wait_ms;
}

/* --- what callers ask afterwards -------------------------------------------------------------- */

struct span attach_reply(const struct attach *attach, int *result_code)
{
    if (result_code != NULL)
        *result_code = attach->result_code;
    if (attach->state != ATTACH_DONE || attach->reply == NULL)
        return span_of("", 0);
    return span_of(attach->reply + attach->text_at, attach->reply_len - attach->text_at);
}

const struct failure *attach_failure(const struct attach *attach)
{
    return &attach->failure;
}

int64_t attach_elapsed_us(const struct attach *attach)
{
    return attach->elapsed_us;
}

void attach_release(struct attach *attach)
{
    if (attach->limits.replies != NULL)
        reply_budget_give(attach->limits.replies, attach->target.accountable,
                          attach->reply_capacity);
    free(attach->reply);
    attach->reply = NULL;
    attach->reply_len = attach->reply_capacity = attach->text_at = 0;
}

void attach_abandon(struct attach *attach)
{
    if (attach->state != ATTACH_BUSY)
        return;
    close_connection(attach);
    attach_release(attach);
    attach->state = ATTACH_IDLE;
}

static void hurry(struct attach *attach)
{
    int64_t soon_ms = clock_ms(CLOCK_MONOTONIC) + ASKED_MS;
    if (attach->deadline_ms > soon_ms)
        attach->deadline_ms = soon_ms;
    if (attach->stage == STAGE_CONNECT && attach->opening.deadline_ms > soon_ms)
        attach->opening.deadline_ms = soon_ms;
}

enum failure_kind attach_run(struct attach *attach, const char *commands, struct span *reply,
                             struct failure *failure)
{
    *reply = span_of("", 0);
    if (attach_ask(attach, commands) != 0) {
        char who[32];
        snprintf(who, sizeof who, "pid %d", (int)attach->target.pid);
        return failure_set(failure, FAILURE_SYSTEM, who, strerror(errno));
    }
    bool hurried = !attach->limits.until_asked;
    while (attach_step(attach) == ATTACH_BUSY) {
        if (!hurried && signals_asked() > 0) {
            hurry(attach);
            hurried = true;
        }
        struct pollfd ready[] = {{.fd = -1}, {.fd = hurried ? -1 : signals_fd(), .events = POLLIN}};
        ready[0].fd = attach_fd(attach, &ready[0].events);
        poll(ready, 2, attach_wait_ms(attach));
        if (ready[1].revents != 0)
            signals_seen();
    }
    *failure = attach->failure;
    *reply = attach_reply(attach, NULL);
    return failure->kind;
}

void attach_destroy(struct attach *attach)
{
    if (attach == NULL)
        return;
    close_connection(attach);
    connect_destroy(&attach->opening);
    attach_release(attach);
    free(attach->request);
    free(attach->operation);
    for (int i = 0; i < ARG_COUNT; i++)
        free(attach->args[i]);
    free(attach);
}

/* --- reply budget ---------------------------------------------------------------------------- */

struct share {
    uid_t user;
    int64_t bytes;
};

struct reply_budget {
    int64_t all_bytes, user_bytes; /* limits */
    int64_t held_bytes, refused;
    int count; /* users who hold something */
    struct share *shares;
};

struct reply_budget *reply_budget_create(void)
{
    struct reply_budget *budget = calloc(1, sizeof *budget);
    if (budget != NULL)
        reply_budget_limit(budget, INT64_MAX, INT64_MAX);
    return budget;
}

void reply_budget_limit(struct reply_budget *budget, int64_t all_bytes, int64_t user_bytes)
{
    budget->all_bytes = all_bytes;
    budget->user_bytes = user_bytes;
}

static struct share *share_of(struct reply_budget *budget, uid_t user)
{
    for (int i = 0; i < budget->count; i++)
        if (budget->shares[i].user == user)
            return &budget->shares[i];
    struct share *more = reallocarray(budget->shares, (size_t)budget->count + 1, sizeof *more);
    if (more == NULL)
        return NULL;
    budget->shares = more;
    more[budget->count] = (struct share){.user = user};
    return &more[budget->count++];
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

size_t reply_budget_take(struct reply_budget *budget, uid_t user, size_t have, size_t wanted)
{
    struct share *share = share_of(budget, user);
    if (share == NULL)
        return have;
    int64_t left =
        smaller(budget->all_bytes - budget->held_bytes, budget->user_bytes - share->bytes);
    if (wanted <= REPLY_BUDGET_SMALL)
        left = (int64_t)(wanted - have);
    int64_t more = smaller(left, (int64_t)(wanted - have));
    if (more <= 0) {
        budget->refused++;
        return have;
    }
    share->bytes += more;
    budget->held_bytes += more;
    return have + (size_t)more;
}

void reply_budget_give(struct reply_budget *budget, uid_t user, size_t bytes)
{
    struct share *share = bytes > 0 ? share_of(budget, user) : NULL;
    if (share == NULL)
        return;
    share->bytes -= (int64_t)bytes;
    budget->held_bytes -= (int64_t)bytes;
    if (share->bytes <= 0)
        *share = budget->shares[--budget->count];
}

struct reply_budget_counts reply_budget_counts(const struct reply_budget *budget)
{
    return (struct reply_budget_counts){budget->held_bytes, budget->refused};
}

void reply_budget_destroy(struct reply_budget *budget)
{
    if (budget == NULL)
        return;
    free(budget->shares);
    free(budget);
}
