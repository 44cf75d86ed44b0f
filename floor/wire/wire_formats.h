/*
 * wire_formats: what goes between the agent and nmtwatch beside the option string (agent_options.h):
 * answers, and the totals that the agent publishes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * answer_format: what an answer of the agent looks like in its file; the asker reads it by the same
 * lines (nmtwatch/profile).
 *
 *   nmtagent 1 done 512\n          or  nmtagent 1 refused 44\n
 *   <512 bytes: one JSON object>       <44 bytes: one sentence>
 *
 * The length comes first, so that half an answer (a full disk) is never taken for a whole one.
 */
#define ANSWER_MAGIC    "nmtagent 1 "
#define ANSWER_DONE     "done"
#define ANSWER_REFUSED  "refused"
#define ANSWER_HEAD_MAX 64

/* A refusal that names the library to ask in its place. */
#define ANSWER_OTHER_COPY "another copy of the agent is at work in this JVM: "

/* The first bytes of a chunk of a recording that is being written, by which leftovers.h recognizes what a killed process
 * left. At most as long as the head of a JFR file. */
#define CHUNK_UNFINISHED "nmtagent: unfinished chunk\n"

/*
 * published_format: what the agent costs, where everybody who watches the JVM can read it without
 * asking: /tmp/.nmtagent_PID, PID as the JVM calls itself. Read by nmtwatch/jvm/agent_files.
 *
 * As with hsperfdata a JVM that is killed leaves the file behind, so it names the process it is of:
 * a pid alone is not an identity. The agent holds a lock (flock) on it as long as it lives:
 * leftovers.h. A reader may come while it is written: the checksum shows it.
 */
#define PUBLISHED_NAME  ".nmtagent_%d"
#define PUBLISHED_PATH  "/tmp/" PUBLISHED_NAME
#define PUBLISHED_MAGIC "nmtagnt6"

/* Methods of all loaded classes, and the families that have most (class_graph.h), most first. */
#define PUBLISHED_FAMILIES 32
struct published_methods {
    int64_t methods; /* -1: not counted */
    int64_t classes, loaders;
    int64_t own_classes, own_methods; /* without those of the boot loader */
    int64_t family_count; /* 0: there are too many classes to read their names each minute */
    struct published_family {
        char name[200];
        int64_t classes, methods;
    } family[PUBLISHED_FAMILIES];
};

/* The whole file. In the machine's byte order: it never leaves the machine. */
struct published {
    char magic[8];            /* PUBLISHED_MAGIC; its digit is the version */
    int64_t start_time_ticks; /* field 22 of /proc/PID/stat */
    uint64_t library_at;      /* where the library begins that answers, as in /proc/PID/maps */
    int64_t reserved_bytes;   /* the total of `profile PID memory` */
    int64_t resident_bytes;   /* likewise */
    int64_t jmethod_id_bytes; /* in the JVM because of the agent, part of NMT's categories */
    struct published_methods methods;
    int64_t breaker_state;    /* 0 normal, 1 warned, 2 shedding, 3 silent, 4 stopped (breaker.h) */
    char breaker_reason[160]; /* a sentence, NUL-terminated; empty while normal */
    uint64_t checksum;        /* of what stands before it */
};
_Static_assert(sizeof(struct published) == 7184, "no padding: the same on both sides");

static inline uint64_t published_checksum(const struct published *published)
{
    const uint8_t *bytes = (const uint8_t *)published;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < offsetof(struct published, checksum); i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}
