/* target: one JVM as the kernel shows it: pid here and in its own namespace, owner, start time, the
 * way to its files through /proc/PID/root, and who it says it is (hsperfdata, command line).
 *
 *   target_open -> target_still_same ... -> target_close
 *
 * A pid alone is not an identity: the start time from /proc/PID/stat goes with it everywhere.
 * Ownership: the caller owns the struct. Calling context: setup and event loop, one thread. */
#pragma once

#include "analyzers/model/event.h"
#include "floor/base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* failure: why a JVM could not be asked, as a value: kind, exit code, sentence.
 * The table is failures.def. Plain data; any thread. */
enum failure_kind {
    FAILURE_NONE = 0,
#define FAILURE(id, reason, exit_code, sentence, mend) FAILURE_##id,
#include "nmtwatch/jvm/failures.def"
#undef FAILURE
    FAILURE_KIND_COUNT,
};

struct failure {
    enum failure_kind kind;
    char sentence[320]; /* one line for people, no trailing newline; empty when FAILURE_NONE */
};

const char *failure_reason(enum failure_kind kind); /* "ok" for FAILURE_NONE */
int failure_exit_code(enum failure_kind kind);      /* 0 for FAILURE_NONE */
const char *failure_mend(enum failure_kind kind);   /* NULL for FAILURE_NONE */

/* Fills the sentence from the table; who is e.g. "pid 4711"; detail (may be NULL) is appended after
 * ": ". Returns kind. */
enum failure_kind failure_set(struct failure *failure, enum failure_kind kind, const char *who,
                              const char *detail);

struct target {
    pid_t pid;
    pid_t nspid; /* innermost pid of NSpid: what the JVM calls itself */
    uid_t uid;
    gid_t gid;
    uid_t accountable; /* whose bounds it counts against (accountable.h) */
    uint64_t start_time_ticks;
    bool libjvm_mapped;
    bool contained;       /* other mounts or root than the host's: the first process's, else ours */
    bool attach_disabled; /* its flags say -XX:+DisableAttachMechanism */
    char root[48];        /* "/proc/PID/root", or "" when the target shares our root and mounts */
    char tmp[192];        /* its /tmp as we reach it: root + "/tmp", where that leads without links;
                           * to look at. What is written goes through rooted_open */
    char perfdata[320];   /* path of its hsperfdata file as we reach it; "" when there is none */
    /* EM_... of its libjvm.so, and of the program it runs, which is another one where that is an emulator. 0: not
     * known. */
    uint16_t machine, runs_on;
    struct target_identity identity;
};

/* Looks at /proc/PID; does not attach, does not send a signal. */
enum failure_kind target_open(struct target *target, pid_t pid, struct failure *failure);
/* Fills failure with why the kernel does not let us at it. */
enum failure_kind target_not_permitted(const struct target *target, struct failure *failure);
/* Whether /proc is there and of our own pid namespace: else its numbers are not those that a signal
 * goes to, and target_open opens nothing. */
bool target_proc_is_ours(void);
/* "/proc/1/root" where the host's files are reached so, because our own root or mounts are others
 * (a unit's private /tmp); else "". */
const char *target_host_root(void);
/* Whether it keeps other users' processes from us (hidepid). */
bool target_proc_hides_others(void);
/* False when the process ended or another one has its pid now. */
bool target_still_same(const struct target *target);
/* Whether its architecture is known to be another one than this program's, or to be emulated. */
bool target_is_other_machine(const struct target *target);
bool target_is_emulated(const struct target *target);
/* "aarch64", "aarch64, emulated by qemu"; "?" when it is not known. */
struct machine_text {
    char text[64];
};
struct machine_text target_machine(const struct target *target);

/* What it does at this moment; all false when it is gone. */
struct target_state {
    bool stopped;         /* SIGSTOP, a tracer or a frozen control group: it cannot answer */
    bool handles_sigquit; /* without a handler SIGQUIT would kill it */
};
#define TARGET_STOPPED "the process is stopped (state T) or frozen"
struct target_state target_state_now(const struct target *target);
/* Reads identity again (a JVM in its first moments has no hsperfdata yet). */
void target_refresh_identity(struct target *target);
void target_close(struct target *target);

/* user_map: whether a process has numbers for its own user and group in its user namespace.
 *
 * HotSpot gives its attach socket to itself, which the kernel refuses where its ids have no number
 * (a user namespace without a mapping): such a JVM can never be attached to, and better is not
 * signalled. Setup context; any thread. */

/* True also when it cannot be read. uid, gid as they are here. */
bool user_map_has(pid_t pid, uid_t uid, gid_t gid);
/* Whether a line of the text of uid_map or gid_map, "inside outside count", holds the id. Outside is what the reader
 * has; to a reader in the namespace itself it is the namespace's parent, and inside is his (ours). */
bool user_map_covers(struct span text, int64_t id, bool ours);

/* discover: every HotSpot JVM this user may see.
 *
 * Walks /proc for processes that map libjvm.so (containers and chroots included: the map is the
 * kernel's), reads the rest through /proc/PID/root. A process that cannot be read (another user's)
 * is counted, not hidden. Setup context. */

struct discovery {
    int count;
    struct target *targets; /* by pid */
    int unreadable;         /* processes whose maps we may not read */
    int held;               /* ... that do not let a reader go, and may be JVMs */
};

/* 0, or -1 with errno (no /proc, out of memory). */
int discover_jvms(struct discovery *discovery);
void discovery_free(struct discovery *discovery);

/* jdk_files: what the files of a process say about its Java: which VM it is, which release.
 *
 * For JVMs that do not say so themselves (no hsperfdata) and for processes that are no HotSpot.
 * Setup context: reads /proc/PID/maps and ELF headers, a millisecond for a large process. */
struct target;

enum mapped_vm { VM_UNREADABLE, VM_NONE, VM_HOTSPOT, VM_OPENJ9 };

/* Which JVM library the process maps; path (may be empty) as the process names it. VM_UNREADABLE
 * leaves errno. */
enum mapped_vm jdk_files_mapped_vm(pid_t pid, char *path, size_t size);

/* Whether it has a file of this inode mapped; true when that cannot be read. */
bool jdk_files_maps_inode(pid_t pid, ino_t inode);

/* EM_... of its libjvm.so (path as the target names it; 0: it cannot be read, or has been replaced) and of the program
 * that the process runs: another one where that is an emulator. */
uint16_t jdk_files_machine(const struct target *target, const char *libjvm_path);
uint16_t jdk_files_exe_machine(pid_t pid);

/* A GraalVM native image: an ELF executable with a section for its image heap. */
bool jdk_files_is_native_image(pid_t pid);

/* JAVA_VERSION of the `release` file above libjvm.so ("17.0.15"); false when there is none, or none
 * that the target's user may read. libjvm_path as the target names it. */
bool jdk_files_release(const struct target *target, const char *libjvm_path, char *version,
                       size_t size);
