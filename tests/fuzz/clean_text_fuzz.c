/* Any bytes cleaned: the map of lines is complete and rises, nothing is longer than it may be. */
#include "analyzers/text/clean_text.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clean_text clean;
    struct span raw = span_of((const char *)data, size);
    char words[256];
    int64_t last = 0;
    promise(clean_text_make(&clean, raw));
    promise(clean.text.len <= size * 3 + 16 + (size_t)clean.line_count);
    clean_text_words(&clean, words, sizeof words);
    for (int64_t i = 0; clean.line != NULL && i < clean.line_count; i++) {
        promise(clean.line[i] >= last && clean.line_at[i] < clean.text.len);
        promise(clean_text_line(&clean, clean.text.ptr + clean.line_at[i]) == clean.line[i]);
        last = clean.line[i];
    }
    clean_text_free(&clean);
    return 0;
}
