#include "nmtwatch/observe/uprobes.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/machine/machine.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_BYTES (32u << 20)
#define PIECE      4096 /* of stack, copied at once: no page is smaller, and each is a number of them */
#define PIECES     8           /* that are copied, the first one's rest included or not */
#define LOST       UPROBES_MAX /* its place in the counters */
#define COUNTERS   (UPROBES_MAX + 1)
#define CODE_MAX   256

/* What the program writes. */
struct record {
    uint64_t place, stack_bytes;
    uint64_t object[OBJECT_WORDS]; /* of a place that wants it; zeros where it cannot be read */
    uint64_t registers[MACHINE_KERNEL_WORDS]; /* as struct pt_regs has them */
    uint8_t stack[PIECES * PIECE];
};

struct uprobes {
    int counters, ring, program[UPROBES_MAX], event[UPROBES_MAX];
    bool object[UPROBES_MAX];
    int places;
    void *consumer, *producer; /* maps of the ring: our position; the kernel's, and data */
    size_t page_bytes;
};

static int bpf(int command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

/* --- the program ------------------------------------------------------------------------------ */

struct code {
    struct bpf_insn at[CODE_MAX];
    int length;
    int to_lost[4], to_done[PIECES + 1], to_out[4]; /* jumps that are not aimed yet */
    int lost_count, done_count, out_count;
};

static int put(struct code *code, uint8_t op, int to, int from, int offset, int32_t number)
{
    code->at[code->length] = (struct bpf_insn){
        .code = op,
        .dst_reg = (uint8_t)(to & 15),
        .src_reg = (uint8_t)(from & 15),
        .off = (int16_t)offset,
        .imm = number,
    };
    return code->length++;
}

static void move(struct code *code, int to, int from)
{
    put(code, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void set(struct code *code, int to, int32_t number)
{
    put(code, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}

static void add(struct code *code, int to, int from)
{
    put(code, BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0);
}

static void add_number(struct code *code, int to, int32_t number)
{
    /* NOLINTNEXTLINE(misc-redundant-expression): two of them are 0 */
    put(code, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, number);
}

static void load(struct code *code, int to, int base, int offset)
{
    put(code, BPF_LDX | BPF_MEM | BPF_DW, to, base, offset, 0);
}

static void store(struct code *code, int base, int offset, int from)
{
    put(code, BPF_STX | BPF_MEM | BPF_DW, base, from, offset, 0);
}

static void call(struct code *code, int32_t helper)
{
    put(code, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void load_map(struct code *code, int to, int map)
{
    put(code, BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map);
    put(code, 0, 0, 0, 0, 0);
}

static int jump_if_zero(struct code *code, int what)
{
    return put(code, BPF_JMP | BPF_JEQ | BPF_K, what, 0, 0, 0);
}

static int jump_if_not_zero(struct code *code, int what)
{
    return put(code, BPF_JMP | BPF_JNE | BPF_K, what, 0, 0, 0);
}

static void aim(struct code *code, const int *jumps, int count)
{
    for (int i = 0; i < count; i++)
        code->at[jumps[i]].off = (int16_t)(code->length - jumps[i] - 1);
}

/* counters[index] += 1 */
static void count_one(struct code *code, int counters, int index)
{
    put(code, BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, index);
    load_map(code, 1, counters);
    move(code, 2, 10);
    add_number(code, 2, -4);
    call(code, BPF_FUNC_map_lookup_elem);
    int missing = jump_if_zero(code, 0);
    set(code, 1, 1);
    put(code, BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD);
    aim(code, &missing, 1);
}

/* r6 registers of the process   r7 the record   r8 its sp   r9 bytes of stack copied
 *
 * The stack is copied up to the end of sp's piece first, then piece by piece: one that is not there ends it. */
static void write_program(struct code *code, const struct uprobes *uprobes, int place,
                          const struct uprobe_place *want)
{
    *code = (struct code){.length = 0};
    move(code, 6, 1);
    count_one(code, uprobes->counters, place);
    if (want->stack) {
        load_map(code, 1, uprobes->ring);
        set(code, 2, sizeof(struct record));
        set(code, 3, 0);
        call(code, BPF_FUNC_ringbuf_reserve);
        code->to_lost[code->lost_count++] = jump_if_zero(code, 0);
        move(code, 7, 0);
        set(code, 1, place);
        store(code, 7, offsetof(struct record, place), 1);
        for (int i = 0; i < this_machine.kernel_words; i++) {
            load(code, 1, 6, i * 8);
            store(code, 7, (int)offsetof(struct record, registers) + i * 8, 1);
        }
        if (want->object) {
            move(code, 1, 7);
            add_number(code, 1, offsetof(struct record, object));
            set(code, 2, OBJECT_WORDS * 8);
            load(code, 3, 6, this_machine.kernel[this_machine.argument[0]] * 8);
            call(code, BPF_FUNC_probe_read_user);
        }
        load(code, 8, 6, this_machine.kernel[this_machine.sp] * 8);
        move(code, 2, 8);
        put(code, BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, PIECE - 1);
        set(code, 9, PIECE);
        put(code, BPF_ALU64 | BPF_SUB | BPF_X, 9, 2, 0, 0);
        move(code, 1, 7);
        add_number(code, 1, offsetof(struct record, stack));
        move(code, 2, 9);
        move(code, 3, 8);
        call(code, BPF_FUNC_probe_read_user);
        int readable = jump_if_zero(code, 0);
        set(code, 9, 0);
        code->to_done[code->done_count++] = put(code, BPF_JMP | BPF_JA, 0, 0, 0, 0);
        aim(code, &readable, 1);
        for (int i = 1; i < PIECES; i++) {
            move(code, 1, 7);
            add_number(code, 1, offsetof(struct record, stack));
            add(code, 1, 9);
            set(code, 2, PIECE);
            move(code, 3, 8);
            add(code, 3, 9);
            call(code, BPF_FUNC_probe_read_user);
            code->to_done[code->done_count++] = jump_if_not_zero(code, 0);
            add_number(code, 9, PIECE);
        }
        aim(code, code->to_done, code->done_count);
        store(code, 7, offsetof(struct record, stack_bytes), 9);
        move(code, 1, 7);
        set(code, 2, 0);
        call(code, BPF_FUNC_ringbuf_submit);
        code->to_out[code->out_count++] = put(code, BPF_JMP | BPF_JA, 0, 0, 0, 0);
        aim(code, code->to_lost, code->lost_count);
        count_one(code, uprobes->counters, LOST);
    }
    aim(code, code->to_out, code->out_count);
    set(code, 0, 0);
    put(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* --- open ------------------------------------------------------------------------------------- */

static bool refuse(const char *what, char *error, size_t error_size)
{
    int reason = errno;
    if (reason == EPERM || reason == EACCES)
        return text_error(
            error, error_size,
            "%s is not permitted: needs root, or CAP_BPF, CAP_PERFMON and, for uprobes since "
            "July 2025, "
            "CAP_SYS_ADMIN (and a kernel that is not locked down)",
            what);
    if (reason == ENOSYS || reason == EINVAL)
        return text_error(error, error_size,
                          "%s: this kernel cannot do it (needs Linux 5.8 with "
                          "CONFIG_BPF_SYSCALL and CONFIG_UPROBE_EVENTS)",
                          what);
    return text_error(error, error_size, "%s: %s", what, strerror(reason));
}

static int make_map(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries)
{
    union bpf_attr attr = {
        .map_type = type, .key_size = key, .value_size = value, .max_entries = entries};
    return bpf(BPF_MAP_CREATE, &attr);
}

static int load_program(const struct code *code)
{
    union bpf_attr attr = {
        .prog_type = BPF_PROG_TYPE_KPROBE,
        .insns = (uint64_t)(uintptr_t)code->at,
        .insn_cnt = (uint32_t)code->length,
        /* Helpers that read the memory of a process may only be called by such programs. */
        .license = (uint64_t)(uintptr_t) "Dual MIT/GPL",
    };
    return bpf(BPF_PROG_LOAD, &attr);
}

static int open_event(pid_t pid, const struct uprobe_place *place, int type)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = (uint32_t)type,
        .uprobe_path = (uint64_t)(uintptr_t)place->file,
        .probe_offset = place->offset,
        .disabled = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool attach(struct uprobes *uprobes, pid_t pid, const struct uprobe_place *place, int type,
                   char *error, size_t error_size)
{
    struct code code;
    int at = uprobes->places++;
    write_program(&code, uprobes, at, place);
    uprobes->object[at] = place->object;
    uprobes->event[at] = -1;
    uprobes->program[at] = load_program(&code);
    if (uprobes->program[at] < 0)
        return refuse("loading a BPF program", error, error_size);
    uprobes->event[at] = open_event(pid, place, type);
    if (uprobes->event[at] < 0 ||
        ioctl(uprobes->event[at], PERF_EVENT_IOC_SET_BPF, uprobes->program[at]) != 0 ||
        ioctl(uprobes->event[at], PERF_EVENT_IOC_ENABLE, 0) != 0)
        return refuse("attaching a uprobe", error, error_size);
    return true;
}

/* The kernel lets data be mapped twice, so that a record that goes around the end is in one piece. Of the
 * second time one record is enough: what is mapped counts as resident. */
static size_t ring_map_bytes(const struct uprobes *uprobes)
{
    size_t page = uprobes->page_bytes, record = BPF_RINGBUF_HDR_SZ + sizeof(struct record);
    return page + RING_BYTES + (record + page - 1) / page * page;
}

static bool map_ring(struct uprobes *uprobes, char *error, size_t error_size)
{
    size_t page = uprobes->page_bytes;
    uprobes->consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, uprobes->ring, 0);
    uprobes->producer =
        mmap(NULL, ring_map_bytes(uprobes), PROT_READ, MAP_SHARED, uprobes->ring, (off_t)page);
    return (uprobes->consumer != MAP_FAILED && uprobes->producer != MAP_FAILED) ||
           refuse("mapping a BPF ring", error, error_size);
}

static bool open_all(struct uprobes *uprobes, pid_t pid, const struct uprobe_place *places,
                     int count, char *error, size_t error_size)
{
    /* Kernels before 5.11 count maps as locked memory. */
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MEMLOCK, &all);
    int type = perf_kernel_number("/sys/bus/event_source/devices/uprobe/type");
    if (type < 0)
        return text_error(error, error_size, "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
    uprobes->counters = make_map(BPF_MAP_TYPE_ARRAY, 4, 8, COUNTERS);
    if (uprobes->counters < 0)
        return refuse("bpf(2)", error, error_size);
    uprobes->ring = make_map(BPF_MAP_TYPE_RINGBUF, 0, 0, RING_BYTES);
    if (uprobes->ring < 0)
        return refuse("a BPF ring", error, error_size);
    if (!map_ring(uprobes, error, error_size))
        return false;
    for (int i = 0; i < count; i++)
        if (!attach(uprobes, pid, &places[i], type, error, error_size))
            return false;
    return true;
}

struct uprobes *uprobes_open(pid_t pid, const struct uprobe_place *places, int count, char *error,
                             size_t error_size)
{
    struct uprobes *uprobes = calloc(1, sizeof *uprobes);
    if (uprobes == NULL || count > UPROBES_MAX) {
        free(uprobes);
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    uprobes->counters = uprobes->ring = -1;
    uprobes->consumer = uprobes->producer = MAP_FAILED;
    uprobes->page_bytes = machine_page_bytes();
    if (open_all(uprobes, pid, places, count, error, error_size))
        return uprobes;
    uprobes_close(uprobes);
    return NULL;
}

bool uprobes_possible(char *error, size_t error_size)
{
    struct uprobes *uprobes = uprobes_open(getpid(), NULL, 0, error, error_size);
    if (uprobes == NULL)
        return false;
    struct code code = {0};
    set(&code, 0, 0);
    put(&code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    int program = load_program(&code);
    bool possible = program >= 0 || refuse("loading a BPF program", error, error_size);
    if (program >= 0)
        close(program);
    /* The head of our own file is no code: no breakpoint is put anywhere. */
    const struct uprobe_place nowhere = {.file = "/proc/self/exe"};
    int type = perf_kernel_number("/sys/bus/event_source/devices/uprobe/type");
    int event = possible ? open_event(getpid(), &nowhere, type) : -1;
    if (possible && event < 0)
        possible = refuse("attaching a uprobe", error, error_size);
    if (event >= 0)
        close(event);
    uprobes_close(uprobes);
    return possible;
}

/* --- samples ---------------------------------------------------------------------------------- */

static void take_record(const struct uprobes *uprobes, const struct record *record,
                        void (*take)(void *context, const struct perf_sample *sample),
                        void *context)
{
    uint64_t registers[MACHINE_REGISTERS_MAX];
    for (int i = 0; i < this_machine.registers; i++)
        registers[i] = record->registers[this_machine.kernel[i]];
    const struct perf_sample sample = {
        .place = (int)record->place,
        .weight = 1,
        .object =
            record->place < UPROBES_MAX && uprobes->object[record->place] ? record->object : NULL,
        .registers = registers,
        .stack = record->stack,
        .stack_bytes = record->stack_bytes <= sizeof record->stack ? record->stack_bytes : 0,
    };
    take(context, &sample);
}

size_t uprobes_drain(struct uprobes *uprobes,
                     void (*take)(void *context, const struct perf_sample *sample), void *context)
{
    uint64_t *position = uprobes->consumer;
    const uint64_t *written = uprobes->producer;
    const uint8_t *data = (const uint8_t *)uprobes->producer + uprobes->page_bytes;
    uint64_t at = *position;
    size_t taken = 0;
    while (at < __atomic_load_n(written, __ATOMIC_ACQUIRE)) {
        const uint8_t *here = data + (at & (RING_BYTES - 1));
        uint32_t length = __atomic_load_n((const uint32_t *)here, __ATOMIC_ACQUIRE);
        if ((length & BPF_RINGBUF_BUSY_BIT) != 0)
            break;
        uint32_t bytes = length & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        if ((length & BPF_RINGBUF_DISCARD_BIT) == 0 && bytes == sizeof(struct record)) {
            take_record(uprobes, (const struct record *)(here + BPF_RINGBUF_HDR_SZ), take, context);
            taken++;
        }
        at += (bytes + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
        __atomic_store_n(position, at, __ATOMIC_RELEASE);
    }
    return taken;
}

uint64_t uprobes_count(const struct uprobes *uprobes, int place)
{
    uint32_t key = (uint32_t)place;
    uint64_t value = 0;
    union bpf_attr attr = {
        .map_fd = (uint32_t)uprobes->counters,
        .key = (uint64_t)(uintptr_t)&key,
        .value = (uint64_t)(uintptr_t)&value,
    };
    return bpf(BPF_MAP_LOOKUP_ELEM, &attr) == 0 ? value : 0;
}

uint64_t uprobes_lost(const struct uprobes *uprobes)
{
    return uprobes_count(uprobes, LOST);
}

void uprobes_close(struct uprobes *uprobes)
{
    if (uprobes == NULL)
        return;
    for (int i = 0; i < uprobes->places; i++) {
        if (uprobes->event[i] >= 0)
            close(uprobes->event[i]);
        if (uprobes->program[i] >= 0)
            close(uprobes->program[i]);
    }
    if (uprobes->producer != MAP_FAILED)
        munmap(uprobes->producer, ring_map_bytes(uprobes));
    if (uprobes->consumer != MAP_FAILED)
        munmap(uprobes->consumer, uprobes->page_bytes);
    if (uprobes->ring >= 0)
        close(uprobes->ring);
    if (uprobes->counters >= 0)
        close(uprobes->counters);
    free(uprobes);
}
