#include "nmtwatch/jvm/syscall_filter.h"

#include "nmtwatch/machine/machine.h"
#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"
#include "nmtwatch/process/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Not every architecture has the older ones: a call that is not there does not kill. */
#ifndef SYS_chmod
#define SYS_chmod (-1)
#endif
#ifndef SYS_chown
#define SYS_chown (-1)
#endif
#ifndef SYS_rename
#define SYS_rename (-1)
#endif

static const struct call_row {
    const char *name;
    int number;
    bool in_system_service;
} calls[FILTER_CALL_COUNT] = {
#define CALL(name, in_system_service) {#name, SYS_##name, in_system_service},
#include "nmtwatch/jvm/filter_calls.def"
#undef CALL
};

static const struct question_row {
    const char *beginning;
    int first_jdk;
    const char *calls;
} questions[] = {
#define QUESTION(beginning, first_jdk, calls, jdks) {beginning, first_jdk, calls},
#include "nmtwatch/jvm/filter_questions.def"
#undef QUESTION
};

/* --- a filter program -------------------------------------------------------------------------- */

#define EVALUATION_STEPS 20000

/* A value is known, or it depends on the call's arguments. */
struct value {
    uint32_t is;
    bool known;
};

struct evaluation {
    const struct sock_filter *program;
    size_t length;
    int number;
    int steps; /* left */
};

struct registers {
    struct value a, x, memory[BPF_MEMWORDS];
};

static enum filter_verdict verdict_of(uint32_t result)
{
    switch (result & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
        return FILTER_ALLOWS;
    case SECCOMP_RET_ERRNO:
    case SECCOMP_RET_TRACE:      /* without a tracer an error */
    case SECCOMP_RET_USER_NOTIF: /* its supervisor decides */
        return FILTER_ERRNO;
    default: /* KILL_PROCESS, KILL_THREAD, TRAP (SIGSYS), and what the kernel does not know either */
        return FILTER_KILLS;
    }
}

static struct value load(const struct evaluation *of, uint32_t offset)
{
    switch (offset) {
    case offsetof(struct seccomp_data, nr):
        return (struct value){(uint32_t)of->number, true};
    case offsetof(struct seccomp_data, arch):
        return (struct value){(uint32_t)this_machine.elf | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE,
                              true};
    default:
        return (struct value){0, false};
    }
}

static struct value calculate(uint16_t code, struct value a, struct value b)
{
    struct value out = {0, a.known && b.known};
    switch (BPF_OP(code)) {
    case BPF_ADD:
        out.is = a.is + b.is;
        break;
    case BPF_SUB:
        out.is = a.is - b.is;
        break;
    case BPF_MUL:
        out.is = a.is * b.is;
        break;
    case BPF_DIV:
        out.is = b.is != 0 ? a.is / b.is : 0;
        break;
    case BPF_AND:
        out.is = a.is & b.is;
        break;
    case BPF_OR:
        out.is = a.is | b.is;
        break;
    case BPF_XOR:
        out.is = a.is ^ b.is;
        break;
    case BPF_LSH:
        out.is = b.is < 32 ? a.is << b.is : 0;
        break;
    case BPF_RSH:
        out.is = b.is < 32 ? a.is >> b.is : 0;
        break;
    case BPF_NEG:
        out = (struct value){-a.is, a.known};
        break;
    default:
        out.known = false;
    }
    return out;
}

static bool jumps(uint16_t code, uint32_t a, uint32_t b)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return a == b;
    case BPF_JGT:
        return a > b;
    case BPF_JGE:
        return a >= b;
    default:
        return (a & b) != 0;
    }
}

