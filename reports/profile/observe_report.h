/* observe_report: what was seen of a JVM from outside (nmtwatch/observe), as text, JSON and files.
 * One thread. */
#pragma once

#include "reports/profile/class_makers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OBSERVE_OUTCOMES_MAX 8

#define OBSERVE_GROWTH_MAX 16

/* What RSS grew by. */
struct observe_growth {
    const char *name;
    int64_t bytes; /* negative: given back */
    bool outside;  /* of NMT */
};

/* Whose code touched what grew. */
#define OBSERVE_GROWERS_MAX 64
struct observe_grower {
    char by[200]; /* the application's line; the library's function where there is no Java frame */
    char in[200]; /* the library's function; "" */
    bool outside; /* of NMT */
    int64_t bytes;
};

/* Free memory that glibc's malloc keeps, of the whole process, not only of the observed time. */
struct observe_arenas {
    int count;       /* 0: not known */
    const char *why; /* not; NULL: it is known, or was not asked for */
    int64_t system_bytes, free_bytes;
    int64_t trim_bytes; /* resident; malloc_trim gives them back */
    int64_t top_bytes;  /* resident; it does not */
    bool partial;
};

/* What a class was allocated. */
struct observe_class {
    char *name;
    int64_t bytes, se_bytes, samples; /* se: the standard error of bytes; -1: not known */
};

struct observe_report {
    const char *what; /* "cpu", "classes", "alloc", "jmethodids", "rss" */
    int64_t pid;
    char main[256];               /* what it runs; "" not known */
    struct call_tree *tree;       /* finished; of classes that of makers */
    struct class_makers makers;   /* of classes */
    const char *unit;             /* of the tree's samples, for people */
    const char *type, *type_unit; /* as pprof names them: "cpu" "nanoseconds" */
    int64_t interval_ns;          /* of cpu: what a sample stands for */
    int64_t start_ns;             /* since the epoch */
    bool bytes;                   /* the tree's samples are bytes */
    int64_t elapsed_ms;
    /* Exact, of the kernel: classes loaded, jmethodIDs made, times that AllocTracer was called; ns of CPU
     * time; of rss the bytes of anonymous memory that the process grew by. */
    int64_t count, unloaded;
    int growth_count;
    struct observe_growth growth[OBSERVE_GROWTH_MAX]; /* of rss: adds up to count */
    int grower_count;
    struct observe_grower grower[OBSERVE_GROWERS_MAX]; /* of rss, most bytes first */
    struct observe_arenas arenas;                      /* of rss */
    int64_t total_bytes;                               /* of alloc: exact; -1: not known */
    int64_t every_bytes;                               /* of HotSpot's sampler; 0: it was not on */
    bool biased;                                       /* that sampler is, in this JDK */
    struct observe_class *classes;                     /* of alloc, most bytes first */
    size_t class_count;
    int64_t samples; /* stacks that were taken */
    int64_t lost;    /* that found no room */
    int outcome_count;
    struct {
        const char *text;
        int64_t stacks;
    } outcome[OBSERVE_OUTCOMES_MAX]; /* how far they were walked; the first: whole */
    int left_out;       /* libraries too large for their symbols or unwind tables to be kept */
    bool ended;         /* the process has, before the time was over */
    bool user_only;     /* what the kernel did for it was not seen, for want of rights */
    bool hot;           /* it was hit too often, and was let go */
    bool inlined_apart; /* of cpu: the JVM has no debug information between safepoints */
    bool switched_off;  /* HotSpot's sampler was, by another process: that ended it */
    char note[200];     /* what could not be done; "" */
};

/* As a file of that format, with a table of so many rows. False when out failed, or memory; PROFILE_JFR:
 * there is no such. */
bool observe_report_write(const struct observe_report *report, enum profile_format format,
                          uint32_t rows, FILE *out);
/* What was seen, in one line: "3 000 classes loaded in 20 s, 2 998 of them ChurnVictim_#, asked for by
 * Rules.eval:88". Names are raw. */
void observe_report_sentence(const struct observe_report *report, char *out, size_t size);
void observe_report_free(struct observe_report *report);
