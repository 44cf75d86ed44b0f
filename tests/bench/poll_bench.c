/*
 * poll_bench PID ROUNDS JCMD [JATTACH]: CPU of one NMT poll, three clients in turn.
 *
 * A round is: ten polls of our own client, one run of jcmd, five of jattach, each after a pause (a
 * watch polls with cold caches, and so does who starts a process now and then), then two hundred
 * polls of ours without pause. A poll is the question `VM.native_memory summary scale=B`, the whole
 * reply and, for our client, the parsed sample.
 *
 * Samples, microseconds of CPU (user + system; the target's in target_*):
 *   poll            one of our polls after a pause
 *   poll_hot        one of our polls, mean of those without pause
 *   jcmd, jattach   one run of the program, start to end
 *   jcmd_ratio, jattach_ratio   mean of the round's runs over mean of the round's polls
 * and jcmd_rss_mb, jattach_rss_mb.
 */
#include "analyzers/model/memory_reply.h"
#include "nmtwatch/jvm/attach.h"
#include "tests/bench/bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PACED    10
#define HOT      200
#define JATTACHS 5
#define PAUSE_US 100000
#define COMMAND  "VM.native_memory summary scale=B"

static void poll_once(struct attach *attach)
{
    struct span reply;
    struct failure failure;
    if (attach_run(attach, COMMAND, &reply, &failure) != FAILURE_NONE)
        bench_fail(failure.sentence);
    static struct nmt_summary summary;
    static struct sample sample;
    size_t consumed;
    sample_clear(&sample);
    if (nmt_summary_parse(&summary, reply, &consumed) != PARSE_OK)
        bench_fail("the reply is no NMT summary: was the JVM started with NMT?");
    sample_add_nmt(&sample, &summary);
}

static double paced(struct attach *attach)
{
    double sum_us = 0;
    for (int i = 0; i < PACED; i++) {
        usleep(PAUSE_US);
        double began_us = bench_cpu_us();
        poll_once(attach);
        double us = bench_cpu_us() - began_us;
        bench_sample("poll", us);
        sum_us += us;
    }
    return sum_us / PACED;
}

static void hot(struct attach *attach, clockid_t target_clock)
{
    double target_us = bench_us(target_clock);
    double began_us = bench_cpu_us();
    for (int i = 0; i < HOT; i++)
        poll_once(attach);
    bench_sample("poll_hot", (bench_cpu_us() - began_us) / HOT);
    bench_sample("target_poll_hot", (bench_us(target_clock) - target_us) / HOT);
}

static double us_of(struct timeval time)
{
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

/* CPU of a whole process with its children; its output is thrown away. */
static double process(const char *const *argv, const char *name, clockid_t target_clock)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    usleep(PAUSE_US);
    double target_us = bench_us(target_clock);
    pid_t pid;
    if (posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) != 0)
        bench_fail(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    int status;
    struct rusage usage;
    if (wait4(pid, &status, 0, &usage) != pid || status != 0)
        bench_fail("the other client failed");
    double us = us_of(usage.ru_utime) + us_of(usage.ru_stime);
    char label[48];
    bench_sample(name, us);
    snprintf(label, sizeof label, "target_%s", name);
    bench_sample(label, bench_us(target_clock) - target_us);
    snprintf(label, sizeof label, "%s_rss_mb", name);
    bench_sample(label, (double)usage.ru_maxrss / 1024);
    return us;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        bench_fail("poll_bench PID ROUNDS JCMD [JATTACH]");
    const char *pid = argv[1];
    const char *const jcmd[] = {argv[3], pid, "VM.native_memory", "summary", "scale=B", NULL};
    const char *const jattach[] = {argc > 4 ? argv[4] : NULL, pid, "jcmd", COMMAND, NULL};
    struct target target = bench_target(pid);
    struct attach *attach = attach_create(&target, NULL);
    clockid_t target_clock;
    if (attach == NULL || clock_getcpuclockid(target.pid, &target_clock) != 0)
        bench_fail("no clock for this process");
    poll_once(attach); /* opens the socket, learns the protocol */
    for (int round = 0; round < atoi(argv[2]); round++) {
        double poll_us = paced(attach);
        bench_sample("jcmd_ratio", process(jcmd, "jcmd", target_clock) / poll_us);
        double jattach_us = 0;
        for (int i = 0; i < JATTACHS && jattach[0] != NULL; i++)
            jattach_us += process(jattach, "jattach", target_clock) / JATTACHS;
        if (jattach[0] != NULL)
            bench_sample("jattach_ratio", jattach_us / poll_us);
        hot(attach, target_clock);
    }
    attach_destroy(attach);
    target_close(&target);
    return 0;
}
