/* SPDX-License-Identifier: Apache-2.0 */
/* Most memory that a program can allocate (T. H. Dunigan, ORNL/TM-10881, 1988, table 5: malloc
 * until it fails). Modern systems provide pages only when they are touched, and kill programs when
 * none are left: so every page is touched by a child process that stops where the kernel, its
 * control groups or Slurm say that no more is left (available.h); and should the
 * kernel kill after all, it kills the child first (oom_score_adj), and what the child had counts.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "available.h"
#include "kernel.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK_BYTES (16LL << 20)
#define PAGE_BYTES 4096
/* Room for what the ranks of a node take between asking and touching. */
#define ROOM_CHUNKS 2

/* What the child tells, in memory that both share; it outlives the child. */
struct progress {
    volatile long long got;
    volatile int wrong;
};

struct memory {
    long long bound; /* most that this rank takes */
    long long ranks; /* of the node */
    struct progress *progress;
};

static void *prepare(const struct node_settings *settings) {
    struct memory *memory = calloc(1, sizeof *memory);
    void *shared = mmap(NULL, sizeof *memory->progress, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!memory || shared == MAP_FAILED)
        return NULL;
    long long available = available_bytes("", 0, 1), half = available / 2;
    memory->progress = shared;
    memory->ranks = settings->ranks_on_node;
    memory->bound = settings->memory_bytes < half ? settings->memory_bytes : half;
    /* Shares of all: a rank that ends early leaves no room to the others. */
    if (settings->memory_bytes == 0)
        memory->bound = available;
    memory->bound /= memory->ranks;
    return memory;
}

/* The child: touch page after page, verify them all, end. */
static void grow(struct memory *memory, int fault) {
    struct progress *progress = memory->progress;
    unsigned char **chunks = calloc((size_t)(memory->bound / CHUNK_BYTES) + 1, sizeof *chunks);
    long long room = ROOM_CHUNKS * CHUNK_BYTES * memory->ranks;
    size_t count = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int score = open("/proc/self/oom_score_adj", O_WRONLY);
    if (score >= 0 && write(score, "1000", 4) == 4)
        close(score);
    while (chunks && progress->got + PAGE_BYTES <= memory->bound) {
        long long bytes = memory->bound - progress->got;
        bytes = bytes < CHUNK_BYTES ? bytes / PAGE_BYTES * PAGE_BYTES : CHUNK_BYTES;
        if (available_bytes("", progress->got, memory->ranks) < bytes + room)
            break;
        unsigned char *chunk =
            mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (chunk == MAP_FAILED)
            break;
        for (long long i = 0; i < bytes; i += PAGE_BYTES) {
            *(long long *)(void *)(chunk + i) = progress->got;
            progress->got += PAGE_BYTES;
        }
        chunks[count++] = chunk;
    }
    if (fault && count > 0)
        chunks[0][0] ^= 1;
    /* Every page holds what was written: no page was provided twice. */
    for (long long page = 0; page < progress->got; page += PAGE_BYTES) {
        const unsigned char *at = chunks[page / CHUNK_BYTES] + page % CHUNK_BYTES;
        progress->wrong |= *(const long long *)(const void *)at != page;
    }
    _exit(0);
}

static void run_child(struct memory *memory, int fault) {
    *memory->progress = (struct progress){0, 0};
    pid_t child = fork();
    if (child == 0)
        grow(memory, fault);
    if (child > 0)
        waitpid(child, NULL, 0); /* killed or not: progress tells */
}

static double run(void *state, int part) {
    struct memory *memory = state;
    (void)part;
    run_child(memory, 0);
    return (double)memory->progress->got;
}

static int verify(void *state, char *message, size_t size) {
    const struct memory *memory = state;
    if (memory->progress->wrong)
        snprintf(message, size, "memory: a page does not hold what was written there");
    else if (memory->progress->got == 0)
        snprintf(message, size, "memory: none is left on this node");
    return !memory->progress->wrong && memory->progress->got > 0;
}

static void corrupt(void *state) { run_child(state, 1); }

static void release(void *state) {
    struct memory *memory = state;
    munmap(memory->progress, sizeof *memory->progress);
    free(memory);
}

const struct kernel memory_kernel = {
    "memory", 0,      {PART_AMOUNT, "allocatable_memory", "bytes", NULL, NULL, 1},
    prepare,  NULL,   NULL,
    run,      verify, corrupt,
    release};
