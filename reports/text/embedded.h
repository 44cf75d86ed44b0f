/* embedded: a file of the sources as a text of the program: symbol_begin, which ends with a zero byte,
 * and symbol_end, where that byte stands. The assembler reads it: the path is that from the top of the
 * sources, where make runs, and the Makefile names the object that depends on it. Hidden: a compiler that
 * asks the global offset table (aarch64) would get one entry for all local symbols of a section. */
#pragma once

#define EMBED_FILE(symbol, path)                                                                   \
    __asm__(".pushsection .rodata\n"                                                               \
            ".local " #symbol "_begin\n"                                                           \
            ".local " #symbol "_end\n" #symbol "_begin:\n"                                         \
            ".incbin \"" path "\"\n" #symbol "_end:\n"                                             \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char symbol##_begin[] __attribute__((visibility("hidden"))),                      \
        symbol##_end[] __attribute__((visibility("hidden")));
