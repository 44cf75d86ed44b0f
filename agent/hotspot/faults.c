#include "agent/hotspot/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const int NUMBERS[FAULT_SIGNALS] = {[FAULT_SEGV] = SIGSEGV, [FAULT_BUS] = SIGBUS};
static int levels[FAULT_SIGNALS]; /* in use */

/* The C library's own: with libjsig loaded before it, `sigaction` is libjsig's, which would put us
 * behind HotSpot instead of before it. */
static void find_action(void)
{
    if (faults_state.action != NULL)
        return;
    void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) {
        faults_state.action = (fault_action *)dlsym(library, "sigaction");
        dlclose(library);
    }
    if (faults_state.action == NULL)
        faults_state.action = sigaction;
}

static bool is_level(const struct sigaction *action, int level)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == faults_handlers[level];
}

static bool install(enum fault_signal which)
{
    struct sigaction now, ours;
    int level = levels[which];
    if (faults_state.action(NUMBERS[which], NULL, &now) != 0)
        return false;
    if (level > 0 && is_level(&now, level - 1))
        return true;
    if (level == FAULT_LEVELS) {
        errno = EBUSY;
        return false;
    }
    faults_state.before[level][which] = now;
    ours = now; /* its mask and its stack: so that what is passed on runs as it would have */
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_flags &= ~(int)SA_RESETHAND;
    if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
        ours.sa_flags |= SA_ONSTACK;
    ours.sa_sigaction = faults_handlers[level];
    if (faults_state.action(NUMBERS[which], &ours, NULL) != 0)
        return false;
    levels[which]++;
    return true;
}

bool faults_install(char *error, size_t error_size)
{
    find_action();
    for (int which = 0; which < FAULT_SIGNALS; which++) {
        if (!install((enum fault_signal)which)) {
            snprintf(error, error_size, "no handler for failing loads (%s): %s",
                     which == FAULT_BUS ? "SIGBUS" : "SIGSEGV", strerror(errno));
            faults_remove();
            return false;
        }
    }
    return true;
}

/* From the top as far as it is ours; one that somebody has covered stays, and passes on. */
void faults_remove(void)
{
    struct sigaction now;
    for (int which = 0; which < FAULT_SIGNALS; which++) {
        while (levels[which] > 0 && faults_state.action(NUMBERS[which], NULL, &now) == 0 &&
               is_level(&now, levels[which] - 1) &&
               faults_state.action(NUMBERS[which], &faults_state.before[levels[which] - 1][which],
                                   NULL) == 0)
            levels[which]--;
    }
}

int64_t faults_caught(void)
{
    return atomic_load_explicit(&faults_state.caught, memory_order_relaxed);
}
