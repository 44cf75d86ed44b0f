/*
 * proc_text: the texts of /proc/PID as structs. Pure: the caller reads the files.
 *
 * Every function returns PARSE_OK, PARSE_MALFORMED or PARSE_INCOMPLETE (a field the struct promises
 * does not come before the end); on failure the struct is not to be used. Spans point into the
 * text. Any thread.
 */
#pragma once

#include "analyzers/parse/jcmd_reply.h"
#include "floor/base/span.h"

/* --- /proc/PID/stat: the command may hold spaces and parentheses --------------------- */
struct proc_stat {
    int64_t pid;
    struct span comm; /* without its parentheses */
    char state;       /* R S D T t Z X ... */
    int64_t ppid;
    int64_t utime_ticks;
    int64_t stime_ticks;
    int64_t threads;
    uint64_t start_time_ticks; /* field 22, since boot */
};
enum parse_result proc_stat_parse(struct proc_stat *stat, struct span text);

/* --- /proc/PID/statm ----------------------------------------------------------------- */
struct proc_statm {
    int64_t size_pages;
    int64_t resident_pages;
    int64_t shared_pages;
};
enum parse_result proc_statm_parse(struct proc_statm *statm, struct span text);

/* --- /proc/PID/status: State, Uid, Gid and SigCgt are required ----------------------- */
struct proc_status {
    char state;
    int64_t real_uid;
    int64_t effective_uid;
    int64_t real_gid;
    int64_t effective_gid;
    int64_t nspid;           /* innermost of NSpid; -1 on kernels without that line (before 4.1) */
    int nspid_depth;         /* how many pid namespaces deep; 1: ours */
    uint64_t caught_signals; /* SigCgt: bit (signal - 1) */
};
enum parse_result proc_status_parse(struct proc_status *status, struct span text);
bool proc_status_catches(const struct proc_status *status, int signal_number);

/* --- one line of /proc/PID/maps ------------------------------------------------------ */
struct proc_map {
    uint64_t start_address;
    uint64_t end_address;
    bool readable, writable, executable, shared;
    int64_t inode;
    struct span path; /* empty: anonymous; without the " (deleted)" the kernel appends */
    bool deleted;
};
enum parse_result proc_map_parse(struct proc_map *map, struct span line);
/* Its path behind the last slash. */
struct span proc_map_file_name(const struct proc_map *map);

/* --- /proc/PID/environ: pieces NAME=value that end with NUL ------------------------------ */

/* The value, or an empty span with a NULL ptr when the variable is not set. */
struct span proc_environ_value(struct span environ_text, struct span name);

/* --- JVM options ------------------------------------------------------------------------- */

enum nmt_level {
    NMT_LEVEL_NOT_GIVEN, /* no such option seen: off, if these were all the options */
    NMT_LEVEL_OFF,
    NMT_LEVEL_SUMMARY,
    NMT_LEVEL_DETAIL,
    NMT_LEVEL_OTHER, /* a value this table does not know */
};

/* What command lines say. Fill with {0}, then feed every source in the order in which a JVM reads
 * them (JAVA_TOOL_OPTIONS, command line, _JAVA_OPTIONS): later options win. */
struct jvm_options {
    enum nmt_level nmt;
    bool attach_disabled; /* -XX:+DisableAttachMechanism */
    struct span main;     /* main class, module or jar; empty while not seen */
};

/* The launcher's part of the command line of a process that an emulator runs. Before it stand the emulator, its options
 * and, as binfmt_misc may hand it over, the program once more. Empty: there is no `java` in it. */
struct span proc_emulated_cmdline(struct span cmdline);
/* /proc/PID/cmdline: pieces that end with NUL, the executable first. Ends at the main class: what
 * follows are the program's own arguments. */
void jvm_options_from_cmdline(struct jvm_options *options, struct span cmdline);
/* JAVA_TOOL_OPTIONS and the like, java.rt.vmArgs of hsperfdata: separated by white space, quotes
 * group. */
void jvm_options_from_string(struct jvm_options *options, struct span text);
/* "off", "summary", "detail"; "unknown" for the others. */
const char *nmt_level_name(enum nmt_level level);

/*
 * smaps: /proc/PID/smaps, one mapping after the other.
 *
 *   7f1cdc000000-7f1cdc021000 rw-p 00000000 00:00 0
 *   Size:                132 kB
 *   Rss:                  84 kB
 *   ...
 *
 *   smaps_begin -> smaps_next ... -> lines.result
 *
 * Fields we do not need and fields of newer kernels are skipped; a value that was not printed is
 * zero (they are all amounts of memory). Allocates nothing, spans point into the text. Any thread.
 */
struct smaps_mapping {
    struct proc_map map;
    int64_t rss_bytes;
    int64_t pss_bytes;
    int64_t private_bytes;
    int64_t anonymous_bytes;
    int64_t swap_bytes;
    int64_t huge_bytes; /* AnonHugePages */
};

struct smaps {
    struct line_cursor lines;
};

void smaps_begin(struct smaps *smaps, struct span text);
/* False at the end; see lines.result. A text whose first line is no mapping is PARSE_MALFORMED. */
bool smaps_next(struct smaps *smaps, struct smaps_mapping *mapping);
