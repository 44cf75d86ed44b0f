#include "nmtwatch/process/signals.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
static const int passing[] = {SIGQUIT, SIGUSR1, SIGUSR2};

static volatile sig_atomic_t asked_to_end; /* how often */
static volatile sig_atomic_t asked_to_reload;
static volatile sig_atomic_t to_pass[NSIG]; /* to the command */
static int wake_fd = -1;
static enum signals_mode mode;

static bool ends(int number)
{
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (ending[i] == number)
            return mode != SIGNALS_RELOAD || number != SIGHUP;
    return false;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    uint64_t one = 1;
    (void)context;
    if (ends(number))
        asked_to_end = asked_to_end + 1;
    else if (number == SIGHUP)
        asked_to_reload = 1;
    /* si_code SI_KERNEL: the terminal. */
    if (mode == SIGNALS_COMMAND && number != SIGCHLD && info->si_code != SI_KERNEL)
        to_pass[number] = 1;
    if (write(wake_fd, &one, sizeof one) < 0) {
        /* full: it is readable already */
    }
    errno = saved;
}

static bool catch_all(const int *numbers, size_t count, int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < count; i++) {
        if (sigaction(numbers[i], NULL, &before) != 0)
            return false;
        bool ignored = numbers[i] == SIGHUP && before.sa_handler == SIG_IGN;
        if (!(ignored && ends(SIGHUP)) && sigaction(numbers[i], &action, NULL) != 0)
            return false;
    }
    return true;
}

bool signals_catch(enum signals_mode wanted)
{
    static const int child[] = {SIGCHLD};
    mode = wanted;
    if (wake_fd < 0)
        wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* A daemon's libraries have threads that know nothing of interrupted calls. */
    int flags = wanted == SIGNALS_RELOAD ? SA_RESTART : 0;
    if (wake_fd < 0 || !catch_all(ending, sizeof ending / sizeof *ending, flags))
        return false;
    return wanted != SIGNALS_COMMAND || (catch_all(passing, sizeof passing / sizeof *passing, 0) &&
                                         catch_all(child, 1, SA_NOCLDSTOP));
}

bool signals_catch_in_child(void)
{
    wake_fd = -1;
    asked_to_end = asked_to_reload = 0;
    return signals_catch(SIGNALS_END);
}

int signals_fd(void)
{
    return wake_fd;
}

void signals_seen(void)
{
    uint64_t ignored;
    if (read(wake_fd, &ignored, sizeof ignored) < 0) {
        /* nothing there: it was read before */
    }
}

int signals_asked(void)
{
    return asked_to_end;
}

const volatile sig_atomic_t *signals_asked_at(void)
{
    return &asked_to_end;
}

bool signals_reload(void)
{
    bool asked = asked_to_reload;
    asked_to_reload = 0;
    return asked;
}

int signals_to_pass(void)
{
    for (int number = 1; number < NSIG; number++) {
        if (to_pass[number]) {
            to_pass[number] = 0;
            return number;
        }
    }
    return 0;
}
