/* scan_loop.h for SSE2. */
#if defined(__x86_64__)
#define BLOCK_SSE2
#define SCAN_LINES scan_lines_sse2
#include "analyzers/classlog/scan_loop.h"
#endif