static enum filter_verdict run(struct evaluation *of, size_t at, struct registers registers)
{
    struct value *a = &registers.a, *x = &registers.x;
    for (; at < of->length && of->steps-- > 0; at++) {
        const struct sock_filter *now = &of->program[at];
        const struct value constant = {now->k, true};
        struct value operand = BPF_SRC(now->code) == BPF_X ? *x : constant;
        switch (BPF_CLASS(now->code)) {
        case BPF_LD:
        case BPF_LDX: {
            struct value loaded = {0, false};
            if (BPF_MODE(now->code) == BPF_ABS)
                loaded = load(of, now->k);
            else if (BPF_MODE(now->code) == BPF_IMM)
                loaded = constant;
            else if (BPF_MODE(now->code) == BPF_MEM && now->k < BPF_MEMWORDS)
                loaded = registers.memory[now->k];
            else if (BPF_MODE(now->code) == BPF_LEN)
                loaded = (struct value){sizeof(struct seccomp_data), true};
            *(BPF_CLASS(now->code) == BPF_LD ? a : x) = loaded;
            break;
        }
        case BPF_ST:
        case BPF_STX:
            if (now->k < BPF_MEMWORDS)
                registers.memory[now->k] = BPF_CLASS(now->code) == BPF_ST ? *a : *x;
            break;
        case BPF_ALU:
            *a = calculate(now->code, *a, operand);
            break;
        case BPF_MISC:
            if (BPF_MISCOP(now->code) == BPF_TAX)
                *x = *a;
            else
                *a = *x;
            break;
        case BPF_JMP:
            if (BPF_OP(now->code) == BPF_JA) {
                at += now->k;
            } else if (a->known && operand.known) {
                at += jumps(now->code, a->is, operand.is) ? now->jt : now->jf;
            } else { /* either way: the worse one */
                enum filter_verdict yes = run(of, at + 1 + now->jt, registers),
                                    no = yes == FILTER_KILLS ? yes
                                                             : run(of, at + 1 + now->jf, registers);
                return yes > no ? yes : no;
            }
            break;
        default: /* BPF_RET */
            operand = BPF_RVAL(now->code) == BPF_A ? *a : constant;
            return operand.known ? verdict_of(operand.is) : FILTER_KILLS;
        }
    }
    return FILTER_KILLS;
}

enum filter_verdict syscall_filter_evaluate(const struct sock_filter *program, size_t length,
                                            int number)
{
    struct evaluation evaluation = {program, length, number, EVALUATION_STEPS};
    struct registers registers = {.a = {0, true}, .x = {0, true}};
    for (int i = 0; i < BPF_MEMWORDS; i++)
        registers.memory[i].known = true;
    return run(&evaluation, 0, registers);
}

/* Of several filters the kernel takes the worst answer. */
static void add_program(struct syscall_filter *filter, const struct sock_filter *program,
                        size_t length)
{
    for (int i = 0; i < FILTER_CALL_COUNT; i++) {
        enum filter_verdict verdict =
            calls[i].number < 0 ? FILTER_ALLOWS
                                : syscall_filter_evaluate(program, length, calls[i].number);
        if (verdict > filter->verdict[i])
            filter->verdict[i] = (uint8_t)verdict;
    }
}

static void set_all(struct syscall_filter *filter, enum filter_verdict verdict)
{
    for (int i = 0; i < FILTER_CALL_COUNT; i++)
        filter->verdict[i] = (uint8_t)verdict;
}

/* --- from the kernel --------------------------------------------------------------------------- */

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

#define CHILD_MS    300
#define THREADS_MAX 4 /* with different filters, in one process */
#define FILTERS_MAX 256

/* The programs of one stopped thread, which are copied while it stands still and evaluated afterwards. */
struct programs {
    int count, error;
    size_t length[FILTERS_MAX];
    struct sock_filter *program[FILTERS_MAX];
};

static void copy_programs(pid_t tid, struct programs *programs)
{
    for (programs->count = 0; programs->count < FILTERS_MAX; programs->count++) {
        int at = programs->count;
        long length = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)(intptr_t)at, NULL);
        if (length < 0 && errno == ENOENT && at > 0)
            return;
        programs->length[at] = length > 0 ? (size_t)length : 0;
        programs->program[at] =
            length > 0 ? malloc((size_t)length * sizeof(struct sock_filter)) : NULL;
        if (programs->program[at] == NULL ||
            ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)(intptr_t)at, programs->program[at]) <
                0) {
            programs->error = errno != 0 ? errno : EIO;
            return;
        }
    }
    programs->error = E2BIG;
}

