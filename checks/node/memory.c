/* SPDX-License-Identifier: Apache-2.0 */
/* Greatest memory that a program gets (T. H. Dunigan, ORNL/TM-10881, 1988, table 5: malloc until it
 * fails). Memory that nobody touched costs nothing on systems of today, and touching all of it gets
 * programs killed: every page is touched, and no more is asked for than the settings allow and half
 * of what the system calls available. */
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

/* Half of the line MemAvailable; without one, the settings alone bound. */
static long long half_of_available(void) {
    char line[256];
    long long kibibytes = -1;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && kibibytes < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kibibytes) != 1)
            kibibytes = -1;
    if (file)
        fclose(file);
    return kibibytes < 0 ? -1 : kibibytes * 512;
}

static void *prepare(const struct node_settings *settings) {
    struct memory *memory = calloc(1, sizeof *memory);
    long long available = half_of_available();
    if (!memory)
        return NULL;
    memory->bound = settings->memory_bytes;
    if (available >= 0 && available < memory->bound)
        memory->bound = available;
    memory->bound /= settings->ranks_on_node;
    return memory;
}

static int parts(const void *state, struct part *parts) {
    (void)state;
    parts[0] = (struct part){PART_AMOUNT, "allocatable_memory", "bytes", NULL, NULL, 1};
    return 1;
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

/* Every page still holds what was written: nothing was given twice. */
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

const struct kernel memory_kernel = {"memory", prepare, parts,   give_back,
                                     run,      verify,  corrupt, release};
