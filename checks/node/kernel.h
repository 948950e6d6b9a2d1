/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_NODE_KERNEL_H
#define ASSAY_NODE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* What a node is measured by. A kernel is a piece of work with parts that are timed one by one; a
 * rank prepares its own, runs every part as often as asked, and proves the result before any
 * number counts. No function here communicates. */

struct node_settings {
    long long stream_bytes;   /* bytes of each of the three STREAM arrays, a rank */
    long long dgemm_n, hpl_n; /* orders of matrices */
    long long memory_bytes;   /* greatest memory that is asked for, a node */
    long long ranks_on_node;  /* that share it */
    int repetitions;          /* runs of every part */
    uint64_t seed;            /* of this rank's data */
};

enum part_kind {
    PART_RATE,  /* value = work of all ranks of the node over the slowest rank's time */
    PART_TIME,  /* value = the slowest rank's time over work */
    PART_AMOUNT /* value = sum of what run returned on the node's ranks */
};

struct part {
    enum part_kind kind;
    const char *metric, *unit;
    const char *operand, *operation; /* NULL unless one metric has several operations */
    double work;                     /* bytes, operations or executions of one run */
};

/* Room for parts of one kernel. */
#define PARTS 16

struct kernel {
    const char *name;
    /* Data of one rank, or NULL when there is no memory for it. */
    void *(*prepare)(const struct node_settings *settings);
    /* Write the parts, at most PARTS, and return how many there are. */
    int (*parts)(const void *state, struct part *parts);
    /* Bring the data of a part to its beginning, outside the timed interval; may be NULL. */
    void (*restore)(void *state, int part);
    double (*run)(void *state, int part);
    /* 1 if every result is right, else 0 with what is wrong in message. */
    int (*verify)(void *state, char *message, size_t size);
    /* Damage one result, so that verify must find it. */
    void (*corrupt)(void *state);
    void (*release)(void *state);
};

extern const struct kernel stream_kernel, dgemm_kernel, hpl_kernel, linpack_100_kernel,
    linpack_1000_kernel, arithmetic_kernel, sieve_kernel, floatmath_kernel, dhrystone_kernel,
    whetstone_kernel, memory_kernel;

/* Order from which matrices of one solution and of LINPACK's are made: uniform in -0.5 … 0.5. */
void random_doubles(double *values, size_t count, uint64_t seed);

/* Keep a value in a register and hide from the compiler what it is. */
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

/* Compiled several times, the best that the processor has is chosen when the program starts. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define FOR_EVERY_PROCESSOR
#endif

#endif
