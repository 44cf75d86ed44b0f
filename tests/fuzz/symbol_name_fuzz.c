/* What a library's file names: a function's symbol, and where a probe's arguments are. */
#include "floor/hotspot/symbol_name.h"
#include "nmtwatch/machine/machine.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), name[64];
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t room = 1; room <= sizeof name; room += 21) {
        symbol_name(text, name, room);
        promise(strlen(name) < room);
    }
    struct machine_operand operand;
    const char *at = text;
    for (;;) {
        at += strspn(at, " ");
        const char *before = at;
        if (!machine_operand(&at, &operand))
            break;
        promise(at > before && at <= text + strlen(text));
        promise(operand.at >= 0 && abs(operand.bytes) <= 8);
    }
    free(text);
    return 0;
}
