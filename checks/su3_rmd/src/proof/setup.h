/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "leapfrog.h"
#include "proof/proof.h"

/* Shared by the proofs. All functions are collective over MPI_COMM_WORLD unless stated. */

/* An upper bound of the rounding errors of a few steps; tolerances are multiples of it. */
#ifdef SU3_SINGLE
#define SETUP_ROUNDING 2e-5
#else
#define SETUP_ROUNDING 2e-13
#endif

/* A simulation of the given lattice, laid out by the rule, with seeded generators and warm links.
 * Ends the program if the ranks do not divide the lattice. */
void setup_make(struct simulation *simulation, const int size[DIRECTIONS],
                const struct kernels *kernels, enum halo_mode mode, int overlap);

/* The kernel sets that this CPU can run, best last; NULL-terminated. Local. */
const struct kernels **setup_kernels(void);

/* All links (reals 18) or momenta (reals 8) of the global lattice in the order of site, direction,
 * element, on every rank; the caller frees it. */
double *setup_gather(const struct simulation *simulation, const real *field, int reals);

/* The greatest difference of two such arrays; the number of their elements. Local. */
double setup_difference(const double *a, const double *b, long count);
long setup_count(const struct simulation *simulation, int reals);

/* Copy such an array into all lanes of the field. Local. */
void setup_scatter(const struct simulation *simulation, real *field, int reals,
                   const double *values);

/* Total energy H = kinetic + S, with S = 0 for the cold lattice. */
double setup_energy(struct simulation *simulation, double beta);

/* MPI_Finalize and the exit status of all ranks' proofs; only rank 0 should have printed. */
int setup_end(void);

/* proof_deviation on rank 0, with the greatest value of all ranks; 0 is expected. format and what
 * follows: the property, as in printf. */
void setup_deviation(double value, double tolerance, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
