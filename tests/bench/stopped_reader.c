/*
 * stopped_reader PID COMMAND: asks a JVM and, as soon as the question is sent, stops itself
 * (SIGSTOP) before reading a byte. When continued it reads the reply and prints how long it is:
 *
 *   reply_bytes 1234567
 *
 * What happens to the application meanwhile is the question of the one who started this.
 */
#include "nmtwatch/jvm/attach.h"
#include "tests/bench/bench.h"

#include <poll.h>
#include <signal.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        bench_fail("stopped_reader PID COMMAND");
    struct target target = bench_target(argv[1]);
    const struct attach_limits limits = {.timeout_ms = 60000};
    struct attach *attach = attach_create(&target, &limits);
    struct span reply;
    struct failure failure;
    /* The first exchange opens the socket and learns what the JVM offers. */
    if (attach == NULL || attach_run(attach, "VM.version", &reply, &failure) != FAILURE_NONE)
        bench_fail("the JVM cannot be attached to");

    attach_ask(attach, argv[2]);
    bool stopped = false;
    enum attach_state state;
    while ((state = attach_step(attach)) == ATTACH_BUSY) {
        struct pollfd poll_fd = {.fd = attach_fd(attach, &poll_fd.events)};
        bool sent = poll_fd.fd >= 0 && (poll_fd.events & POLLIN) != 0;
        if (sent && !stopped) {
            stopped = true;
            raise(SIGSTOP);
        }
        poll(&poll_fd, 1, attach_wait_ms(attach));
    }
    if (state != ATTACH_DONE)
        bench_fail(attach_failure(attach)->sentence);
    int code;
    bench_sample("reply_bytes", (double)attach_reply(attach, &code).len);
    attach_destroy(attach);
    target_close(&target);
    return 0;
}
