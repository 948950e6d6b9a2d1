/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* The collective operations as a table. Data are MPI_FLOAT, reductions MPI_SUM, the root is rank 0
 * of MPI_COMM_WORLD. The message length m is per pair of ranks, as in Hwang, Wang and Wang (1996):
 * the bytes that one rank sends to one other; a buffer holds one block of m bytes for each rank. */

struct exchange {
    const struct operation *operation;
    int rank, ranks;
    int count;       /* floats in a block: m / 4 */
    float *outgoing; /* ranks × count floats */
    float *incoming; /* ranks × count floats; also the buffer of a broadcast */
    int *counts;     /* ranks entries, each count, for MPI_Reduce_scatter */
    int fault;       /* deliberate fault: corrupt one element of the result */
};

enum blocks { BLOCKS_NONE, BLOCKS_ONE, BLOCKS_ALL };
enum content { VALUE_OF_ROOT, VALUE_OF_BLOCK, SUM_OF_ALL, SUM_UP_TO_RANK };

struct operation {
    const char *name;
    void (*run)(const struct exchange *exchange);
    enum blocks result; /* blocks of the result on a rank that has one */
    enum content of;    /* block b: the root's or rank b's data, or the sum of ranks */
    int part_of_rank;   /* 1: of the block that belongs to this rank; 0: of the first block */
    int result_at_root; /* 1: only rank 0 has a result */
};

#define OPERATIONS 10
extern const struct operation operations[OPERATIONS];

/* The names in the same order, NULL-terminated, for the command line. */
extern const char *const operation_names[OPERATIONS + 1];

/* Fill the buffers for the exchange's operation: outgoing with small whole numbers determined by
 * rank, block and element, whose sums over up to 65,000 ranks are exact; incoming with a value that
 * never occurs. Local. */
void exchange_fill(struct exchange *exchange);

/* Compare every element of the result with the expected one; a difference ends the run
 * (fail_answer). With `fault` the last rank that has a result first corrupts one element. Local. */
void exchange_verify(struct exchange *exchange);

/* Prove that MPI_Barrier waits: the first, the middle and the last rank in turn enter late, and
 * every other rank must wait for at least half of the delay in one of several tries. A barrier that
 * does not wait ends the run (fail_answer). With `fault` no barrier is called. Collective over all
 * ranks. */
void barrier_verify(const struct exchange *exchange);
