/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_SU3_H
#define SU3_SU3_H

#include "real.h"

/* One 3 x 3 complex matrix and the plain operations on it: the reference for the vector kernels,
 * and the tool wherever speed does not count. Arguments may not overlap the result. */
typedef struct {
    real re, im;
} complex_number;

typedef struct {
    complex_number e[3][3];
} su3;

/* Products: c = a b, c = a† b, c = a b†. */
void su3_mul(su3 *c, const su3 *a, const su3 *b);
void su3_dag_mul(su3 *c, const su3 *a, const su3 *b);
void su3_mul_dag(su3 *c, const su3 *a, const su3 *b);

void su3_identity(su3 *c);
void su3_add(su3 *c, const su3 *a);                    /* c += a */
void su3_add_scaled(su3 *c, real scale, const su3 *a); /* c += scale a */
real su3_trace_re_dag(const su3 *a, const su3 *b);     /* Re Tr(a b†) */

/* The traceless antihermitian part, TA(a) = (a - a†)/2 - Tr(a - a†)/6, as MOMENTUM_REALS numbers;
 * and the matrix that such numbers stand for. */
void su3_momentum(real momentum[MOMENTUM_REALS], const su3 *a);
void su3_from_momentum(su3 *c, const real momentum[MOMENTUM_REALS]);

/* u <- exp(eps P) u by the Taylor series to sixth order, in Horner's form. */
void su3_exp_mul(su3 *u, const real momentum[MOMENTUM_REALS], real eps);

/* Normalise row 0, orthogonalise and normalise row 1, row 2 = conj(row 0 x row 1). Returns the
 * deviation before: the greatest of | |row 0|² - 1 |, | |row 1|² - 1 |, |row 0* · row 1|. */
real su3_reunitarise(su3 *u);

/* Greatest |element| of u u† - 1 and of row 2 - conj(row 0 x row 1). */
real su3_deviation(const su3 *u);

#endif
