/* Signal context. Reaches the C library's sigaction, and only to let the process end. */
#include "agent/hotspot/faults.h"

#include "agent/hotspot/registers.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct faults_state faults_state;

/* As the kernel would treat a signal without a handler. A fault comes again by itself when we
 * return; one that somebody sent has to be sent again. */
static void fall_to_default(int number, const siginfo_t *info)
{
    struct sigaction plain;
    memset(&plain, 0, sizeof plain);
    plain.sa_handler = SIG_DFL;
    faults_state.action(number, &plain, NULL);
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
    struct registers interrupted;
    registers_read(context, &interrupted);
    uintptr_t resume = guarded_load_resume(interrupted.pc);
    if (resume != 0) {
        atomic_fetch_add_explicit(&faults_state.caught, 1, memory_order_relaxed);
        interrupted.pc = resume;
        registers_write(context, &interrupted);
        return;
    }
    enum fault_signal which = number == SIGBUS ? FAULT_BUS : FAULT_SEGV;
    pass_on(&faults_state.before[level][which], number, info, context);
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

fault_handler *const faults_handlers[FAULT_LEVELS] = {on_fault_0, on_fault_1, on_fault_2,
                                                      on_fault_3};
