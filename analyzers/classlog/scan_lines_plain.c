/* scan_loop.h in plain C. */
#define SCAN_LINES scan_lines_plain
#include "analyzers/classlog/scan_loop.h"
