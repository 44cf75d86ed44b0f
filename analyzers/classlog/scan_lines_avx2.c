/* scan_loop.h for AVX2. */
#if defined(__x86_64__)
#define BLOCK_AVX2
#define SCAN_LINES scan_lines_avx2
#include "analyzers/classlog/scan_loop.h"
#endif
