/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity, CPU_ALLOC */
#include "rank_facts.h"

#include "assay/host_name.h"
#include "assay/json.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUS_MOST 8192

/* The cores on which this thread may run, as the kernel lists them: 0-3,8. */
static void add_allowed(struct json *line) {
    static const char name[] = "Cpus_allowed_list:\t";
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen("/proc/thread-self/status", "r");
    while (file && getline(&text, &size, file) > 0)
        if (strncmp(text, name, sizeof name - 1) == 0) {
            text[strcspn(text, "\n")] = '\0';
            json_string(line, "allowed", text + sizeof name - 1);
        }
    free(text);
    if (file)
        fclose(file);
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
    add_allowed(&line);
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
