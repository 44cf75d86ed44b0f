/*
 * hs_err: what an error file of a JVM (hs_err_pid.log, the same lines on a console, VM.info) says
 * of itself: how the JVM ended, and the limits and figures that show which resource was exhausted.
 *
 *   # There is insufficient memory for the Java Runtime Environment to continue.
 *   # Native memory allocation (mmap) failed to map 12288 bytes for committing reserved memory.
 *   ...
 *   #  Out of Memory Error (os_linux.cpp:2798), pid=17, tid=18
 *
 * Of JDK 6 to 27 on Linux, Windows and macOS; any part of it may be missing, and "# " in front of
 * the first lines may be, too. A figure that is not in the text is HS_ERR_UNKNOWN, one that the
 * system does not limit HS_ERR_UNLIMITED. Bytes throughout. Reading ends at the next error file in
 * the text. Spans point into the text, nothing is allocated. Any thread.
 */
#pragma once

#include "floor/base/span.h"

#define HS_ERR_UNKNOWN   INT64_C(-1)
#define HS_ERR_UNLIMITED INT64_C(-2)
#define HS_ERR_STEMS_MAX 64
#define HS_ERR_STEM_MAX  48

enum hs_err_end {
    HS_ERR_NO_END,     /* VM.info, or a piece without its head */
    HS_ERR_NATIVE_OOM, /* "insufficient memory", "Out of Memory Error" */
    HS_ERR_JAVA_OOM,   /* "fatal error: OutOfMemory encountered", CrashOnOutOfMemoryError */
    HS_ERR_SIGNAL,     /* a signal or an exception of Windows */
    HS_ERR_INTERNAL,   /* an assertion or a guarantee of the JVM */
};

enum hs_err_platform {
    HS_ERR_PLATFORM_UNKNOWN,
    HS_ERR_LINUX,
    HS_ERR_WINDOWS,
    HS_ERR_MACOS,
    HS_ERR_OTHER
};

enum hs_err_figure {
#define HS_ERR_FIGURE(id) HS_ERR_##id,
#include "analyzers/parse/hs_err_figures.def"
    HS_ERR_FIGURE_COUNT,
};

/* Threads whose names differ by their numbers only. */
struct hs_err_stem {
    char name[HS_ERR_STEM_MAX]; /* digits are '#' */
    int64_t threads;
};

struct hs_err {
    enum hs_err_end end;
    enum hs_err_platform platform;
    bool is_32bit;
    int jdk_major;    /* 0: not said */
    int64_t pid;      /* -1: not said */
    struct span how;  /* first line that says what failed: "Native memory allocation (mmap) ..." */
    struct span what; /* "Chunk::new", "committing reserved memory." */
    struct span signal;  /* "SIGSEGV (0xb)", "Internal Error (os_windows_x86.cpp:149)" */
    struct span frame;   /* "C  [libc.so.6+0x9ee76]  memcpy+0x1b6" */
    struct span library; /* of frame: "libc.so.6"; empty: Java code, a stub, or no place at all */
    struct span caller;  /* the first library of the stack that is not the C library */
    struct span thread;  /* "C2 CompilerThread1" */
    struct span jre;     /* "OpenJDK Runtime Environment (8.0_265-b01) (build 1.8.0_265-b01)" */
    struct span vm;      /* "OpenJDK 64-Bit Server VM (25.265-b01 mixed mode linux-amd64 )" */
    struct span os;      /* "Ubuntu 22.04.5 LTS" */
    struct span arch;    /* "linux-amd64" */
    bool thread_failed;  /* it was a thread that could not be started */
    int64_t figure[HS_ERR_FIGURE_COUNT];
    int stem_count; /* in order of their appearance */
    struct hs_err_stem stem[HS_ERR_STEMS_MAX];
    int64_t other_stems_threads; /* of stems that found no room */
    size_t consumed;             /* up to the next head */
};

/* True when it begins an error file: "There is insufficient memory for the Java Runtime ...",
 * "A fatal error has been detected by the Java Runtime ...", with or without "#" and blanks. */
bool hs_err_is_head(struct span line);
/* True when a line is known as the heading or as one of the first lines of a section of an error
 * file. */
bool hs_err_is_section(struct span line);
/* Reads text from its front to the next head, or to its end; any text is read. */
void hs_err_read(struct hs_err *file, struct span text);
