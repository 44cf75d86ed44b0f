#include "nmtwatch/observe/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX 4096
#define PROGRAMS_MAX 64
#define TABLE_MAX    (UINT64_C(64) << 20)
#define NOTES_MAX    (UINT64_C(4) << 20)
#define NAMES_MAX    (UINT64_C(4) << 20) /* of sections */
/* A file system may compress to a few times less, or not say how much it holds. */
#define HOLES_MIN    (INT64_C(16) << 20)
#define HOLES_PART   16

/* A function, or a variable. */
struct function {
    uint64_t address;
    uint32_t size, name;
};

struct elf_file {
    Elf64_Phdr program[PROGRAMS_MAX];
    int programs;
    struct function *function; /* ascending */
    size_t functions;
    struct function *variable; /* ascending */
    size_t variables;
    char *names; /* ends with a NUL */
    size_t names_bytes;
    uint8_t *notes;
    size_t notes_bytes;
    uint64_t bytes; /* of all these */
    uint64_t base;  /* .stapsdt.base, to see how far the file was moved (prelink); 0: none */
};

/* Read whole, with a NUL behind it; NULL: it cannot be. */
static void *read_part(int fd, uint64_t offset, uint64_t size, uint64_t max)
{
    if (size > max || offset > INT64_MAX)
        return NULL;
    char *bytes = calloc(1, size + 1);
    size_t at = 0;
    while (bytes != NULL && at < size) {
        ssize_t got = pread(fd, bytes + at, size - at, (off_t)(offset + at));
        if (got <= 0) {
            free(bytes);
            return NULL;
        }
        at += (size_t)got;
    }
    if (bytes != NULL)
        bytes[size] = '\0';
    return bytes;
}

static int by_address(const void *a, const void *b)
{
    const struct function *left = a, *right = b;
    return (left->address > right->address) - (left->address < right->address);
}

/* Those of one type, sorted by address. */
static struct function *keep_symbols(const Elf64_Sym *symbols, size_t count, unsigned char type,
                                     uint64_t names_bytes, size_t *kept)
{
    *kept = 0;
    for (size_t i = 0; i < count; i++)
        *kept += ELF64_ST_TYPE(symbols[i].st_info) == type;
    struct function *all = calloc(*kept + 1, sizeof *all);
    *kept = 0;
    for (size_t i = 0; all != NULL && i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) == type && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_name < names_bytes && symbol->st_size <= UINT32_MAX)
            all[(*kept)++] =
                (struct function){symbol->st_value, (uint32_t)symbol->st_size, symbol->st_name};
    }
    if (all != NULL)
        qsort(all, *kept, sizeof *all, by_address);
    return all;
}

/* An entry takes less than it takes in the file. */
static bool read_symbols(struct elf_file *file, int fd, const Elf64_Shdr *table,
                         const Elf64_Shdr *names, uint64_t most)
{
    if (table->sh_size > TABLE_MAX || names->sh_size > TABLE_MAX ||
        table->sh_size + names->sh_size > most)
        return false;
    Elf64_Sym *symbols = read_part(fd, table->sh_offset, table->sh_size, TABLE_MAX);
    char *text = read_part(fd, names->sh_offset, names->sh_size, TABLE_MAX);
    if (symbols == NULL || text == NULL) {
        free(symbols);
        free(text);
        return true;
    }
    size_t count = table->sh_size / sizeof *symbols;
    file->function = keep_symbols(symbols, count, STT_FUNC, names->sh_size, &file->functions);
    file->variable = keep_symbols(symbols, count, STT_OBJECT, names->sh_size, &file->variables);
    free(symbols);
    file->names = text;
    file->names_bytes = names->sh_size;
    file->bytes += (file->functions + file->variables) * sizeof *file->function + names->sh_size;
    return true;
}

