/*
 * agent_call: one command to the agent in a target, through HotSpot's attach operation `load`.
 *
 *   agent_session_open -> agent_call ... -> agent_session_close
 *
 * Loading a library that is loaded already only calls it: so each command is a `load` with another
 * option string. The answer comes back in a file of the private folder (exchange below); its format is
 * agent/control/wire_formats.h. Only `start` brings the agent into a JVM: the other commands are
 * refused here when it is not there.
 *
 * Blocking, bounded by AGENT_TIMEOUT_MS. Setup context, one thread.
 */
#ifndef NMTWATCH_PROFILE_AGENT_CALL_H
#define NMTWATCH_PROFILE_AGENT_CALL_H

#include "agent/control/agent_options.h"
#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/target.h"

#include <stddef.h>

/*
 * exchange: a private folder in the target's /tmp, through which files pass to and from its agent.
 *
 *   exchange_open -> exchange_file ... -> exchange_close (removes the folder and the files of ours
 *                                                         and the agent's that are in it)
 *
 * It belongs to the target's user, mode 0700, under a random name; in a container it is
 * made in the container's /tmp, wherever that leads there (rooted.h). Everything is made, filled
 * and removed with the rights of the target's user (as_target.h): whatever that user puts in the
 * way, as a link or a mount, root does nothing there that the user could not do. A folder that is
 * not the one just made is left alone. The result is text of the target: names are never
 * followed through links or mounts, and a file that was made here is read back by the descriptor it
 * was made with.
 *
 * Setup context, one thread.
 */

#define EXCHANGE_RECORDING "recording.jfr"

struct exchange {
    struct target target;
    int tmp_fd, folder_fd;
    char name[48];
    char theirs[224]; /* "/tmp/nmtwatch-...", as the target names it, without links */
};

/* False with errno: EXDEV when something else came to stand in the place of the new folder; EACCES
 * when the target's user may not write to its /tmp; EPERM when its ids cannot be taken. */
bool exchange_open(struct exchange *exchange, const struct target *target);
/* A new file of the target's user; -1 with errno. */
int exchange_file(const struct exchange *exchange, const char *name, mode_t mode);
/* A file that the target made: regular, its own, one name; -1 with errno. */
int exchange_read(const struct exchange *exchange, const char *name);
bool exchange_remove(const struct exchange *exchange, const char *name);
void exchange_close(struct exchange *exchange);

/* A stop writes the last chunk; names of 100 000 methods take a second or two. */
#define AGENT_TIMEOUT_MS 30000

struct agent_session {
    struct target target;
    struct attach *attach;
    struct exchange exchange;
    bool loaded;
    bool named;         /* the library was chosen by the user */
    char library[4096]; /* as the target names it */
    char local[4096];   /* as we name it; "" when it is loaded already, or in its own root */
    int calls;
};

/* named: the library to load, NULL: the one that belongs to this program. FAILURE_NONE, or the
 * reason in failure. */
enum failure_kind agent_session_open(struct agent_session *session, const struct target *target,
                                     enum agent_command first, const char *named,
                                     struct failure *failure);
/* options: the agent's option string without `answer`. *json: the answer, the caller frees it. */
enum failure_kind agent_call(struct agent_session *session, const char *options, char **json,
                             struct failure *failure);
void agent_session_close(struct agent_session *session);

/*
 * timed: waits while an agent works, for those verbs that start it, wait and stop it.
 *
 * Ends early on SIGINT, SIGTERM and SIGHUP (signals_catch: a stop is owed), and when every target has
 * ended and no search for more is running. On a terminal a line on standard error says how long it
 * still takes. One thread, once a process.
 */
struct timed {
    const struct target *const *targets;
    size_t count;
    void (*look)(void *context,
                 struct timed *timed); /* NULL; or adds targets, five times a second */
    void *context;
};
/* what: "profiling", "sampling allocations of". */
void timed_wait(const char *what, struct timed *timed, int64_t duration_ms);

#endif