/* The child's: a thread that was seized goes on by itself when this process ends, however it ends. 0 or an errno. */
static int read_thread(pid_t tid, struct syscall_filter *filter)
{
    static struct programs programs;
    int status;
    programs = (struct programs){0};
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return errno;
    int64_t began_us = clock_us(CLOCK_MONOTONIC);
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || waitpid(tid, &status, __WALL) != tid ||
        !WIFSTOPPED(status))
        return ESRCH;
    copy_programs(tid, &programs);
    /* A signal that came first is not kept from it. */
    int signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal);
    int64_t stopped_us = clock_us(CLOCK_MONOTONIC) - began_us;
    if (stopped_us > filter->stopped_us)
        filter->stopped_us = (int32_t)stopped_us;
    if (programs.error != 0)
        return programs.error;
    for (int i = 0; i < programs.count; i++)
        add_program(filter, programs.program[i], programs.length[i]);
    return 0;
}

_Noreturn static void child_main(const pid_t *threads, int count, struct syscall_filter *filter,
                                 int answer_fd)
{
    int error = 0;
    set_all(filter, FILTER_ALLOWS);
    filter->stopped_us = 0;
    for (int i = 0; error == 0 && i < count; i++)
        error = read_thread(threads[i], filter);
    filter->source = error == 0 ? FILTER_KERNEL : FILTER_UNKNOWN;
    if (error != 0)
        snprintf(filter->name, sizeof filter->name, "%s", strerror(error));
    _exit(write(answer_fd, filter, sizeof *filter) != (ssize_t)sizeof *filter);
}

/* The number behind a key of /proc/PID/status; -1: it is not there. */
static int status_number(struct span text, const char *key)
{
    int64_t number;
    ptrdiff_t at = span_find(text, span_from_cstr(key));
    if (at < 0)
        return -1;
    struct span rest = span_of(text.ptr + at + strlen(key), text.len - (size_t)at - strlen(key));
    rest = span_trim(rest);
    return span_take_i64(&rest, &number) ? (int)number : -1;
}

struct mode {
    int mode, filters;
};

static struct mode mode_of(pid_t pid, const char *name)
{
    struct span text = proc_read(pid, name);
    struct mode mode = {-1, -1};
    if (text.ptr != NULL) {
        mode = (struct mode){status_number(text, "\nSeccomp:"),
                             status_number(text, "\nSeccomp_filters:")};
        if (mode.mode < 0) /* a kernel without them */
            mode.mode = 0;
    }
    free((void *)text.ptr);
    return mode;
}

/* Each thread has filters of its own; those with as many have the same ones, by inheritance. One thread for each
 * number, the first one before others: it waits for the rest of the JVM. */
