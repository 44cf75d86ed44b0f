#include "nmtwatch/doctor/doctor_checks.h"

#include "nmtwatch/alert/http_post.h"
#include "nmtwatch/profile/agent_call.h"
#include "nmtwatch/jvm/syscall_filter.h"
#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/attach_connect.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/machine/machine.h"
#include "nmtwatch/observe/uprobes.h"
#include "nmtwatch/serve/web.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((format(printf, 6, 7))) static void add(struct doctor_checks *checks,
                                                      enum doctor_state state, const char *name,
                                                      const char *serves, const char *mend,
                                                      const char *found, ...)
{
    if (checks->count == DOCTOR_CHECKS_MAX)
        return;
    struct doctor_check *check = &checks->row[checks->count++];
    *check = (struct doctor_check){.state = state, .name = name, .serves = serves, .mend = mend};
    va_list arguments;
    va_start(arguments, found);
    vsnprintf(check->found, sizeof check->found, found, arguments);
    va_end(arguments);
}

/* --- this machine ----------------------------------------------------------------------------- */

static void check_proc(struct doctor_checks *checks)
{
    const char *serves = "all verbs that find JVMs";
    if (target_proc_hides_others())
        add(checks, DOCTOR_LIMITED, "proc", serves,
            "run as root, or as a member of the group of the mount's gid= option",
            "/proc is mounted with hidepid: other users' processes are not seen");
    else
        add(checks, DOCTOR_OK, "proc", serves, NULL, "/proc shows all processes");
}

/* In a pid namespace of its own nmtwatch sees what is in it and below: all that is wanted of it in a pod, and
 * nothing at all when it was started in a container of its own. */
