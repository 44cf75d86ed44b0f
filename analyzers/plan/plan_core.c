#include "analyzers/plan/plan_core.h"

#include "analyzers/parse/saturated.h"

#include <math.h>
#include <string.h>

#define STACK_TOUCHED 131072.0 /* sizing.c says why */

static int64_t whole(double number)
{
    return number >= 9.2e18 ? INT64_MAX : number <= 0.0 ? 0 : (int64_t)(number + 0.5);
}

static struct class_load class_load_of(const struct plan_input *input, int64_t classes)
{
    double loaders = plan_input_get(input, PLAN_LOADERS);
    return (struct class_load){.classes = classes,
                               .methods_per_class = plan_input_get(input, PLAN_METHODS_PER_CLASS),
                               .loaders = whole(fmin(loaders, (double)classes)),
                               .generated = input->generated};
}

static void classes(struct plan_core *core, const struct plan_input *input,
                    const struct plan_measured *measured)
{
    struct class_load load = class_load_of(input, core->classes);
    core->formula = class_cost(input->jdk_major, load);
    if (measured->basis == PLAN_BASIS_FORMULA) {
        core->classes_bytes = class_cost_total(&core->formula);
        core->metaspace_bytes = class_cost_metaspace(&core->formula);
        core->bytes_per_class = (double)core->classes_bytes / (double)core->classes;
        return;
    }
    /* What is there, and what comes to it at what one more costs. Fewer: as many less. */
    double further = (double)(core->classes - measured->classes);
    core->bytes_per_class = measured->bytes_per_class;
    core->classes_bytes =
        whole((double)measured->class_bytes + further * measured->bytes_per_class);
    core->metaspace_bytes =
        measured->metaspace_bytes >= 0 && measured->metaspace_per_class >= 0.0
            ? whole((double)measured->metaspace_bytes + further * measured->metaspace_per_class)
            : core->classes_bytes;
}

static void jmethod_ids(struct plan_core *core, const struct plan_input *input)
{
    struct class_load load = class_load_of(input, core->classes);
    core->ids =
        jmethodid_cost(input->jdk_major,
                       (struct jmethodid_load){load.classes, load.methods_per_class, load.loaders});
    int64_t churned = whole(plan_input_churned(input));
    /* Where the churned ones have loaders of their own, these are churned with them. */
    double each = fmax(1.0, (double)load.classes / (double)load.loaders);
    struct jmethodid_cost gone =
        jmethodid_cost(input->jdk_major, (struct jmethodid_load){churned, load.methods_per_class,
                                                                 whole((double)churned / each)});
    core->ids_kept_bytes = jmethodid_kept_bytes(&gone);
    core->jmethod_ids_bytes =
        saturated_add(jmethodid_loaded_bytes(&core->ids), core->ids_kept_bytes);
}

void plan_core_make(struct plan_core *core, const struct plan_input *input,
                    const struct plan_measured *measured)
{
    memset(core, 0, sizeof *core);
    core->classes = whole(plan_input_get(input, PLAN_CLASSES) + plan_input_grown(input));
    classes(core, input, measured);
    jmethod_ids(core, input);
    double stack = fmin(STACK_TOUCHED, plan_input_get(input, PLAN_STACK));
    if (measured->thread_bytes >= 0 && measured->threads > 0)
        stack = (double)measured->thread_bytes / (double)measured->threads;
    core->stacks_bytes = whole(stack * plan_input_get(input, PLAN_THREADS));
    for (int i = 0; i < PLAN_COMPONENT_COUNT; i++) {
        struct plan_figures *figures = &core->figures[i];
        plan_component_formulas((enum plan_component)i, input, core->classes,
                                core->jmethod_ids_bytes, &figures->documented_bytes,
                                &figures->expected_bytes);
        figures->measured_bytes = measured->component_bytes[i];
        if (i != PLAN_PART_JMETHOD_IDS)
            core->profiler_bytes = saturated_add(core->profiler_bytes, figures->expected_bytes);
    }
}
