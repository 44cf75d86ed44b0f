/* watch_view: what a person sees while a JVM is watched: alerts, the live table, plain lines, on a
 * terminal (reports/page/terminal.h). One thread per stream. */
#pragma once

#include "analyzers/judge/judge.h"
#include "reports/page/terminal.h"
#include "analyzers/judge/level.h"

#include <stdio.h>

/* A block: state, severity, time, JVM; title; family; evidence with units; advice; runbook. */
void terminal_alert(const struct terminal *terminal, const struct target_identity *target,
                    const struct alert *alert);
/* One line per tick, for pipes and logs. view may be NULL. */
void terminal_tick(const struct terminal *terminal, const struct target_identity *target,
                   int64_t ms, const struct sample *sample, const struct judge_view *view);

/* The live table: a head, then a row per JVM; missing values are "-". */
void terminal_table_head(const struct terminal *terminal);
void terminal_table_row(const struct terminal *terminal, const struct target_identity *target,
                        int64_t ms, const struct sample *sample, const struct judge_view *view);
/* Below a JVM's row: what the agent in it costs. Returns the lines printed, 0 without an agent. */
int terminal_table_agent(const struct terminal *terminal, const struct sample *sample);
/* Moves up over lines printed before and clears them, so that the table is drawn again in place.
 * Only for a real terminal. */
void terminal_rewind(const struct terminal *terminal, int lines);

/* One line of a note or of a target's end, with the time in front. */
void terminal_note(const struct terminal *terminal, const struct target_identity *target,
                   int64_t ms, const char *text);
/* Names in short: the families of a census, most loads first, one line each, at most max. */
void terminal_names(const struct terminal *terminal, const struct names_event *names, int max);
/* Whose code asks for classes, by family, most classes first, one line each, at most max. */
void terminal_callers(const struct terminal *terminal, const struct callers_event *callers,
                      int max);
/* The total of a histogram of the heap, and the classes that have grown most since the first
 * one, one line each, at most max. */
void terminal_methods(const struct terminal *terminal, const struct methods_event *methods,
                      int max);
void terminal_histogram(const struct terminal *terminal, const struct histogram_event *histogram,
                        int max);

/* plugin: the verdict of `check` as monitoring plugins print it (Nagios, Icinga, Zabbix, ...):
 *
 *   NMTWATCH OK - reason | 'internal'=123B;524288000;2147483648;0; 'classes'=9870;;;0; ...
 *   WARNING class-load-rate: sentence
 *
 * The first line is the verdict, figures follow the only '|', further lines are the findings.
 * 'internal' is the absolute figure beside the growth thresholds: without a baseline a JVM's growth
 * is counted from zero. Any thread per stream. */

/* sample may be NULL (nothing could be asked): no figures then. */
void plugin_print(FILE *out, const struct check_result *result, const struct sample *sample,
                  int jdk_major, const struct thresholds *thresholds);
/* Its parts, for several JVMs in one call: 'of::internal'=123B;..., of: "" or what the JVM is called. */
void plugin_figures(FILE *out, const char *of, const struct sample *sample, int jdk_major,
                    const struct thresholds *thresholds);
/* "OK - reason" */
void plugin_reason(FILE *out, const struct check_result *result);
void plugin_findings(FILE *out, const struct check_result *result);
