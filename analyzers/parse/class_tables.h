/*
 * class_tables: what a JVM prints about its classes, a row each: class loaders (VM.classloader_stats,
 * jmap -clstats), names (VM.class_hierarchy, VM.classes), instances (GC.class_histogram).
 *
 * All work alike: X_begin -> X_next ... until it is false -> lines.result (jcmd_reply.h). They
 * allocate nothing; spans point into the text. Any thread.
 *
 * Lists of names have no end mark: a text cut between two lines looks like a shorter list; one cut
 * inside a line is PARSE_INCOMPLETE.
 */
#pragma once

#include "analyzers/parse/jcmd_reply.h"

/*
 * classloader_stats: the rows of `VM.classloader_stats`, one per class loader (JDK 8 and later).
 *
 * The cheapest detector of a generator: group by `type` and count. Beside its own classes a loader
 * may have hidden ones ("+ hidden classes", 8 to 14: "+ unsafe anonymous classes"): they follow as
 * a row of kind LOADER_HIDDEN, which carries the type and addresses of the loader above and counts
 * as no loader. The boot loader's type is "<boot class loader>".
 *
 * A text without the "Total =" line is PARSE_INCOMPLETE: the counts so far are too low.
 */
enum loader_kind {
    LOADER_OWN,    /* classes defined by name: the row of the loader itself */
    LOADER_HIDDEN, /* hidden or anonymous classes of the loader above */
};

struct loader_stats_row {
    enum loader_kind kind;
    struct span type;        /* class of the loader; may be empty */
    uint64_t loader_address; /* 0: boot loader */
    uint64_t parent_address;
    uint64_t data_address; /* CLD*: 0 for a loader that has loaded nothing yet (JDK 8) */
    int64_t classes;
    int64_t chunk_bytes;
    int64_t block_bytes;
};

struct loader_stats_total {
    bool present;
    int64_t loaders;
    int64_t classes; /* hidden ones included */
    int64_t chunk_bytes;
    int64_t block_bytes;
};

struct classloader_stats {
    struct line_cursor lines;
    struct loader_stats_total total;
    struct loader_stats_row above; /* the loader a tail row belongs to */
    bool started;
};

void classloader_stats_begin(struct classloader_stats *stats, struct span text);
/* False at the end of the table; then see lines.result and total. */
bool classloader_stats_next(struct classloader_stats *stats, struct loader_stats_row *row);

/*
 * class_hierarchy: the classes that `VM.class_hierarchy` prints (JDK 9 and later), one per _next.
 *
 *   |  |--jdk.internal.reflect.GeneratedMethodAccessor1/0x00007f1c (invokes: Sample::hi ()V)
 *      ^depth 2        ^name                             ^loader      ^invokes (JDK 11 to 21)
 *
 * The name of a hidden class contains a slash itself. Lines "implements X/null (declared intf)"
 * of the -i option repeat interfaces that have a line of their own and are passed over.
 */
struct class_hierarchy_row {
    struct span name;
    int depth;               /* 0: java.lang.Object */
    uint64_t loader_address; /* of its ClassLoaderData; 0: boot loader, printed as null */
    bool is_interface;
    struct span invokes; /* what a generated reflection accessor calls; empty for others */
};

struct class_hierarchy {
    struct line_cursor lines;
    int64_t rows;
};

void class_hierarchy_begin(struct class_hierarchy *hierarchy, struct span text);
bool class_hierarchy_next(struct class_hierarchy *hierarchy, struct class_hierarchy_row *row);

/*
 * classes: the classes that `VM.classes` prints (JDK 21 and later), arrays included.
 *
 * The details that -verbose adds below a class are passed over.
 */
struct classes_row {
    struct span name;
    struct span state; /* "fully_initialized", "linked", ...; empty for arrays */
    struct span flags; /* letters: f finalizer, W rewritten, S shared (CDS), ...; may be empty */
    uint64_t address;
    int64_t size_words; /* of the class's metadata record, as printed */
    bool is_array;
};

struct classes {
    struct line_cursor lines;
    bool started;
};

void classes_begin(struct classes *classes, struct span text);
bool classes_next(struct classes *classes, struct classes_row *row);

/*
 * class_histogram: the rows of `GC.class_histogram`, most bytes first, and its total.
 *
 * It lists classes that have live instances on the heap: a class without instances has no row, so
 * this is no list of classes. JDK 9+ appends the module: "[B (java.base@17.0.2)" is split into name
 * "[B" and module "java.base@17.0.2"; classes outside a named module have none.
 *
 * A text without the "Total" line is PARSE_INCOMPLETE.
 */
struct class_histogram_row {
    int64_t rank;
    int64_t instances;
    int64_t bytes;
    struct span name;
    struct span module; /* may be empty */
};

struct class_histogram_total {
    bool present;
    int64_t instances;
    int64_t bytes;
};

struct class_histogram {
    struct line_cursor lines;
    struct class_histogram_total total;
    bool started;
};

void class_histogram_begin(struct class_histogram *histogram, struct span text);
bool class_histogram_next(struct class_histogram *histogram, struct class_histogram_row *row);

/*
 * jmap_clstats: `jmap -clstats` of JDK 8, one class loader after the other.
 *
 *   class_loader    classes bytes   parent_loader   alive?  type
 *   <bootstrap>     615     1081331   null          live    <internal>
 *   0x00000000f0008 12      20481   0x00000000f0000 dead    sun/misc/Launcher$AppClassLoader@0x0...
 *   total = 26      1234    1101812     N/A         alive=1, dead=25        N/A
 *
 * From 9 on jmap prints what VM.classloader_stats prints. The columns are separated by tabs. A row
 * has its bytes in chunk_bytes: metadata of its classes, as far as used. In front of the heading
 * the serviceability agent talks about itself.
 */
struct jmap_clstats {
    struct line_cursor lines;
    bool started;
};

void jmap_clstats_begin(struct jmap_clstats *stats, struct span text);
/* False at the end, behind the total; PARSE_MALFORMED without the heading, PARSE_INCOMPLETE without
 * the total. */
bool jmap_clstats_next(struct jmap_clstats *stats, struct loader_stats_row *row);

/*
 * methods_table: methods of loaded classes by family, as `nmtwatch observe PID methods` prints them.
 *
 *   pid 4711 (Main): 11 484 methods in 645 classes of 12 class loaders
 *   Without the boot loader's: 1 309 in 119 classes, 11.0 a class
 *   jmethodIDs: 6
 *
 *     classes  methods  a class  family
 *          88    1 955     22.2  java.lang.*
 */
struct methods_row {
    int64_t classes, methods;
    struct span family;
};

struct methods_table {
    struct span rest;
    int64_t methods, classes, loaders; /* -1: not said */
    int64_t own_methods, own_classes;
    bool by_agent; /* it counted them */
};

bool methods_table_is_heading(struct span line);
/* Reads what stands in front of the rows. False: there is no heading. */
bool methods_table_begin(struct methods_table *table, struct span text);
bool methods_table_next(struct methods_table *table, struct methods_row *row);
