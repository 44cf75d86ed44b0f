/*
 * explained: how much of Internal, Class and JNI is the jmethodIDs of an agent, and what is not.
 *
 * "An agent preallocates": it asks for the jmethodIDs of every class as it is loaded, because
 * AsyncGetCallTrace needs them. Three kinds of evidence, the strongest that is there decides:
 *
 *   1  call sites of an NMT detail: bytes below GetClassMethods against what all classes would cost
 *   2  growth between two looks: Internal (JNI from 26 on) grows by the slots of every class loaded
 *      (8 max(n,8) bytes, 24 n from 26 on; jmethodid_cost.h), with at least 200 loads between them
 *   3  JDK 26+: JNI holds nothing else of that size; its level against the classes alive
 *
 * With none of them, a JVM without any agent library does not preallocate, and one with an agent is
 * "cannot tell": Internal holds too much else. JDK 8 keeps all of it in Class, between the classes
 * themselves: only call sites tell, and only if libjvm has symbols.
 *
 * Pure; plain data; any thread.
 */
#ifndef ANALYZERS_NATIVE_EXPLAINED_H
#define ANALYZERS_NATIVE_EXPLAINED_H

#include "analyzers/native/call_site_group.h"
#include "analyzers/native/jmethodid_cost.h"

/* Mean over whole jars of max(n,8) is 11 to 12, of n 8 to 9 (rt.jar, tools.jar, groovy-all). */
#define TYPICAL_METHODS_PER_CLASS 9.0
#define EXPLAINED_LOADS_MIN       200 /* between two looks */

/* One look. Amounts are committed bytes; -1: not known. */
struct explained_look {
    int64_t classes_loaded; /* since the start, shared ones included */
    int64_t classes_unloaded;
    int64_t loaders;
    int64_t internal_bytes;
    int64_t class_bytes;
    int64_t jni_bytes;
};

struct explained_facts {
    int jdk_major;
    double methods_per_class; /* 0: not known, TYPICAL_METHODS_PER_CLASS */
    struct explained_look now;
    bool have_before;
    struct explained_look before;
    const struct call_site_totals *sites; /* NULL: no detail; borrowed */
    /* Agent libraries: from -agentpath, -agentlib, and what is mapped and is no part of the JDK. */
    bool agents_known;
    int agent_count;
    const char *const *agents; /* borrowed */
};

enum explained_answer { EXPLAINED_NO, EXPLAINED_YES, EXPLAINED_CANNOT_TELL };

struct explained {
    enum explained_answer preallocates;
    char reason[192];
    char library[128]; /* who it is; "one of a.so, b.so" when several are loaded; may be empty */
    /* If every class had its ids, as an agent that preallocates would have it. */
    struct jmethodid_cost alive;     /* of the classes loaded now */
    int64_t kept_after_unload_bytes; /* of the classes unloaded so far */
    int64_t bytes_per_class_load;
    int64_t kept_bytes_per_class;
    /* Internal, JNI from 26 on: observed growth or level, and what the ids do not explain. */
    bool have_growth;
    int64_t growth_bytes;           /* of Internal + JNI between the two measurements */
    int64_t explained_growth_bytes; /* of it, by ids; 0 unless the answer is YES */
    int64_t unexplained_growth_bytes;
};

void explain_internal(struct explained *out, const struct explained_facts *facts);

#endif
