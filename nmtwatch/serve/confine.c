#include "nmtwatch/serve/helper.h"

#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/machine/machine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

bool service_user_find(struct service_user *user, const char *name, char *error, size_t error_size)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    const struct passwd *entry = getpwnam(name);
    if (entry != NULL)
        *user = (struct service_user){entry->pw_uid, entry->pw_gid};
    else if (name[0] >= '0' && name[0] <= '9' && *end == '\0' && number < UINT32_MAX)
        *user = (struct service_user){(uid_t)number, (gid_t)number};
    else
        return text_error(error, error_size, "user: there is no user '%.60s' here", name);
    const char *what = user->uid == 0 || user->gid == 0 ? "is root, or of its group"
                       : user->uid == geteuid()
                           ? "is the user of the helper, who needs one of its own"
                           : NULL;
    if (what != NULL)
        snprintf(error, error_size, "user: '%.60s' %s", name, what);
    return what == NULL;
}

/* --- the filter ------------------------------------------------------------------------------- */

#define FIELD(name)   ((uint32_t)offsetof(struct seccomp_data, name))
#define LOAD(field)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(field))
#define RETURN(what)  BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(error) (SECCOMP_RET_ERRNO | (error))

#define NEW_NAMESPACES                                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)

static const struct {
    unsigned number;
    bool with_commands; /* only where programs may be started */
} allowed[] = {
#define SYSTEM_CALL(name, commands) {SYS_##name, commands},
#include "nmtwatch/serve/confine.def"
#undef SYSTEM_CALL
};
#define ALLOWED (sizeof allowed / sizeof *allowed)

/* Two instructions a call, twenty besides. */
struct program {
    struct sock_filter code[2 * ALLOWED + 32];
    unsigned short length;
};

static void put(struct program *program, struct sock_filter instruction)
{
    program->code[program->length++] = instruction;
}

/* The accumulator holds the number. An instruction's jumps count those that follow it. */
static void put_rules(struct program *program, bool with_commands)
{
    static const unsigned families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    /* A structure in memory cannot be looked at: the libc falls back to clone. */
    put(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
    put(program, (struct sock_filter)RETURN(REFUSE(ENOSYS)));

    put(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
    put(program, (struct sock_filter)LOAD(args[0]));
    put(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1));
    put(program, (struct sock_filter)RETURN(REFUSE(EPERM)));
    put(program, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));

    put(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 7));
    put(program, (struct sock_filter)LOAD(args[0]));
    for (unsigned i = 0; i < 4; i++)
        put(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, families[i],
                                                  (uint8_t)(4 - i), 0));
    put(program, (struct sock_filter)RETURN(REFUSE(EAFNOSUPPORT)));
    put(program, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));

    for (size_t i = 0; i < ALLOWED; i++) {
        if (allowed[i].with_commands && !with_commands)
            continue;
        put(program,
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i].number, 0, 1));
        put(program, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
    }
    put(program, (struct sock_filter)RETURN(REFUSE(EPERM)));
}

static bool filter(bool with_commands)
{
    static struct program program;
    program.length = 0;
    put(&program, (struct sock_filter)LOAD(arch));
    put(&program,
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, this_machine.audit, 1, 0));
    put(&program, (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
    put(&program, (struct sock_filter)LOAD(nr));
    put_rules(&program, with_commands);
    struct sock_fprog whole = {.len = program.length, .filter = program.code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) == 0;
}

bool confine(const struct service_user *user, bool with_commands, char *error, size_t error_size)
{
    if (!as_target_for_good(user->uid, user->gid) || geteuid() != user->uid ||
        setresuid((uid_t)-1, 0, (uid_t)-1) == 0)
        return text_error(error, error_size, "becoming user %u: %s", (unsigned)user->uid,
                          strerror(errno));
    if (filter(with_commands))
        return true;
    return text_error(error, error_size, "the filter of system calls: %s", strerror(errno));
}
