/* Any line through event_json_read; what was understood is written, read and written again. */
#include "reports/json/event_json.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static struct event_line line;
static struct json_out out;

/* The line that was read, written as text; NULL for kinds that have none. */
static const char *rewritten(void)
{
    switch (line.kind) {
    case EVENT_LINE_HEADER:
        return event_json_header(&out, &line.header);
    case EVENT_LINE_EVENT:
        return event_json_event(&out, line.pid, &line.event, NULL);
    case EVENT_LINE_ALERT:
        return event_json_alert(&out, line.pid, &line.alert);
    case EVENT_LINE_END:
        return event_json_end(&out, line.ms, &line.cost);
    case EVENT_LINE_MALFORMED:
    case EVENT_LINE_UNKNOWN:
        break;
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[256] = "";
    char *before = NULL;

    if (event_json_read((const char *)data, size, &line, error, sizeof error) ==
        EVENT_LINE_MALFORMED)
        promise(error[0] != '\0' && memchr(error, '\0', sizeof error) != NULL);
    /* The first time two names may have become one; from then on nothing changes. */
    for (int round = 0; round < 3; round++) {
        enum event_line_kind kind = line.kind;
        const char *text = rewritten();
        if (text == NULL)
            break;
        promise(before == NULL || round < 2 || strcmp(before, text) == 0);
        free(before);
        before = strdup(text);
        promise(before &&
                event_json_read(before, strlen(before), &line, error, sizeof error) == kind);
    }
    free(before);
    return 0;
}
