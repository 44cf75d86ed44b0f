/* fake_jvm: what its two halves share; see fake_jvm.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fake_options {
    const char *answer;     /* ok nmt-off unknown file garbage silent reject code */
    const char *file;       /* text of --answer file */
    const char *socket;     /* signal now stale none */
    const char *args;       /* java.rt.vmArgs */
    const char *class_stem; /* classes are called stem + number */
    const char *main;       /* sun.rt.javaCommand: main class and arguments */
    long jdk;
    long rate;     /* classes a second */
    long internal; /* bytes a second */
    long speed;    /* virtual seconds a second */
    long prefix;   /* reply cut to so many bytes; -1: whole */
    long flip;     /* this bit of the reply flipped; -1: none */
    long delay_ms; /* after each byte */
    long pad_mb;   /* of zeros after the reply */
    long hold_s;   /* before the end of a reply */
    long seed;     /* of --answer garbage */
    long code;     /* of --answer code: a result code without text */
    long seconds;
    long pid;
    bool step; /* --prefix and --flip go up by one after each reply: all damages of one reply */
    bool no_perfdata, no_sigquit;
    const char *libjvm; /* a file to map; NULL: one that is gone */
};
extern struct fake_options opt;

_Noreturn void die(const char *what);

/* fake_replies.c: the evolving numbers and what is said about them. */
void replies_begin(void);
int64_t classes_loaded(void);
double running_s(void);
/* The whole reply, result code's line included. argument is cut up. */
void compose(FILE *out, char *operation, char *argument);
/* Writes to the class-load tap what "was loaded" since the last call. */
void tap_tick(void);
