#include "nmtwatch/profile/beside_nmt.h"

#include "analyzers/model/memory_reply.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

/* Where jmethodIDs are accounted, by the first JDK that does it so; the latest first. */
static const struct {
    int first_jdk;
    enum nmt_category categories[2];
} homes[] = {
    {26, {NMT_CLASS, NMT_JNI}},
    {9, {NMT_CLASS, NMT_INTERNAL}},
    {0, {NMT_CLASS, NMT_CLASS}},
};

static void print_sample(const struct sample *sample, int jdk_major, FILE *out)
{
    int64_t committed;
    size_t home = 0;
    /* Not known: a recent one of the JDKs that are in use. */
    while (homes[home].first_jdk > (jdk_major > 0 ? jdk_major : 17))
        home++;
    fprintf(out, "NMT committed %s",
            sample_get(sample, SAMPLE_NMT_COMMITTED_BYTES, &committed) ? units_bytes(committed).text
                                                                       : "?");
    for (int i = 0; i < 2; i++) {
        struct nmt_amount amount;
        enum nmt_category category = homes[home].categories[i];
        if ((i == 1 && category == homes[home].categories[0]) ||
            !sample_get_nmt(sample, category, &amount))
            continue;
        fprintf(out, "%s %s %s", i == 0 ? "; jmethodIDs are part of" : " and",
                nmt_category_name(category), units_bytes(amount.committed_bytes).text);
    }
    fprintf(out, "\nNMT does not see what the agent itself allocates\n");
}

void beside_nmt_print(struct attach *attach, int jdk_major, FILE *out)
{
    struct span reply;
    struct failure failure;
    struct sample sample;
    struct memory_reading reading;
    sample_clear(&sample);
    if (attach_run(attach, memory_reply_command(jdk_major, true), &reply, &failure) !=
        FAILURE_NONE) {
        fprintf(out, "NMT could not be asked: %s\n", escape_name(failure.sentence).text);
        return;
    }
    memory_reply_read(reply, true, &sample, &reading);
    if (reading.result == MEMORY_NMT_OFF)
        fprintf(out, "NMT is off: start the JVM with -XX:NativeMemoryTracking=summary\n");
    else if (reading.result == MEMORY_MALFORMED)
        fprintf(out, "NMT could not be read: %s\n", escape_name(reading.problem).text);
    else
        print_sample(&sample, jdk_major, out);
}
