/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* c = a·b for square matrices of order n by columns: the tuned BLAS, and three plain loops. */
void multiply_blas(int n, const double *a, const double *b, double *c);
void multiply_plain(int n, const double *a, const double *b, double *c);

/* Freivalds' test (1979): ||c·x − a·(b·x)|| / (eps n ||a|| ||b||) in maximum norms for a random x
 * of ±1, in O(n²); below 1 for a right product, infinite for NaN. work: room for 3·n. Local. */
double multiply_error(int n, const double *a, const double *b, const double *c, double *work);
