#include "agent/methods/elf_symbols.h"

#include "agent/mem/mem.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES       (64u << 10)
#define SECTIONS_MAX      4096
#define TABLE_BYTES_MAX   (UINT64_C(64) << 20) /* 2.8 million symbols; libjvm has 70 000 */
#define FIRST_PAGE_BYTES  4096
#define SYMBOLS_PER_BLOCK (BLOCK_BYTES / sizeof(Elf64_Sym))

static int open_file(const char *path, uint64_t *file_bytes)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        *file_bytes = (uint64_t)about.st_size;
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
static bool is_loaded_file(int fd, const Elf64_Ehdr *header, const void *base)
{
    unsigned char page[FIRST_PAGE_BYTES];
    Elf64_Phdr segment;
    for (int i = 0; i < header->e_phnum; i++) {
        if (!read_at(fd, &segment, sizeof segment, header->e_phoff + (uint64_t)i * sizeof segment))
            return false;
        if (segment.p_type != PT_LOAD)
            continue;
        size_t bytes = segment.p_filesz < sizeof page ? segment.p_filesz : sizeof page;
        return segment.p_offset == 0 && (segment.p_flags & PF_R) != 0 &&
               bytes >= sizeof(Elf64_Ehdr) && read_at(fd, page, bytes, 0) &&
               memcmp(page, base, bytes) == 0;
    }
    return false;
}

static bool find_table(int fd, const Elf64_Ehdr *header, uint64_t file_bytes,
                       struct elf_table *table)
{
    Elf64_Shdr section, text;
    for (uint64_t i = 0; i < header->e_shnum && i < SECTIONS_MAX; i++) {
        if (!read_at(fd, &section, sizeof section, header->e_shoff + i * sizeof section))
            return false;
        if (section.sh_type != SHT_SYMTAB)
            continue;
        if (section.sh_entsize != sizeof(Elf64_Sym) || section.sh_size > TABLE_BYTES_MAX ||
            section.sh_link >= header->e_shnum ||
            !read_at(fd, &text, sizeof text, header->e_shoff + section.sh_link * sizeof text) ||
            !is_inside(section.sh_offset, section.sh_size, file_bytes) ||
            !is_inside(text.sh_offset, text.sh_size, file_bytes))
            return false;
        *table = (struct elf_table){section.sh_offset, section.sh_size / sizeof(Elf64_Sym),
                                    text.sh_offset, text.sh_size};
        return table->count > 0;
    }
    return false;
}

bool elf_symbols_open(const char *path, const void *base, struct elf_table *table)
{
    Elf64_Ehdr header;
    uint64_t file_bytes;
    int fd = open_file(path, &file_bytes);
    if (fd < 0)
        return false;
    bool good =
        read_at(fd, &header, sizeof header, 0) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr) &&
        header.e_shentsize == sizeof(Elf64_Shdr) && is_loaded_file(fd, &header, base) &&
        find_table(fd, &header, file_bytes, table);
    close(fd);
    return good;
}

static bool read_name(int fd, struct elf_symbol *symbol)
{
    ssize_t bytes = pread(fd, symbol->name, sizeof symbol->name - 1, (off_t)symbol->name_offset);
    symbol->name[bytes > 0 ? bytes : 0] = '\0';
    return symbol->name[0] != '\0';
}

/* The last of several names for the same function (aliases): which one does not matter. */
static bool look(const Elf64_Sym *entries, size_t count, uint64_t address,
                 const struct elf_table *table, struct elf_symbol *symbol)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *entry = &entries[i];
        if (address - entry->st_value >= entry->st_size || /* also when it is below */
            ELF64_ST_TYPE(entry->st_info) != STT_FUNC || entry->st_shndx == SHN_UNDEF ||
            entry->st_name >= table->text_bytes)
            continue;
        symbol->start = entry->st_value;
        symbol->size = entry->st_size;
        symbol->name_offset = table->text_offset + entry->st_name;
        found = true;
    }
    return found;
}

bool elf_symbols_find(const char *path, const struct elf_table *table, uint64_t address,
                      struct elf_symbol *symbol)
{
    uint64_t file_bytes;
    bool found = false;
    Elf64_Sym *block = mem_alloc(COMPONENT_NATIVE_SYMBOLS, SYMBOLS_PER_BLOCK * sizeof *block);
    int fd = block == NULL ? -1 : open_file(path, &file_bytes);
    for (uint64_t at = 0; fd >= 0 && at < table->count && !found; at += SYMBOLS_PER_BLOCK) {
        size_t count = SYMBOLS_PER_BLOCK;
        if (count > table->count - at)
            count = table->count - at;
        if (!read_at(fd, block, count * sizeof *block, table->offset + at * sizeof *block))
            break;
        found = look(block, count, address, table, symbol);
    }
    found = found && read_name(fd, symbol);
    if (fd >= 0)
        close(fd);
    mem_free(block);
    return found;
}

bool elf_symbols_name(const char *path, struct elf_symbol *symbol)
{
    uint64_t file_bytes;
    int fd = open_file(path, &file_bytes);
    bool good = fd >= 0 && read_name(fd, symbol);
    if (fd >= 0)
        close(fd);
    return good;
}
