/*
 * facts_read: texts that people saved -> facts, one for each JVM they are of.
 *
 * A folder may hold the replies of several JVMs: "<pid>:" lines keep them apart. Texts without one
 * belong to the JVM with the most texts so far, unless facts_reader_expect has seen two process
 * ids: then whose they are would be a guess, and each file without one stands for itself. Several NMT
 * summaries of one JVM are looks, in the order they are fed (the caller sorts by time); of summaries in KB
 * and in GB only the finer are compared.
 *
 *   facts_reader_create -> [facts_reader_expect ...] -> facts_reader_feed for each file -> facts_reader_finish
 *                         -> facts_reader_count, facts_reader_at -> facts_reader_destroy
 *
 * on_input is called for every part as it is recognised. Texts are not kept. Memory: a facts and a
 * census for each JVM, at most FACTS_READER_JVMS_MAX of them. One thread.
 */
#pragma once

#include "analyzers/parse/text_kind.h"
#include "analyzers/triage/facts.h"

#define FACTS_READER_JVMS_MAX 1024

struct classlog;
struct clean_text;

struct facts_input {
    const char *file; /* as fed */
    enum text_kind kind;
    int64_t pid;                     /* -1: the text does not say */
    int jdk_major;                   /* 0: the text does not say */
    const struct clean_text *source; /* the text it is a part of; while on_input runs */
    struct span text;                /* the part; while on_input runs */
    bool used;                       /* its figures are in a facts */
    char note[160];                  /* why not, or what is wrong with it; may be empty */
    int64_t line;                    /* where it begins in the file, from 1 */
    char removed[256]; /* what stood around it and was taken away, in words; may be empty */
    int64_t unparsed_lines;
};
typedef void facts_input_fn(void *context, const struct facts_input *input);

struct facts_reader;

/* NULL when out of memory. */
struct facts_reader *facts_reader_create(const struct thresholds *thresholds,
                                         facts_input_fn *on_input, void *context);
/* Before the first feed, for each file its front, as it is: which process ids there are. */
void facts_reader_expect(struct facts_reader *reader, struct span front);
/* True when something in it was recognised. file: for on_input; text is not kept. *ignored_lines:
 * not blank, and part of nothing. */
bool facts_reader_feed(struct facts_reader *reader, const char *file, struct span text,
                       int64_t *ignored_lines);
/* A log too large for one text, read in pieces: what an application's lines say of memory, and the
 * loads and unloads of a class log (NULL: it is none). Both are the caller's. *any: something was in
 * it. False: out of memory. */
bool facts_reader_feed_log(struct facts_reader *reader, const char *file,
                           const struct oom_lines *lines, const struct classlog *log, bool *any);
/* After the last text. */
void facts_reader_finish(struct facts_reader *reader);
int facts_reader_count(const struct facts_reader *reader);
/* The one with the most texts first. */
const struct jvm_facts *facts_reader_at(const struct facts_reader *reader, int index);
/* The same, for who knows more than texts say. */
struct jvm_facts *facts_reader_edit(struct facts_reader *reader, int index);
int64_t facts_reader_unparsed_lines(const struct facts_reader *reader);
void facts_reader_destroy(struct facts_reader *reader);
