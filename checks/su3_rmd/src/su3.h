/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "real.h"

/* 3 x 3 complex matrices with plain operations: the reference for the vector kernels, and for code
 * whose speed does not matter. Arguments must not overlap the result. Local. */
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

/* The traceless antihermitian part, TA(a) = (a - a†)/2 - Tr(a - a†)/6, as MOMENTUM_REALS reals;
 * and the matrix of such reals. */
void su3_momentum(real momentum[MOMENTUM_REALS], const su3 *a);
void su3_from_momentum(su3 *c, const real momentum[MOMENTUM_REALS]);

/* u <- exp(eps P) u by the Taylor series to sixth order, in Horner's form. */
void su3_exp_mul(su3 *u, const real momentum[MOMENTUM_REALS], real eps);

/* Normalise row 0, orthogonalise and normalise row 1, row 2 = conj(row 0 x row 1). Returns the
 * deviation before that: the greatest of | |row 0|² - 1 |, | |row 1|² - 1 |, |row 0* · row 1|. */
real su3_reunitarise(su3 *u);

/* Greatest |element| of u u† - 1 and of row 2 - conj(row 0 x row 1). */
real su3_deviation(const su3 *u);
