/* attach: HotSpot's attach protocol, as a state machine that never blocks.
 *
 * The JVM's listener is one thread, strictly serial, without time-out: so one command is in flight
 * per target, each step has a deadline, the reply is drained into memory before it is parsed,
 * and its size is capped. JDK 24+ streams replies from inside the safepoint by default, so that a
 * slow reader stops the application: where the JVM offers it, `jcmd streaming=0` is asked for.
 *
 *   attach_create -> attach_ask -> attach_step (when attach_fd is ready or attach_wait_ms is over)
 *                 -> attach_reply -> attach_ask ... -> attach_destroy
 *   attach_run does ask and step in a loop, for callers with one target.
 *
 * Opening: the socket is /tmp/.java_pid<nspid> in the target's root. If absent, .attach_pid<nspid>
 * is created (target's cwd, else /tmp), SigCgt is checked for SIGQUIT and the start time for pid
 * reuse, then SIGQUIT is sent, at most once per attach_ask; the file is removed again once the
 * socket is there. A stopped process is not signalled, and a signal that was not handled yet keeps
 * its file: without it it means a thread dump. A refused connection is a stale socket: no signal.
 * A question that the JVM's system call filter answers with its end is not asked (syscall_filter.h): every verb that
 * asks comes through here.
 * Connecting is done in a child with the target's uid and gid when the JVM would not accept ours.
 *
 * Ownership: attach owns its buffers; the reply is valid until the next attach_ask or _destroy.
 * Calling context: event loop, one thread. SIGPIPE must be ignored (MSG_NOSIGNAL is used as well). */
#pragma once

#include "floor/base/span.h"
#include "nmtwatch/jvm/target.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attach;

struct attach_limits {
    int timeout_ms;               /* whole exchange; 0: 5000 */
    size_t reply_max_bytes;       /* 0: 256 MiB */
    struct reply_budget *replies; /* shared with other targets; NULL: none. It outlives attach */
    bool until_asked;             /* attach_run: a second more once this process was asked to end */
};

struct attach *attach_create(const struct target *target, const struct attach_limits *limits);

/* Starts one exchange. commands: jcmd commands separated by '\n' ("VM.version\nVM.native_memory
 * summary"), at most 1024 bytes with protocol 1. Fails only for misuse (one in flight, too long):
 * -1 with errno EBUSY, E2BIG. */
int attach_ask(struct attach *attach, const char *commands);
/* Starts an exchange of another operation ("load" of an agent, "properties"). args may be NULL. */
int attach_ask_operation(struct attach *attach, const char *operation, const char *args[3]);

enum attach_state { ATTACH_IDLE, ATTACH_BUSY, ATTACH_DONE, ATTACH_FAILED };
enum attach_state attach_step(struct attach *attach);
/* What to poll for: fd (or -1), events for poll(2), and the time after which to step anyway. */
int attach_fd(const struct attach *attach, short *events);
int attach_wait_ms(const struct attach *attach);

/* After ATTACH_DONE: the text after the result code line. Several commands' replies follow each
 * other without separators. result_code: the first line's number (0 good). */
struct span attach_reply(const struct attach *attach, int *result_code);
/* After ATTACH_FAILED. */
const struct failure *attach_failure(const struct attach *attach);
/* Whether the JVM was killed within a second after the last question, by a signal that the question may be the cause of:
 * "killed by signal 31 (SIGSYS), 3 ms after VM.native_memory". Else false, and words are what is known, or empty. For a process that has ended; waits 50 ms at
 * most until the kernel says how. */
bool attach_killed(struct attach *attach, const char **words);
/* Wall time of the last exchange after the connection stood, microseconds. */
int64_t attach_elapsed_us(const struct attach *attach);
/* Gives the reply's memory back (a class list is megabytes). */
void attach_release(struct attach *attach);
/* Gives up on the exchange in flight. */
void attach_abandon(struct attach *attach);

/* Blocking: ask and step until done. Returns FAILURE_NONE with the reply in *reply, or the kind. */
enum failure_kind attach_run(struct attach *attach, const char *commands, struct span *reply,
                             struct failure *failure);
void attach_destroy(struct attach *attach);

/* reply_budget: how many bytes of replies may be held at once, of all JVMs together and of those of
 * one user.
 *
 *   reply_budget_create -> reply_budget_take (a buffer grows) / reply_budget_give (it goes) ...
 *                       -> reply_budget_destroy
 *
 * The problem: each reply is bounded, but a user can start many JVMs that answer at the same time
 * and hold their replies open. What a summary needs (REPLY_BUDGET_SMALL) is always granted, so a
 * user who uses his share up takes class lists from others at most, never their samples.
 *
 * Event loop, one thread. */

#define REPLY_BUDGET_SMALL ((size_t)64 << 10) /* an NMT summary is 4-8 KB */

struct reply_budget;

/* NULL when out of memory. */
struct reply_budget *reply_budget_create(void);
/* Memory that is held stays held. */
void reply_budget_limit(struct reply_budget *budget, int64_t all_bytes, int64_t user_bytes);

/* A buffer of `have` bytes is to become one of `wanted`: the size it may get, which is smaller than
 * wanted when less is left, and `have` when nothing is. */
size_t reply_budget_take(struct reply_budget *budget, uid_t user, size_t have, size_t wanted);
void reply_budget_give(struct reply_budget *budget, uid_t user, size_t bytes);

struct reply_budget_counts {
    int64_t held_bytes;
    int64_t refused; /* times that nothing was left */
};
struct reply_budget_counts reply_budget_counts(const struct reply_budget *budget);
void reply_budget_destroy(struct reply_budget *budget);
