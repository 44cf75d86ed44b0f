#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/classes/family.h"

static void library_and_who_called_it(void **state)
{
    const char *const labels[] = {
        "java.lang.ClassLoader.defineClass1",
        "java.lang.ClassLoader.defineClass",
        "jdk.internal.reflect.GeneratedMethodAccessor1.invoke",
        "net.sf.cglib.core.ReflectUtils.defineClass",
        "net.sf.cglib.core.AbstractClassGenerator.create",
        "java.security.AccessController.doPrivileged",
        "net.sf.cglib.proxy.Enhancer.create",
        "com.acme.orders.ProxyFactory.proxyFor",
        "com.acme.Main.main",
    };
    (void)state;
    struct definer found = definer_find(labels, sizeof labels / sizeof *labels);
    assert_int_equal(found.definer, 3);
    assert_int_equal(found.caller, 7);
}

static void what_the_jdk_makes_is_made_by_who_called(void **state)
{
    const char *const labels[] = {"java.lang.ClassLoader.defineClass0",
                                  "java.lang.invoke.InnerClassLambdaMetafactory.spinInnerClass",
                                  "Main.lambdas", "Main.main"};
    (void)state;
    struct definer found = definer_find(labels, 4);
    assert_int_equal(found.definer, 2);
    assert_int_equal(found.caller, -1);
}

static void groovy_is_one(void **state)
{
    const char *const labels[] = {"java.lang.ClassLoader.defineClass",
                                  "groovy.lang.GroovyClassLoader.access$400",
                                  "org.codehaus.groovy.control.CompilationUnit.call",
                                  "groovy.lang.GroovyShell.evaluate", "com.acme.Rules.run"};
    (void)state;
    assert_int_equal(definer_find(labels, 5).definer, 1);
    assert_int_equal(definer_find(labels, 5).caller, 4);
}

static void odd_stacks(void **state)
{
    const char *const jdk[] = {"java.lang.A.b", "sun.c.D.e"};
    const char *const native[] = {"mmap [libc.so.6]", "[unknown]", "", "x.y.Z.run", "nodots"};
    (void)state;
    assert_int_equal(definer_find(jdk, 0).definer, -1);
    assert_int_equal(definer_find(jdk, 2).definer, 0);
    assert_int_equal(definer_find(jdk, 2).caller, -1);
    assert_int_equal(definer_find(native, 5).definer, 3);
    assert_int_equal(definer_find(native, 5).caller, 4);
}

static void who_asked(void **state)
{
    const char *const cglib[] = {
        "java.lang.ClassLoader.defineClass:1012", "net.sf.cglib.core.ReflectUtils.defineClass:7",
        "net.sf.cglib.proxy.Enhancer.create:9", "com.acme.Prices.proxy:21", "com.acme.Main.main:3"};
    const char *const own[] = {"java.lang.ClassLoader.defineClass1", "com.acme.RuleLoader.define:4",
                               "com.acme.Rules.eval:88", "org.frame.Work.run:1"};
    const char *const lambda[] = {"java.lang.invoke.InnerClassLambdaMetafactory.spinInnerClass",
                                  "com.acme.Rules.eval:88", "org.frame.Work.run:1"};
    const char *const xslt[] = {"com.sun.org.apache.xalan.internal.xsltc.trax.TemplatesImpl.a:1",
                                "com.acme.Report.render:40", "org.frame.Work.run:1"};
    const char *const plain[] = {"java.lang.ClassLoader.defineClass1", "Observed$Loader.define:21",
                                 "Observed.rule:71", "Observed.main:9"};
    const char *const loaders[] = {"com.acme.AppLoader.load:3", "mmap [libc.so.6]"};
    const char *const native[] = {"mmap [libc.so.6]"};
    (void)state;
    assert_int_equal(definer_call_site(cglib, 5, "com.acme.Price$$EnhancerByCGLIB$$1"), 3);
    assert_int_equal(definer_call_site(own, 4, "com.acme.Rule17"), 2);
    assert_int_equal(definer_call_site(lambda, 3, "com.acme.Rules$$Lambda/0x00007f"), 1);
    assert_int_equal(definer_call_site(lambda, 3, "jdk.proxy2.$Proxy9"), 1);
    assert_int_equal(definer_call_site(xslt, 3, "die.verwandlung.GregorSamsa1"), 1);
    assert_int_equal(definer_call_site(plain, 4, "ChurnVictim_1"), 2);
    assert_int_equal(definer_call_site(loaders, 2, "com.acme.A"), 0);
    assert_int_equal(definer_call_site(native, 1, "com.acme.A"), -1);
    assert_int_equal(definer_call_site(native, 0, ""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_and_who_called_it),
        cmocka_unit_test(what_the_jdk_makes_is_made_by_who_called),
        cmocka_unit_test(groovy_is_one),
        cmocka_unit_test(odd_stacks),
        cmocka_unit_test(who_asked),
    };
    return cmocka_run_group_tests_name("definer", tests, NULL, NULL);
}
