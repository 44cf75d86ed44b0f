/* agent_call: one command to the agent in a target, through HotSpot's attach operation `load`.
 *
 *   agent_session_open -> agent_call ... -> agent_session_close
 *
 * Loading a library that is loaded already only calls it: so each command is a `load` with another
 * option string. The answer comes back in a file of the private folder (exchange below); its format is
 * floor/wire/wire_formats.h. Only `start` brings the agent into a JVM: the other commands are
 * refused here when it is not there.
 *
 * Blocking, bounded by AGENT_TIMEOUT_MS. Setup context, one thread. */
#pragma once

#include "floor/wire/agent_options.h"
#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/target.h"

#include <stddef.h>

/* exchange: a private folder in the target's /tmp, through which files pass to and from its agent.
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
 * Setup context, one thread. */

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
/* Makes the option string of a start fit the JVM's system call filter: where the filter kills for a timer that the agent
 * would try, another one is named. Where there is none the agent is not asked: FAILURE_SECCOMP. */
enum failure_kind agent_filter_fit(const struct target *target, char *text, size_t size,
                                   struct failure *failure);
/* options: the agent's option string without `answer`. *json: the answer, the caller frees it. */
enum failure_kind agent_call(struct agent_session *session, const char *options, char **json,
                             struct failure *failure);
void agent_session_close(struct agent_session *session);

/* timed: waits while an agent works, for those verbs that start it, wait and stop it.
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

/* agent_library: which libnmtagent.so a target gets.
 *
 * One that it has loaded already stays the one: the same library under two paths would be two
 * agents. Else the file beside this program, or the one that was named: here, or in the target's
 * own root, where an image may bring it along. In a container it is asked first whether the file is
 * visible there; only if not it gets a copy. Setup context. */
#define AGENT_LIBRARY "libnmtagent.so"

enum agent_loaded { AGENT_LOADED, AGENT_NOT_LOADED, AGENT_LOADED_UNKNOWN };

/* The one that was named (or NULL) if it is mapped, else the one that answers, where it says which
 * that is, else the first of that name. path: as the target names it; it may have been deleted
 * since, which does no harm. */
enum agent_loaded agent_library_loaded(const struct target *target, const char *named, char *path,
                                       size_t size);
/* Absolute path of the library here. named may be NULL: then it is the one beside this program, if only root
 * and the caller can change it: the file, its folder and those above belong to them and are not writable for
 * others. False with a sentence. */
bool agent_library_find(const char *named, char *path, size_t size, char *error, size_t error_size);
/* The library of this path for reading, or -1 with errno (EPERM: not a regular file). */
int agent_library_read(const char *path);
/* Whether the target's root has a library of that name (absolute) that its user may read. False
 * with errno; ENOENT also when that root is ours. */
bool agent_library_inside(const struct target *target, const char *named);
/* What keeps it from the target: FAILURE_NONE; FAILURE_OTHER_MACHINE, with both architectures in detail; or
 * FAILURE_AGENT_LIBC, because glibc's cannot be loaded beside musl, nor the other way round. path as we reach
 * it, or inside: as the target does. None when in doubt. */
enum failure_kind agent_library_obstacle(const struct target *target, const char *path, bool inside,
                                         char *detail, size_t size);
/* Whether the target can open this path of ours: the same root, and readable for its user, or the
 * same file in another root. False when in doubt: it gets a copy then. */
bool agent_library_reachable(const struct target *target, const char *path);

/* start_options: the agent's options on the command line of `nmtwatch profile`.
 *
 * The rows come from the agent's own table (floor/wire/options.def): the same names, with '-'
 * for
 * '_', and --no-NAME for what is true or false. The given options become the agent's option string, which
 * the agent's own parser checks here: a mistake never reaches the JVM.
 *
 * Values point into argv. One thread. */
#define START_OPTION_ROWS_MAX (2 * AGENT_OPTION_COUNT)

struct start_options {
    const char *value[AGENT_OPTION_COUNT]; /* NULL: not given */
    bool negated[AGENT_OPTION_COUNT];
    char name[AGENT_OPTION_COUNT][24], negation[AGENT_OPTION_COUNT][28];
    char help[AGENT_OPTION_COUNT][128], end_after[24];
};

/* None given; names, negations and help of all. */
void start_options_init(struct start_options *options);
/* --wall_threads becomes --wall-threads: the names of the option string are understood too. One that is true
 * or false may stand alone: --native is --native=true. After start_options_init. */
void start_options_spell(const struct start_options *options, int argc, char **argv);
/* The agent stops by itself some time after so long, should its starter be killed. */
void start_options_end_after(struct start_options *options, int64_t duration_ms);
/* The option string. file: in place of what was given, NULL: that. False with one sentence. */
bool start_options_text(const struct start_options *options, enum agent_command command,
                        const char *file, char *text, size_t size, char *error, size_t error_size);
