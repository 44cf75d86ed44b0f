/*
 * plugin: the verdict of `check` as monitoring plugins print it (Nagios, Icinga, Zabbix, ...):
 *
 *   NMTWATCH OK - reason | 'internal'=123B;524288000;2147483648;0; 'classes'=9870;;;0; ...
 *   WARNING class-load-rate: sentence
 *
 * The first line is the verdict, figures follow the only '|', further lines are the findings.
 * 'internal' is the absolute figure beside the growth thresholds: without a baseline a JVM's growth
 * is counted from zero. Any thread per stream.
 */
#ifndef REPORTS_PLUGIN_H
#define REPORTS_PLUGIN_H

#include "analyzers/judge/check.h"

#include <stdio.h>

/* sample may be NULL (nothing could be asked): no figures then. */
void plugin_print(FILE *out, const struct check_result *result, const struct sample *sample,
                  int jdk_major, const struct thresholds *thresholds);

#endif
