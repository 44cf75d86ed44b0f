/*
 * libjvm: the JVM's own library in this process.
 *
 * Setup context.
 */
#ifndef AGENT_HOTSPOT_LIBJVM_H
#define AGENT_HOTSPOT_LIBJVM_H

/* A symbol that libjvm exports; NULL: it exports no such. Also where a launcher has opened the
 * library for itself alone. */
void *libjvm_symbol(const char *name);

#endif
