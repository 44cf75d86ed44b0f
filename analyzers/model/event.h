/*
 * event: everything a watch of a JVM learns, in the order it learns it.
 *
 * One vocabulary serves the live run, the recording and `watch --json`: the judge is fed events and
 * nothing else, so that a replay of a recording raises exactly the alerts of the live run.
 *
 * Time is milliseconds since the Unix epoch for people (`wall_ms`, header only) and milliseconds
 * since the watch began for arithmetic (`ms`): a wall clock may step, `ms` never goes backwards in
 * a live run, and the judge survives a recording in which it does.
 *
 * Ownership: plain data; `rows` of `names`, `loaders`, `histogram`, `callers` and `methods` point to
 * memory of the event's maker and are valid during the call that passes it on.
 */
#pragma once

#include "analyzers/parse/nmt_row.h"

/*
 * sample: what was known of one JVM at one moment. Bytes, counts and milliseconds, never KB.
 *
 * Every value has a presence bit: a value that was not asked for, or could not be had, is missing,
 * and missing is not zero. Integers only, so that a sample written to a recording and read back is
 * the same sample, and a replay judges exactly what the live run judged.
 *
 * Ownership: plain data, copy freely. Calling context: any thread.
 */
enum sample_field {
#define SAMPLE_FIELD(id, key, unit, source) SAMPLE_##id,
#include "analyzers/model/sample_fields.def"
    SAMPLE_FIELD_COUNT,
};

struct nmt_amount {
    int64_t reserved_bytes;
    int64_t committed_bytes;
};

#define SAMPLE_EXTRA_CATEGORIES 8 /* categories of JDKs newer than our table, kept by name */

struct sample {
    uint64_t present;     /* bit per sample_field */
    uint64_t nmt_present; /* bit per nmt_category */
    int64_t value[SAMPLE_FIELD_COUNT];
    struct nmt_amount nmt[NMT_CATEGORY_COUNT];
    int extra_count;
    struct {
        char name[32];
        struct nmt_amount amount;
    } extra[SAMPLE_EXTRA_CATEGORIES];
};

_Static_assert(SAMPLE_FIELD_COUNT <= 64 && NMT_CATEGORY_COUNT <= 64, "presence bits");

void sample_clear(struct sample *sample);
void sample_set(struct sample *sample, enum sample_field field, int64_t value);
bool sample_has(const struct sample *sample, enum sample_field field);
/* False, and *value untouched, when missing. */
bool sample_get(const struct sample *sample, enum sample_field field, int64_t *value);

/* The same, -1 when missing; of a category what is committed. */
int64_t sample_value(const struct sample *sample, enum sample_field field);
int64_t sample_committed(const struct sample *sample, enum nmt_category category);

void sample_set_nmt(struct sample *sample, enum nmt_category category, struct nmt_amount amount);
bool sample_get_nmt(const struct sample *sample, enum nmt_category category,
                    struct nmt_amount *amount);
/* True when the sample carries an NMT summary at all. */
bool sample_has_nmt(const struct sample *sample);

/* What was known after `later` came: its values replace those of `into`, what it does not have stays.
 * An NMT summary is one moment: it is taken over whole, categories that are not in the table
 * included, and never mixed with an earlier one. */
void sample_merge(struct sample *into, const struct sample *later);

const char *sample_field_key(enum sample_field field);

#define EVENT_SIGSYS " (SIGSYS)" /* in the text of EVENT_GONE */

#define EVENT_NAME_MAX   192 /* longest class or loader name kept, bytes with NUL */
#define EVENT_FAMILY_MAX 224 /* "unknown:" + stem */
#define EVENT_ROWS_MAX   32  /* rows in one census; the rest is in the totals */

/* Who the JVM is; the first line of a recording. */
struct target_identity {
    int64_t pid;
    int64_t nspid;
    int64_t start_time_ticks; /* field 22 of /proc/PID/stat: identifies a recycled pid */
    int64_t uptime_ms;        /* at the first sample */
    int jdk_major;            /* 8, 11, 17, ...; 0 unknown */
    char jdk[64];             /* full version text */
    char main[EVENT_NAME_MAX];
    char nmt_level[16]; /* off summary detail unknown */
};

/* How a census of class names was taken. */
enum census_method {
    CENSUS_LOAD_LOG,        /* class-load log switched on by VM.log: a flow of loads and unloads */
    CENSUS_CLASSES,         /* VM.classes: a stock of live classes */
    CENSUS_CLASS_HIERARCHY, /* VM.class_hierarchy: a stock */
    CENSUS_CLASS_HISTOGRAM, /* GC.class_histogram -all: a stock, blind to classes without instances
                             */
    CENSUS_LOADER_TYPES,    /* VM.classloader_stats: families known by the type of their loader */
    CENSUS_METHOD_COUNT,
};
const char *census_method_name(enum census_method method);

/* One family of class names. In a flow the counters are cumulative since the load log began. */
struct family_row {
    char family[EVENT_FAMILY_MAX]; /* id in families.def, or unknown:<stem> */
    char stem[EVENT_NAME_MAX];     /* most frequent normalised name */
    char example[EVENT_NAME_MAX];  /* a class name as the JVM printed it */
    char source[EVENT_NAME_MAX];   /* "source:" of the log, or the loader's type; may be empty */
    char invokes[EVENT_NAME_MAX];  /* JDK 17 accessors: the most frequent (invokes: ...) target */
    int64_t loads;                 /* classes defined (flow) or alive (stock) */
    int64_t unloads;               /* flow only */
    int64_t names;                 /* distinct full names among them */
    int64_t max_same_name;         /* loads of the most repeated full name */
    int64_t repeating;             /* loads that belong to stems seen often: a generator's mark */
};

