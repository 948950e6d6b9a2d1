/* SPDX-License-Identifier: Apache-2.0 */
/* Memory latency: a chain of loads, each at the address that the one before gave, once round a
 * random cycle through memory greater than the caches (as lat_mem_rd of lmbench; L. McVoy, C.
 * Staelin, USENIX 1996, in random order against prefetching). */
#include "vet.h"

#include "assay/shuffle.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE 64
#define LINES (1 << 20)

struct chase {
    size_t *order;
    char *memory; /* LINES lines; each begins with the number of the next one */
    size_t at;
};

static void release(void *state) {
    struct chase *chase = state;
    free(chase->order);
    free(chase->memory);
    free(chase);
}

static void *prepare(const struct node_settings *settings) {
    struct chase *chase = calloc(1, sizeof *chase);
    if (!chase)
        return NULL;
    chase->order = malloc(LINES * sizeof *chase->order);
    chase->memory = aligned_alloc(4096, (size_t)LINES * LINE);
    if (!chase->order || !chase->memory) {
        release(chase);
        return NULL;
    }
    shuffle(chase->order, LINES, settings->seed);
    for (size_t i = 0; i < LINES; i++)
        *(size_t *)(chase->memory + chase->order[i] * LINE) = chase->order[(i + 1) % LINES];
    chase->at = chase->order[0];
    return chase;
}

static double run(void *state, int part) {
    struct chase *chase = state;
    size_t at = chase->at;
    (void)part;
    for (int i = 0; i < LINES; i++)
        at = *(const size_t *)(chase->memory + at * LINE);
    chase->at = at;
    return 0;
}

static int verify(void *state, char *message, size_t size) {
    const struct chase *chase = state;
    if (chase->at == chase->order[0])
        return 1;
    snprintf(message, size, "the chain of loads ended at line %zu, not where it began, at %zu",
             chase->at, chase->order[0]);
    return 0;
}

static void corrupt(void *state) {
    struct chase *chase = state;
    chase->at = chase->order[1];
}

const struct kernel latency_kernel = {
    "latency", 0,      {PART_TIME, "memory_latency", "s", NULL, NULL, LINES},
    prepare,   NULL,   NULL,
    run,       verify, corrupt,
    release};
