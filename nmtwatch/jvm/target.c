#include "nmtwatch/jvm/target.h"

#include "analyzers/model/texts.h"
#include "analyzers/parse/proc_text.h"
#include "nmtwatch/jvm/accountable.h"
#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/room.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/machine/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* HotSpot cuts string counters (PerfMaxStringConstLength): a longer list of flags is not whole. */
#define PERF_STRING_MAX 1024

static enum failure_kind fail(const struct target *target, struct failure *failure,
                              enum failure_kind kind, const char *detail)
{
    char who[32];
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    return failure_set(failure, kind, who, detail);
}

/* --- the process ------------------------------------------------------------------------------ */

bool target_proc_is_ours(void)
{
    char self[16], ours[16];
    ssize_t len = readlink("/proc/self", self, sizeof self - 1);
    self[len > 0 ? len : 0] = '\0';
    snprintf(ours, sizeof ours, "%d", (int)getpid());
    return strcmp(self, ours) == 0;
}

bool target_proc_hides_others(void)
{
    /* The first process is always there, and seldom ours: who sees it may see all. */
    struct span text = proc_read(1, "stat");
    free((void *)text.ptr);
    return text.ptr == NULL;
}

/* A number that /proc does not show: the kernel still says whether a signal would find a process */
static enum failure_kind not_shown(const struct target *target, struct failure *failure)
{
    if (kill(target->pid, 0) != 0 && errno == EPERM)
        return fail(target, failure, FAILURE_HIDDEN, NULL);
    return fail(target, failure, FAILURE_GONE, NULL);
}

static enum failure_kind read_process(struct target *target, struct failure *failure)
{
    struct proc_stat stat;
    struct span text = proc_read(target->pid, "status");
    if (text.ptr == NULL)
        return not_shown(target, failure);
    if (!proc_stat_read(target->pid, &stat)) {
        free((void *)text.ptr);
        return fail(target, failure, FAILURE_GONE, NULL);
    }
    struct proc_status status;
    char thread_of[48] = "";
    enum parse_result result = proc_status_parse(&status, text);

    /* A thread's id opens /proc as well, but the JVM's files carry the process's. */
    ptrdiff_t at = span_find(text, SPAN_LITERAL("\nTgid:"));
    if (at >= 0) {
        struct span rest = span_of(text.ptr + at + 6, text.len - (size_t)at - 6);
        int64_t process;
        rest = span_trim(rest);
        if (span_take_i64(&rest, &process) && process != target->pid)
            snprintf(thread_of, sizeof thread_of, "it is a thread of pid %lld", (long long)process);
    }
    free((void *)text.ptr);
    if (result != PARSE_OK)
        return fail(target, failure, FAILURE_SYSTEM, "its /proc status cannot be read");
    if (thread_of[0] != '\0')
        return fail(target, failure, FAILURE_NOT_A_JVM, thread_of);

    target->start_time_ticks = stat.start_time_ticks;
    target->uid = (uid_t)status.effective_uid;
    target->gid = (gid_t)status.effective_gid;
    target->accountable = accountable_uid(target->pid, target->uid);
    target->nspid = status.nspid > 0 ? (pid_t)status.nspid : target->pid;
    return FAILURE_NONE;
}

bool target_still_same(const struct target *target)
{
    return proc_is_alive(target->pid, target->start_time_ticks);
}

struct target_state target_state_now(const struct target *target)
{
    struct target_state state = {0};
    struct proc_status status;
    struct span text = proc_read(target->pid, "status");
    if (text.ptr != NULL && proc_status_parse(&status, text) == PARSE_OK &&
        target_still_same(target)) {
        state.stopped = status.state == 'T' || status.state == 't' || room_is_frozen(target->pid);
        state.handles_sigquit = proc_status_catches(&status, SIGQUIT);
    }
    free((void *)text.ptr);
    return state;
}

/* --- its architecture ------------------------------------------------------------------------- */

bool target_is_emulated(const struct target *target)
{
    return target->machine != 0 && target->runs_on != 0 && target->machine != target->runs_on;
}

bool target_is_other_machine(const struct target *target)
{
    return (target->machine != 0 && target->machine != this_machine.elf) ||
           target_is_emulated(target);
}

