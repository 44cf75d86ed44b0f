/*
 * jfr_classes: a recording's class definitions, summed up (reports/profile/class_makers.h).
 *
 * Counts of families are exact; a stack stands for the classes of its family since the one before.
 * A recording that is damaged is summed up to the damage, and says so. One thread.
 */
#ifndef NMTWATCH_JFR_JFR_CLASSES_H
#define NMTWATCH_JFR_JFR_CLASSES_H

#include "reports/profile/class_makers.h"

/* fd stays the caller's. False with one sentence: no recording, or out of memory. Else the caller
 * calls class_makers_free. */
bool jfr_classes_read(struct class_makers *classes, int fd, const char *name, char *error,
                      size_t error_size);

#endif