static void check_containers(struct doctor_checks *checks, bool any_jvm)
{
    static const char first[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO of the kernel */
    const char *serves = "JVMs of the host and of other containers";
    char own[64];
    ssize_t length = readlink("/proc/self/ns/pid", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    if (length <= 0 || strcmp(own, first) == 0)
        add(checks, DOCTOR_OK, "containers", serves, NULL,
            "nmtwatch is in no container: it sees those of the host and of its containers");
    else
        add(checks, any_jvm ? DOCTOR_OK : DOCTOR_LIMITED, "containers", serves,
            any_jvm ? NULL
                    : "run it on the host, or in its pids: hostPID or shareProcessNamespace, "
                      "docker run --pid=host or --pid=container:NAME",
            "nmtwatch is in a container (a pid namespace of its own): JVMs outside are not seen");
}

/* The name of this thread's program is not among those that an emulator answers for in the kernel's place. */
static void check_own_machine(struct doctor_checks *checks)
{
    const char *serves = "observe";
    char room[24];
    int fd = open("/proc/thread-self/exe", O_RDONLY | O_CLOEXEC);
    uint16_t runs_on = fd >= 0 ? machine_of_file(fd) : 0;
    if (fd >= 0)
        close(fd);
    if (runs_on == 0 || runs_on == this_machine.elf)
        add(checks, DOCTOR_OK, "architecture", serves, NULL, "nmtwatch is %s", this_machine.name);
    else
        add(checks, DOCTOR_LIMITED, "architecture", serves,
            "use the nmtwatch of this machine's architecture",
            "nmtwatch is %s and is emulated on %s: much of the kernel is not there",
            this_machine.name, machine_name(runs_on, room));
}

static void check_rights(struct doctor_checks *checks)
{
    static const struct {
        int capability;
        const char *name;
    } needed[] = {
        {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
        {CAP_KILL, "CAP_KILL"},
        {CAP_SETUID, "CAP_SETUID"},
        {CAP_SETGID, "CAP_SETGID"},
        {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
    };
    const char *serves = "JVMs of other users and in containers";
    char missing[160] = "";
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        size_t used = strlen(missing);
        if (!as_target_has(needed[i].capability))
            snprintf(missing + used, sizeof missing - used, "%s%s", used > 0 ? ", " : "",
                     needed[i].name);
    }
    if (missing[0] == '\0')
        add(checks, DOCTOR_OK, "rights", serves, NULL, "JVMs of all users can be asked");
    else
        add(checks, DOCTOR_LIMITED, "rights", serves, "run as root, or with these capabilities",
            "only JVMs of uid %u can be asked (missing: %s)", (unsigned)geteuid(), missing);
}

/* Yama decides which process may trace which: a child is free for its parent, a parent is not for its child.
 * Returns the errno of a child that reads a word of ours. */
static int error_of_a_reader(void)
{
    static uint64_t word = 1;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        uint64_t copy;
        struct iovec here = {&copy, sizeof copy}, there = {&word, sizeof word};
        ssize_t got = process_vm_readv(parent, &here, 1, &there, 1, 0);
        _exit(got == (ssize_t)sizeof copy ? 0 : errno);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static void check_memory(struct doctor_checks *checks)
{
    const char *serves = "observe, counted methods of triage, watch and plan";
    int error = error_of_a_reader(),
        scope = perf_kernel_number("/proc/sys/kernel/yama/ptrace_scope");
    if (error == 0)
        add(checks, DOCTOR_OK, "memory", serves, NULL,
            "memory of a JVM can be read (process_vm_readv)");
    else if (scope == 3)
        add(checks, DOCTOR_MISSING, "memory", serves,
            "boot with kernel.yama.ptrace_scope below 3: it cannot be lowered",
            "no process may read the memory of another: kernel.yama.ptrace_scope is 3");
    else if (scope > 0)
        add(checks, DOCTOR_MISSING, "memory", serves,
            "run as root or with CAP_SYS_PTRACE, or: sysctl kernel.yama.ptrace_scope=0",
            "memory of a JVM cannot be read: kernel.yama.ptrace_scope is %d", scope);
    else
        add(checks, DOCTOR_MISSING, "memory", serves,
            "give the container CAP_SYS_PTRACE and a seccomp profile that allows process_vm_readv",
            "memory of a JVM cannot be read: process_vm_readv: %s", strerror(error));
}

static void check_perf_events(struct doctor_checks *checks)
{
    const char *serves = "observe cpu, observe rss";
    char error[256];
    const struct perf_want want = {.what = PERF_CPU_TIME, .period = 10000000};
    struct perf_events *events = perf_events_open(getpid(), &want, error, sizeof error);
    int paranoid = perf_kernel_number("/proc/sys/kernel/perf_event_paranoid");
    if (events == NULL && access("/proc/sys/kernel/perf_event_paranoid", F_OK) != 0)
        add(checks, DOCTOR_MISSING, "perf-events", serves, "a kernel with CONFIG_PERF_EVENTS",
            "this kernel has no perf events");
    else if (events == NULL &&
             (paranoid <= 2 || as_target_has(CAP_PERFMON) || as_target_has(CAP_SYS_ADMIN)))
        add(checks, DOCTOR_MISSING, "perf-events", serves,
            "give the container a seccomp profile that allows perf_event_open, with CAP_PERFMON",
            "perf_event_open is refused, and not by kernel.perf_event_paranoid, which is %d: a "
            "seccomp profile does so, as container engines have it",
            paranoid);
    else if (events == NULL)
        add(checks, DOCTOR_MISSING, "perf-events", serves,
            "run as root or with CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=2", "%s",
            error);
    else if (perf_events_user_only(events))
        add(checks, DOCTOR_LIMITED, "perf-events", serves,
            "run as root or with CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=1",
            "perf_event_open: user space of this user's processes, without time in the kernel");
    else
        add(checks, DOCTOR_OK, "perf-events", serves, NULL,
            "perf_event_open: user space and kernel");
    perf_events_close(events);
}

static void check_uprobes(struct doctor_checks *checks)
{
    const char *serves = "observe classes, alloc, jmethodids";
    char error[256];
    if (uprobes_possible(error, sizeof error))
        add(checks, DOCTOR_OK, "uprobes", serves, NULL,
            "BPF programs on uprobes can be loaded (BTF is not needed)");
    else
        add(checks, DOCTOR_MISSING, "uprobes", serves,
            as_target_has(CAP_BPF) && as_target_has(CAP_PERFMON) && as_target_has(CAP_SYS_ADMIN)
                ? "Linux 5.8 or later that is not locked down; in a container a seccomp profile "
                  "that "
                  "allows bpf and perf_event_open"
                : "run as root, or with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYS_ADMIN",
            "%s", error);
}

static void check_pressure(struct doctor_checks *checks)
{
    const char *serves = "prediction of pauses on a busy machine";
    if (access("/proc/pressure/cpu", R_OK) == 0)
        add(checks, DOCTOR_OK, "pressure", serves, NULL, "the kernel reports pressure (PSI)");
    else
        add(checks, DOCTOR_LIMITED, "pressure", serves, "boot with psi=1",
            "no /proc/pressure: the load average is used instead");
}

static void check_agent(struct doctor_checks *checks, char *library, size_t size)
{
    char error[256];
    const char *serves = "profile";
    if (agent_library_find(NULL, library, size, error, sizeof error)) {
        add(checks, DOCTOR_OK, "agent", serves, NULL, "%s", library);
        return;
    }
    library[0] = '\0';
    add(checks, DOCTOR_MISSING, "agent", serves,
        "put " AGENT_LIBRARY " beside nmtwatch, or name it with --agent", "%s", error);
}

static void check_libraries(struct doctor_checks *checks)
{
    char error[256];
    if (mhd_open(error, sizeof error))
        add(checks, DOCTOR_OK, "libmicrohttpd", "serve", NULL, "libmicrohttpd can be loaded");
    else
        add(checks, DOCTOR_MISSING, "libmicrohttpd", "serve", "install libmicrohttpd12", "%s",
            error);
    struct http *http = http_create(NULL, NULL, error, sizeof error);
    if (http != NULL)
        add(checks, DOCTOR_OK, "libcurl", "alerts to a URL", NULL, "libcurl can be loaded");
    else
        add(checks, DOCTOR_MISSING, "libcurl", "alerts to a URL",
            "install libcurl3-gnutls or libcurl4", "%s", error);
    if (http != NULL)
        http_destroy(http);
}

/* Whether the PATH has a program of this name. */
static bool program_exists(const char *name)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        char file[512];
        int used = snprintf(file, sizeof file, "%.*s/%s", (int)length, path, name);
        if (used > 0 && (size_t)used < sizeof file && access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

static void check_gnuplot(struct doctor_checks *checks)
{
    const char *serves = "charts as SVG and PNG files (pages draw their own)";
    if (program_exists("gnuplot"))
        add(checks, DOCTOR_OK, "gnuplot", serves, NULL, "gnuplot is installed");
    else
        add(checks, DOCTOR_LIMITED, "gnuplot", serves, "install gnuplot-nox",
            "gnuplot is not installed");
}

/* --- a JVM ------------------------------------------------------------------------------------ */

static void check_machine(struct doctor_checks *checks, const struct target *target)
{
    const char *serves = "observe, counted methods of triage, watch and plan";
    struct machine_text machine = target_machine(target);
    if (target->machine == 0)
        add(checks, DOCTOR_LIMITED, "architecture", serves, "run as its user, or as root",
            "its libjvm.so cannot be read, or has been replaced: its architecture is not known");
    else if (target_is_emulated(target))
        add(checks, DOCTOR_LIMITED, "architecture", serves,
            "run it on a machine of its own architecture", "%s: times and costs are the emulator's",
            machine.text);
    else if (target_is_other_machine(target))
        add(checks, DOCTOR_LIMITED, "architecture", serves,
            "use the nmtwatch that was built for it", "%s, and this nmtwatch is %s", machine.text,
            this_machine.name);
    else
        add(checks, DOCTOR_OK, "architecture", serves, NULL, "%s, as nmtwatch", machine.text);
}

static void check_attach(struct doctor_checks *checks, const struct target *target)
{
    const char *serves = "watch, record, check, triage, profile";
    struct failure failure = {0};
    char who[32];
    const char *detail = NULL;
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    enum failure_kind kind = FAILURE_NONE;
    if (!as_target_possible(target->uid, target->gid))
        kind = target_not_permitted(target, &failure);
    else if ((kind = connect_obstacle(target, &detail)) != FAILURE_NONE)
        failure_set(&failure, kind, who, detail);
    if (kind == FAILURE_NONE)
        add(checks, DOCTOR_OK, "attach", serves, NULL, "no obstacle to attaching");
    else
        add(checks, DOCTOR_MISSING, "attach", serves, failure_mend(kind), "%s", failure.sentence);
}

/* What its filter ends it for; no question is sent. */
static void check_filter(struct doctor_checks *checks, const struct target *target)
{
    static const struct {
        const char *question, *lost;
    } questions[] = {
        {"", "every question"},
        {"VM.native_memory", "NMT"},
        {"GC.heap_dump", "heap dumps"},
        {"load", "the agent"},
    };
    const char *serves = "watch, record, check, triage, profile";
    const struct syscall_filter *filter = syscall_filter_of(target);
    char words[200], lost[160] = "";
    syscall_filter_words(filter, words, sizeof words);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const char *call =
            syscall_filter_kills(filter, target->identity.jdk_major, questions[i].question);
        if (call == NULL)
            continue;
        text_add(lost, sizeof lost, "%s%s (%s)", lost[0] != '\0' ? ", " : "", questions[i].lost,
                 call);
        if (i == 0)
            break;
    }
    if (filter->source == FILTER_NONE)
        add(checks, DOCTOR_OK, "seccomp", serves, NULL, "it has no system call filter");
    else if (lost[0] == '\0')
        add(checks, DOCTOR_OK, "seccomp", serves, NULL, "its filter kills it for no question; %s",
            words);
    else
        add(checks, DOCTOR_LIMITED, "seccomp", serves, failure_mend(FAILURE_SECCOMP),
            "its filter kills it for %s: not asked; %s", lost, words);
}

static void check_nmt(struct doctor_checks *checks, const struct target *target)
{
    const char *serves = "memory by category";
    const char *level = target->identity.nmt_level;
    if (strcmp(level, "off") == 0)
        add(checks, DOCTOR_MISSING, "nmt", serves, "start it with -XX:NativeMemoryTracking=summary",
            "Native Memory Tracking is off");
    else if (strcmp(level, "unknown") == 0)
        add(checks, DOCTOR_LIMITED, "nmt", serves, "nmtwatch check PID asks it",
            "the level of Native Memory Tracking is not known");
    else
        add(checks, DOCTOR_OK, "nmt", serves, NULL, "Native Memory Tracking is %s", level);
}

static void check_perfdata(struct doctor_checks *checks, const struct target *target)
{
    const char *serves = "class counts without asking the JVM";
    struct perfdata *perfdata = perfdata_open(target);
    int error = errno;
    if (perfdata != NULL)
        add(checks, DOCTOR_OK, "hsperfdata", serves, NULL, "hsperfdata can be read");
    else if (error == EACCES || error == EPERM)
        add(checks, DOCTOR_LIMITED, "hsperfdata", serves, "run as its user, or as root",
            "hsperfdata cannot be read: %s", strerror(error));
    else
        add(checks, DOCTOR_LIMITED, "hsperfdata", serves,
            "start it without -XX:-UsePerfData and -XX:+PerfDisableSharedMem, as a user with a "
            "name "
            "in /etc/passwd, and with a /tmp it can write to",
            "no hsperfdata: %s", error == ENOENT ? "there is no file" : strerror(error));
    perfdata_close(perfdata);
}

static void check_jdk(struct doctor_checks *checks, const struct target *target)
{
    int major = target->identity.jdk_major;
    const char *serves = "observe, class names";
    if (major == 0)
        add(checks, DOCTOR_LIMITED, "jdk", serves, NULL, "the version of its JDK is not known");
    else if (major < 11)
        add(checks, DOCTOR_LIMITED, "jdk", serves, "a JDK of version 11 or later",
            "JDK %d: stacks cannot be walked from outside%s", major,
            major < 9 ? "; classes that load are not seen by name (no VM.log); profilers take "
                        "minutes to start with 20 000 classes in one loader (JDK-8062116)"
                      : "");
    else
        add(checks, DOCTOR_OK, "jdk", serves, NULL, "JDK %d: all is supported", major);
}

/* No copy of the agent can be loaded from there. */
static bool tmp_is_noexec(const struct target *target)
{
    struct statvfs tmp;
    int fd = rooted_folder(target->root, "/tmp", O_PATH);
    bool noexec = fd >= 0 && fstatvfs(fd, &tmp) == 0 && (tmp.f_flag & ST_NOEXEC) != 0;
    if (fd >= 0)
        close(fd);
    return noexec;
}

static void check_agent_fits(struct doctor_checks *checks, const struct target *target,
                             const char *library)
{
    const char *serves = "profile";
    char path[512], detail[512];
    enum failure_kind kind;
    if (agent_library_loaded(target, NULL, path, sizeof path) == AGENT_LOADED)
        add(checks, DOCTOR_OK, "agent", serves, NULL, "the agent is loaded: %s", path);
    else if (library[0] == '\0')
        return; /* the machine's check has said it */
    else if ((kind = agent_library_obstacle(target, library, false, detail, sizeof detail)) !=
             FAILURE_NONE)
        add(checks, DOCTOR_MISSING, "agent", serves, failure_mend(kind), "%s",
            kind == FAILURE_OTHER_MACHINE
                ? detail
                : "the JVM runs on another C library than the agent was built for");
    else if (!agent_library_reachable(target, library) && tmp_is_noexec(target))
        add(checks, DOCTOR_MISSING, "agent", serves, failure_mend(FAILURE_AGENT_PLACE),
            "the agent is not visible to the JVM, and its /tmp is mounted noexec");
    else
        add(checks, DOCTOR_OK, "agent", serves, NULL, "the agent fits, and is not loaded");
}

void doctor_machine(struct doctor_checks *checks, bool any_jvm, char *library, size_t size)
{
    check_proc(checks);
    check_containers(checks, any_jvm);
    check_own_machine(checks);
    check_rights(checks);
    check_memory(checks);
    check_perf_events(checks);
    check_uprobes(checks);
    check_pressure(checks);
    check_agent(checks, library, size);
    check_libraries(checks);
    check_gnuplot(checks);
}

void doctor_target(struct doctor_checks *checks, const struct target *target, const char *library)
{
    check_machine(checks, target);
    check_attach(checks, target);
    check_filter(checks, target);
    check_nmt(checks, target);
    check_perfdata(checks, target);
    check_jdk(checks, target);
    check_agent_fits(checks, target, library);
}
