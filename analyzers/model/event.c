#include "analyzers/model/event.h"

const char *census_method_name(enum census_method method)
{
    static const char *const NAMES[CENSUS_METHOD_COUNT] = {
        [CENSUS_TAP] = "tap",
        [CENSUS_CLASSES] = "classes",
        [CENSUS_CLASS_HIERARCHY] = "class_hierarchy",
        [CENSUS_CLASS_HISTOGRAM] = "class_histogram",
        [CENSUS_LOADER_TYPES] = "loader_types",
    };
    return (unsigned)method < CENSUS_METHOD_COUNT ? NAMES[method] : "?";
}
