/* target_rules: which JVMs are watched, and what they are called.
 *
 *   include = main=com.example.*        watched when one include matches, or there is none ...
 *   exclude = user=jenkins              ... and no exclude does
 *   exclude = cgroup=*kubepods-besteffort*
 *   target = %{env:APP_NAME|main}       the label: the first of the alternatives that is not empty
 *
 * Rules are those of target_match. Names in a template; `%{@unit}` is "@" and the unit, where there is one:
 *
 *   main        the main class, or the jar without folder and .jar
 *   user, uid   whom the process belongs to
 *   unit        of systemd, without ".service"; container: its name or 12 digits of its id;
 *   pod         its name (HOSTNAME of the JVM's environment), else its uid
 *   cgroup      the last part of the control group's path; cgroup_path all of it
 *   jdk         its major version
 *   env:NAME    a variable of the JVM's environment
 *   prop:NAME   a system property given on its command line (-DNAME=value)
 *
 * A template that does not name the user gets `%{user}/` in front: no name that a JVM can choose is then
 * another user's.
 * A label never holds a pid: one process after the other is the same target. Pure: the facts come
 * from the caller. Any thread. */
#pragma once

#include "nmtwatch/alert/message.h"

#include <stdbool.h>
#include <stddef.h>

/* What the control group of a process says of where it runs; "": nothing. */
struct target_place {
    char unit[96], container[64], pod[96];
};
/* "/system.slice/orders.service", ".../kubepods-burstable-podUID.slice/cri-containerd-ID.scope"; pod: the uid. */
void target_place_of(const char *cgroup_path, struct target_place *place);
/* The narrowest of the three that is known, "" none: a column of a table. */
const char *target_place_name(const struct target_place *place);

/* What is known of a JVM. Texts may be empty, never NULL. */
struct target_facts {
    int pid;
    const char *main; /* as the JVM publishes it: class or path of a jar */
    const char *user, *uid;
    const char *cgroup; /* whole path */
    const char *jdk;
    const char *host;     /* the name of this one */
    const char *template; /* of labels; NULL: the default one */
    bool user_in_front;   /* a rule may leave the user out (target_rules) */
    struct target_place place;
    /* A variable (property false) or a property; false when there is none. */
    bool (*look_up)(void *context, bool property, const char *name, char *out, size_t size);
    void *context;
};

/* target_match: which JVMs of a host are meant, in the configuration and on a command line.
 *
 *   main=org.example.*,user=shop;env:STAGE=test;pid=4711
 *
 * Rules are separated by ';' and one of them has to fit; the terms of a rule are separated by ','
 * and all of them have to. Patterns are those of the shell (fnmatch), over the whole text. "main:" is read like
 * "main=". label: what the template makes; host: the name of this host; pid: exactly; a JVM without the variable or
 * property does not fit env:NAME, prop:NAME. */
#define TARGET_TERMS_MAX 32

enum target_fact {
    FACT_MAIN,
    FACT_USER,
    FACT_UNIT,
    FACT_CONTAINER,
    FACT_POD,
    FACT_CGROUP,
    FACT_LABEL,
    FACT_HOST,
    FACT_PID,
    FACT_ENV,
    FACT_PROP,
    FACT_COUNT
};

struct target_match {
    int count;
    struct target_term {
        enum target_fact fact;
        bool first; /* of its rule */
        char pattern[200];
        char name[64]; /* of a variable or property */
        int pid;
    } term[TARGET_TERMS_MAX];
};

/* Adds the rules of a text to those that are there. False with one sentence. */
bool target_match_add(struct target_match *match, const char *text, char *error, size_t size);
/* Without terms everything fits. */
bool target_match_fits(const struct target_match *match, const struct target_facts *facts);

/* A name of a command line: a JVM that fits match[0] is meant, else one that fits match[1]. Both are the rules (main=...)
 * of the text; or else a main class, jar, unit, container or pod of this name, and those with a part of it. False: no
 * JVM has such a name. */
bool target_match_name(struct target_match match[static 2], const char *name);

struct target_rules {
    struct target_match include, exclude;
    char template[256];
    bool user_in_front; /* the configured template did not name the user */
};

void target_rules_default(struct target_rules *rules);
/* The value of the key target. False with what is wrong in error. */
bool target_rules_template(struct target_rules *rules, const char *text, char *error, size_t size);
bool target_rules_watch(const struct target_rules *rules, const struct target_facts *facts);
/* By facts->template. Never empty: "jvm" when nothing is known. */
void target_label(const struct target_facts *facts, char label[static TARGET_LABEL_MAX]);

/* The short form of a main class: "/opt/app/orders-1.2.jar" -> "orders-1.2". */
void target_main_name(const char *main_text, char *out, size_t size);