struct machine_text target_machine(const struct target *target)
{
    struct machine_text out;
    char room[24], link[48], path[PATH_MAX];
    const char *by = "";
    if (target_is_emulated(target)) {
        snprintf(link, sizeof link, "/proc/%d/exe", (int)target->pid);
        ssize_t len = readlink(link, path, sizeof path);
        bool qemu =
            span_find(span_of(path, len > 0 ? (size_t)len : 0), SPAN_LITERAL("/qemu-")) >= 0;
        by = qemu ? ", emulated by qemu" : ", emulated";
    }
    snprintf(out.text, sizeof out.text, "%s%s",
             target->machine != 0 ? machine_name(target->machine, room) : "?", by);
    return out;
}

/* --- the way to its files --------------------------------------------------------------------- */

/* The same root and the same mounts: then paths need no detour, which other users may not take. */
static bool share_root(const char *one, const char *other)
{
    static const char *const parts[] = {"ns/mnt", "root"};
    struct stat status[2];
    for (int i = 0; i < 2; i++) {
        char path[2][48];
        snprintf(path[0], sizeof path[0], "/proc/%s/%s", one, parts[i]);
        snprintf(path[1], sizeof path[1], "/proc/%s/%s", other, parts[i]);
        if (stat(path[0], &status[0]) != 0 || stat(path[1], &status[1]) != 0 ||
            status[0].st_ino != status[1].st_ino || status[0].st_dev != status[1].st_dev)
            return false;
    }
    return true;
}

const char *target_host_root(void)
{
    struct stat status;
    return !share_root("1", "self") && stat("/proc/1/root/.", &status) == 0 ? "/proc/1/root" : "";
}

static void find_root(struct target *target)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    if (!share_root(pid, "self"))
        snprintf(target->root, sizeof target->root, "/proc/%s/root", pid);
    target->contained = !share_root(pid, target_host_root()[0] != '\0' ? "1" : "self");
}

/* A link to /tmp is followed as the target follows it, not from our root. */
static void find_tmp(struct target *target)
{
    char real[sizeof target->tmp - sizeof target->root] = "/tmp";
    target->tmp[0] = '\0';
    if (!rooted_real(target->root, "/tmp", real, sizeof real) &&
        errno == ELOOP) /* a link, and this kernel cannot follow it: there is no way there */
        return;
    snprintf(target->tmp, sizeof target->tmp, "%s%s", target->root, real);
}

/* /tmp/hsperfdata_<user>/<nspid>: the user's name is the target's affair, so every folder of that
 * form that belongs to its uid is looked into. Links are not followed. Containers may share a /tmp
 * and each have a JVM of that number: the file is its own if it has it mapped, as HotSpot does. */
