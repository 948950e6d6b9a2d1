/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity, CPU_ALLOC */
#include "rank_facts.h"

#include "assay/host_name.h"
#include "assay/json.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CPUS_MOST 8192

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
    return json_take(&line);
}
