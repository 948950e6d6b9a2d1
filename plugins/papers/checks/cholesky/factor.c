/* SPDX-License-Identifier: Apache-2.0 */
#include "factor.h"

#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/shuffle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Uniform in -0.5 … 0.5, by a seed and a number alone. */
static double random_number(uint64_t seed, uint64_t number) {
    struct generator generator = {seed + number};
    generator.state = generator_next(&generator);
    return (double)(generator_next(&generator) >> 11) / 9007199254740992.0 - 0.5;
}

/* A(i, j) for i >= j. */
static double element(const struct factor *f, int i, int j) {
    uint64_t number = (uint64_t)i * (uint64_t)f->n + (uint64_t)j;
    return i == j ? (double)f->n : random_number(f->seed, number);
}

static double *column(const struct factor *f, int index) {
    return f->own + (size_t)index * (size_t)f->n;
}

void factor_make(struct factor *f, MPI_Comm comm, int n, uint64_t seed) {
    f->comm = comm;
    MPI_Comm_rank(comm, &f->rank);
    MPI_Comm_size(comm, &f->ranks);
    f->n = n;
    f->seed = seed;
    f->columns = n > f->rank ? (n - f->rank - 1) / f->ranks + 1 : 0;
    f->own = buffer_make((size_t)f->columns * (size_t)n, sizeof *f->own);
    f->received = buffer_make((size_t)n, sizeof *f->received);
}

void factor_fill(struct factor *f) {
    for (int index = 0; index < f->columns; index++) {
        int j = f->rank + index * f->ranks;
        for (int i = j; i < f->n; i++)
            column(f, index)[i] = element(f, i, j);
    }
}

/* Divide the column by the root of its diagonal. */
static void divide(struct factor *f, double *own, int k) {
    fail_answer(!(own[k] > 0), "factor_columns", "diagonal %d of %d is %g, not positive", k, f->n,
                own[k]);
    double root = sqrt(own[k]);
    for (int i = k; i < f->n; i++)
        own[i] /= root;
}

void factor_columns(struct factor *f) {
    for (int k = 0; k < f->n; k++) {
        int owner = k % f->ranks;
        double *divided = f->received;
        if (f->rank == owner) {
            divided = column(f, k / f->ranks);
            divide(f, divided, k);
        }
        MPI_Bcast(divided + k, f->n - k, MPI_DOUBLE, owner, f->comm);
        int first = k / f->ranks + (f->rank <= owner);
        for (int index = first; index < f->columns; index++) {
            int j = f->rank + index * f->ranks;
            double *own = column(f, index), above = divided[j];
            for (int i = j; i < f->n; i++)
                own[i] -= above * divided[i];
        }
    }
}

/* Sum a vector over the ranks; the result replaces it on all of them. */
static void sum_vector(const struct factor *f, double *vector) {
    double *all = buffer_make((size_t)f->n, sizeof *all);
    MPI_Allreduce(vector, all, f->n, MPI_DOUBLE, MPI_SUM, f->comm);
    memcpy(vector, all, (size_t)f->n * sizeof *all);
    free(all);
}

double factor_residual(const struct factor *f) {
    int n = f->n;
    double *x = buffer_make((size_t)n, sizeof *x), *by_a = buffer_make((size_t)n, sizeof *by_a);
    double *by_l = buffer_make((size_t)n, sizeof *by_l);
    double most_x = 0, most_a = 0, most = 0;
    for (int i = 0; i < n; i++)
        x[i] = random_number(~f->seed, (uint64_t)i);
    for (int index = 0; index < f->columns; index++) {
        int j = f->rank + index * f->ranks;
        const double *own = column(f, index);
        double y = 0;
        for (int i = j; i < n; i++)
            y += own[i] * x[i];
        for (int i = j; i < n; i++) {
            double a = element(f, i, j);
            by_l[i] += own[i] * y;
            by_a[i] += a * x[j];
            if (i > j)
                by_a[j] += a * x[i];
        }
    }
    sum_vector(f, by_a);
    sum_vector(f, by_l);
    for (int i = 0; i < n; i++) {
        most_x = fmax(most_x, fabs(x[i]));
        most_a = fmax(most_a, fabs(by_a[i]));
        double away = fabs(by_a[i] - by_l[i]);
        most = away <= most ? most : away; /* keeps what is no number */
    }
    free(x);
    free(by_a);
    free(by_l);
    return most / (DBL_EPSILON * n * fmax(most_a, DBL_MIN) * fmax(most_x, DBL_MIN));
}
