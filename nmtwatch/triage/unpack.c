#include "nmtwatch/triage/unpack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define LZMA_MEMORY_MAX   ((uint64_t)256 << 20)
#define LZMA_BUF_ERROR    10
#define LZMA_CONCATENATED 8
#define BZ_OUTBUFF_FULL   (-8)
#define EXPECTED_RATIO    8

enum outcome { UNPACKED, NO_ROOM, DAMAGED };

typedef int lzma_fn(uint64_t *memory, uint32_t flags, const void *allocator, const uint8_t *in,
                    size_t *in_at, size_t in_size, uint8_t *out, size_t *out_at, size_t out_size);
typedef size_t zstd_fn(void *out, size_t room, const void *in, size_t size);
typedef unsigned zstd_code_fn(size_t code);
typedef int bzip2_fn(char *out, unsigned *out_size, char *in, unsigned in_size, int small,
                     int verbosity);

static enum outcome from_xz(void *function, void *second, struct span in, char *out, size_t *size)
{
    uint64_t memory = LZMA_MEMORY_MAX;
    size_t in_at = 0, out_at = 0;
    (void)second;
    int code = ((lzma_fn *)function)(&memory, LZMA_CONCATENATED, NULL, (const uint8_t *)in.ptr,
                                     &in_at, in.len, (uint8_t *)out, &out_at, *size);
    if (code == 0)
        *size = out_at;
    return code == 0 ? UNPACKED : code == LZMA_BUF_ERROR && out_at == *size ? NO_ROOM : DAMAGED;
}

static enum outcome from_zstd(void *function, void *second, struct span in, char *out, size_t *size)
{
    size_t got = ((zstd_fn *)function)(out, *size, in.ptr, in.len);
    if (((zstd_code_fn *)second)(got) == 0) {
        *size = got;
        return UNPACKED;
    }
    return got == (size_t)-70 ? NO_ROOM : DAMAGED; /* ZSTD_error_dstSize_tooSmall */
}

static enum outcome from_bzip2(void *function, void *second, struct span in, char *out,
                               size_t *size)
{
    unsigned got = (unsigned)*size;
    (void)second;
    int code = ((bzip2_fn *)function)(out, &got, (char *)(uintptr_t)in.ptr, (unsigned)in.len, 0, 0);
    if (code == 0)
        *size = got;
    return code == 0 ? UNPACKED : code == BZ_OUTBUFF_FULL ? NO_ROOM : DAMAGED;
}

static const struct packer {
    struct span magic;
    const char *name, *library, *package, *function, *second;
    enum outcome (*from)(void *function, void *second, struct span in, char *out, size_t *size);
} PACKERS[] = {
    {SPAN_INIT("\xfd"
               "7zXZ"),
     "xz", "liblzma.so.5", "liblzma5", "lzma_stream_buffer_decode", NULL, from_xz},
    {SPAN_INIT("\x28\xb5\x2f\xfd"), "zstd", "libzstd.so.1", "libzstd1", "ZSTD_decompress",
     "ZSTD_isError", from_zstd},
    {SPAN_INIT("BZh"), "bzip2", "libbz2.so.1.0", "libbz2-1.0", "BZ2_bzBuffToBuffDecompress", NULL,
     from_bzip2},
};

static bool grow(const struct packer *packer, void *function, void *second, struct span *text,
                 size_t max_bytes, char *error, size_t error_size)
{
    for (size_t room = text->len * EXPECTED_RATIO + 65536;; room *= 4) {
        room = room < max_bytes ? room : max_bytes;
        char *out = malloc(room);
        size_t size = room;
        enum outcome outcome =
            out == NULL ? DAMAGED : packer->from(function, second, *text, out, &size);
        if (outcome == UNPACKED) {
            free((void *)(uintptr_t)text->ptr);
            *text = span_of(out, size);
            return true;
        }
        bool last = out == NULL || outcome == DAMAGED || room == max_bytes;
        free(out);
        if (!last)
            continue;
        snprintf(error, error_size, "%s",
                 out == NULL          ? "out of memory"
                 : outcome == DAMAGED ? "the packed data are damaged"
                                      : "larger than is read");
        return false;
    }
}

bool unpack(struct span *text, size_t max_bytes, char *error, size_t error_size)
{
    for (size_t i = 0; i < sizeof PACKERS / sizeof *PACKERS; i++) {
        const struct packer *packer = &PACKERS[i];
        if (!span_starts_with(*text, packer->magic))
            continue;
        void *library = dlopen(packer->library, RTLD_NOW | RTLD_LOCAL); /* for the process's life */
        void *function = library == NULL ? NULL : dlsym(library, packer->function);
        void *second =
            library == NULL || packer->second == NULL ? NULL : dlsym(library, packer->second);
        if (function == NULL || (packer->second != NULL && second == NULL)) {
            snprintf(error, error_size, "packed by %s, and %s cannot be loaded (package %s)",
                     packer->name, packer->library, packer->package);
            return false;
        }
        return grow(packer, function, second, text, max_bytes, error, error_size);
    }
    return true;
}
