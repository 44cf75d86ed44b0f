/* hostile_libjvm: a libjvm.so whose tables have no end; to be loaded into any program by LD_PRELOAD. A piece of memory
 * full of entries is mapped again and again, for gigabytes; "ready" is printed when it is. With BURN a thread uses CPU
 * time instead, in a library of its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void on_quit(int number)
{
    (void)number;
}

#ifdef BURN

static volatile unsigned long burnt;

static void *burn(void *unused)
{
    for (;; usleep(50000))
        for (int i = 0; i < 20000000; i++)
            burnt++;
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    signal(SIGQUIT, on_quit);
    pthread_create(&thread, NULL, burn, NULL);
}

#else

#define PIECE_BYTES (16 << 20)
#define PIECES      512
#define STRIDE      32

uint64_t gHotSpotVMStructs, gHotSpotVMTypes, gHotSpotVMIntConstants, gHotSpotVMLongConstants;
uint64_t gHotSpotVMStructEntryArrayStride = STRIDE, gHotSpotVMTypeEntryArrayStride = STRIDE,
         gHotSpotVMIntConstantEntryArrayStride = STRIDE,
         gHotSpotVMLongConstantEntryArrayStride = STRIDE;
uint64_t gHotSpotVMStructEntryTypeNameOffset,
    gHotSpotVMStructEntryFieldNameOffset = 8, gHotSpotVMStructEntryTypeStringOffset = 8,
    gHotSpotVMStructEntryOffsetOffset = 16, gHotSpotVMStructEntryAddressOffset = 24;
uint64_t gHotSpotVMTypeEntryTypeNameOffset, gHotSpotVMTypeEntrySizeOffset = 16;
uint64_t gHotSpotVMIntConstantEntryNameOffset, gHotSpotVMIntConstantEntryValueOffset = 16;
uint64_t gHotSpotVMLongConstantEntryNameOffset, gHotSpotVMLongConstantEntryValueOffset = 16;

__attribute__((constructor)) static void begin(void)
{
    static const char NAME[] = "nobody";
    int fd = memfd_create("tables", 0);
    char *low = mmap(NULL, (size_t)PIECE_BYTES * PIECES, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    signal(SIGQUIT, on_quit);
    if (fd < 0 || low == MAP_FAILED || ftruncate(fd, PIECE_BYTES) != 0)
        abort();
    for (size_t i = 0; i < PIECES; i++)
        if (mmap(low + i * PIECE_BYTES, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 fd, 0) == MAP_FAILED)
            abort();
    for (size_t at = 0; at < PIECE_BYTES; at += STRIDE)
        for (size_t word = 0; word < 2; word++)
            ((const char **)(low + at))[word] = NAME;
    gHotSpotVMStructs = gHotSpotVMTypes = gHotSpotVMIntConstants = gHotSpotVMLongConstants =
        (uintptr_t)low;
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        abort();
}

#endif
