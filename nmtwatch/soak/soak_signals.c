#include "nmtwatch/soak/soak_signals.h"

#include <signal.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
static const int passing[] = {SIGQUIT, SIGUSR1, SIGUSR2};

static volatile sig_atomic_t asked_to_end;  /* how often */
static volatile sig_atomic_t to_pass[NSIG]; /* to the command */

/* si_code SI_KERNEL: the terminal. */
static void on_signal(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != SI_KERNEL)
        to_pass[signal_number] = 1;
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        if (ending[i] == signal_number)
            asked_to_end = asked_to_end + 1;
    }
}

static void on_child(int signal_number)
{
    (void)signal_number; /* poll has been interrupted: that is all */
}

void soak_signals_catch(bool command)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        /* nohup has us ignore SIGHUP: that stays so. */
        if (ending[i] != SIGHUP ||
            (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN))
            sigaction(ending[i], &action, NULL);
    }
    if (!command)
        return;
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        sigaction(passing[i], &action, NULL);
    struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGCHLD, &child, NULL);
}

void soak_signals_pass(const struct child *child)
{
    for (int number = 1; number < NSIG; number++) {
        if (!to_pass[number])
            continue;
        to_pass[number] = 0;
        if (child->pid > 0)
            child_signal(child, number);
    }
}

int soak_signals_asked(void)
{
    return asked_to_end;
}
