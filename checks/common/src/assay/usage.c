/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "usage.h"

#include "assay/clock.h"

#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int processors(int *found, int room) {
    cpu_set_t allowed;
    int count = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE && count < room; i++)
        if (CPU_ISSET(i, &allowed))
            found[count++] = i;
    return count;
}

/* Whether idle processors run a process of the lowest priority, which keeps them awake. */
static int spinning(void) {
    static int found = -1;
    char name[32];
    glob_t all = {0};
    if (found >= 0)
        return found;
    found = 0;
    glob("/proc/[0-9]*/comm", GLOB_NOSORT, NULL, &all);
    for (size_t i = 0; i < all.gl_pathc && !found; i++) {
        FILE *file = fopen(all.gl_pathv[i], "r");
        found = file && fgets(name, sizeof name, file) && strcmp(name, "assay-spinner\n") == 0;
        if (file)
            fclose(file);
    }
    globfree(&all);
    return found;
}

/* Seconds in which no program of this machine had one of these processors (idle, interrupts, or a
 * hypervisor kept it), by the kernel's count, which is exact without ticks. */
static double unused_s(const int *processors, int count) {
    char line[512];
    double found = 0;
    int known = 0, awake = spinning();
    FILE *file = fopen("/proc/stat", "r");
    while (file && known < count && fgets(line, sizeof line, file)) {
        int number;
        long long low, idle, waiting, hard, soft, stolen;
        if (sscanf(line, "cpu%d %*d %lld %*d %lld %lld %lld %lld %lld", &number, &low, &idle,
                   &waiting, &hard, &soft, &stolen) != 7 ||
            number != processors[known])
            continue;
        idle += awake ? low : 0;
        found += (double)(idle + waiting + hard + soft + stolen) / (double)sysconf(_SC_CLK_TCK);
        known++;
    }
    if (file)
        fclose(file);
    return known == count ? found : -1;
}

/* Seconds, summed over processors, in which a control group was out of its quota: cpu.stat of a
 * folder; 0 where there is none. */
static double throttled_s(const char *folder) {
    char path[4200], name[64];
    long long value;
    double found = 0;
    snprintf(path, sizeof path, "%s/cpu.stat", folder);
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%63s %lld", name, &value) == 2)
        if (strcmp(name, "throttled_time") == 0) /* version 1: ns */
            found = 1e-9 * (double)value;
        else if (strcmp(name, "throttled_usec") == 0) /* version 2 */
            found = 1e-6 * (double)value;
    if (file)
        fclose(file);
    return found;
}

/* The same of all control groups that this process is in. */
static double withheld_s(void) {
    char line[4096], folder[4160];
    double sum = 0;
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *kind = strchr(line, ':'), *path = kind ? strchr(++kind, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (*kind && strcmp(kind, "cpu") != 0 && strcmp(kind, "cpu,cpuacct") != 0 &&
            strcmp(kind, "cpuacct,cpu") != 0)
            continue;
        if (strcmp(path, "/") == 0)
            *path = '\0';
        for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
            *end = '\0';
            snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s", *kind ? "/cpu" : "", path);
            sum += throttled_s(folder);
        }
    }
    if (file)
        fclose(file);
    return sum;
}

double usage_own(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct usage usage_read(const int *processors, int count) {
    struct usage found = {.withheld = withheld_s(), .unused = unused_s(processors, count)};
    found.own = usage_own();
    found.wall = timing_monotonic();
    return found;
}

struct usage usage_since(const struct usage *begin, const int *processors, int count) {
    struct usage passed = usage_read(processors, count);
    passed.wall -= begin->wall;
    passed.own -= begin->own;
    passed.withheld -= begin->withheld;
    passed.unused = passed.unused < 0 || begin->unused < 0 ? -1 : passed.unused - begin->unused;
    return passed;
}

double usage_others(const struct usage *passed, int threads, int processors) {
    double could = passed->wall * (threads < processors ? threads : processors);
    double lost = passed->unused > passed->withheld ? passed->unused : passed->withheld;
    double others = could - passed->own - lost;
    return passed->unused < 0 || others < 0 ? 0 : others;
}