static void find_perfdata(struct target *target)
{
    target->perfdata[0] = '\0';
    if (target->tmp[0] == '\0')
        return;
    int tmp_fd = rooted_folder(target->root, rooted_below(target, target->tmp), O_RDONLY);
    DIR *tmp = tmp_fd >= 0 ? fdopendir(tmp_fd) : NULL;
    if (tmp == NULL) {
        if (tmp_fd >= 0)
            close(tmp_fd);
        return;
    }
    bool foreign_possible = target->root[0] != '\0' || target->nspid != target->pid;
    for (struct dirent *entry; target->perfdata[0] == '\0' && (entry = readdir(tmp)) != NULL;) {
        struct stat folder, file;
        char path[sizeof target->perfdata + 64], name[sizeof entry->d_name + 16];
        if (strncmp(entry->d_name, "hsperfdata_", 11) != 0 ||
            fstatat(dirfd(tmp), entry->d_name, &folder, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(folder.st_mode) || folder.st_uid != target->uid)
            continue;
        int len =
            snprintf(path, sizeof path, "%s/%s/%d", target->tmp, entry->d_name, (int)target->nspid);
        snprintf(name, sizeof name, "%s/%d", entry->d_name, (int)target->nspid);
        if (len > 0 && (size_t)len < sizeof target->perfdata &&
            fstatat(tmp_fd, name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode) &&
            file.st_uid == target->uid &&
            (!foreign_possible || jdk_files_maps_inode(target->pid, file.st_ino)))
            memcpy(target->perfdata, path, (size_t)len + 1);
    }
    closedir(tmp);
}

static bool has_attach_socket(const struct target *target)
{
    char name[24];
    struct stat status;
    int tmp_fd = target->tmp[0] != '\0'
                     ? rooted_folder(target->root, rooted_below(target, target->tmp), O_PATH)
                     : -1;
    snprintf(name, sizeof name, ".java_pid%d", (int)target->nspid);
    bool found = tmp_fd >= 0 && fstatat(tmp_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISSOCK(status.st_mode);
    if (tmp_fd >= 0)
        close(tmp_fd);
    return found;
}

/* The one all others descend from has a number of its own, which is part of the kernel's interface. */
static bool in_first_user_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/user", &status) != 0 || status.st_ino == 0xEFFFFFFDu;
}

/* What a process needs of a JVM of another user that this one has not: "CAP_KILL, CAP_SETUID". Empty: nothing. */
static void missing_capabilities(char *out, size_t size)
{
    static const struct {
        int capability;
        const char *name;
    } needed[] = {{CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
                  {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
                  {CAP_KILL, "CAP_KILL"},
                  {CAP_SETUID, "CAP_SETUID"},
                  {CAP_SETGID, "CAP_SETGID"}};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!as_target_has(needed[i].capability) &&
            (needed[i].capability != CAP_DAC_READ_SEARCH || !as_target_has(CAP_DAC_OVERRIDE)))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     needed[i].name);
}

enum failure_kind target_not_permitted(const struct target *target, struct failure *failure)
{
    bool root = geteuid() == 0, stranger = !root && geteuid() != target->uid;
    char missing[100], detail[200];
    if (stranger && !as_target_has(CAP_SYS_PTRACE))
        return fail(target, failure, FAILURE_PERMISSION, NULL);
    if (!in_first_user_namespace())
        return fail(target, failure, FAILURE_FOREIGN_USERS, NULL);
    if (!root && !stranger)
        return fail(target, failure, FAILURE_PERMISSION,
                    "it has privileges that this process has not");
    missing_capabilities(missing, sizeof missing);
    if (missing[0] == '\0')
        return fail(
            target, failure, FAILURE_PERMISSION,
            "no capability is missing, so a security module (AppArmor, SELinux) refuses it");
    const char *verb = strchr(missing, ',') == NULL ? "is" : "are";
    snprintf(detail, sizeof detail, "%s%s %s missing%s",
             root ? "not even root may look at it here (" : "", missing, verb, root ? ")" : "");
    return fail(target, failure, FAILURE_PERMISSION, detail);
}

static enum failure_kind require_jvm(struct target *target, struct failure *failure)
{
    char libjvm[PATH_MAX];
    switch (jdk_files_mapped_vm(target->pid, libjvm, sizeof libjvm)) {
    case VM_OPENJ9:
        return fail(target, failure, FAILURE_NOT_HOTSPOT, "it is Eclipse OpenJ9");
    case VM_HOTSPOT:
        target->libjvm_mapped = true;
        target->machine = jdk_files_machine(target, rooted_inner(target->root, libjvm));
        target->runs_on = jdk_files_exe_machine(target->pid);
        return FAILURE_NONE;
    case VM_UNREADABLE:
        if (errno != EACCES && errno != EPERM)
            return fail(target, failure, FAILURE_GONE, NULL);
        if (geteuid() == target->uid && has_attach_socket(target))
            return FAILURE_NONE;
        return target_not_permitted(target, failure);
    case VM_NONE:
        break;
    }
    if (jdk_files_is_native_image(target->pid))
        return fail(target, failure, FAILURE_NOT_HOTSPOT, "it is a GraalVM native image");
    return has_attach_socket(target) ? FAILURE_NONE
                                     : fail(target, failure, FAILURE_NOT_A_JVM, NULL);
}

/* --- who it says it is ------------------------------------------------------------------------ */

/* "17" "1.8" "21.0.4+7" -> 17, 8, 21; 0 when it begins otherwise. */
static int major_of(const char *version)
{
    struct span text = span_from_cstr(version);
    int64_t major = 0;
    span_take(&text, SPAN_LITERAL("1."));
    return span_take_i64(&text, &major) && major > 0 && major < 1000 ? (int)major : 0;
}

static void copy_first_word(const char *text, char *out, size_t size)
{
    span_copy(span_of(text, strcspn(text, " ")), out, size);
}

static void feed_environment(struct jvm_options *options, struct span environment, const char *name)
{
    struct span value = proc_environ_value(environment, span_from_cstr(name));
    if (value.ptr != NULL)
        jvm_options_from_string(options, value);
}

/* Only the `java` launcher's command line is made of JVM options; other programs have JVMs too. */
static bool started_by_launcher(pid_t pid)
{
    char link[48], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t len = readlink(link, path, sizeof path);
    struct span executable = span_of(path, len > 0 ? (size_t)len : 0);
    return span_ends_with(executable, SPAN_LITERAL("/java")) ||
           span_ends_with(executable, SPAN_LITERAL("/java (deleted)"));
}

/* The flags of the command line and of the environment; false when that may not be all: a
 * file of arguments (@file, -XX:Flags) is not read. main points into cmdline. */
static bool options_from_proc(const struct target *target, struct jvm_options *options,
                              struct span cmdline)
{
    struct span environment = proc_read(target->pid, "environ");
    feed_environment(options, environment, "JAVA_TOOL_OPTIONS");
    feed_environment(options, environment, "JDK_JAVA_OPTIONS");
    bool launcher = started_by_launcher(target->pid);
    if (target_is_emulated(target)) {
        cmdline = proc_emulated_cmdline(cmdline);
        launcher = cmdline.len > 0;
    }
    if (launcher)
        jvm_options_from_cmdline(options, cmdline);
    feed_environment(options, environment, "_JAVA_OPTIONS");
    bool complete = launcher && environment.ptr != NULL && options->main.len > 0 &&
                    span_find(cmdline, SPAN_LITERAL("\0@")) < 0 &&
                    span_find(cmdline, SPAN_LITERAL("-XX:Flags=")) < 0 &&
                    span_find(cmdline, SPAN_LITERAL("-XX:VMOptionsFile=")) < 0;
    free((void *)environment.ptr);
    return complete;
}

static void refresh_by_helper(struct target *target)
{
    struct target now;
    struct failure ignored;
    if (privileged_look(&now, target->pid, &ignored) != FAILURE_NONE ||
        now.start_time_ticks != target->start_time_ticks)
        return; /* it has ended, which shows elsewhere */
    target->identity = now.identity;
    memcpy(target->perfdata, now.perfdata, sizeof target->perfdata);
}

void target_refresh_identity(struct target *target)
{
    if (privileged_apart()) {
        refresh_by_helper(target);
        return;
    }
    struct target_identity *identity = &target->identity;
    *identity = (struct target_identity){
        .pid = target->pid,
        .nspid = target->nspid,
        .start_time_ticks = (int64_t)target->start_time_ticks,
        .uptime_ms = proc_uptime_ms(target->start_time_ticks),
    };

    char flags[PERF_STRING_MAX + 1] = "", args[PERF_STRING_MAX + 1] = "";
    char java_command[PERF_STRING_MAX + 1] = "", specification[32] = "";
    bool have_args = false;
    find_perfdata(target);
    struct perfdata *perfdata = perfdata_open(target);
    if (perfdata != NULL) {
        perfdata_string(perfdata, "java.property.java.vm.specification.version", specification,
                        sizeof specification);
        /* Up to JDK 8 the VM counts its own versions (25.402-b08 is 1.8.0_402). */
        perfdata_string(perfdata,
                        major_of(specification) <= 8 ? "java.property.java.version"
                                                     : "java.property.java.vm.version",
                        identity->jdk, sizeof identity->jdk);
        perfdata_string(perfdata, "java.rt.vmFlags", flags, sizeof flags);
        perfdata_string(perfdata, "sun.rt.javaCommand", java_command, sizeof java_command);
        have_args = perfdata_string(perfdata, "java.rt.vmArgs", args, sizeof args) &&
                    strlen(args) < PERF_STRING_MAX - 1;
        perfdata_close(perfdata);
    }

    /* The JVM's own list of flags holds every source; /proc is the second best. */
    struct jvm_options options = {0}, from_proc = {0};
    struct span cmdline = proc_read(target->pid, "cmdline");
    bool complete = options_from_proc(target, &from_proc, cmdline);
    if (have_args) {
        jvm_options_from_string(&options, span_from_cstr(flags));
        jvm_options_from_string(&options, span_from_cstr(args));
        complete = true;
    } else {
        options = from_proc;
    }
    bool unknown = options.nmt == NMT_LEVEL_NOT_GIVEN && !complete;
    const char *level = options.nmt == NMT_LEVEL_NOT_GIVEN ? "off" : nmt_level_name(options.nmt);
    snprintf(identity->nmt_level, sizeof identity->nmt_level, "%s", unknown ? "unknown" : level);
    target->attach_disabled = options.attach_disabled;

    /* The command line keeps a path with spaces in one piece. */
    struct span command = span_from_cstr(java_command);
    if (from_proc.main.len > 0 && (command.len == 0 || span_starts_with(command, from_proc.main)))
        span_copy(from_proc.main, identity->main, sizeof identity->main);
    else
        copy_first_word(java_command, identity->main, sizeof identity->main);
    free((void *)cmdline.ptr);

    char libjvm[PATH_MAX];
    if (identity->jdk[0] == '\0' &&
        jdk_files_mapped_vm(target->pid, libjvm, sizeof libjvm) == VM_HOTSPOT)
        jdk_files_release(target, rooted_inner(target->root, libjvm), identity->jdk,
                          sizeof identity->jdk);
    identity->jdk_major = major_of(specification[0] != '\0' ? specification : identity->jdk);
}

enum failure_kind target_open(struct target *target, pid_t pid, struct failure *failure)
{
    if (privileged_apart())
        return privileged_look(target, pid, failure);
    *target = (struct target){.pid = pid};
    *failure = (struct failure){.kind = FAILURE_NONE};
    if (!target_proc_is_ours())
        return fail(target, failure, FAILURE_FOREIGN_PROC, NULL);
    if (read_process(target, failure) != FAILURE_NONE)
        return failure->kind;
    find_root(target);
    find_tmp(target);
    if (require_jvm(target, failure) != FAILURE_NONE)
        return failure->kind;
    target_refresh_identity(target);
    /* All of the above read one pid several times: only now it is known to be one process. */
    if (!target_still_same(target))
        return fail(target, failure, FAILURE_GONE, NULL);
    return FAILURE_NONE;
}

void target_close(struct target *target)
{
    *target = (struct target){0};
}

/* --- user map -------------------------------------------------------------------------------- */

static bool take_number(struct span *rest, int64_t *value)
{
    *rest = span_trim(*rest);
    return span_take_unsigned(rest, value);
}

bool user_map_covers(struct span text, int64_t id, bool ours)
{
    struct span line;
    while (span_take_line(&text, &line)) {
        int64_t inside, outside, count;
        if (take_number(&line, &inside) && take_number(&line, &outside) &&
            take_number(&line, &count)) {
            int64_t first = ours ? inside : outside;
            if (id >= first && id - first < count)
                return true;
        }
    }
    return false;
}

static bool covers(pid_t pid, const char *name, int64_t id, bool ours)
{
    struct span text = proc_read(pid, name);
    bool good = text.ptr == NULL || user_map_covers(text, id, ours);
    free((void *)text.ptr);
    return good;
}

bool user_map_has(pid_t pid, uid_t uid, gid_t gid)
{
    struct stat own, its;
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    bool ours = stat("/proc/self/ns/user", &own) == 0 && stat(path, &its) == 0 &&
                own.st_dev == its.st_dev && own.st_ino == its.st_ino;
    return covers(pid, "uid_map", uid, ours) && covers(pid, "gid_map", gid, ours);
}

/* --- discover -------------------------------------------------------------------------------- */

static int by_pid(const void *a, const void *b)
{
    const struct target *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static bool add(struct discovery *discovery, size_t *capacity, const struct target *target)
{
    if (!array_room(&discovery->targets, capacity, (size_t)discovery->count + 1,
                    sizeof *discovery->targets))
        return false;
    discovery->targets[discovery->count++] = *target;
    return true;
}

int discover_jvms(struct discovery *discovery)
{
    *discovery = (struct discovery){0};
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return -1;

    size_t capacity = 0;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(proc)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct target target;
        struct failure failure;
        if (pid == getpid())
            continue;
        enum failure_kind kind = target_open(&target, pid, &failure);
        if (kind == FAILURE_PERMISSION)
            discovery->unreadable++;
        else if (kind == FAILURE_HELD)
            discovery->held++;
        /* A process with a socket of the right name but without libjvm.so is asked only when its
         * pid is given. */
        else if (kind == FAILURE_NONE && target.libjvm_mapped)
            good = add(discovery, &capacity, &target);
    }
    closedir(proc);
    if (!good) {
        discovery_free(discovery);
        errno = ENOMEM;
        return -1;
    }
    if (discovery->count > 1)
        qsort(discovery->targets, (size_t)discovery->count, sizeof *discovery->targets, by_pid);
    return 0;
}

void discovery_free(struct discovery *discovery)
{
    for (int i = 0; i < discovery->count; i++)
        target_close(&discovery->targets[i]);
    free(discovery->targets);
    *discovery = (struct discovery){0};
}