static int threads_to_read(pid_t pid, pid_t threads[THREADS_MAX], struct mode *worst)
{
    int seen[THREADS_MAX], count = 0;
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    *worst = mode_of(pid, "status");
    if (worst->mode == 2) {
        seen[0] = worst->filters;
        threads[count++] = pid;
    }
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char name[300];
        snprintf(name, sizeof name, "task/%s/status", entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        struct mode mode = mode_of(pid, name);
        if (mode.mode == 1)
            worst->mode = 1;
        bool is_new = mode.mode == 2;
        for (int i = 0; i < count; i++)
            is_new = is_new && seen[i] != mode.filters;
        if (!is_new || count == THREADS_MAX)
            continue;
        seen[count] = mode.filters;
        threads[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
        if (worst->mode == 0)
            worst->mode = 2;
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

static bool may_ask_kernel(void)
{
    return mode_of(getpid(), "status").mode == 0 && as_target_has(CAP_SYS_ADMIN) &&
           as_target_has(CAP_SYS_PTRACE);
}

/* False: filter->name says why. */
static bool ask_kernel(const struct target *target, const pid_t *threads, int count,
                       struct syscall_filter *filter)
{
    int ends[2];
    struct syscall_filter answer = *filter;
    snprintf(filter->name, sizeof filter->name, "CAP_SYS_ADMIN is missing here");
    if (!may_ask_kernel() || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = target_still_same(target) ? fork() : -1;
    if (child == 0)
        child_main(threads, count, &answer, ends[1]);
    close(ends[1]);
    struct pollfd ready = {.fd = ends[0], .events = POLLIN};
    int64_t until_ms = clock_ms(CLOCK_MONOTONIC) + CHILD_MS;
    int polled = -1;
    for (int64_t left_ms = CHILD_MS; child > 0 && left_ms >= 0;
         left_ms = until_ms - clock_ms(CLOCK_MONOTONIC)) {
        polled = poll(&ready, 1, (int)left_ms);
        if (polled >= 0 || errno != EINTR)
            break;
    }
    bool whole =
        child > 0 && polled > 0 && read(ends[0], &answer, sizeof answer) == (ssize_t)sizeof answer;
    close(ends[0]);
    left_behind(child); /* it has answered, or is given up */
    if (whole)
        *filter = answer;
    else
        snprintf(filter->name, sizeof filter->name, "it was not read in time");
    return whole && answer.source == FILTER_KERNEL;
}

/* --- from the control group -------------------------------------------------------------------- */

/* The path of version 2, or of systemd's own hierarchy. */
static void group_of(pid_t pid, char *out, size_t size)
{
    struct span text = proc_read(pid, "cgroup"), rest = text, line;
    out[0] = '\0';
    while (text.ptr != NULL && span_take_line(&rest, &line)) {
        ptrdiff_t at = span_find(line, SPAN_LITERAL(":name=systemd:"));
        size_t skip = 14;
        if (at < 0 && span_starts_with(line, SPAN_LITERAL("0::"))) {
            at = 0;
            skip = 3;
        }
        if (at >= 0)
            span_copy(span_of(line.ptr + at + skip, line.len - (size_t)at - skip), out, size);
        if (at > 0)
            break;
    }
    free((void *)text.ptr);
}

static bool is_container(const char *group, struct syscall_filter *filter)
{
    static const struct {
        const char *mark, *name;
    } runtimes[] = {
        {"/docker", "docker"},
        {"/libpod-", "podman"},
        {"/crio-", "CRI-O"},
        {"/cri-", "containerd"},
        {"cri-containerd", "containerd"},
        {"/kubepods", "a Kubernetes node's runtime"},
    };
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (strstr(group, runtimes[i].mark) != NULL) {
            snprintf(filter->name, sizeof filter->name, "%s", runtimes[i].name);
            return true;
        }
    return false;
}

/* "foo@bar.service" of "/system.slice/foo@bar.service": a service of the machine's own systemd, whose files are
 * here. Below a scope there may be another systemd, in a container. */
static bool unit_of(const char *group, char *out, size_t size)
{
    for (const char *at = group; *at == '/';) {
        size_t length = strcspn(++at, "/");
        struct span part = span_of(at, length);
        if (span_ends_with(part, SPAN_LITERAL(".service"))) {
            span_copy(part, out, size);
            return length < size && !span_starts_with(part, SPAN_LITERAL("user@"));
        }
        if (!span_ends_with(part, SPAN_LITERAL(".slice")))
            return false;
        at += length;
    }
    return false;
}

static const char *const unit_folders[] = {
    "/etc/systemd/system.control", "/run/systemd/system.control",   "/run/systemd/transient",
    "/etc/systemd/system",         "/run/systemd/generator.early",  "/run/systemd/system",
    "/run/systemd/generator",      "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
    "/lib/systemd/system",         "/run/systemd/generator.late",
};
#define UNIT_FOLDERS (sizeof unit_folders / sizeof *unit_folders)
#define UNIT_BYTES   65536

struct unit_text {
    char bytes[UNIT_BYTES];
    size_t length;
    bool whole;
};

static bool add_file(struct unit_text *unit, int folder_fd, const char *name)
{
    size_t length;
    char *text = small_file_read(folder_fd, name, UNIT_BYTES, &length);
    if (text == NULL)
        return false;
    if (unit->length + length + 1 > sizeof unit->bytes) {
        unit->whole = false;
    } else {
        memcpy(unit->bytes + unit->length, text, length);
        unit->length += length;
        unit->bytes[unit->length++] = '\n';
    }
    free(text);
    return true;
}

static void add_drop_ins(struct unit_text *unit, const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct span name = span_from_cstr(entry->d_name);
        if (span_ends_with(name, SPAN_LITERAL(".conf")))
            unit->whole = add_file(unit, dirfd(folder), entry->d_name) && unit->whole;
    }
    if (folder != NULL)
        closedir(folder);
}

/* The fragment and all drop-ins, of the unit and of its template. */
static bool read_unit(const char *unit_name, struct unit_text *unit)
{
    char name[2][256], path[PATH_MAX];
    const char *at = strchr(unit_name, '@'), *root = target_host_root();
    int names = 1;
    bool found = false;
    snprintf(name[0], sizeof name[0], "%s", unit_name);
    if (at != NULL)
        snprintf(name[names++], sizeof name[1], "%.*s.service", (int)(at - unit_name + 1),
                 unit_name);
    *unit = (struct unit_text){.whole = true};
    for (int i = 0; i < names && !found; i++)
        for (size_t folder = 0; folder < UNIT_FOLDERS && !found; folder++) {
            snprintf(path, sizeof path, "%s%s/%s", root, unit_folders[folder], name[i]);
            found = add_file(unit, AT_FDCWD, path);
        }
    for (int i = 0; i < names + 1; i++)
        for (size_t folder = 0; folder < UNIT_FOLDERS; folder++) {
            snprintf(path, sizeof path, "%s%s/%s.d", root, unit_folders[folder],
                     i < names ? name[i] : "service");
            add_drop_ins(unit, path);
        }
    return found && unit->whole;
}

/* Which of the settings make a filter that refuses with an error, however they are set. */
static bool makes_filter(struct span key)
{
    static const char *const keys[] = {
        "RestrictAddressFamilies",
        "RestrictNamespaces",
        "RestrictRealtime",
        "RestrictSUIDSGID",
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "ProtectClock",
        "ProtectHostname",
        "ProtectKernelLogs",
        "ProtectKernelModules",
        "ProtectKernelTunables",
        "PrivateDevices",
        "SystemCallArchitectures",
        "SystemCallLog",
        "DynamicUser",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (span_equals(key, span_from_cstr(keys[i])))
            return true;
    return false;
}

bool syscall_filter_of_unit(struct span text, struct syscall_filter *filter)
{
    struct span line;
    bool any = false, list = false, service_set = false, undecided = false, own_action = false;
    bool named[FILTER_CALL_COUNT] = {false}, error_number = false;
    while (span_take_line(&text, &line)) {
        line = span_trim(line);
        const char *equals = line.len > 0 ? memchr(line.ptr, '=', line.len) : NULL;
        if (equals == NULL || line.ptr[0] == '#' || line.ptr[0] == ';')
            continue;
        struct span key = span_trim(span_of(line.ptr, (size_t)(equals - line.ptr)));
        struct span value =
            span_trim(span_of(equals + 1, line.len - (size_t)(equals + 1 - line.ptr)));
        any = any || makes_filter(key);
        if (span_equals(key, SPAN_LITERAL("SystemCallErrorNumber"))) {
            error_number = value.len > 0 && !span_equals(value, SPAN_LITERAL("kill"));
        } else if (span_equals(key, SPAN_LITERAL("SystemCallFilter"))) {
            any = list = true;
            /* Groups are systemd's: what a list of others takes or leaves is not known here, nor is a reset. */
            undecided = undecided || value.len == 0 || value.ptr[0] == '~';
            /* Calls with an action of their own ("mincore:kill"), and a line that goes on. */
            own_action = own_action || span_find(value, SPAN_LITERAL(":")) >= 0 ||
                         span_ends_with(value, SPAN_LITERAL("\\"));
            service_set = service_set || span_find(value, SPAN_LITERAL("@system-service")) >= 0;
            for (int i = 0; i < FILTER_CALL_COUNT; i++) {
                struct span word = span_from_cstr(calls[i].name);
                for (struct span rest = value; rest.len > 0;) {
                    size_t length = 0;
                    while (length < rest.len && rest.ptr[length] != ' ')
                        length++;
                    named[i] = named[i] || span_equals(span_of(rest.ptr, length), word);
                    rest = span_trim(span_of(rest.ptr + length, rest.len - length));
                }
            }
        }
    }
    if (!any || own_action || (list && !error_number && (undecided || !service_set)))
        return false;
    for (int i = 0; i < FILTER_CALL_COUNT; i++) {
        bool listed = !list || named[i] || (service_set && calls[i].in_system_service);
        filter->verdict[i] = listed ? FILTER_ALLOWS : error_number ? FILTER_ERRNO : FILTER_KILLS;
    }
    return true;
}

static bool ask_unit(const char *group, struct syscall_filter *filter)
{
    char name[sizeof filter->name];
    if (!unit_of(group, name, sizeof name))
        return false;
    struct unit_text *unit = malloc(sizeof *unit);
    bool decided = unit != NULL && read_unit(name, unit) &&
                   syscall_filter_of_unit(span_of(unit->bytes, unit->length), filter);
    free(unit);
    if (decided)
        memcpy(filter->name, name, sizeof name);
    return decided;
}

/* --- the sources in their order ---------------------------------------------------------------- */

void syscall_filter_unknown(struct syscall_filter *filter, const char *why)
{
    *filter = (struct syscall_filter){.source = FILTER_UNKNOWN, .filters = -1};
    snprintf(filter->name, sizeof filter->name, "%s", why);
    set_all(filter, FILTER_KILLS);
}

/* A service of a systemd that runs in a container itself, with as many filters as that systemd has: they are those that
 * the container's manager (systemd-nspawn, LXC) gives to all of it, whose default refuses with an error. */
static bool is_all_containers(const char *group, int filters, struct syscall_filter *filter)
{
    char unit[sizeof filter->name];
    struct mode init = mode_of(1, "status");
    if (filters < 1 || init.filters != filters || !unit_of(group, unit, sizeof unit))
        return false;
    FILE *file = fopen("/run/systemd/container", "re");
    bool known = file != NULL && fscanf(file, "%63s", filter->name) == 1;
    if (file != NULL)
        fclose(file);
    return known;
}

void syscall_filter_look(const struct target *target, struct syscall_filter *filter)
{
    pid_t threads[THREADS_MAX];
    char group[PATH_MAX];
    struct mode mode;
    int count = threads_to_read(target->pid, threads, &mode);
    *filter = (struct syscall_filter){.source = FILTER_NONE, .filters = mode.filters};
    if (mode.mode == 0)
        return;
    set_all(filter, FILTER_KILLS);
    filter->source = FILTER_STRICT;
    if (mode.mode == 1)
        return;
    group_of(target->pid, group, sizeof group);
    if (mode.mode == 2 && ask_unit(group, filter)) {
        filter->source = FILTER_UNIT;
    } else if (mode.mode != 2 || !ask_kernel(target, threads, count, filter)) {
        filter->source = FILTER_UNKNOWN;
        if (mode.mode != 2)
            snprintf(filter->name, sizeof filter->name, "its /proc status does not say");
        if (is_container(group, filter) ||
            (count == 1 && is_all_containers(group, mode.filters, filter))) {
            filter->source = FILTER_RUNTIME;
            set_all(filter, FILTER_ERRNO);
        } else
            set_all(filter, FILTER_KILLS);
    }
}

#define KEPT 512

const struct syscall_filter *syscall_filter_of(const struct target *target)
{
    static struct {
        pid_t pid;
        uint64_t start_time_ticks;
        struct syscall_filter filter;
    } kept[KEPT], *at;
    at = &kept[target->pid % KEPT];
    struct mode mode = mode_of(target->pid, "status");
    if (at->pid == target->pid && at->start_time_ticks == target->start_time_ticks &&
        mode.mode >= 0 && mode.filters == at->filter.filters &&
        (mode.mode == 0) == (at->filter.source == FILTER_NONE))
        return &at->filter;
    at->pid = target->pid;
    at->start_time_ticks = target->start_time_ticks;
    if (!privileged_apart() || mode.mode == 0)
        syscall_filter_look(target, &at->filter);
    else
        privileged_filter(target, &at->filter);
    return &at->filter;
}

/* --- questions --------------------------------------------------------------------------------- */

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

const char *syscall_filter_kills(const struct syscall_filter *filter, int jdk_major,
                                 const char *question)
{
    for (size_t row = 0; row < sizeof questions / sizeof *questions; row++) {
        if (strncmp(question, questions[row].beginning, strlen(questions[row].beginning)) != 0 ||
            (jdk_major > 0 && jdk_major < questions[row].first_jdk))
            continue;
        for (int i = 0; i < FILTER_CALL_COUNT; i++)
            if (filter->verdict[i] == FILTER_KILLS && has_word(questions[row].calls, calls[i].name))
                return calls[i].name;
    }
    return NULL;
}

enum filter_verdict syscall_filter_verdict(const struct syscall_filter *filter,
                                           enum filter_call call)
{
    return (enum filter_verdict)filter->verdict[call];
}

void syscall_filter_words(const struct syscall_filter *filter, char *out, size_t size)
{
    switch (filter->source) {
    case FILTER_NONE:
        snprintf(out, size, "there is no filter");
        break;
    case FILTER_STRICT:
        snprintf(out, size, "the filter is seccomp's strict mode");
        break;
    case FILTER_UNIT:
        snprintf(out, size, "the filter is that of the unit %s", filter->name);
        break;
    case FILTER_KERNEL:
        snprintf(out, size,
                 "the filter was read from the kernel, which stopped one thread for %d us",
                 (int)filter->stopped_us);
        break;
    case FILTER_RUNTIME:
        snprintf(out, size, "the filter is taken for the default one of %s", filter->name);
        break;
    case FILTER_UNKNOWN:
        snprintf(out, size, "what the filter does is not known: %s", filter->name);
        break;
    }
}

/* --- siblings ---------------------------------------------------------------------------------- */

#define KILLED_MAX 64
_Static_assert(KILLED_MAX *(17 + 17 + 48) <= FILTER_SIBLINGS_TEXT, "all of them are kept");

static struct {
    struct filter_sibling family;
    char question[48];
} killed[KILLED_MAX];
static int killed_count;

static uint64_t hash(uint64_t from, struct span bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        from = (from ^ (unsigned char)bytes.ptr[i]) * UINT64_C(0x100000001b3);
    return from;
}

void filter_sibling_of(const struct target *target, struct filter_sibling *family)
{
    char group[PATH_MAX], unit[64];
    struct syscall_filter unused;
    const uint64_t basis = UINT64_C(0xcbf29ce484222325) + target->uid;
    if (family->command_line != 0)
        return;
    struct span line = proc_read(target->pid, "cmdline");
    if (line.ptr != NULL && line.len > 0)
        family->command_line = hash(basis, line);
    free((void *)line.ptr);
    group_of(target->pid, group, sizeof group);
    if (unit_of(group, unit, sizeof unit) || is_container(group, &unused))
        family->group = hash(basis, span_from_cstr(group));
}

void filter_sibling_killed(const struct filter_sibling *family, const char *question)
{
    if (filter_sibling_was_killed(family, question) || killed_count == KILLED_MAX)
        return;
    killed[killed_count].family = *family;
    snprintf(killed[killed_count].question, sizeof killed[0].question, "%s", question);
    killed_count++;
}

bool filter_sibling_was_killed(const struct filter_sibling *family, const char *question)
{
    for (int i = 0; i < killed_count; i++) {
        const struct filter_sibling *other = &killed[i].family;
        bool same = (family->command_line != 0 && family->command_line == other->command_line) ||
                    (family->group != 0 && family->group == other->group);
        if (same && strncmp(question, killed[i].question, strlen(killed[i].question)) == 0)
            return true;
    }
    return false;
}

int filter_siblings_keep(char text[FILTER_SIBLINGS_TEXT])
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < killed_count; i++)
        at += (size_t)snprintf(text + at, FILTER_SIBLINGS_TEXT - at,
                               "%016" PRIx64 " %016" PRIx64 " %s\n", killed[i].family.command_line,
                               killed[i].family.group, killed[i].question);
    return killed_count;
}

void filter_siblings_recall(const char *text)
{
    struct filter_sibling family;
    char question[sizeof killed[0].question];
    for (; text != NULL; text = strchr(text, '\n')) {
        text += *text == '\n';
        if (sscanf(text, "%16" SCNx64 " %16" SCNx64 " %47[^\n]", &family.command_line,
                   &family.group, question) == 3)
            filter_sibling_killed(&family, question);
    }
}

static bool ask_anyway;

void syscall_filter_ask_anyway(bool anyway)
{
    ask_anyway = anyway;
}

bool syscall_filter_asked_anyway(void)
{
    return ask_anyway;
}
