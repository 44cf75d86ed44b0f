/*
 * ask [--stop] PID COMMAND: asks a JVM one question with our attach client.
 *
 * --stop: as soon as the question is sent the process stops itself (SIGSTOP), before it has read a
 * byte; continued, it reads the reply. What happens to the application meanwhile is the question of
 * the one who started this.
 *
 * Samples: reply_bytes; elapsed_us, wall time of the exchange; client_us, our CPU.
 */
#include "nmtwatch/jvm/attach.h"
#include "tests/bench/bench.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

int main(int argc, char **argv)
{
    bool stop = argc > 1 && strcmp(argv[1], "--stop") == 0;
    if (argc != 3 + stop)
        bench_fail("ask [--stop] PID COMMAND");
    struct target target = bench_target(argv[1 + stop]);
    const struct attach_limits limits = {.timeout_ms = 60000};
    struct attach *attach = attach_create(&target, &limits);
    struct span reply;
    struct failure failure;
    /* The first exchange opens the socket and learns what the JVM offers. */
    if (attach == NULL)
        bench_fail("out of memory");
    if (attach_run(attach, "VM.version", &reply, &failure) != FAILURE_NONE)
        bench_fail(failure.sentence);

    double began_us = bench_cpu_us();
    if (attach_ask(attach, argv[2 + stop]) != 0)
        bench_fail("this command cannot be asked");
    enum attach_state state;
    while ((state = attach_step(attach)) == ATTACH_BUSY) {
        struct pollfd poll_fd = {.fd = attach_fd(attach, &poll_fd.events)};
        bool sent = poll_fd.fd >= 0 && (poll_fd.events & POLLIN) != 0;
        if (sent && stop) {
            stop = false;
            raise(SIGSTOP);
        }
        poll(&poll_fd, 1, attach_wait_ms(attach));
    }
    if (state != ATTACH_DONE)
        bench_fail(attach_failure(attach)->sentence);
    int result_code;
    bench_sample("reply_bytes", (double)attach_reply(attach, &result_code).len);
    bench_sample("elapsed_us", (double)attach_elapsed_us(attach));
    bench_sample("client_us", bench_cpu_us() - began_us);
    attach_destroy(attach);
    target_close(&target);
    return 0;
}
