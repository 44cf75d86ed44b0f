/*
 * ticket_text: the heading of a text that stands beside a JVM's own in a ticket: an error file or a
 * section of one, the kernel's log, a process table, pmap, lines of a console, a javacore.
 * A part of text_kind. Any thread.
 */
#ifndef ANALYZERS_PARSE_TICKET_TEXT_H
#define ANALYZERS_PARSE_TICKET_TEXT_H

#include "analyzers/parse/text_kind.h"

/* TEXT_UNRECOGNISED when the line begins none of them. `in`: the part it would interrupt. */
enum text_kind ticket_text_heading(struct span line, enum text_kind in);

#endif
