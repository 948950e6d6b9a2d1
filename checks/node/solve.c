/* SPDX-License-Identifier: Apache-2.0 */
/* Dense linear systems: LINPACK of order 100 as compiled, unblocked (J. J. Dongarra, Performance of
 * Various Computers Using Standard Linear Equations Software: dgefa and dgesl by columns), LINPACK
 * of order 1000 by any means (LAPACK on the tuned BLAS), and one of a chosen order with HPL's
 * operation count. The answer must pass HPL's residual test. */
#include "solve.h"
#include "kernel.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GREATEST_RESIDUAL 16.0 /* HPL's usual threshold */

void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void dgetrs_(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda,
             const int *pivots, double *b, const int *ldb, int *info);

FOR_EVERY_PROCESSOR static void add_multiple(double *restrict y, const double *restrict x,
                                             double factor, int n) {
    for (int i = 0; i < n; i++)
        y[i] += factor * x[i];
}

static int greatest(const double *x, int n) {
    int at = 0;
    for (int i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[at]))
            at = i;
    return at;
}

static void exchange(double *x, double *y) {
    double held = *x;
    *x = *y;
    *y = held;
}

int solve_plain(int n, double *a, double *b) {
    for (int k = 0; k < n; k++) {
        double *column = a + (size_t)k * (size_t)n;
        int pivot = k + greatest(column + k, n - k);
        if (column[pivot] == 0)
            return -1;
        exchange(&column[k], &column[pivot]);
        for (int i = k + 1; i < n; i++)
            column[i] /= -column[k];
        for (int j = k + 1; j < n; j++) {
            double *other = a + (size_t)j * (size_t)n;
            exchange(&other[k], &other[pivot]);
            add_multiple(other + k + 1, column + k + 1, other[k], n - k - 1);
        }
        exchange(&b[k], &b[pivot]);
        add_multiple(b + k + 1, column + k + 1, b[k], n - k - 1);
    }
    for (int k = n - 1; k >= 0; k--) {
        const double *column = a + (size_t)k * (size_t)n;
        b[k] /= column[k];
        add_multiple(b, column, -b[k], k);
    }
    return 0;
}

int solve_lapack(int n, double *a, double *b) {
    int one = 1, info = 0, *pivots = malloc((size_t)n * sizeof *pivots);
    if (!pivots)
        return -1;
    dgetrf_(&n, &n, a, &n, pivots, &info);
    if (info == 0)
        dgetrs_("N", &n, &one, a, &n, pivots, b, &n, &info);
    free(pivots);
    return info;
}

double solve_residual(int n, const double *a, const double *b, const double *x) {
    double residual = 0, a_norm = 0, b_norm = 0, x_norm = 0;
    for (int i = 0; i < n; i++) {
        double sum = 0, row = 0;
        for (int j = 0; j < n; j++) {
            double element = a[(size_t)j * (size_t)n + (size_t)i];
            sum += element * x[j];
            row += fabs(element);
        }
        residual = fmax(residual, fabs(sum - b[i]));
        if (isnan(sum))
            return INFINITY;
        a_norm = fmax(a_norm, row);
        b_norm = fmax(b_norm, fabs(b[i]));
        x_norm = fmax(x_norm, fabs(x[i]));
    }
    return residual / (DBL_EPSILON * (a_norm * x_norm + b_norm) * n);
}

/* One system and how it is solved. */
struct system {
    int n, failed;
    int (*solve)(int n, double *a, double *b);
    const char *metric;
    double operations;
    double *matrix, *right, *work, *answer; /* as given; overwritten by a run */
};

static void release(void *state) {
    struct system *system = state;
    free(system->matrix);
    free(system->right);
    free(system->work);
    free(system->answer);
    free(system);
}

static void *prepare(int n, uint64_t seed, int (*solve)(int, double *, double *),
                     const char *metric, double operations) {
    struct system *system = calloc(1, sizeof *system);
    size_t order = (size_t)n, bytes = order * order * sizeof(double);
    if (!system)
        return NULL;
    *system = (struct system){n,
                              0,
                              solve,
                              metric,
                              operations,
                              malloc(bytes),
                              malloc(order * sizeof(double)),
                              malloc(bytes),
                              malloc(order * sizeof(double))};
    if (!system->matrix || !system->right || !system->work || !system->answer) {
        release(system);
        return NULL;
    }
    random_doubles(system->matrix, order * order, seed);
    random_doubles(system->right, order, seed + 1);
    return system;
}

static double linpack_operations(double n) { return 2 * n * n * n / 3 + 2 * n * n; }
static double hpl_operations(double n) { return 2 * n * n * n / 3 + 1.5 * n * n; }

static void *prepare_100(const struct node_settings *settings) {
    return prepare(100, settings->seed, solve_plain, "linpack_100_rate", linpack_operations(100));
}

static void *prepare_1000(const struct node_settings *settings) {
    return prepare(1000, settings->seed, solve_lapack, "linpack_1000_rate",
                   linpack_operations(1000));
}

static void *prepare_hpl(const struct node_settings *settings) {
    return prepare((int)settings->hpl_n, settings->seed, solve_lapack, "node_hpl_rate",
                   hpl_operations((double)settings->hpl_n));
}

static int parts(const void *state, struct part *parts) {
    const struct system *system = state;
    parts[0] = (struct part){PART_RATE, system->metric, "flop/s", NULL, NULL, system->operations};
    return 1;
}

static void restore(void *state, int part) {
    struct system *system = state;
    size_t n = (size_t)system->n;
    (void)part;
    memcpy(system->work, system->matrix, n * n * sizeof(double));
    memcpy(system->answer, system->right, n * sizeof(double));
}

static double run(void *state, int part) {
    struct system *system = state;
    (void)part;
    system->failed |= system->solve(system->n, system->work, system->answer) != 0;
    return 0;
}

static int verify(void *state, char *message, size_t size) {
    const struct system *system = state;
    double residual = solve_residual(system->n, system->matrix, system->right, system->answer);
    if (!system->failed && residual < GREATEST_RESIDUAL)
        return 1;
    snprintf(message, size, "order %d: scaled residual %g, allowed is below %g%s", system->n,
             residual, GREATEST_RESIDUAL, system->failed ? " (the matrix was found singular)" : "");
    return 0;
}

static void corrupt(void *state) {
    struct system *system = state;
    system->answer[system->n / 2] *= 1 + 1e-6;
}

#define SYSTEM_KERNEL(name, prepare)                                                               \
    {name, 0, {0}, prepare, parts, restore, run, verify, corrupt, release}

const struct kernel linpack_100_kernel = SYSTEM_KERNEL("linpack_100", prepare_100);
const struct kernel linpack_1000_kernel = SYSTEM_KERNEL("linpack_1000", prepare_1000);
const struct kernel hpl_kernel = SYSTEM_KERNEL("hpl", prepare_hpl);
