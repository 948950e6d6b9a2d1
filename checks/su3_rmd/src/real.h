/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* The precision of the program, chosen at compile time (-DSU3_SINGLE). Sums over the lattice are
 * exact in both (sums.h). */
#ifdef SU3_SINGLE
typedef float real;
#define REAL_MPI MPI_FLOAT
#define REAL_NAME "single"
#define REAL_CHECK_FORMAT "%e"
#else
typedef double real;
#define REAL_MPI MPI_DOUBLE
#define REAL_NAME "double"
#define REAL_CHECK_FORMAT "%.16e"
#endif

enum {
    DIRECTIONS = 4,
    LINK_REALS = 18,    /* 3 x 3 complex, row by row, real part first */
    MOMENTUM_REALS = 8, /* Im m00, Im m11, m01, m02, m12; Im m22 = -(Im m00 + Im m11) */
    LANES_MOST = 16     /* most sites in a vector */
};
