#include "nmtwatch/process/clock.h"

int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_ms(clockid_t clock)
{
    return clock_us(clock) / 1000;
}
