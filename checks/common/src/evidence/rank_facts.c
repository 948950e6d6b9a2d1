/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity, CPU_ALLOC, clock_getcpuclockid */
#include "rank_facts.h"

#include "assay/host_name.h"
#include "assay/json.h"
#include "assay/usage.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MOST 8192

static struct {
    int processors[MOST_PROCESSORS], count;
    struct usage usage;
    double own, parents;
} begin;

static double seconds_of(clockid_t clock) {
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec : 0;
}

/* Processor time of this process and of its children that have ended. */
static double own_s(void) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID) +
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static double parents_s(void) {
    clockid_t clock;
    return clock_getcpuclockid(getppid(), &clock) == 0 ? seconds_of(clock) : 0;
}

void rank_begins(void) {
    begin.count = processors(begin.processors, MOST_PROCESSORS);
    begin.usage = usage_read(begin.processors, begin.count);
    begin.own = own_s();
    begin.parents = parents_s();
}

static void add_usage(struct json *line) {
    if (begin.count == 0)
        return;
    struct usage passed = usage_since(&begin.usage, begin.processors, begin.count);
    if (passed.unused < 0)
        return;
    json_open(line, "usage", '{');
    json_number(line, "wall", passed.wall);
    json_number(line, "own", own_s() - begin.own);
    json_integer(line, "parent", (long long)getppid());
    json_number(line, "parents", parents_s() - begin.parents);
    json_number(line, "unused", passed.unused);
    json_number(line, "withheld", passed.withheld);
    json_close(line, '}');
}

char *rank_facts(int rank, double start_s) {
    char host[HOST_BYTES], boot_id[64] = "";
    cpu_set_t *cpus = CPU_ALLOC(CPUS_MOST);
    size_t bytes = CPU_ALLOC_SIZE(CPUS_MOST);
    struct json line;
    host_name(host);
    json_begin(&line);
    json_integer(&line, "rank", rank);
    json_string(&line, "host", host);
    json_integer(&line, "pid", (long long)getpid());
    json_open(&line, "cpus", '[');
    if (cpus && sched_getaffinity(0, bytes, cpus) == 0)
        for (size_t cpu = 0; cpu < CPUS_MOST; cpu++)
            if (CPU_ISSET_S(cpu, bytes, cpus))
                json_integer(&line, NULL, (long long)cpu);
    json_close(&line, ']');
    CPU_FREE(cpus);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && fgets(boot_id, sizeof boot_id, file))
        boot_id[strcspn(boot_id, "\n")] = '\0';
    if (file)
        fclose(file);
    json_string(&line, "boot_id", boot_id);
    json_clock(&line, "start", start_s);
    add_usage(&line);
    return json_take(&line);
}
