#include "agent/hotspot/faults.h"

#include "agent/hotspot/guarded_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * A library that puts its own handler over ours may pass on to ours. Were ours put on top of it
 * again, with the same address, the two would call each other for ever. So there are a few handlers
 * that do the same, each with its own predecessor:
 *
 *   on_fault_1 -> theirs -> on_fault_0 -> HotSpot's
 */
#define LEVELS 4
enum { SEGV, BUS, SIGNALS };
static const int NUMBERS[SIGNALS] = {SIGSEGV, SIGBUS};

static struct sigaction before[LEVELS][SIGNALS];
static int levels[SIGNALS]; /* in use */
static _Atomic int64_t caught;

/* --- signal context ----------------------------------------------------------------------------
 */

/* As the kernel would treat a signal without a handler. A fault comes again by itself when we
 * return; one that somebody sent has to be sent again. */
static void fall_to_default(int number, const siginfo_t *info)
{
    struct sigaction plain;
    memset(&plain, 0, sizeof plain);
    plain.sa_handler = SIG_DFL;
    sigaction(number, &plain, NULL);
    if (info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), number);
}

static void pass_on(const struct sigaction *to, int number, siginfo_t *info, void *context)
{
    if ((to->sa_flags & SA_SIGINFO) != 0)
        to->sa_sigaction(number, info, context);
    else if (to->sa_handler == SIG_DFL || (to->sa_handler == SIG_IGN && info->si_code > 0))
        fall_to_default(number, info);
    else if (to->sa_handler != SIG_IGN)
        to->sa_handler(number);
}

static void on_fault(int level, int number, siginfo_t *info, void *context)
{
#ifdef __x86_64__
    ucontext_t *interrupted = context;
    uintptr_t resume = guarded_load_resume((uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP]);
    if (resume != 0) {
        atomic_fetch_add_explicit(&caught, 1, memory_order_relaxed);
        interrupted->uc_mcontext.gregs[REG_RIP] = (greg_t)resume;
        return;
    }
#endif
    pass_on(&before[level][number == SIGBUS ? BUS : SEGV], number, info, context);
}

#define HANDLER(level)                                                                             \
    static void on_fault_##level(int number, siginfo_t *info, void *context)                       \
    {                                                                                              \
        on_fault(level, number, info, context);                                                    \
    }
HANDLER(0)
HANDLER(1)
HANDLER(2)
HANDLER(3)

static void (*const handlers[LEVELS])(int, siginfo_t *, void *) = {on_fault_0, on_fault_1,
                                                                   on_fault_2, on_fault_3};

/* --- setup context -----------------------------------------------------------------------------
 */

typedef int action_fn(int number, const struct sigaction *action, struct sigaction *old);

/* The C library's own: with libjsig loaded before it, `sigaction` is libjsig's, which would put us
 * behind HotSpot instead of before it. */
static action_fn *real_sigaction(void)
{
    static action_fn *real;
    if (real == NULL) {
        void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
        if (library != NULL) {
            real = (action_fn *)dlsym(library, "sigaction");
            dlclose(library);
        }
        if (real == NULL)
            real = sigaction;
    }
    return real;
}

static bool is_level(const struct sigaction *action, int level)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == handlers[level];
}

static bool install(int which)
{
    struct sigaction now, ours;
    int level = levels[which];
    if (real_sigaction()(NUMBERS[which], NULL, &now) != 0)
        return false;
    if (level > 0 && is_level(&now, level - 1))
        return true;
    if (level == LEVELS) {
        errno = EBUSY;
        return false;
    }
    before[level][which] = now;
    ours = now; /* its mask and its stack: so that what is passed on runs as it would have */
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_flags &= ~(int)SA_RESETHAND;
    if (now.sa_handler == SIG_DFL)
        ours.sa_flags |= SA_ONSTACK;
    ours.sa_sigaction = handlers[level];
    if (real_sigaction()(NUMBERS[which], &ours, NULL) != 0)
        return false;
    levels[which]++;
    return true;
}

bool faults_install(char *error, size_t error_size)
{
    for (int which = 0; which < SIGNALS; which++) {
        if (!install(which)) {
            snprintf(error, error_size, "no handler for failing loads (%s): %s",
                     NUMBERS[which] == SIGBUS ? "SIGBUS" : "SIGSEGV", strerror(errno));
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
    for (int which = 0; which < SIGNALS; which++) {
        while (levels[which] > 0 && real_sigaction()(NUMBERS[which], NULL, &now) == 0 &&
               is_level(&now, levels[which] - 1) &&
               real_sigaction()(NUMBERS[which], &before[levels[which] - 1][which], NULL) == 0)
            levels[which]--;
    }
}

int64_t faults_caught(void)
{
    return atomic_load_explicit(&caught, memory_order_relaxed);
}
