/* SPDX-License-Identifier: Apache-2.0 */
#include "su3.h"

#include <math.h>
#include <string.h>

/* c += a b; a sign of -1 conjugates that factor. */
static void add_product(complex_number *c, complex_number a, real sign_a, complex_number b,
                        real sign_b) {
    a.im *= sign_a;
    b.im *= sign_b;
    c->re += a.re * b.re - a.im * b.im;
    c->im += a.re * b.im + a.im * b.re;
}

void su3_mul(su3 *c, const su3 *a, const su3 *b) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                add_product(&c->e[i][j], a->e[i][k], 1, b->e[k][j], 1);
}

void su3_dag_mul(su3 *c, const su3 *a, const su3 *b) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                add_product(&c->e[i][j], a->e[k][i], -1, b->e[k][j], 1);
}

void su3_mul_dag(su3 *c, const su3 *a, const su3 *b) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                add_product(&c->e[i][j], a->e[i][k], 1, b->e[j][k], -1);
}

void su3_identity(su3 *c) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 3; i++)
        c->e[i][i].re = 1;
}

void su3_add(su3 *c, const su3 *a) { su3_add_scaled(c, 1, a); }

void su3_add_scaled(su3 *c, real scale, const su3 *a) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            c->e[i][j].re += scale * a->e[i][j].re;
            c->e[i][j].im += scale * a->e[i][j].im;
        }
}

real su3_trace_re_dag(const su3 *a, const su3 *b) {
    real trace = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            trace += a->e[i][j].re * b->e[i][j].re + a->e[i][j].im * b->e[i][j].im;
    return trace;
}

void su3_momentum(real momentum[MOMENTUM_REALS], const su3 *a) {
    static const int row[3] = {0, 0, 1}, column[3] = {1, 2, 2};
    real third = (a->e[0][0].im + a->e[1][1].im + a->e[2][2].im) / 3;
    momentum[0] = a->e[0][0].im - third;
    momentum[1] = a->e[1][1].im - third;
    for (int m = 0; m < 3; m++) {
        complex_number upper = a->e[row[m]][column[m]], lower = a->e[column[m]][row[m]];
        momentum[2 + 2 * m] = (upper.re - lower.re) / 2;
        momentum[3 + 2 * m] = (upper.im + lower.im) / 2;
    }
}

void su3_from_momentum(su3 *c, const real momentum[MOMENTUM_REALS]) {
    static const int row[3] = {0, 0, 1}, column[3] = {1, 2, 2};
    memset(c, 0, sizeof *c);
    c->e[0][0].im = momentum[0];
    c->e[1][1].im = momentum[1];
    c->e[2][2].im = -(momentum[0] + momentum[1]);
    for (int m = 0; m < 3; m++) {
        complex_number upper = {momentum[2 + 2 * m], momentum[3 + 2 * m]};
        complex_number lower = {-upper.re, upper.im};
        c->e[row[m]][column[m]] = upper;
        c->e[column[m]][row[m]] = lower;
    }
}

void su3_exp_mul(su3 *u, const real momentum[MOMENTUM_REALS], real eps) {
    su3 p, sum = *u, product;
    su3_from_momentum(&p, momentum);
    for (int order = 6; order >= 1; order--) {
        su3_mul(&product, &p, &sum);
        sum = *u;
        su3_add_scaled(&sum, eps / (real)order, &product);
    }
    *u = sum;
}

/* The complex number a* · b of two rows. */
static complex_number row_product(const complex_number a[3], const complex_number b[3]) {
    complex_number sum = {0, 0};
    for (int i = 0; i < 3; i++)
        add_product(&sum, a[i], -1, b[i], 1);
    return sum;
}

static void row_normalise(complex_number row[3], real square) {
    real scale = 1 / (real)sqrt((double)square);
    for (int i = 0; i < 3; i++) {
        row[i].re *= scale;
        row[i].im *= scale;
    }
}

static void cross_conjugate(complex_number c[3], const complex_number a[3],
                            const complex_number b[3]) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        complex_number jk = {0, 0}, kj = {0, 0};
        add_product(&jk, a[j], -1, b[k], -1);
        add_product(&kj, a[k], -1, b[j], -1);
        c[i].re = jk.re - kj.re;
        c[i].im = jk.im - kj.im;
    }
}

/* The greater one, or a NaN. */
static real worse(real a, real b) { return b <= a || isnan(a) ? a : b; }

real su3_reunitarise(su3 *u) {
    real square0 = row_product(u->e[0], u->e[0]).re, square1 = row_product(u->e[1], u->e[1]).re;
    row_normalise(u->e[0], square0);
    complex_number overlap = row_product(u->e[0], u->e[1]);
    real deviation = worse((real)fabs((double)square0 - 1), (real)fabs((double)square1 - 1));
    deviation = worse(deviation, (real)hypot((double)overlap.re, (double)overlap.im));
    for (int i = 0; i < 3; i++) {
        complex_number share = {0, 0};
        add_product(&share, overlap, 1, u->e[0][i], 1);
        u->e[1][i].re -= share.re;
        u->e[1][i].im -= share.im;
    }
    row_normalise(u->e[1], row_product(u->e[1], u->e[1]).re);
    cross_conjugate(u->e[2], u->e[0], u->e[1]);
    return deviation;
}

real su3_deviation(const su3 *u) {
    su3 square;
    complex_number third[3];
    real deviation = 0;
    su3_mul_dag(&square, u, u);
    cross_conjugate(third, u->e[0], u->e[1]);
    for (int i = 0; i < 3; i++) {
        square.e[i][i].re -= 1;
        for (int j = 0; j < 3; j++) {
            deviation = worse(deviation, (real)fabs((double)square.e[i][j].re));
            deviation = worse(deviation, (real)fabs((double)square.e[i][j].im));
        }
        deviation = worse(deviation, (real)fabs((double)(third[i].re - u->e[2][i].re)));
        deviation = worse(deviation, (real)fabs((double)(third[i].im - u->e[2][i].im)));
    }
    return deviation;
}
