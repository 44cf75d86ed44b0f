#include "nmtwatch/soak/descendants.h"

#include "analyzers/parse/proc_text.h"
#include "nmtwatch/jvm/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX                                                                                  \
    64 /* of a chain of parents: a table that is read while it changes may hold circles */

struct process {
    pid_t pid;
    pid_t parent;
    bool ended;
};

struct process_table {
    int count, capacity;
    struct process *at; /* by pid */
};

static int by_pid(const void *a, const void *b)
{
    const struct process *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static bool add(struct process_table *table, const struct process *process)
{
    if (table->count == table->capacity) {
        int capacity = table->capacity == 0 ? 256 : table->capacity * 2;
        struct process *at = realloc(table->at, (size_t)capacity * sizeof *at);
        if (at == NULL)
            return false;
        table->at = at;
        table->capacity = capacity;
    }
    table->at[table->count++] = *process;
    return true;
}

static void read_table(struct process_table *table)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(proc)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct span text = proc_read(pid, "stat");
        struct proc_stat stat;
        if (text.ptr != NULL && proc_stat_parse(&stat, text) == PARSE_OK) {
            bool ended = stat.state == 'Z' || stat.state == 'X';
            good = add(table, &(struct process){pid, (pid_t)stat.ppid, ended});
        }
        free((void *)text.ptr);
    }
    closedir(proc);
    if (table->count > 1)
        qsort(table->at, (size_t)table->count, sizeof *table->at, by_pid);
}

static bool is_marked(pid_t pid)
{
    char mark[32];
    struct span text = proc_read(pid, "environ");
    if (text.ptr == NULL)
        return false;
    struct span value = proc_environ_value(text, SPAN_LITERAL(DESCENDANTS_MARK));
    int length = snprintf(mark, sizeof mark, "%d", (int)getpid());
    bool marked =
        value.ptr != NULL && value.len == (size_t)length && memcmp(value.ptr, mark, value.len) == 0;
    free((void *)text.ptr);
    return marked;
}

/* Up the chain of parents: to the command, or to a child of ours that carries the mark. */
static bool is_ours(const struct process_table *table, const struct process *process, pid_t root)
{
    for (int depth = 0; process != NULL && depth < DEPTH_MAX; depth++) {
        if (process->pid == root)
            return true;
        if (process->parent == getpid())
            return is_marked(process->pid);
        const struct process parent = {.pid = process->parent};
        process = bsearch(&parent, table->at, (size_t)table->count, sizeof *table->at, by_pid);
    }
    return false;
}

void descendants_find(pid_t root, struct descendants *found)
{
    struct process_table table = {0};
    found->count = found->orphan_count = 0;
    read_table(&table);
    for (int i = 0; i < table.count; i++) {
        const struct process *process = &table.at[i];
        if (process->ended) {
            if (process->parent == getpid() && process->pid != root &&
                found->orphan_count < DESCENDANTS_MAX)
                found->orphan[found->orphan_count++] = process->pid;
        } else if (found->count < DESCENDANTS_MAX && is_ours(&table, process, root)) {
            found->pid[found->count++] = process->pid;
        }
    }
    free(table.at);
}
