/* SPDX-License-Identifier: Apache-2.0 */
/* Most memory that a program can allocate (T. H. Dunigan, ORNL/TM-10881, 1988, table 5: malloc
 * until it fails). Modern systems provide pages only when they are touched, and kill programs when
 * none are left: so every page is touched, and the amount is bounded by the settings and by half of
 * the available memory. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)1 << 20)
#define PAGE_BYTES 4096

struct piece {
    struct piece *next;
};

struct memory {
    long long bound, got;
    struct piece *pieces;
};

static void *prepare(const struct node_settings *settings) {
    char line[256];
    long long kibibytes = -1;
    struct memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->bound = settings->memory_bytes;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && kibibytes < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kibibytes) != 1)
            kibibytes = -1;
    if (file)
        fclose(file);
    if (kibibytes >= 0 && 512 * kibibytes < memory->bound)
        memory->bound = 512 * kibibytes; /* half of what is available */
    memory->bound /= settings->ranks_on_node;
    return memory;
}

static void give_back(void *state, int part) {
    struct memory *memory = state;
    (void)part;
    while (memory->pieces) {
        struct piece *next = memory->pieces->next;
        free(memory->pieces);
        memory->pieces = next;
    }
    memory->got = 0;
}

static double run(void *state, int part) {
    struct memory *memory = state;
    (void)part;
    while (memory->got + (long long)CHUNK_BYTES <= memory->bound) {
        unsigned char *bytes = malloc(CHUNK_BYTES);
        if (!bytes)
            break;
        for (size_t i = 0; i < CHUNK_BYTES; i += PAGE_BYTES)
            bytes[i + PAGE_BYTES / 2] = (unsigned char)(i / PAGE_BYTES);
        struct piece *piece = (struct piece *)(void *)bytes;
        piece->next = memory->pieces;
        memory->pieces = piece;
        memory->got += (long long)CHUNK_BYTES;
    }
    return (double)memory->got;
}

/* Every page holds what was written: no page was provided twice. */
static int verify(void *state, char *message, size_t size) {
    const struct memory *memory = state;
    long long found = 0;
    for (const struct piece *piece = memory->pieces; piece; piece = piece->next) {
        const unsigned char *bytes = (const unsigned char *)piece;
        for (size_t i = 0; i < CHUNK_BYTES; i += PAGE_BYTES)
            if (bytes[i + PAGE_BYTES / 2] != (unsigned char)(i / PAGE_BYTES)) {
                snprintf(message, size, "memory: a page does not hold what was written there");
                return 0;
            }
        found += (long long)CHUNK_BYTES;
    }
    if (found == memory->got)
        return 1;
    snprintf(message, size, "memory: %lld bytes found, %lld were allocated", found, memory->got);
    return 0;
}

static void corrupt(void *state) {
    struct memory *memory = state;
    if (memory->pieces)
        ((unsigned char *)memory->pieces)[PAGE_BYTES / 2] ^= 1;
    else
        memory->got++;
}

static void release(void *state) {
    give_back(state, 0);
    free(state);
}

const struct kernel memory_kernel = {
    "memory", 0,      {PART_AMOUNT, "allocatable_memory", "bytes", NULL, NULL, 1},
    prepare,  NULL,   give_back,
    run,      verify, corrupt,
    release};
