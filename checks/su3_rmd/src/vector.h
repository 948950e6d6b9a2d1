/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "real.h"

#include <stdint.h>

/* Vectors of VECTOR_BYTES bytes and 3 x 3 complex matrices of them, by the vector extensions of GCC
 * and Clang: the compiler translates + - * to SIMD instructions and contracts them to fused
 * multiply-adds. Included only by kernels_vector.c, once for each set. Matrices are arrays of
 * LINK_REALS vectors in the layout of fields.h. */
enum { LANES = VECTOR_BYTES / sizeof(real) };

typedef real vec __attribute__((vector_size(VECTOR_BYTES), may_alias));
#ifdef SU3_SINGLE
typedef int32_t vec_mask __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef int64_t vec_mask __attribute__((vector_size(VECTOR_BYTES)));
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE vec vec_set(real x) { return x - (vec){0}; }

/* Lane l of the result is lane source[l] of x. */
INLINE vec vec_shuffle(vec x, vec_mask source) {
#ifdef __clang__
    vec result;
    for (int lane = 0; lane < LANES; lane++)
        result[lane] = x[source[lane]];
    return result;
#else
    return __builtin_shuffle(x, source);
#endif
}

/* c = Σ_k (ar[k], ai[k]) · (element `at` of row k of b), one complex number. */
INLINE void vec_cell(vec c[2], const vec ar[3], const vec ai[3], const vec *b, int at) {
    vec re = ar[0] * b[at], im = ar[0] * b[at + 1];
    re -= ai[0] * b[at + 1];
    im += ai[0] * b[at];
    re += ar[1] * b[at + 6];
    im += ar[1] * b[at + 7];
    re -= ai[1] * b[at + 7];
    im += ai[1] * b[at + 6];
    re += ar[2] * b[at + 12];
    im += ar[2] * b[at + 13];
    c[0] = re - ai[2] * b[at + 13];
    c[1] = im + ai[2] * b[at + 12];
}

/* One row of a product. */
INLINE void vec_row_mul(vec *c, const vec ar[3], const vec ai[3], const vec *b) {
    vec_cell(c, ar, ai, b, 0);
    vec_cell(c + 2, ar, ai, b, 2);
    vec_cell(c + 4, ar, ai, b, 4);
}

/* c = a b */
INLINE void vec_mul(vec *c, const vec *a, const vec *b) {
    for (int i = 0; i < 3; i++) {
        const vec ar[3] = {a[6 * i], a[6 * i + 2], a[6 * i + 4]};
        const vec ai[3] = {a[6 * i + 1], a[6 * i + 3], a[6 * i + 5]};
        vec_row_mul(c + 6 * i, ar, ai, b);
    }
}

/* c = a† b */
INLINE void vec_dag_mul(vec *c, const vec *a, const vec *b) {
    for (int i = 0; i < 3; i++) {
        const vec ar[3] = {a[2 * i], a[2 * i + 6], a[2 * i + 12]};
        const vec ai[3] = {-a[2 * i + 1], -a[2 * i + 7], -a[2 * i + 13]};
        vec_row_mul(c + 6 * i, ar, ai, b);
    }
}

/* Element (i, j) of a b†: real and imaginary part. */
INLINE vec vec_cell_re(const vec *a, const vec *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}
INLINE vec vec_cell_im(const vec *a, const vec *b) {
    return a[1] * b[0] - a[0] * b[1] + a[3] * b[2] - a[2] * b[3] + a[5] * b[4] - a[4] * b[5];
}

/* The antihermitian part of w = a b†, twice: Im w00, Im w11, Im w22 (not doubled), then
 * w01 - w10*, w02 - w20*, w12 - w21*. */
enum { TWICE_REALS = 9 };
INLINE void vec_twice_antihermitian(vec t[TWICE_REALS], const vec *a, const vec *b) {
    t[0] = vec_cell_im(a, b);
    t[1] = vec_cell_im(a + 6, b + 6);
    t[2] = vec_cell_im(a + 12, b + 12);
    t[3] = vec_cell_re(a, b + 6) - vec_cell_re(a + 6, b);
    t[4] = vec_cell_im(a, b + 6) + vec_cell_im(a + 6, b);
    t[5] = vec_cell_re(a, b + 12) - vec_cell_re(a + 12, b);
    t[6] = vec_cell_im(a, b + 12) + vec_cell_im(a + 12, b);
    t[7] = vec_cell_re(a + 6, b + 12) - vec_cell_re(a + 12, b + 6);
    t[8] = vec_cell_im(a + 6, b + 12) + vec_cell_im(a + 12, b + 6);
}

/* p -= scale·(traceless t/2) */
INLINE void vec_momentum_subtract(vec *p, real scale, const vec t[TWICE_REALS]) {
    const vec whole = vec_set(scale), half = vec_set(scale / 2);
    const vec third = (t[0] + t[1] + t[2]) * vec_set((real)1 / 3);
    p[0] -= whole * (t[0] - third);
    p[1] -= whole * (t[1] - third);
    for (int i = 2; i < MOMENTUM_REALS; i++)
        p[i] -= half * t[i + 1];
}
