/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include "assay/fail.h"

#include <stddef.h>

#define ROOT 0
#define NEVER (-1.0f) /* never a value or a sum of values */

/* 0 … 250; 251 is prime, so that a shift by a rank, a block or an element changes the value. */
static float value(int source, int block, int element) {
    return (float)((131L * source + 17L * block + 7L * element) % 251);
}

static float sum(int ranks, int block, int element) {
    float total = 0;
    for (int source = 0; source < ranks; source++)
        total += value(source, block, element);
    return total;
}

/* The expected element of block `block` of this rank's result. */
static float expected(const struct exchange *x, int block, int element) {
    const struct operation *operation = x->operation;
    int part = operation->part_of_rank ? x->rank : 0;
    switch (operation->of) {
    case SUM_OF_ALL:
        return sum(x->ranks, part, element);
    case SUM_UP_TO_RANK:
        return sum(x->rank + 1, part, element);
    case VALUE_OF_BLOCK:
        return value(block, part, element);
    default:
        return value(ROOT, part, element);
    }
}

static void barrier(const struct exchange *x) {
    (void)x;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcast(const struct exchange *x) {
    MPI_Bcast(x->incoming, x->count, MPI_FLOAT, ROOT, MPI_COMM_WORLD);
}

static void gather(const struct exchange *x) {
    MPI_Gather(x->outgoing, x->count, MPI_FLOAT, x->incoming, x->count, MPI_FLOAT, ROOT,
               MPI_COMM_WORLD);
}

static void scatter(const struct exchange *x) {
    MPI_Scatter(x->outgoing, x->count, MPI_FLOAT, x->incoming, x->count, MPI_FLOAT, ROOT,
                MPI_COMM_WORLD);
}

static void reduce(const struct exchange *x) {
    MPI_Reduce(x->outgoing, x->incoming, x->count, MPI_FLOAT, MPI_SUM, ROOT, MPI_COMM_WORLD);
}

static void scan(const struct exchange *x) {
    MPI_Scan(x->outgoing, x->incoming, x->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void total_exchange(const struct exchange *x) {
    MPI_Alltoall(x->outgoing, x->count, MPI_FLOAT, x->incoming, x->count, MPI_FLOAT,
                 MPI_COMM_WORLD);
}

static void allreduce(const struct exchange *x) {
    MPI_Allreduce(x->outgoing, x->incoming, x->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(const struct exchange *x) {
    MPI_Allgather(x->outgoing, x->count, MPI_FLOAT, x->incoming, x->count, MPI_FLOAT,
                  MPI_COMM_WORLD);
}

static void reduce_scatter(const struct exchange *x) {
    MPI_Reduce_scatter(x->outgoing, x->incoming, x->counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

const struct operation operations[OPERATIONS] = {
    {"barrier", barrier, BLOCKS_NONE, VALUE_OF_ROOT, 0, 0},
    {"broadcast", broadcast, BLOCKS_ONE, VALUE_OF_ROOT, 0, 0},
    {"gather", gather, BLOCKS_ALL, VALUE_OF_BLOCK, 0, 1},
    {"scatter", scatter, BLOCKS_ONE, VALUE_OF_ROOT, 1, 0},
    {"reduce", reduce, BLOCKS_ONE, SUM_OF_ALL, 0, 1},
    {"scan", scan, BLOCKS_ONE, SUM_UP_TO_RANK, 0, 0},
    {"total_exchange", total_exchange, BLOCKS_ALL, VALUE_OF_BLOCK, 1, 0},
    {"allreduce", allreduce, BLOCKS_ONE, SUM_OF_ALL, 0, 0},
    {"allgather", allgather, BLOCKS_ALL, VALUE_OF_BLOCK, 0, 0},
    {"reduce_scatter", reduce_scatter, BLOCKS_ONE, SUM_OF_ALL, 1, 0},
};

const char *const operation_names[OPERATIONS + 1] = {
    "barrier",        "broadcast", "gather",    "scatter",        "reduce", "scan",
    "total_exchange", "allreduce", "allgather", "reduce_scatter", NULL,
};

void exchange_fill(struct exchange *x) {
    for (int block = 0; block < x->ranks; block++)
        for (int element = 0; element < x->count; element++) {
            size_t place = (size_t)block * (size_t)x->count + (size_t)element;
            x->outgoing[place] = value(x->rank, block, element);
            x->incoming[place] = NEVER;
        }
    if (x->operation->run == broadcast && x->rank == ROOT)
        for (int element = 0; element < x->count; element++)
            x->incoming[element] = value(ROOT, 0, element);
}

void exchange_verify(struct exchange *x) {
    const struct operation *operation = x->operation;
    int last = operation->result_at_root ? ROOT : x->ranks - 1;
    int blocks = operation->result == BLOCKS_ALL ? x->ranks : operation->result == BLOCKS_ONE;
    if (operation->result_at_root && x->rank != ROOT)
        blocks = 0;
    if (x->fault && blocks && x->rank == last)
        x->incoming[(size_t)blocks * (size_t)x->count - 1] += 1;
    for (int block = 0; block < blocks; block++)
        for (int element = 0; element < x->count; element++) {
            float found = x->incoming[(size_t)block * (size_t)x->count + (size_t)element];
            float right = expected(x, block, element);
            fail_answer(found != right, __func__,
                        "%s of %d floats over %d ranks: element %d of block %d is %.9g, must be "
                        "%.9g",
                        operation->name, x->count, x->ranks, element, block, (double)found,
                        (double)right);
        }
}
