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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_and_who_called_it),
        cmocka_unit_test(what_the_jdk_makes_is_made_by_who_called),
        cmocka_unit_test(groovy_is_one),
        cmocka_unit_test(odd_stacks),
    };
    return cmocka_run_group_tests_name("definer", tests, NULL, NULL);
}
