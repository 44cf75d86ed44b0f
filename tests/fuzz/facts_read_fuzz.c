/* Any text as what somebody saved of a JVM, and the judgement of it. A byte of 1 separates files. */
#include "analyzers/triage/facts_read.h"
#include "analyzers/triage/triage.h"
#include "tests/fuzz/fuzz.h"

static void on_input(void *context, const struct facts_input *input)
{
    (void)context;
    promise(input->kind < TEXT_KIND_COUNT && input->unparsed_lines >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct triage triage;
    struct span rest = span_of((const char *)data, size);
    struct thresholds thresholds;
    int64_t ignored;
    thresholds_default(&thresholds);
    struct facts_reader *reader = facts_reader_create(&thresholds, on_input, NULL);
    if (reader == NULL)
        return 0;
    while (rest.len > 0) {
        ptrdiff_t end = span_find(rest, SPAN_LITERAL("\1"));
        size_t length = end < 0 ? rest.len : (size_t)end;
        facts_reader_feed(reader, "file", span_of(rest.ptr, length), &ignored);
        size_t taken = length < rest.len ? length + 1 : length;
        rest = span_of(rest.ptr + taken, rest.len - taken);
    }
    facts_reader_finish(reader);
    for (int i = 0; i < facts_reader_count(reader); i++) {
        triage_judge(facts_reader_at(reader, i), NULL, 0, &triage);
        promise(triage.finding_count <= TRIAGE_FINDINGS_MAX);
        promise(triage.suitability.reason[0] != '\0');
    }
    facts_reader_destroy(reader);
    return 0;
}
