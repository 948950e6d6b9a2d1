/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A kernel is a piece of work with parts that are timed one by one. Each rank prepares its own
 * data, runs every part as often as requested and verifies the result. Local. */

struct node_settings {
    long long stream_bytes;   /* bytes of each of the three STREAM arrays, a rank */
    long long dgemm_n, hpl_n; /* orders of matrices */
    long long memory_bytes;   /* most memory to allocate on a node; 0: all that it gives */
    long long ranks_on_node;  /* share memory_bytes */
    int repetitions;          /* runs of every part */
    uint64_t seed;            /* of this rank's data */
};

enum part_kind {
    PART_RATE,  /* value = work of all ranks of the node / time of the slowest rank */
    PART_TIME,  /* value = time of the slowest rank / work */
    PART_AMOUNT /* value = sum over the node's ranks of what run returned */
};

struct part {
    enum part_kind kind;
    const char *metric, *unit;
    const char *operand, *operation; /* NULL unless one metric has several operations */
    double work;                     /* bytes, operations or executions of one run */
};

/* Most parts of one kernel. */
#define PARTS 16

struct kernel {
    const char *name;
    size_t bytes;     /* zeroed, the data of one rank if prepare is NULL */
    struct part part; /* the only one if parts is NULL */
    /* The data of one rank, or NULL if out of memory. */
    void *(*prepare)(const struct node_settings *settings);
    /* Write the parts, at most PARTS; returns their number. */
    int (*parts)(const void *state, struct part *parts);
    /* Reset the data of a part, outside the timed interval; may be NULL. */
    void (*restore)(void *state, int part);
    double (*run)(void *state, int part);
    /* 1 if every result is right, else 0 with the error in message. */
    int (*verify)(void *state, char *message, size_t size);
    /* Corrupt one result, so that verify must return 0. */
    void (*corrupt)(void *state);
    void (*release)(void *state);
};

/* A kernel on zeroed data of one type, whose only metric is the time of an execution. */
#define KERNEL_TIMED(name, type, restore, run, verify, corrupt)                                    \
    {name, sizeof(type), {PART_TIME, name "_time", "s", NULL, NULL, 1},                            \
     NULL, NULL,         restore,                                                                  \
     run,  verify,       corrupt,                                                                  \
     free}

/* prepare and parts of any kernel. */
void *kernel_prepare(const struct kernel *kernel, const struct node_settings *settings);
int kernel_parts(const struct kernel *kernel, const void *state, struct part *parts);

extern const struct kernel stream_kernel, dgemm_kernel, hpl_kernel, linpack_100_kernel,
    linpack_1000_kernel, arithmetic_kernel, sieve_kernel, floatmath_kernel, dhrystone_kernel,
    whetstone_kernel, memory_kernel;

#define KERNELS 11
extern const struct kernel *const kernels[KERNELS];

/* Uniform random numbers in -0.5 … 0.5. */
void random_doubles(double *values, size_t count, uint64_t seed);

/* Keep a variable in a register, with a value unknown to the compiler. */
#if defined(__x86_64__)
#define KEEP_INTEGER(x) __asm__ volatile("" : "+r"(x))
#define KEEP_REAL(x) __asm__ volatile("" : "+x"(x))
#elif defined(__aarch64__)
#define KEEP_INTEGER(x) __asm__ volatile("" : "+r"(x))
#define KEEP_REAL(x) __asm__ volatile("" : "+w"(x))
#else
#define KEEP_INTEGER(x) __asm__ volatile("" : "+m"(x))
#define KEEP_REAL(x) __asm__ volatile("" : "+m"(x))
#endif

/* Compiled for several instruction sets; the best available one is chosen at program start. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define FOR_EVERY_PROCESSOR
#endif
