#include "nmtwatch/process/left_behind.h"

#include <signal.h>
#include <sys/wait.h>

#define LEFT_MAX 512 /* one more is not reaped before this process ends, and harms nothing else */

static pid_t left[LEFT_MAX];
static int left_count;

int left_behind_count(void)
{
    for (int i = left_count; i-- > 0;)
        if (waitpid(left[i], NULL, WNOHANG) != 0)
            left[i] = left[--left_count];
    return left_count;
}

void left_behind(pid_t child)
{
    if (child <= 0)
        return;
    kill(child, SIGKILL);
    if (left_behind_count() < LEFT_MAX)
        left[left_count++] = child;
    left_behind_count();
}
