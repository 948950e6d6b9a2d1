/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Solve a·x = b of order n, a by columns; a and b are overwritten, b by x. Returns 0 unless a is
 * singular. Local. solve_plain: Gaussian elimination with partial pivoting, unblocked, by columns,
 * as LINPACK's dgefa and dgesl; solve_lapack: LAPACK's dgetrf and dgetrs. */
int solve_plain(int n, double *a, double *b);
int solve_lapack(int n, double *a, double *b);

/* HPL's scaled residual ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n), maximum norms; infinite if an
 * element of x is NaN. */
double solve_residual(int n, const double *a, const double *b, const double *x);
