/* SPDX-License-Identifier: Apache-2.0 */
/* The one call of the BLAS that the kernel dgemm needs, as compiled: C = A·B of square matrices in
 * blocks that fit a first-level cache. Its rate is compared with that of the same code on other
 * nodes only; it is not a node's greatest. */
#include "../kernel.h"

#define BLOCK 64

/* c[BLOCK columns] += a·b for BLOCK rows of a column-major block. */
FOR_EVERY_PROCESSOR static void multiply_block(int n, int rows, int columns, int inner,
                                               const double *restrict a, const double *restrict b,
                                               double *restrict c) {
    for (int j = 0; j < columns; j++)
        for (int k = 0; k < inner; k++) {
            double factor = b[(size_t)j * (size_t)n + (size_t)k];
            const double *restrict column = a + (size_t)k * (size_t)n;
            double *restrict sum = c + (size_t)j * (size_t)n;
            for (int i = 0; i < rows; i++)
                sum[i] += column[i] * factor;
        }
}

void dgemm_(const char *transa, const char *transb, const int *m, const int *order, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);

void dgemm_(const char *transa, const char *transb, const int *m, const int *order, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc) {
    int n = *order;
    size_t side = (size_t)n;
    (void)transa, (void)transb, (void)m, (void)k, (void)alpha, (void)lda, (void)ldb, (void)beta;
    (void)ldc;
    for (size_t i = 0; i < side * side; i++)
        c[i] = 0;
    for (int jj = 0; jj < n; jj += BLOCK)
        for (int kk = 0; kk < n; kk += BLOCK)
            for (int ii = 0; ii < n; ii += BLOCK) {
                int rows = n - ii < BLOCK ? n - ii : BLOCK;
                int columns = n - jj < BLOCK ? n - jj : BLOCK;
                int inner = n - kk < BLOCK ? n - kk : BLOCK;
                multiply_block(n, rows, columns, inner, a + (size_t)kk * side + (size_t)ii,
                               b + (size_t)jj * side + (size_t)kk,
                               c + (size_t)jj * side + (size_t)ii);
            }
}
