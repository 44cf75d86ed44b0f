#include "nmtwatch/jvm/as_target.h"

#include <errno.h>
#include <grp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (UINT32_C(1) << (capability))
/* Those of the first 32 that overrule the modes and owners of files. */
#define FILE_CAPABILITIES                                                                          \
    (BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) |         \
     BIT(CAP_FSETID) | BIT(CAP_LINUX_IMMUTABLE) | BIT(CAP_MKNOD))

static bool get_capabilities(struct __user_cap_data_struct capabilities[2])
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    return syscall(SYS_capget, &header, capabilities) == 0;
}

static bool set_capabilities(const struct __user_cap_data_struct capabilities[2])
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    return syscall(SYS_capset, &header, capabilities) == 0;
}

bool as_target_has(int capability)
{
    struct __user_cap_data_struct sets[2];
    return get_capabilities(sets) &&
           (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

bool as_target_keep(const int *capabilities, int count)
{
    struct __user_cap_data_struct sets[2];
    uint32_t kept[2] = {0, 0};
    for (int i = 0; i < count; i++)
        kept[CAP_TO_INDEX(capabilities[i])] |= CAP_TO_MASK(capabilities[i]);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 || !get_capabilities(sets))
        return false;
    for (int i = 0; i < 2; i++) {
        sets[i].effective &= kept[i];
        sets[i].permitted &= kept[i];
        sets[i].inheritable = 0;
    }
    return set_capabilities(sets);
}

bool as_target_possible(uid_t uid, gid_t gid)
{
    return (uid == geteuid() && gid == getegid()) ||
           (as_target_has(CAP_SETUID) && as_target_has(CAP_SETGID));
}

/* glibc's setgroups changes every thread. */
static bool set_groups(int count, const gid_t *groups)
{
    return syscall(SYS_setgroups, (size_t)count, groups) == 0;
}

/* setfsuid reports no error: asking for an impossible id returns the one that counts. */
static bool set_ids(uid_t uid, gid_t gid)
{
    setfsgid(gid);
    setfsuid(uid);
    return (gid_t)setfsgid((gid_t)-1) == gid && (uid_t)setfsuid((uid_t)-1) == uid;
}

static bool keep_groups(struct as_target *self)
{
    self->group_count = getgroups(0, NULL);
    if (self->group_count <= 0)
        return self->group_count == 0;
    self->groups = calloc((size_t)self->group_count, sizeof *self->groups);
    if (self->groups == NULL) {
        errno = ENOMEM;
        return false;
    }
    return getgroups(self->group_count, self->groups) == self->group_count;
}

/* All of it is a way back that needs no more rights than the way there. */
static void go_back(struct as_target *self)
{
    int error = errno;
    bool back = set_ids(self->uid, self->gid);
    if (self->group_count > 0)
        back = set_groups(self->group_count, self->groups) && back;
    if (!set_capabilities(self->capabilities) || !back)
        abort(); /* never continue as another user */
    if (self->dumpable == 1)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* other ids have ended that */
    free(self->groups);
    *self = (struct as_target){.changed = false};
    errno = error;
}

bool as_target_begin(struct as_target *self, uid_t uid, gid_t gid)
{
    *self = (struct as_target){
        .uid = geteuid(), .gid = getegid(), .dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)};
    if (!get_capabilities(self->capabilities))
        return false;
    bool stronger = (self->capabilities[0].effective & FILE_CAPABILITIES) != 0;
    bool same = uid == self->uid && gid == self->gid;
    if (same && (!stronger || uid == 0))
        return true;
    if (!as_target_possible(uid, gid)) {
        errno = EPERM;
        return false;
    }
    if (!same && !keep_groups(self)) {
        free(self->groups);
        return false;
    }
    struct __user_cap_data_struct fewer[2] = {self->capabilities[0], self->capabilities[1]};
    fewer[0].effective &= ~FILE_CAPABILITIES;
    self->changed = true;
    errno = 0;
    if (same || ((self->group_count == 0 || set_groups(0, NULL)) && set_ids(uid, gid))) {
        /* A change from 0 to another uid has dropped most of them, not where securebits say so; one to
         * 0 has raised those that are permitted. */
        if ((uid == 0 && self->uid == 0) || set_capabilities(fewer))
            return true;
    }
    if (errno == 0)
        errno = EINVAL;
    go_back(self);
    return false;
}

void as_target_end(struct as_target *self)
{
    if (self->changed)
        go_back(self);
}

/* Without CAP_SETPCAP it stays as it is, and no_new_privs keeps anything from being taken of it. */
static void empty_bounding_set(void)
{
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
            return;
}

bool as_target_for_good(uid_t uid, gid_t gid)
{
    static const struct __user_cap_data_struct none[2];
    prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    bool stays_root = uid == 0 && geteuid() == 0;
    if (!stays_root)
        empty_bounding_set();
    if ((uid != geteuid() || gid != getegid()) &&
        (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0))
        return false;
    return stays_root || set_capabilities(none); /* the ambient set goes with the permitted one */
}
