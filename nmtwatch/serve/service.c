#include "nmtwatch/serve/service.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/jvm/privileged.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define RELOADING "RELOADING=1\nMONOTONIC_USEC="
#define STATUS    "STATUS="

static void notify(const char *message)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof address.sun_path)
        return;
    size_t length = strlen(path);
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract socket */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    /* Nobody there is nobody to tell. */
    if (sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address, size) < 0) {
    }
    close(fd);
}

static void tell(const char *message)
{
    if (privileged_apart())
        privileged_do(PRIVILEGED_NOTIFY, 0, 0, message);
    else
        notify(message);
}

static bool is_ours(const char *message)
{
    static const char *const words[] = {"READY=1", "STOPPING=1", "WATCHDOG=1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(message, words[i]) == 0)
            return true;
    }
    if (strncmp(message, RELOADING, strlen(RELOADING)) == 0)
        return strspn(message + strlen(RELOADING), "0123456789") ==
               strlen(message + strlen(RELOADING));
    if (strncmp(message, STATUS, strlen(STATUS)) != 0)
        return false;
    for (const char *at = message; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~')
            return false;
    }
    return true;
}

bool service_pass_on(const char *message)
{
    bool good = is_ours(message);
    if (good)
        notify(message);
    return good;
}

void service_ready(void)
{
    tell("READY=1");
}

void service_reloading(void)
{
    char message[64];
    snprintf(message, sizeof message, RELOADING "%" PRId64, clock_us(CLOCK_MONOTONIC));
    tell(message);
}

void service_stopping(void)
{
    tell("STOPPING=1");
}

void service_status(const char *sentence)
{
    char message[256];
    snprintf(message, sizeof message, STATUS "%s", sentence);
    tell(message);
}

/* Twice as often as systemd wants it. */
int64_t service_watchdog_ms(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (us == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    int64_t ms = strtoll(us, NULL, 10) / 2000;
    return ms > 0 ? ms : 0;
}

void service_alive(void)
{
    tell("WATCHDOG=1");
}
