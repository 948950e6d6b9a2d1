/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "vector.h"

/* Exponential and reunitarising of vectors of links. */

INLINE vec square_of(const vec *z) { return z[0] * z[0] + z[1] * z[1]; }

/* Q² for Q = eps P (antihermitian, so Q² is hermitian): h[0…2] the diagonal, h[3…8] the elements
 * 01, 02,
 * 12. q[0…2] is the imaginary diagonal of Q, z its elements 01, 02, 12. */
INLINE void vec_square(vec h[9], const vec q[3], const vec z[6]) {
    const vec n01 = square_of(z), n02 = square_of(z + 2), n12 = square_of(z + 4);
    h[0] = -q[0] * q[0] - n01 - n02;
    h[1] = -q[1] * q[1] - n01 - n12;
    h[2] = -q[2] * q[2] - n02 - n12;
    h[3] = q[2] * z[1] - (z[2] * z[4] + z[3] * z[5]);
    h[4] = -q[2] * z[0] - (z[3] * z[4] - z[2] * z[5]);
    h[5] = q[1] * z[3] + (z[0] * z[4] - z[1] * z[5]);
    h[6] = -q[1] * z[2] + (z[0] * z[5] + z[1] * z[4]);
    h[7] = q[0] * z[5] - (z[0] * z[2] + z[1] * z[3]);
    h[8] = -q[0] * z[4] - (z[0] * z[3] - z[1] * z[2]);
}

/* delta with det Q = i delta. */
INLINE vec vec_determinant(const vec q[3], const vec z[6]) {
    /* w = z01 z12, then Im(w z02*) */
    const vec w_re = z[0] * z[4] - z[1] * z[5], w_im = z[0] * z[5] + z[1] * z[4];
    const vec triple = w_im * z[2] - w_re * z[3];
    return q[0] * square_of(z + 4) + q[1] * square_of(z + 2) + q[2] * square_of(z) -
           q[0] * q[1] * q[2] - (triple + triple);
}

/* e = 1 + Q + … + Q⁶/720. By Cayley and Hamilton Q³ = t Q + i delta with t = Tr Q²/2, so the
 * polynomial of sixth order is f0 + f1 Q + f2 Q² with the coefficients below: one matrix square
 * instead of the five products of Horner's form. */
INLINE void vec_exp(vec *e, const vec *p, real eps) {
    const vec step = vec_set(eps);
    const vec q[3] = {step * p[0], step * p[1], -(step * p[0] + step * p[1])};
    vec z[6], h[9];
    for (int i = 0; i < 6; i++)
        z[i] = step * p[2 + i];
    vec_square(h, q, z);
    const vec t = (h[0] + h[1] + h[2]) * vec_set((real)0.5);
    const vec delta = vec_determinant(q, z);
#define C(number) vec_set((real)(number))
    const vec f0r = C(1) - delta * delta * C(1.0 / 720);
    const vec f0i = delta * (C(1.0 / 6) + t * C(1.0 / 120));
    const vec f1r = C(1) + t * (C(1.0 / 6) + t * C(1.0 / 120));
    const vec f1i = delta * (C(1.0 / 24) + t * C(1.0 / 360));
    const vec f2r = C(0.5) + t * (C(1.0 / 24) + t * C(1.0 / 720));
    const vec f2i = delta * C(1.0 / 120);
#undef C
    static const int diagonal[3] = {0, 8, 16}, upper[3] = {2, 4, 10}, lower[3] = {6, 12, 14};
    for (int i = 0; i < 3; i++) {
        e[diagonal[i]] = f0r - f1i * q[i] + f2r * h[i];
        e[diagonal[i] + 1] = f0i + f1r * q[i] + f2i * h[i];
    }
    for (int i = 0; i < 3; i++) {
        const vec z_re = z[2 * i], z_im = z[2 * i + 1];
        const vec h_re = h[3 + 2 * i], h_im = h[4 + 2 * i];
        e[upper[i]] = (f1r * z_re - f1i * z_im) + (f2r * h_re - f2i * h_im);
        e[upper[i] + 1] = (f1r * z_im + f1i * z_re) + (f2r * h_im + f2i * h_re);
        e[lower[i]] = (f2r * h_re + f2i * h_im) - (f1r * z_re + f1i * z_im);
        e[lower[i] + 1] = (f2i * h_re - f2r * h_im) - (f1i * z_re - f1r * z_im);
    }
}

INLINE vec vec_row_square(const vec *row) {
    return square_of(row) + square_of(row + 2) + square_of(row + 4);
}

/* 1/sqrt(1 + d) for |d| <= 2e-4, to 1e-17, by a series without square root or division. Links that
 * deviate more fail the unitarity test (SIMULATION_DEVIATION). */
INLINE vec vec_inverse_root(vec d) {
    const vec c1 = vec_set((real)-0.5), c2 = vec_set((real)0.375), c3 = vec_set((real)-0.3125);
    const vec c4 = vec_set((real)0.2734375);
    return d * (c1 + d * (c2 + d * (c3 + d * c4))) + vec_set(1);
}

/* The greater one; a NaN stays, since it fails every comparison. */
INLINE vec vec_worse(vec worst, vec value) {
    const vec_mask keep = (value <= worst) | (worst != worst);
    return (vec)(((vec_mask)worst & keep) | ((vec_mask)value & ~keep));
}

/* Reunitarise u; worst is updated by the squares of its deviations (su3.h) before. */
INLINE void vec_reunitarise(vec *u, vec *worst) {
    const vec one = vec_set(1);
    vec *a = u, *b = u + 6, *c = u + 12;
    const vec d0 = vec_row_square(a) - one, d1 = vec_row_square(b) - one;
    const vec scale0 = vec_inverse_root(d0);
    for (int i = 0; i < 6; i++)
        a[i] *= scale0;
    /* overlap = a* · b */
    const vec re =
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
    const vec im =
        a[0] * b[1] - a[1] * b[0] + a[2] * b[3] - a[3] * b[2] + a[4] * b[5] - a[5] * b[4];
    for (int i = 0; i < 6; i += 2) {
        b[i] -= re * a[i] - im * a[i + 1];
        b[i + 1] -= re * a[i + 1] + im * a[i];
    }
    const vec scale1 = vec_inverse_root(vec_row_square(b) - one);
    for (int i = 0; i < 6; i++)
        b[i] *= scale1;
    for (int i = 0; i < 3; i++) {
        const int j = 2 * ((i + 1) % 3), k = 2 * ((i + 2) % 3);
        c[2 * i] = (a[j] * b[k] - a[j + 1] * b[k + 1]) - (a[k] * b[j] - a[k + 1] * b[j + 1]);
        c[2 * i + 1] = (a[k] * b[j + 1] + a[k + 1] * b[j]) - (a[j] * b[k + 1] + a[j + 1] * b[k]);
    }
    *worst = vec_worse(*worst, d0 * d0);
    *worst = vec_worse(*worst, d1 * d1);
    *worst = vec_worse(*worst, re * re + im * im);
}
