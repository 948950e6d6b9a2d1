/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>
#include <stdint.h>

/* Cholesky factorisation A = L·Lᵀ by columns over the ranks of a communicator, as on the hypercubes
 * of 1988 (T. H. Dunigan, ORNL/TM-10881, section on Cholesky; the fan-out method): column k lies on
 * rank k mod ranks; its owner divides it by the root of its diagonal and sends it to all, and every
 * rank subtracts it from its own later columns. n³/3 + n²/2 + n/6 operations, n broadcasts.
 *
 * A has uniform random numbers in -0.5 … 0.5 off the diagonal and n on it: symmetric and, by its
 * diagonal, positive definite. */
struct factor {
    MPI_Comm comm;
    int rank, ranks;
    int n;
    int columns;      /* of this rank: rank, rank + ranks, … */
    double *own;      /* columns × n, column by column; A's, then L's lower triangle */
    double *received; /* the column of the present step, n */
    uint64_t seed;    /* of A */
};

/* Allocate for matrices of order n, to the end of the process. Local. */
void factor_make(struct factor *factor, MPI_Comm comm, int n, uint64_t seed);

/* Write A. Local. */
void factor_fill(struct factor *factor);

/* Replace A by L. A diagonal that is not positive ends the run
 * (fail_answer). Collective over comm. */
void factor_columns(struct factor *factor);

/* max |A·x − L·(Lᵀ·x)| over ε·n·max|A·x|·max|x| for a random vector x, on every rank. Collective
 * over comm. */
double factor_residual(const struct factor *factor);
