/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* Sums over the lattice that are independent of the order of the terms, and so of rank count and
 * layout, bit for bit: each term is split into a multiple of 2^-20 and a remainder in multiples of
 * 2^-52, and both are added as integers. At most 2^30 terms of |x| < 2^12; a term outside (or a
 * NaN) makes the sum NaN. Cost: two roundings a term. */
struct sum {
    long long coarse, fine;
    long long bad; /* terms out of range */
};

enum { SUM_INTEGERS = 3 };

void sum_add(struct sum *sum, double term);

/* Write the totals over comm of `count` sums, at most SUMS_MOST, into values on all ranks.
 * Collective over comm: one MPI_Allreduce. */
enum { SUMS_MOST = 8 };
void sums_finish(const struct sum *sums, int count, double *values, MPI_Comm comm);
