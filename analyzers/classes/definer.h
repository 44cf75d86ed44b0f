/*
 * definer: in a stack that defined a class: whose code made the class, and whose code asked for it.
 *
 *   java.lang.ClassLoader.defineClass1
 *   java.lang.ClassLoader.defineClass
 *   net.sf.cglib.core.ReflectUtils.defineClass       the definer: the first that is not the JDK
 *   net.sf.cglib.core.AbstractClassGenerator.create
 *   net.sf.cglib.proxy.Enhancer.create
 *   com.acme.orders.ProxyFactory.proxyFor            the caller: the first of another producer
 *   ...
 *
 * Producers are told apart by the first two parts of their packages (Groovy has three of those).
 * Frames of the JDK are nobody's own decision: lambdas, proxies and reflection are made by it for
 * whoever called.
 *
 * Pure. Any thread.
 */
#ifndef ANALYZERS_CLASSES_DEFINER_H
#define ANALYZERS_CLASSES_DEFINER_H

struct definer {
    int definer; /* index; of a stack that is all the JDK's the innermost; -1: no frames */
    int caller;  /* -1: there is no other */
};

/* labels: "package.Class.method", innermost first. */
struct definer definer_find(const char *const labels[], int depth);

#endif
