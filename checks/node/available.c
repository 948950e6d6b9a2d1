/* SPDX-License-Identifier: Apache-2.0 */
#include "available.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096

static long long least(long long one, long long other) { return one < other ? one : other; }

/* A line of /proc/meminfo in bytes; -1 if it is not there. */
static long long meminfo(const char *root, const char *name) {
    char path[PATH_BYTES], line[256];
    long long kibibytes = -1;
    size_t length = strlen(name);
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *file = fopen(path, "r");
    while (file && kibibytes < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && sscanf(line + length, ": %lld", &kibibytes) != 1)
            kibibytes = -1;
    if (file)
        fclose(file);
    return kibibytes < 0 ? -1 : 1024 * kibibytes;
}

/* The number in a control group's file; -1 for "max" and what cannot be read. */
static long long number(const char *folder, const char *name) {
    char path[PATH_BYTES + 64];
    long long value = -1;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%lld", &value) != 1)
        value = -1;
    if (file)
        fclose(file);
    return value;
}

/* What a group and those around it leave. */
static long long group_leaves(const char *root, const char *mount, const char *group,
                              const char *limit, const char *usage) {
    char folder[PATH_BYTES];
    long long left = LLONG_MAX;
    snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, mount, group);
    size_t top = strlen(root) + strlen("/sys/fs/cgroup") + strlen(mount);
    for (;;) {
        long long most = number(folder, limit), used = number(folder, usage);
        if (most >= 0 && used >= 0)
            left = least(left, most > used ? most - used : 0);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top)
            return left;
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup: 0::/group of version 2, N:memory:/group of version 1. */
static long long groups_leave(const char *root) {
    char path[PATH_BYTES], line[PATH_BYTES];
    long long left = LLONG_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        if (controllers[1] == '\0')
            left = least(left, group_leaves(root, "", group, "memory.max", "memory.current"));
        else if (strcmp(controllers + 1, "memory") == 0)
            left = least(left, group_leaves(root, "/memory", group, "memory.limit_in_bytes",
                                            "memory.usage_in_bytes"));
    }
    if (file)
        fclose(file);
    return left;
}

long long total_bytes(const char *root) {
    long long found = meminfo(root, "MemTotal");
    return found < 0 ? 0 : found;
}

long long available_bytes(const char *root, long long taken, long long sharing) {
    long long kernel = meminfo(root, "MemAvailable"), left = groups_leave(root);
    const char *slurm = getenv("SLURM_MEM_PER_NODE");
    long long given = slurm ? atoll(slurm) * (1 << 20) / sharing : 0;
    if (kernel >= 0)
        left = least(left, kernel - (long long)(AVAILABLE_RESERVE * (double)total_bytes(root)));
    if (given > 0)
        left = least(left, given - taken);
    return left > 0 ? left : 0;
}