static bool read_sections(struct elf_file *file, int fd, const Elf64_Ehdr *head, uint64_t most)
{
    Elf64_Shdr *section = read_part(fd, head->e_shoff, (uint64_t)head->e_shnum * sizeof *section,
                                    SECTIONS_MAX * sizeof *section);
    if (section == NULL)
        return false;
    const Elf64_Shdr *table = NULL,
                     *text = head->e_shstrndx < head->e_shnum ? &section[head->e_shstrndx] : NULL;
    char *names = text != NULL ? read_part(fd, text->sh_offset, text->sh_size, NAMES_MAX) : NULL;
    for (int i = 0; i < head->e_shnum; i++) {
        const char *name =
            names != NULL && section[i].sh_name < text->sh_size ? names + section[i].sh_name : "";
        bool symbols = section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM;
        if (symbols && section[i].sh_entsize == sizeof(Elf64_Sym) &&
            section[i].sh_link < head->e_shnum &&
            (table == NULL || section[i].sh_type == SHT_SYMTAB))
            table = &section[i];
        if (section[i].sh_type == SHT_NOTE && strcmp(name, ".note.stapsdt") == 0 &&
            file->notes == NULL) {
            file->notes = read_part(fd, section[i].sh_offset, section[i].sh_size, NOTES_MAX);
            file->notes_bytes = file->notes != NULL ? section[i].sh_size : 0;
            file->bytes += file->notes_bytes;
        }
        if (strcmp(name, ".stapsdt.base") == 0)
            file->base = section[i].sh_addr;
    }
    bool good = file->bytes <= most &&
                (table == NULL ||
                 read_symbols(file, fd, table, &section[table->sh_link], most - file->bytes));
    free(names);
    free(section);
    errno = good ? 0 : EFBIG;
    return good;
}

static bool is_hole(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size > HOLES_MIN && status.st_blocks > 0 &&
           status.st_blocks < status.st_size / 512 / HOLES_PART;
}

struct elf_file *elf_file_read(int fd, uint64_t most, char *error, size_t error_size)
{
    Elf64_Ehdr head;
    struct elf_file *file = calloc(1, sizeof *file);
    errno = file != NULL && is_hole(fd) ? EFBIG : 0;
    if (errno != 0) {
        snprintf(error, error_size, "its file is a hole for the most part");
        free(file);
        return NULL;
    }
    if (file != NULL && pread(fd, &head, sizeof head, 0) == sizeof head &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
        head.e_phentsize == sizeof(Elf64_Phdr) && head.e_phnum <= PROGRAMS_MAX &&
        (head.e_shnum == 0 || head.e_shentsize == sizeof(Elf64_Shdr))) {
        ssize_t bytes = (ssize_t)(head.e_phnum * sizeof *file->program);
        if (pread(fd, file->program, (size_t)bytes, (off_t)head.e_phoff) == bytes &&
            read_sections(file, fd, &head, most)) {
            file->programs = head.e_phnum;
            return file;
        }
    }
    int reason = errno;
    snprintf(error, error_size, "%s",
             file == NULL      ? "out of memory"
             : reason == EFBIG ? "its symbols take more memory than is left for them"
                               : "it is no ELF file");
    elf_file_free(file);
    errno = reason;
    return NULL;
}

uint64_t elf_file_bytes(const struct elf_file *file)
{
    return file->bytes;
}

static const char *name_of(const struct elf_file *file, const struct function *function)
{
    return file->names + function->name; /* the names end with a NUL */
}

const char *elf_file_function(const struct elf_file *file, uint64_t address, uint64_t *start)
{
    size_t low = entries_up_to(file->function, file->functions, sizeof *file->function, address);
    /* Of several names for one place any will do, but one with a size. */
    for (size_t i = low; i > 0 && low - i < 8; i--) {
        const struct function *function = &file->function[i - 1];
        if (address - function->address < function->size) {
            if (start != NULL)
                *start = function->address;
            return name_of(file, function);
        }
    }
    return NULL;
}

bool elf_file_symbol(const struct elf_file *file, const char *begin, uint64_t *address)
{
    for (size_t i = 0; i < file->functions; i++) {
        const char *name = name_of(file, &file->function[i]);
        if (strncmp(name, begin, strlen(begin)) == 0 && strchr(name, '.') == NULL) {
            *address = file->function[i].address;
            return true;
        }
    }
    return false;
}

static const struct function *find_variable(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < file->variables; i++)
        if (strcmp(name_of(file, &file->variable[i]), name) == 0)
            return &file->variable[i];
    return NULL;
}

