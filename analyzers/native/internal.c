#include "analyzers/native/internal.h"

#include "analyzers/parse/span.h"

#define JNI_HOLDS_METHOD_IDS_SINCE 26

bool internal_has_jni(int jdk_major)
{
    return jdk_major >= JNI_HOLDS_METHOD_IDS_SINCE;
}

bool internal_bytes(const struct sample *sample, int jdk_major, int64_t *bytes)
{
    struct nmt_amount internal;
    if (!sample_get_nmt(sample, NMT_INTERNAL, &internal))
        return false;
    *bytes = internal.committed_bytes;
    struct nmt_amount jni;
    if (internal_has_jni(jdk_major) && sample_get_nmt(sample, NMT_JNI, &jni))
        *bytes = saturated_add(*bytes, jni.committed_bytes);
    return true;
}

const char *internal_meaning(int jdk_major)
{
    return internal_has_jni(jdk_major) ? "Internal + JNI" : "Internal";
}

bool class_metaspace_bytes(const struct sample *sample, int64_t *bytes)
{
    struct nmt_amount amount;
    if (!sample_get_nmt(sample, NMT_CLASS, &amount))
        return false;
    *bytes = amount.committed_bytes;
    if (sample_get_nmt(sample, NMT_METASPACE, &amount))
        *bytes = saturated_add(*bytes, amount.committed_bytes);
    return true;
}
