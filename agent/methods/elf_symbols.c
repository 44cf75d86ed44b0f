#include "agent/methods/elf_symbols.h"

#include "agent/mem/mem.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES       (64u << 10)
#define SECTIONS_MAX      4096
#define TABLE_BYTES_MAX   (UINT64_C(64) << 20) /* 2.8 million symbols; libjvm has 70 000 */
#define FIRST_PAGE_BYTES  4096
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
    unsigned char page[FIRST_PAGE_BYTES];
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

#define NESTED_MAX 64

/* Of the Itanium C++ ABI: _Z <name> <parameters>, name: 3foo, St3foo, N <part>... E. */
struct reading {
    const char *at;
    char *out;
    size_t size, length;
    const char *last; /* the part before, for constructors */
    size_t last_length;
    int nested; /* depth of template arguments */
};

static bool put(struct reading *reading, const char *text, size_t length)
{
    if (length >= reading->size - reading->length)
        return false;
    memcpy(reading->out + reading->length, text, length);
    reading->length += length;
    reading->out[reading->length] = '\0';
    return true;
}

static bool put_part(struct reading *reading, const char *text, size_t length)
{
    return (reading->length == 0 || put(reading, "::", 2)) && put(reading, text, length);
}

/* 3foo: its length, and then the name. */
static bool take_source_name(struct reading *reading, const char **name, size_t *length)
{
    *length = 0;
    while (isdigit((unsigned char)*reading->at) && *length < 4096)
        *length = *length * 10 + (size_t)(*reading->at++ - '0');
    *name = reading->at;
    if (*length == 0 || *length > strlen(reading->at))
        return false;
    reading->at += *length;
    return true;
}

/* S_ S1A_ St Sa. */
static bool skip_substitution(struct reading *reading)
{
    reading->at++;
    if (islower((unsigned char)*reading->at)) {
        reading->at++;
        return true;
    }
    while (isdigit((unsigned char)*reading->at) || isupper((unsigned char)*reading->at))
        reading->at++;
    return *reading->at++ == '_';
}

static bool skip_arguments(struct reading *reading);

/* One thing within template arguments: a literal's type or value, a name, a letter of a type. */
static bool skip_one(struct reading *reading)
{
    const char *name;
    size_t length;
    char c = *reading->at;
    if (isdigit((unsigned char)c))
        return take_source_name(reading, &name, &length);
    if (c == 'S')
        return skip_substitution(reading);
    if (c == 'I' || c == 'N' || c == 'F' || c == 'J')
        return skip_arguments(reading);
    if (c == 'L') { /* literal: type, value, E */
        reading->at++;
        if (*reading->at == 'L' || !skip_one(reading))
            return false;
        while (isdigit((unsigned char)*reading->at) || *reading->at == 'n')
            reading->at++;
        return *reading->at++ == 'E';
    }
    if (c == '\0' || c == 'X' || c == 'E')
        return false; /* an expression, or damage */
    reading->at++;
    return true;
}

/* What goes from a letter to its E: template arguments, nested names, function types. */
static bool skip_arguments(struct reading *reading)
{
    if (reading->nested++ > NESTED_MAX)
        return false;
    reading->at++;
    while (*reading->at != 'E')
        if (!skip_one(reading))
            return false;
    reading->at++;
    reading->nested--;
    return true;
}

static bool read_source_name(struct reading *reading)
{
    if (!take_source_name(reading, &reading->last, &reading->last_length))
        return false;
    if (reading->last_length > 10 && strncmp(reading->last, "_GLOBAL__N", 10) == 0)
        return put_part(reading, "(anonymous)", 11);
    return put_part(reading, reading->last, reading->last_length);
}

static bool read_part(struct reading *reading)
{
    const char *at = reading->at;
    if (isdigit((unsigned char)at[0]))
        return read_source_name(reading);
    if (at[0] == 'L' && isdigit((unsigned char)at[1])) { /* local to its file */
        reading->at++;
        return read_source_name(reading);
    }
    if (at[0] == 'S' && at[1] == 't') {
        reading->at += 2;
        return put_part(reading, "std", 3);
    }
    if (at[0] == 'I')
        return skip_arguments(reading);
    if ((at[0] == 'C' || at[0] == 'D') && at[1] >= '0' && at[1] <= '5' && reading->last != NULL) {
        reading->at += 2;
        return put(reading, at[0] == 'C' ? "::" : "::~", at[0] == 'C' ? 2 : 3) &&
               put(reading, reading->last, reading->last_length);
    }
    return false;
}

static bool read_name(struct reading *reading)
{
    if (strncmp(reading->at, "_Z", 2) != 0)
        return false;
    reading->at += 2;
    if (*reading->at != 'N') {
        if (strncmp(reading->at, "St", 2) == 0 && !read_part(reading))
            return false;
        return read_part(reading);
    }
    reading->at++;
    while (*reading->at == 'K' || *reading->at == 'V' || *reading->at == 'r' ||
           *reading->at == 'R' || *reading->at == 'O')
        reading->at++;
    while (*reading->at != 'E')
        if (!read_part(reading))
            return false;
    return reading->last != NULL;
}

void symbol_name(const char *symbol, char *out, size_t size)
{
    struct reading reading = {.at = symbol, .out = out, .size = size};
    if (size == 0)
        return;
    out[0] = '\0';
    if (!read_name(&reading))
        snprintf(out, size, "%s", symbol);
}
