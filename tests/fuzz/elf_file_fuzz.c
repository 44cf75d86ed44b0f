/* The file of a library, which a stranger's process names: symbols, segments, probes. */
#include "nmtwatch/observe/elf_file.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#define MOST (UINT64_C(1) << 20)

static void look_at(const struct elf_file *file, uint64_t address)
{
    uint64_t start, offset;
    const char *name = elf_file_function(file, address, &start);
    promise(name == NULL || (start <= address && strlen(name) < SIZE_MAX));
    if (elf_file_offset(file, address, &offset))
        promise(offset <= INT64_MAX);
    if (elf_file_value_offset(file, address, sizeof(int32_t), &offset))
        promise(offset <= INT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char error[200];
    if (fd < 0)
        fd = memfd_create("elf", MFD_CLOEXEC);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    struct elf_file *file = elf_file_read(fd, MOST, error, sizeof error);
    if (file == NULL) {
        promise(error[0] != '\0');
        return 0;
    }
    promise(elf_file_bytes(file) <= MOST);
    uint64_t address = 0;
    look_at(file, address);
    look_at(file, UINT64_MAX);
    if (elf_file_symbol(file, "probed", &address))
        look_at(file, address);
    if (elf_file_variable(file, "interval", &address))
        look_at(file, address + 1);
    if (elf_file_data(file, "interval", sizeof(int32_t), &address))
        look_at(file, address);
    if (elf_file_data(file, "flag", 1, &address))
        look_at(file, address);
    struct elf_probe probes[4];
    int count = elf_file_probes(file, "hotspot", "class__loaded", probes, 4);
    promise(count >= 0 && count <= 4);
    for (int i = 0; i < count; i++) {
        promise(strlen(probes[i].arguments) < sizeof probes[i].arguments);
        look_at(file, probes[i].address);
    }
    elf_file_free(file);
    return 0;
}
