/* SPDX-License-Identifier: Apache-2.0 */
/* DGEMM: the product of two random matrices by the BLAS that HPL uses (constant data would be
 * faster on processors that clock by power). 2n³ operations. */
#include "multiply.h"
#include "kernel.h"

#include "assay/shuffle.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);

void random_doubles(double *values, size_t count, uint64_t seed) {
    struct generator generator = {seed};
    for (size_t i = 0; i < count; i++)
        values[i] = (double)(generator_next(&generator) >> 11) * 0x1p-53 - 0.5;
}

void multiply_blas(int n, const double *a, const double *b, double *c) {
    double one = 1, zero = 0;
    dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}

void multiply_plain(int n, const double *a, const double *b, double *c) {
    size_t order = (size_t)n;
    for (size_t j = 0; j < order; j++)
        for (size_t i = 0; i < order; i++) {
            double sum = 0;
            for (size_t k = 0; k < order; k++)
                sum += a[k * order + i] * b[j * order + k];
            c[j * order + i] = sum;
        }
}

/* y = a·x; returns the maximum norm of a. */
static double apply(size_t n, const double *a, const double *x, double *y) {
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0, row = 0;
        for (size_t j = 0; j < n; j++) {
            sum += a[j * n + i] * x[j];
            row += fabs(a[j * n + i]);
        }
        y[i] = sum;
        norm = fmax(norm, row);
    }
    return norm;
}

double multiply_error(int n, const double *a, const double *b, const double *c, double *work) {
    struct generator generator = {(uint64_t)n};
    size_t order = (size_t)n;
    double *x = work, *y = work + n, *z = work + 2 * n, error = 0;
    for (size_t i = 0; i < order; i++)
        x[i] = generator_next(&generator) >> 63 ? 1 : -1;
    double b_norm = apply(order, b, x, y), a_norm = apply(order, a, y, z);
    apply(order, c, x, y);
    for (size_t i = 0; i < order; i++) {
        if (isnan(y[i]))
            return INFINITY;
        error = fmax(error, fabs(y[i] - z[i]));
    }
    return error / (DBL_EPSILON * n * a_norm * b_norm);
}

struct product {
    int n;
    double *a, *b, *c, *work;
};

static void release(void *state) {
    struct product *product = state;
    free(product->a);
    free(product->b);
    free(product->c);
    free(product->work);
    free(product);
}

static void *prepare(const struct node_settings *settings) {
    struct product *product = calloc(1, sizeof *product);
    size_t n = (size_t)settings->dgemm_n, bytes = n * n * sizeof(double);
    if (!product)
        return NULL;
    *product = (struct product){(int)n, malloc(bytes), malloc(bytes), calloc(n * n, sizeof(double)),
                                malloc(3 * n * sizeof(double))};
    if (!product->a || !product->b || !product->c || !product->work) {
        release(product);
        return NULL;
    }
    random_doubles(product->a, n * n, settings->seed);
    random_doubles(product->b, n * n, settings->seed + 1);
    return product;
}

static int parts(const void *state, struct part *parts) {
    double n = ((const struct product *)state)->n;
    parts[0] = (struct part){PART_RATE, "dgemm_rate", "flop/s", NULL, NULL, 2 * n * n * n};
    return 1;
}

static double run(void *state, int part) {
    struct product *product = state;
    (void)part;
    multiply_blas(product->n, product->a, product->b, product->c);
    return 0;
}

static int verify(void *state, char *message, size_t size) {
    const struct product *product = state;
    double error = multiply_error(product->n, product->a, product->b, product->c, product->work);
    if (error < 1)
        return 1;
    snprintf(message, size, "DGEMM of order %d: scaled error %g, allowed is below 1", product->n,
             error);
    return 0;
}

static void corrupt(void *state) {
    struct product *product = state;
    product->c[product->n / 2] += 1e-6;
}

const struct kernel dgemm_kernel = {"dgemm", 0,   {0},    prepare, parts,
                                    NULL,    run, verify, corrupt, release};
