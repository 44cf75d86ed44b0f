/* Events that callbacks of the JVM put into the recording buffers, and that hold texts. */
#include "agent/jfr/jfr_bytes.h"
#include "agent/jfr/jfr_internal.h"
#include "agent/jfr/jfr_leb128.h"

#include <string.h>

#define LENGTH_WIDTH  4
#define NOT_AVAILABLE INT64_MIN /* JFR's own way to say that there is no number */

size_t jfr_encode_class_definition(const struct jfr_class_definition *definition, uint8_t *out,
                                   size_t size)
{
    struct jfr_bytes event = {0};
    if (jfr_bytes_room(&event, LENGTH_WIDTH) != NULL)
        event.length = LENGTH_WIDTH;
    jfr_bytes_number(&event, JFR_CLASS_DEFINITION);
    jfr_bytes_number(&event, (uint64_t)jfr_now_ticks());
    jfr_bytes_int(&event, definition->tid);
    jfr_bytes_number(&event, definition->trace_id);
    jfr_bytes_text(&event, definition->class_name);
    jfr_bytes_text(&event, definition->family);
    jfr_bytes_number(&event, (uint64_t)definition->count);
    jfr_bytes_number(&event,
                     (uint64_t)(definition->bytes >= 0 ? definition->bytes : NOT_AVAILABLE));
    size_t length = event.failed || event.length > size ? 0 : event.length;
    if (length > 0) {
        jfr_put_padded(event.at, (uint32_t)length, LENGTH_WIDTH);
        memcpy(out, event.at, length);
    }
    jfr_bytes_free(&event);
    return length;
}
