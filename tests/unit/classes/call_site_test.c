/* call_site: which frame made a class, which line of the application asked for it, through which library. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/classes/call_site.h"

#define DEPTH_MAX 16

static struct stack_frame frames[DEPTH_MAX];

/* Names innermost first; "f [library]" is native. A letter before a colon is the origin: a of the application, l of a
 * library, g generated, j the JDK's. */
static struct call_site find(const char *const *names)
{
    int depth = 0;
    for (; names[depth] != NULL; depth++) {
        const char *name = names[depth];
        struct stack_frame *frame = &frames[depth];
        *frame = (struct stack_frame){.name = name};
        if (strchr(name, '[') != NULL)
            *frame =
                (struct stack_frame){.name = name, .kind = CALL_FRAME_NATIVE, .library = "libc"};
        if (name[0] != '\0' && name[1] == ':') {
            frame->name = name + 2;
            frame->origin = name[0] == 'a'   ? ORIGIN_APPLICATION
                            : name[0] == 'l' ? ORIGIN_LIBRARY
                            : name[0] == 'g' ? ORIGIN_GENERATED
                                             : ORIGIN_JDK;
        }
    }
    return call_site_find(frames, depth);
}
#define FIND(...) find((const char *const[]){__VA_ARGS__, NULL})

static void is_site(struct call_site site, int made_by, int asked_by, int through)
{
    assert_int_equal(site.made_by, made_by);
    assert_int_equal(site.asked_by, asked_by);
    assert_int_equal(site.through, through);
}

static void library_and_what_called_it(void **state)
{
    (void)state;
    is_site(FIND("java.lang.ClassLoader.defineClass1", "java.lang.ClassLoader.defineClass",
                 "jdk.internal.reflect.GeneratedMethodAccessor1.invoke",
                 "net.sf.cglib.core.ReflectUtils.defineClass",
                 "net.sf.cglib.core.AbstractClassGenerator.create",
                 "java.security.AccessController.doPrivileged",
                 "net.sf.cglib.proxy.Enhancer.create", "com.acme.orders.ProxyFactory.proxyFor",
                 "com.acme.Main.main"),
            3, 7, 6);
    is_site(FIND("java.lang.ClassLoader.defineClass", "groovy.lang.GroovyClassLoader.access$400",
                 "org.codehaus.groovy.control.CompilationUnit.call",
                 "groovy.lang.GroovyShell.evaluate", "com.acme.Rules.run"),
            1, 4, 3);
}

static void chains_of_libraries_are_passed_through(void **state)
{
    (void)state;
    is_site(FIND("java.lang.ClassLoader.defineClass", "net.bytebuddy.dynamic.loading.X.load",
                 "org.mockito.internal.creation.bytebuddy.SubclassBytecodeGenerator.mockClass",
                 "org.springframework.boot.test.mock.Definer.make", "com.acme.Orders.step",
                 "org.framework.Server.dispatch"),
            1, 4, 3);
    is_site(FIND("java.lang.ClassLoader.defineClass", "javassist.util.proxy.DefineClassHelper.a",
                 "javassist.ClassPool.toClass", "Step.gen"),
            1, 3, 2);
}

static void the_application_itself(void **state)
{
    (void)state;
    is_site(FIND("java.lang.ClassLoader.defineClass0",
                 "java.lang.invoke.InnerClassLambdaMetafactory.spinInnerClass", "Main.lambdas",
                 "org.framework.Server.dispatch"),
            2, 2, -1);
    is_site(FIND("com.sun.org.apache.xalan.internal.xsltc.trax.TemplatesImpl.a",
                 "com.acme.Report.render", "org.frame.Work.run"),
            1, 1, -1);
}

static void class_loaders_only_carry_it_out(void **state)
{
    (void)state;
    is_site(FIND("java.lang.ClassLoader.defineClass1", "java.lang.ClassLoader.defineClass",
                 "Observed$Loader.define", "Observed$Loader.make", "Observed.rule",
                 "Observed.main"),
            2, 4, -1);
    is_site(FIND("java.lang.ClassLoader.defineClass", "com.acme.Compile$1.findClass",
                 "java.lang.ClassLoader.loadClass", "com.acme.Compile.gen"),
            1, 3, -1);
    /* Its name does not make it one. */
    is_site(FIND("java.lang.ClassLoader.defineClass", "groovy.lang.GroovyClassLoader.define",
                 "com.acme.rules.TemplateLoader.load", "com.acme.rules.Engine.handle"),
            1, 2, 1);
    is_site(FIND("java.lang.ClassLoader.defineClass", "com.acme.AppLoader.load", "mmap [libc]"), 1,
            1, -1);
}

static void generated_code_is_not_the_place(void **state)
{
    (void)state;
    is_site(FIND("java.lang.invoke.Spin.spin", "g:Rule7.run", "com.acme.Rules.run"), 1, 2, -1);
    is_site(FIND("java.lang.invoke.Spin.spin", "com.acme.A$$EnhancerByCGLIB$$1f2e3d.call",
                 "com.acme.Rules.run"),
            1, 2, -1);
}

static void where_a_class_is_from_decides(void **state)
{
    (void)state;
    is_site(FIND("java.lang.ClassLoader.defineClass", "l:io.unknown.gen.Maker.make",
                 "a:com.acme.Main.main"),
            1, 2, 1);
    is_site(FIND("j:org.acme.inside.Jdk.define", "a:org.apache.example.Rules.run",
                 "l:com.acme.Server.run"),
            1, 1, -1);
    is_site(FIND("a:javax.acme.Own.define", "a:Main.main"), 0, 0, -1);
}

static void odd_stacks(void **state)
{
    (void)state;
    is_site(FIND("java.lang.A.b", "sun.c.D.e"), -1, -1, -1);
    is_site(FIND("mmap [libc]", "[unknown]", "x.y.Z.run"), 2, 2, -1);
    is_site(FIND("", "nodots"), 0, 0, -1);
    is_site(FIND("java.lang.A.b", "org.apache.jasper.J.c", "org.apache.catalina.C.d"), 1, 1, -1);
    is_site(call_site_find(frames, 0), -1, -1, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_and_what_called_it),
        cmocka_unit_test(chains_of_libraries_are_passed_through),
        cmocka_unit_test(the_application_itself),
        cmocka_unit_test(class_loaders_only_carry_it_out),
        cmocka_unit_test(generated_code_is_not_the_place),
        cmocka_unit_test(where_a_class_is_from_decides),
        cmocka_unit_test(odd_stacks),
    };
    return cmocka_run_group_tests_name("call_site", tests, NULL, NULL);
}
