/*
 * call_site: in a stack: whose code did it, and which line of the application asked for it.
 *
 *   java.lang.ClassLoader.defineClass1
 *   java.lang.ClassLoader.defineClass
 *   net.sf.cglib.core.ReflectUtils.defineClass       made by: the innermost frame that is not the JDK's
 *   net.sf.cglib.core.AbstractClassGenerator.create
 *   org.springframework.aop.framework.CglibAopProxy.getProxy     through: the library's frame that was called
 *   com.acme.orders.ProxyFactory.proxyFor            asked by: the innermost frame of the application
 *   com.acme.Main.main
 *
 * Libraries are passed through as a whole, however many there are. Where the application itself defines a class it is
 * both who made it and who asked. A class loader of the application only carries out what its caller wants, and a
 * generated class only what its source says.
 *
 * Whose code a frame is of: what the JVM tells of its class (code_origin); where that is not known, the package
 * (libraries.def, families.def for names of generated classes).
 *
 * Pure. Any thread.
 */
#pragma once

#include "analyzers/model/stack_frame.h"

#include <stdbool.h>

struct call_site {
    int made_by;  /* index; -1: there is no Java frame outside of the JDK */
    int asked_by; /* where no frame is the application's: made_by */
    int through;  /* -1: the application itself did it */
    bool own;     /* asked_by is the application's */
};

/* frames: innermost first. */
struct call_site call_site_find(const struct stack_frame *frames, int depth);
/* The class in "com.acme.Rules.eval"; its length. */
int frame_class_length(const struct stack_frame *frame);
