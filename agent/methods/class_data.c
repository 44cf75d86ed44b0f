#include "agent/methods/class_data.h"

#include "agent/hotspot/layout.h"
#include "agent/hotspot/load.h"

#define LAST_JDK_OF_SLOTS 25 /* a jmethodID is the address of a slot that holds a Method * */

bool class_data_setup(jvmtiEnv *jvmti, JNIEnv *env)
{
    char unheard[256];
    return layout_read(jvmti, env, unheard, sizeof unheard) && layout.klass_loader_data >= 0 &&
           layout.loader_data_own >= 0 && layout.jdk_major <= LAST_JDK_OF_SLOTS;
}

/* The pointer in a field; 0 of what is 0. */
static uintptr_t field(uintptr_t object, int32_t offset)
{
    return object == 0 ? 0 : load_pointer(object + (uintptr_t)offset);
}

bool class_data_is_own(jmethodID method)
{
    if (layout.klass_loader_data <= 0 || layout.loader_data_own <= 0 ||
        layout.jdk_major > LAST_JDK_OF_SLOTS)
        return false;
    uintptr_t constants =
        field(field(field((uintptr_t)method, 0), layout.method_const), layout.const_constants);
    uintptr_t data = field(field(constants, layout.pool_holder), layout.klass_loader_data);
    return data != 0 && load_u8(data + (uintptr_t)layout.loader_data_own, 0) == 1;
}
