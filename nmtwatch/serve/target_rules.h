/* target_rules: which JVMs are watched, and what they are called.
 *
 *   include = main:com.example.*        watched when one include matches, or there is none ...
 *   exclude = user:jenkins              ... and no exclude does
 *   exclude = cgroup:*kubepods-besteffort*
 *   target = %{env:APP_NAME|main}       the label: the first of the alternatives that is not empty
 *
 * Patterns are those of the shell (fnmatch), over the whole text; label:PATTERN is about what the
 * template makes, so that rules can use the environment, too. Names in a template:
 *
 *   main        the main class, or the jar without folder and .jar
 *   user, uid   whom the process belongs to
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

#define TARGET_RULES_MAX 32

enum target_fact { FACT_MAIN, FACT_USER, FACT_CGROUP, FACT_LABEL, FACT_COUNT };

struct target_rule {
    enum target_fact fact;
    char pattern[200];
};

struct target_rules {
    int include_count, exclude_count;
    struct target_rule include[TARGET_RULES_MAX], exclude[TARGET_RULES_MAX];
    char template[256];
    bool user_in_front; /* the configured template did not name the user */
};

void target_rules_default(struct target_rules *rules);
/* Values of the keys include, exclude and target. False with what is wrong in error. */
bool target_rules_include(struct target_rules *rules, const char *text, char *error, size_t size);
bool target_rules_exclude(struct target_rules *rules, const char *text, char *error, size_t size);
bool target_rules_template(struct target_rules *rules, const char *text, char *error, size_t size);

/* What is known of a JVM. Texts may be empty, never NULL. */
struct target_facts {
    const char *main; /* as the JVM publishes it: class or path of a jar */
    const char *user, *uid;
    const char *cgroup; /* whole path */
    const char *jdk;
    /* A variable (property false) or a property; false when there is none. */
    bool (*look_up)(void *context, bool property, const char *name, char *out, size_t size);
    void *context;
};

bool target_rules_watch(const struct target_rules *rules, const struct target_facts *facts);
/* Never empty: "jvm" when nothing is known. */
void target_rules_label(const struct target_rules *rules, const struct target_facts *facts,
                        char label[static TARGET_LABEL_MAX]);
/* target_match: which JVMs of a host are meant on a command line, by the same facts and patterns.
 *
 *   main=org.example.*,user=shop;env:STAGE=test;pid=4711
 *
 * Rules are separated by ';' and one of them has to fit; the terms of a rule are separated by ','
 * and all of them have to. main, user, cgroup: as in an include; env:NAME, prop:NAME: as in a
 * template, which a JVM without it does not fit; host: the name of this host; pid: exactly. */
#define TARGET_TERMS_MAX 32

struct target_match {
    int count;
    struct target_term {
        enum { TERM_FACT, TERM_HOST, TERM_ENV, TERM_PROP, TERM_PID } kind;
        bool first;              /* of its rule */
        struct target_rule rule; /* its pattern; of a fact which one */
        char name[64];           /* of a variable or property */
        int pid;
    } term[TARGET_TERMS_MAX];
};

/* False with one sentence. */
bool target_match_parse(struct target_match *match, const char *text, char *error, size_t size);
/* Without terms everything fits. */
bool target_match_fits(const struct target_match *match, const struct target_facts *facts, int pid,
                       const char *host);

/* The short form of a main class: "/opt/app/orders-1.2.jar" -> "orders-1.2". */
void target_main_name(const char *main_text, char *out, size_t size);