bool elf_file_variable(const struct elf_file *file, const char *name, uint64_t *address)
{
    const struct function *variable = find_variable(file, name);
    if (variable != NULL)
        *address = variable->address;
    return variable != NULL;
}

/* The segment with those rights that a piece is in. */
static const Elf64_Phdr *segment_of(const struct elf_file *file, uint64_t address, uint64_t size,
                                    Elf64_Word rights)
{
    for (int i = 0; i < file->programs; i++) {
        const Elf64_Phdr *program = &file->program[i];
        if (program->p_type == PT_LOAD && (program->p_flags & (PF_X | PF_W)) == rights &&
            address >= program->p_vaddr && address - program->p_vaddr < program->p_memsz &&
            size <= program->p_memsz - (address - program->p_vaddr))
            return program;
    }
    return NULL;
}

static bool file_offset(const Elf64_Phdr *segment, uint64_t address, uint64_t size,
                        uint64_t *offset)
{
    uint64_t inside = segment != NULL ? address - segment->p_vaddr : 0;
    if (segment == NULL || size > segment->p_filesz || inside > segment->p_filesz - size ||
        inside > INT64_MAX || segment->p_offset > INT64_MAX - inside)
        return false;
    *offset = inside + segment->p_offset;
    return true;
}

bool elf_file_data(const struct elf_file *file, const char *name, size_t size, uint64_t *address)
{
    const struct function *variable = find_variable(file, name);
    if (variable == NULL || variable->size != size ||
        segment_of(file, variable->address, size, PF_W) == NULL)
        return false;
    *address = variable->address;
    return true;
}

bool elf_file_value_offset(const struct elf_file *file, uint64_t address, size_t size,
                           uint64_t *offset)
{
    return file_offset(segment_of(file, address, size, PF_W), address, size, offset);
}

bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *offset)
{
    return file_offset(segment_of(file, address, 1, PF_X), address, 1, offset);
}

/* A text that ends within the note; NULL: none. */
static const char *take_text(const uint8_t **at, const uint8_t *end)
{
    const char *text = (const char *)*at;
    const uint8_t *stop = memchr(*at, '\0', (size_t)(end - *at));
    if (stop == NULL)
        return NULL;
    *at = stop + 1;
    return text;
}

/* Place, base and semaphore, then three texts. */
static bool read_probe(const struct elf_file *file, const uint8_t *at, const uint8_t *end,
                       const char *provider, const char *name, struct elf_probe *out)
{
    uint64_t place[3];
    if ((size_t)(end - at) < sizeof place)
        return false;
    memcpy(place, at, sizeof place);
    at += sizeof place;
    const char *whose = take_text(&at, end), *what = whose != NULL ? take_text(&at, end) : NULL;
    const char *arguments = what != NULL ? take_text(&at, end) : NULL;
    if (arguments == NULL || strcmp(whose, provider) != 0 || strcmp(what, name) != 0 ||
        place[2] != 0)
        return false;
    out->address = place[0] + (file->base != 0 ? file->base - place[1] : 0);
    snprintf(out->arguments, sizeof out->arguments, "%s", arguments);
    return true;
}

int elf_file_probes(const struct elf_file *file, const char *provider, const char *name,
                    struct elf_probe *out, int max)
{
    int count = 0;
    size_t at = 0;
    while (count < max && file->notes_bytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr head;
        memcpy(&head, file->notes + at, sizeof head);
        at += sizeof head;
        size_t named = ((size_t)head.n_namesz + 3) & ~(size_t)3;
        size_t described = ((size_t)head.n_descsz + 3) & ~(size_t)3;
        if (named > file->notes_bytes - at || described > file->notes_bytes - at - named)
            break;
        const uint8_t *description = file->notes + at + named;
        if (head.n_type == 3 && head.n_namesz == sizeof "stapsdt" &&
            memcmp(file->notes + at, "stapsdt", sizeof "stapsdt") == 0 &&
            read_probe(file, description, description + head.n_descsz, provider, name, &out[count]))
            count++;
        at += named + described;
    }
    return count;
}

void elf_file_free(struct elf_file *file)
{
    if (file == NULL)
        return;
    free(file->function);
    free(file->variable);
    free(file->names);
    free(file->notes);
    free(file);
}
