/*
 * source_bench PID ROUNDS: CPU of one poll of the sources that ask the JVM nothing.
 *
 * Samples, microseconds: perfdata, proc, agent_figures (each the mean of a thousand looks).
 */
#include "nmtwatch/jvm/agent_files.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/proc.h"
#include "tests/bench/bench.h"

#define LOOKS 1000

int main(int argc, char **argv)
{
    if (argc < 3)
        bench_fail("source_bench PID ROUNDS");
    struct target target = bench_target(argv[1]);
    struct perfdata *perfdata = perfdata_open(&target);
    struct proc proc;
    struct sample sample;
    sample_clear(&sample);
    if (perfdata == NULL || proc_open(&proc, &target) != 0)
        bench_fail("the JVM has no hsperfdata");
    for (int round = 0; round < atoi(argv[2]); round++) {
        double began_us = bench_cpu_us();
        for (int i = 0; i < LOOKS; i++) {
            if (!perfdata_sample(perfdata, &sample))
                bench_fail("hsperfdata cannot be read any more");
        }
        bench_sample("perfdata", (bench_cpu_us() - began_us) / LOOKS);
        began_us = bench_cpu_us();
        for (int i = 0; i < LOOKS; i++) {
            if (!proc_sample(&proc, &sample))
                bench_fail("the JVM is gone");
        }
        bench_sample("proc", (bench_cpu_us() - began_us) / LOOKS);
        began_us = bench_cpu_us();
        for (int i = 0; i < LOOKS; i++)
            agent_figures_sample(&target, &sample);
        bench_sample("agent_figures", (bench_cpu_us() - began_us) / LOOKS);
    }
    proc_close(&proc);
    perfdata_close(perfdata);
    target_close(&target);
    return 0;
}