struct names_event {
    enum census_method method;
    int load_log; /* number of this load log within the watch, 1.. ; 0 for a stock */
    bool last;    /* the load log ends with this event */
    int64_t from_ms;
    int64_t loads; /* all loads seen, attributed or not */
    int64_t unloads;
    int64_t lost_bytes; /* log text that was skipped (rotation, truncation): the counts are low */
    int row_count;
    const struct family_row *rows; /* most loads first */
};

/* A counter of a flow over all load logs. Each of them counts from 0, and its events repeat what it
 * has counted. */
struct flow_count {
    int64_t total; /* over all load logs */
    int64_t now;   /* in this load log */
    int load_log;  /* 0: none yet */
};
/* now: the counter as an event of the load log has it. Rows beyond the largest are not in
 * an event: what was counted stays counted. */
void flow_count_add(struct flow_count *count, int load_log, int64_t now);

/* One type of class loader. */
struct loader_row {
    char type[EVENT_NAME_MAX];
    int64_t loaders;
    int64_t classes;
    int64_t chunk_bytes;
};

struct loaders_event {
    int64_t loaders;
    int64_t classes;
    int64_t chunk_bytes;
    int row_count;
    const struct loader_row *rows; /* most loaders first */
};

/* The objects of a class in a histogram of the heap, or of all classes of one generator. */
struct histogram_class {
    char name[EVENT_NAME_MAX];     /* a class; of generated ones their stem */
    char family[EVENT_FAMILY_MAX]; /* of generated classes, as in a census; empty: ordinary */
    int64_t classes;               /* that have this name or stem, and instances */
    int64_t instances;
    int64_t bytes;
    int64_t instances_growth; /* since the first histogram; may be negative */
    int64_t bytes_growth;
};

#define HISTOGRAM_TOP      100 /* by bytes, and as many by growth */
#define HISTOGRAM_ROWS_MAX (2 * HISTOGRAM_TOP)

/* GC.class_histogram -all: what is on the heap, garbage included. */
struct histogram_event {
    int64_t first_ms; /* of the histogram from which growth is counted */
    int64_t classes;  /* all rows of the histogram; so the next two */
    int64_t instances;
    int64_t bytes;
    int row_count;
    const struct histogram_class *rows; /* most bytes first */
};

/* Whose code asked for the classes of a family, by the stacks of their definitions. */
struct caller_row {
    char family[EVENT_NAME_MAX];    /* as class_family (normalize.h) names it */
    char call_site[EVENT_NAME_MAX]; /* "com.acme.Rules.eval:88" */
    char through[EVENT_NAME_MAX];   /* "bsh.Interpreter.eval:644": the library's code that it called; "" */
    int64_t classes;                /* of the family, that were defined meanwhile */
    int64_t stacks;                 /* of them, that came from this place */
};

/* Class definitions seen from outside of the JVM (nmtwatch/observe). */
struct callers_event {
    bool last;         /* false: it has begun, and there are no rows yet */
    int64_t from_ms;   /* when it began */
    int64_t for_ms;    /* how long it takes */
    int64_t classes;   /* all that were defined */
    char problem[200]; /* why nothing could be seen; "" */
    int row_count;
    const struct caller_row *rows; /* most classes first */
};

/* Where the number of methods in a sample comes from. */
enum methods_source { METHODS_MEAN, METHODS_AGENT, METHODS_COUNTED, METHODS_SOURCE_COUNT };
/* "counted", ...; "?" for what is none. */
const char *methods_source_name(int64_t source);

/* The classes of one family (class_family, floor/base/normalize.h) and their methods. */
struct method_family {
    char family[EVENT_FAMILY_MAX];
    int64_t classes;
    int64_t methods;
};

/* Methods of all classes that are loaded, counted from outside or by the agent. */
struct methods_event {
    int64_t loaders;
    int64_t classes;
    int64_t methods;
    int64_t own_classes; /* without those of the boot loader */
    int64_t own_methods;
    int row_count;
    const struct method_family *rows; /* most methods first */
};

/* A copy that outlives its event. */
struct kept_methods {
    struct methods_event event; /* methods 0: there was none */
    struct method_family rows[EVENT_ROWS_MAX];
};
/* A class's methods in the mean: of the application's where there are enough of them; 0: none were counted. */
double methods_per_class(const struct methods_event *methods);
void methods_keep(struct kept_methods *kept, const struct methods_event *event);

/* A command that stopped the target, or would have. */
struct cost_event {
    char command[64];
    int64_t predicted_us; /* of pause in the target */
    int64_t
        measured_us;   /* wall time of the exchange: an upper bound of the pause; -1 when skipped */
    char skipped[128]; /* the reason, empty when it ran */
};

enum event_kind {
    EVENT_SAMPLE,
    EVENT_LOADERS,
    EVENT_NAMES,
    EVENT_HISTOGRAM,
    EVENT_CALLERS,
    EVENT_METHODS,
    EVENT_COST,
    EVENT_NOTE, /* something the operator should know: NMT is off, the load log failed and why */
    EVENT_GONE, /* the target ended or was replaced; the text says how, EVENT_SIGSYS that its filter killed it */
    EVENT_KIND_COUNT,
};

struct event {
    enum event_kind kind;
    int64_t ms; /* since the watch began */
    union {
        struct sample sample;
        struct loaders_event loaders;
        struct names_event names;
        struct histogram_event histogram;
        struct callers_event callers;
        struct methods_event methods;
        struct cost_event cost;
        char text[512]; /* NOTE, GONE */
    };
};
