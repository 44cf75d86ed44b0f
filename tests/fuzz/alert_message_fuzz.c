/* Any file in the queue of alerts: what is read is written the same, and sent as JSON. */
#include "nmtwatch/alert/message.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void promise_json(struct json_out *out)
{
    size_t length;
    const char *text = json_out_line(out, &length);
    promise(text != NULL);
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    promise(value != NULL);
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message message, again;
    struct texts texts = {0};
    const struct message_context context = {
        .host = "host", .runbook_base = "", .external_url = "http://x/"};
    struct json_out out = {0};
    size_t length;
    if (message_read((const char *)data, size, &texts, &message)) {
        const char *text = message_write(&out, &message, &length);
        promise(text != NULL && message_read(text, length, &texts, &again));
        promise(strcmp(message.target, again.target) == 0 && message.state == again.state &&
                message.started_wall_ms == again.started_wall_ms &&
                message.wall_ms == again.wall_ms);
        promise(message_identity(message.target, &message.finding) ==
                message_identity(again.target, &again.finding));
        json_out_reset(&out);
        message_webhook(&out, &message, &context);
        promise_json(&out);
        json_out_reset(&out);
        message_alertmanager(&out, &message, &context, message.wall_ms);
        promise_json(&out);
    }
    json_out_free(&out);
    texts_free(&texts);
    return 0;
}
