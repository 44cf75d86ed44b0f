#include "agent/methods/elf_symbols.h"

#include "agent/mem/mem.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES       (64u << 10)
#define SECTIONS_MAX      4096
#define TABLE_BYTES_MAX   (UINT64_C(64) << 20) /* 2.8 million symbols; libjvm has 70 000 */
#define HEAD_BYTES        4096                 /* of the first page: none is smaller */
#define SYMBOLS_PER_BLOCK (BLOCK_BYTES / sizeof(Elf64_Sym))

static int open_file(const char *path, struct stat *about)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, about) != 0 || !S_ISREG(about->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool read_at(int fd, void *into, size_t bytes, uint64_t offset)
{
    return pread(fd, into, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool is_inside(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
    return offset <= file_bytes && bytes <= file_bytes - offset;
}

/* Headers and build id are in the first page. Of base only what the first segment maps. */
static bool is_first_page(int fd, const Elf64_Phdr *segment, const void *base)
{
    unsigned char page[HEAD_BYTES];
    size_t bytes = segment->p_filesz < sizeof page ? segment->p_filesz : sizeof page;
    return segment->p_offset == 0 && (segment->p_flags & PF_R) != 0 &&
           bytes >= sizeof(Elf64_Ehdr) && read_at(fd, page, bytes, 0) &&
           memcmp(page, base, bytes) == 0;
}

/* The end of what is loaded; 0: it is not this file. */
static uint64_t end_of_loaded(int fd, const Elf64_Ehdr *header, const void *base)
{
    Elf64_Phdr segment;
    uint64_t end = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        if (!read_at(fd, &segment, sizeof segment, header->e_phoff + (uint64_t)i * sizeof segment))
            return 0;
        if (segment.p_type != PT_LOAD)
            continue;
        if (end == 0 && !is_first_page(fd, &segment, base))
            return 0;
        if (segment.p_vaddr + segment.p_memsz > end)
            end = segment.p_vaddr + segment.p_memsz;
    }
    return end;
}

static void find_table(int fd, const Elf64_Ehdr *header, uint64_t file_bytes,
                       struct elf_table *table)
{
    Elf64_Shdr section, text;
    for (uint64_t i = 0; i < header->e_shnum && i < SECTIONS_MAX; i++) {
        if (!read_at(fd, &section, sizeof section, header->e_shoff + i * sizeof section))
            return;
        if (section.sh_type != SHT_SYMTAB)
            continue;
        if (section.sh_entsize != sizeof(Elf64_Sym) || section.sh_size > TABLE_BYTES_MAX ||
            section.sh_link >= header->e_shnum ||
            !read_at(fd, &text, sizeof text, header->e_shoff + section.sh_link * sizeof text) ||
            !is_inside(section.sh_offset, section.sh_size, file_bytes) ||
            !is_inside(text.sh_offset, text.sh_size, file_bytes))
            return;
        table->offset = section.sh_offset;
        table->count = section.sh_size / sizeof(Elf64_Sym);
        table->text_offset = text.sh_offset;
        table->text_bytes = text.sh_size;
        return;
    }
}

void elf_symbols_open(const char *path, const void *base, struct elf_table *table)
{
    Elf64_Ehdr header;
    struct stat about;
    *table = (struct elf_table){.count = 0};
    int fd = open_file(path, &about);
    if (fd < 0)
        return;
    if (read_at(fd, &header, sizeof header, 0) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr) &&
        header.e_shentsize == sizeof(Elf64_Shdr))
        table->end = end_of_loaded(fd, &header, base);
    if (table->end != 0) {
        table->device = about.st_dev;
        table->inode = about.st_ino;
        find_table(fd, &header, (uint64_t)about.st_size, table);
    }
    close(fd);
}

int elf_symbols_file(const char *path, const struct elf_table *table)
{
    struct stat about;
    int fd = open_file(path, &about);
    if (fd >= 0 && (about.st_dev != table->device || about.st_ino != table->inode)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The first address that is not below. */
static size_t first_from(const struct elf_function *functions, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last of several names for the same function (aliases): which one does not matter. */
static void look(const Elf64_Sym *entries, size_t entry_count, const struct elf_table *table,
                 struct elf_function *functions, size_t count)
{
    for (size_t i = 0; i < entry_count; i++) {
        const Elf64_Sym *entry = &entries[i];
        if (ELF64_ST_TYPE(entry->st_info) != STT_FUNC || entry->st_shndx == SHN_UNDEF ||
            entry->st_name >= table->text_bytes)
            continue;
        for (size_t at = first_from(functions, count, entry->st_value);
             at < count && functions[at].address - entry->st_value < entry->st_size; at++) {
            functions[at].start = entry->st_value;
            functions[at].size = entry->st_size;
            functions[at].name_offset = table->text_offset + entry->st_name;
        }
    }
}

void elf_symbols_find(int fd, const struct elf_table *table, struct elf_function *functions,
                      size_t count)
{
    Elf64_Sym *block = mem_alloc_raw(COMPONENT_NATIVE_SYMBOLS, SYMBOLS_PER_BLOCK * sizeof *block);
    for (uint64_t at = 0; block != NULL && at < table->count; at += SYMBOLS_PER_BLOCK) {
        size_t entries = SYMBOLS_PER_BLOCK;
        if (entries > table->count - at)
            entries = table->count - at;
        if (!read_at(fd, block, entries * sizeof *block, table->offset + at * sizeof *block))
            break;
        look(block, entries, table, functions, count);
    }
    mem_free(block);
}

bool elf_symbols_name(int fd, uint64_t name_offset, char name[ELF_SYMBOL_MAX])
{
    ssize_t bytes = pread(fd, name, ELF_SYMBOL_MAX - 1, (off_t)name_offset);
    name[bytes > 0 ? bytes : 0] = '\0';
    return name[0] != '\0';
}
