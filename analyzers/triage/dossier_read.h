/*
 * dossier_read: texts that people saved -> dossiers, one for each JVM they are of.
 *
 * A folder may hold the replies of several JVMs: "<pid>:" lines keep them apart. Texts without one
 * belong to the JVM with the most texts so far, unless dossier_reader_expect has seen two process
 * ids: then whose they are would be a guess, and each file without one stands for itself. Several NMT summaries of one JVM are looks, in the
 * order they are fed (the caller sorts by time); of summaries in KB and in GB only the finer are
 * compared.
 *
 *   dossier_reader_create -> [dossier_reader_expect ...] -> dossier_reader_feed for each file -> dossier_reader_finish
 *                         -> dossier_reader_count, dossier_reader_at -> dossier_reader_destroy
 *
 * on_input is called for every part as it is recognised. Texts are not kept. Memory: a dossier and a
 * census for each JVM, at most DOSSIER_READER_JVMS_MAX of them. One thread.
 */
#ifndef ANALYZERS_TRIAGE_DOSSIER_READ_H
#define ANALYZERS_TRIAGE_DOSSIER_READ_H

#include "analyzers/parse/text_kind.h"
#include "analyzers/triage/dossier.h"

#define DOSSIER_READER_JVMS_MAX 1024

struct classlog;
struct clean_text;

struct dossier_input {
    const char *file; /* as fed */
    enum text_kind kind;
    int64_t pid;                     /* -1: the text does not say */
    int jdk_major;                   /* 0: the text does not say */
    const struct clean_text *source; /* the text it is a part of; while on_input runs */
    struct span text;                /* the part; while on_input runs */
    bool used;                       /* its figures are in a dossier */
    char note[160];                  /* why not, or what is wrong with it; may be empty */
    int64_t line;                    /* where it begins in the file, from 1 */
    char removed[256]; /* what stood around it and was taken away, in words; may be empty */
    int64_t unparsed_lines;
};
typedef void dossier_input_fn(void *context, const struct dossier_input *input);

struct dossier_reader;

/* NULL when out of memory. */
struct dossier_reader *dossier_reader_create(const struct thresholds *thresholds,
                                             dossier_input_fn *on_input, void *context);
/* Before the first feed, for each file its front, as it is: which process ids there are. */
void dossier_reader_expect(struct dossier_reader *reader, struct span front);
/* True when something in it was recognised. file: for on_input; text is not kept. *ignored_lines:
 * not blank, and part of nothing. */
bool dossier_reader_feed(struct dossier_reader *reader, const char *file, struct span text,
                         int64_t *ignored_lines);
/* A log too large for one text, read in pieces: what an application's lines say of memory, and the
 * loads and unloads of a class log (NULL: it is none). Both are the caller's. *any: something was in
 * it. False: out of memory. */
bool dossier_reader_feed_log(struct dossier_reader *reader, const char *file,
                             const struct oom_lines *lines, const struct classlog *log, bool *any);
/* After the last text. */
void dossier_reader_finish(struct dossier_reader *reader);
int dossier_reader_count(const struct dossier_reader *reader);
/* The one with the most texts first. */
const struct dossier *dossier_reader_at(const struct dossier_reader *reader, int index);
/* The same, for who knows more than texts say. */
struct dossier *dossier_reader_edit(struct dossier_reader *reader, int index);
int64_t dossier_reader_unparsed_lines(const struct dossier_reader *reader);
void dossier_reader_destroy(struct dossier_reader *reader);

#endif
