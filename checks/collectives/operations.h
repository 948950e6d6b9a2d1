/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_OPERATIONS_H
#define ASSAY_OPERATIONS_H

#include <mpi.h>

/* The collective operations as a table: one entry an operation. Data are MPI_FLOAT, sums are
 * MPI_SUM, the root is rank 0 of MPI_COMM_WORLD. m is the length per pair of ranks, as in Hwang,
 * Wang and Wang (1996): what one rank gives to or gets from one other; with `all` blocks a buffer
 * holds one block of m bytes for each rank. */

struct exchange {
    const struct operation *operation;
    int rank, ranks;
    int count;       /* floats in a block: m / 4 */
    float *outgoing; /* ranks × count floats */
    float *incoming; /* ranks × count floats; a broadcast is sent from here too */
    int *counts;     /* ranks entries, each count, for MPI_Reduce_scatter */
    int fault;       /* corrupt one element of the result, on purpose */
};

enum blocks { BLOCKS_NONE, BLOCKS_ONE, BLOCKS_ALL };

struct operation {
    const char *name;
    void (*run)(const struct exchange *exchange);
    /* What element of block `block` of the result must be; NULL for the barrier. */
    float (*expected)(const struct exchange *exchange, int block, int element);
    enum blocks result; /* blocks of the result on a rank that has one */
    int result_at_root; /* 1: only rank 0 has a result */
};

#define OPERATIONS 10
extern const struct operation operations[OPERATIONS];

/* The names in the same order, NULL-ended, for the command line. */
extern const char *const operation_names[OPERATIONS + 1];

/* Fill the buffers for the exchange's operation: what goes out follows from rank, block and
 * element, small whole numbers, so that every sum over up to 65,000 ranks is exact; what comes in
 * is overwritten with a value that never occurs. Local. */
void exchange_fill(struct exchange *exchange);

/* Compare the result with what it must be, element by element; a difference ends the run through
 * fail_answer. Local; outside of any timing. With `fault` the last rank that has a result first
 * corrupts one element of it. */
void exchange_verify(struct exchange *exchange);

/* Prove that MPI_Barrier holds ranks back: in turns the first, middle and last rank come late, and
 * every other rank must wait for at least half of the delay in one of a few tries. Collective;
 * a barrier that does not wait ends the run through fail_answer. With `fault` no barrier is
 * called. */
void barrier_verify(const struct exchange *exchange);

#endif
