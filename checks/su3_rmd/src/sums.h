/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_SUMS_H
#define SU3_SUMS_H

#include <mpi.h>

/* Sums over the lattice that do not depend on the order of the terms, so neither on the rank
 * count nor on the layout, bit for bit: each term is split into a multiple of 2^-20 and a
 * remainder in multiples of 2^-52, and both are added as integers. Terms: |x| < 2^12, at most 2^30
 * of them; a term outside (or a NaN) makes the whole sum NaN. Cost: two roundings a term. */
struct sum {
    long long coarse, fine;
    long long bad; /* terms out of range */
};

enum { SUM_INTEGERS = 3 };

void sum_add(struct sum *sum, double term);

/* Add up `count` sums over comm into values, on all ranks. Collective: one MPI_Allreduce. count is
 * at most SUMS_MOST. */
enum { SUMS_MOST = 8 };
void sums_finish(const struct sum *sums, int count, double *values, MPI_Comm comm);

#endif
