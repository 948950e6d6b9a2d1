/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* kill */
#include "descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    pid_t pid, parent;
    int ours, ended;
};

struct table {
    struct process *processes;
    size_t count, room;
};

/* 1 if the process could be read. The command in brackets may itself contain blanks and brackets:
 * the fields follow the last closing one. */
static int read_process(const char *pid, struct process *process) {
    char path[64], text[512], state;
    int parent;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *after = strrchr(text, ')');
    if (!after || sscanf(after + 1, " %c %d", &state, &parent) != 2)
        return 0;
    *process = (struct process){(pid_t)atol(pid), (pid_t)parent, 0, state == 'Z' || state == 'X'};
    return 1;
}

/* The processes in /proc; those that find no memory are left out. */
static void read_table(struct table *table) {
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    struct process process;
    while (directory && (entry = readdir(directory))) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !read_process(entry->d_name, &process))
            continue;
        if (table->count == table->room) {
            size_t room = 2 * table->room + 256;
            struct process *larger = realloc(table->processes, room * sizeof *larger);
            if (!larger)
                continue;
            table->processes = larger;
            table->room = room;
        }
        table->processes[table->count++] = process;
    }
    if (directory)
        closedir(directory);
}

static int is_ours(const struct table *table, pid_t parent) {
    if (parent == getpid())
        return 1;
    for (size_t i = 0; i < table->count; i++)
        if (table->processes[i].pid == parent)
            return table->processes[i].ours;
    return 0;
}

int descendants_signal(int signal) {
    struct table table = {NULL, 0, 0};
    int found = 0, changed = 1;
    read_table(&table);
    while (changed) { /* one generation a pass: pids are not in order of creation */
        changed = 0;
        for (size_t i = 0; i < table.count; i++)
            if (!table.processes[i].ours && is_ours(&table, table.processes[i].parent))
                table.processes[i].ours = changed = 1;
    }
    for (size_t i = 0; i < table.count; i++)
        if (table.processes[i].ours && !table.processes[i].ended) {
            found++;
            kill(table.processes[i].pid, signal);
        }
    free(table.processes);
    return found;
}
