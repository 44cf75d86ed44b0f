#include "nmtwatch/watch/pressure.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 4096

static bool read_text(const char *root, const char *path, char text[TEXT_MAX])
{
    char whole[1024];
    int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof whole)
        return false;
    int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, TEXT_MAX - 1);
    close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return true;
}

/* "some avg10=90.72 avg60=96.71 ...": the share of ten seconds in which a thread waited for a CPU.
 */
static int64_t stalled_percent(const char *text)
{
    double share;
    return sscanf(text, "some avg10=%lf", &share) == 1 && share >= 0.0 && share <= 100.0
               ? (int64_t)share
               : -1;
}

/* "0-3,8,10-11" */
static int64_t cores(const char *root)
{
    char text[TEXT_MAX];
    int64_t count = 0;
    if (!read_text(root, "/sys/devices/system/cpu/online", text))
        return 1;
    for (const char *at = text; at != NULL && *at != '\0' && count < 65536;) {
        int first, last;
        int fields = sscanf(at, "%d-%d", &first, &last);
        if (fields < 1)
            break;
        count += fields == 2 && last >= first ? (int64_t)last - first + 1 : 1;
        at = strchr(at, ',');
        at = at != NULL ? at + 1 : NULL;
    }
    return count > 0 ? count : 1;
}

/* The target's group of the unified hierarchy, as this process sees it. */
static bool group_of(const char *root, pid_t pid, char *group, size_t size)
{
    char path[64], text[TEXT_MAX];
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    if (!read_text(root, path, text))
        return false;
    char *line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
    if (line == NULL)
        return false;
    line += *line == '\n' ? 4 : 3;
    line[strcspn(line, "\n")] = '\0';
    if (strstr(line, "..") != NULL || strcmp(line, "/") == 0)
        return false;
    int length = snprintf(group, size, "/sys/fs/cgroup%s", line);
    return length > 0 && (size_t)length < size;
}

static void read_group(const char *root, pid_t pid, struct pause_pressure *pressure)
{
    char group[512], path[600], text[TEXT_MAX];
    long long quota_us, period_us;
    if (!group_of(root, pid, group, sizeof group))
        return;
    snprintf(path, sizeof path, "%s/cpu.pressure", group);
    int64_t stalled = read_text(root, path, text) ? stalled_percent(text) : -1;
    if (stalled > pressure->stalled_percent)
        pressure->stalled_percent = stalled;
    snprintf(path, sizeof path, "%s/cpu.max", group);
    /* "max 100000" has no quota; one that is used up keeps the JVM off until its period ends. */
    if (stalled >= PAUSE_STALLED_PERCENT && read_text(root, path, text) &&
        sscanf(text, "%lld %lld", &quota_us, &period_us) == 2 && quota_us > 0 && period_us > 0 &&
        period_us <= 1000000)
        pressure->throttle_us = period_us;
}

void pressure_read(const char *root, pid_t pid, struct pause_pressure *pressure)
{
    char text[TEXT_MAX];
    double load = 0.0, unused;
    int running = 0;
    *pressure = (struct pause_pressure){.stalled_percent = -1};
    if (read_text(root, "/proc/pressure/cpu", text))
        pressure->stalled_percent = stalled_percent(text);
    if (read_text(root, "/proc/loadavg", text) &&
        sscanf(text, "%lf %lf %lf %d/", &load, &unused, &unused, &running) == 4) {
        /* The average is of a minute, and late; the count is of this moment. */
        double most = load > (double)running ? load : (double)running;
        if (most > 0.0 && most < 1e6)
            pressure->runnable_percent = (int64_t)(most * 100.0 / (double)cores(root));
    }
    read_group(root, pid, pressure);
}

void pressure_words(const struct pause_pressure *pressure, char *out, size_t size)
{
    char stalled[48] = "", throttled[48] = "";
    if (pressure->stalled_percent >= 0)
        snprintf(stalled, sizeof stalled, ", CPU pressure %d %%", (int)pressure->stalled_percent);
    if (pressure->throttle_us > 0)
        snprintf(throttled, sizeof throttled, ", its container's CPU quota used up");
    snprintf(out, size, "%.1f runnable threads for each core%s%s",
             (double)pressure->runnable_percent / 100.0, stalled, throttled);
}
