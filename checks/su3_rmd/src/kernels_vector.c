/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for vectors of sites, compiled once for each set: KERNEL_SET is its name,
 * VECTOR_BYTES its vector length, and compiler flags select its instructions. */
#include "kernels.h"
#include "refresh_vector.h"
#include "vector_link.h"

#include <math.h>

enum { MATRIX = LINK_REALS, LINE = 64 }; /* vectors in a matrix, bytes in a line of cache */

INLINE vec *link_of(const struct fields *fields, long slot, int direction) {
    return (vec *)fields->links + (DIRECTIONS * slot + direction) * MATRIX;
}

INLINE vec *momentum_of(const struct fields *fields, long site, int direction) {
    return (vec *)fields->momenta + (DIRECTIONS * site + direction) * MOMENTUM_REALS;
}

/* first: of the site's three staples for the step. */
INLINE vec *staple_of(const struct fields *fields, long first, int step, int link) {
    return (vec *)fields->staples + (first + link - (link > step)) * MATRIX;
}

/* One plane of `force`; the parts of the upper staples are added to sum_mu and sum_nu. */
INLINE void plane_force(const struct fields *fields, const int *ahead, const long *own, long site,
                        int mu, int nu, vec sum_mu[TWICE_REALS], vec sum_nu[TWICE_REALS]) {
    const vec *u_mu = link_of(fields, site, mu), *u_nu = link_of(fields, site, nu);
    vec a[MATRIX], b[MATRIX], t[TWICE_REALS];
    vec_mul(a, u_mu, link_of(fields, ahead[mu], nu));
    vec_mul(b, u_nu, link_of(fields, ahead[nu], mu));
    vec_dag_mul(staple_of(fields, own[nu], nu, mu), u_nu, a);
    vec_dag_mul(staple_of(fields, own[mu], mu, nu), u_mu, b);
    vec_twice_antihermitian(t, a, b);
    for (int i = 0; i < TWICE_REALS; i++) {
        sum_mu[i] += t[i];
        sum_nu[i] -= t[i];
    }
}

/* Ask for the lines of memory that hold these vectors. */
INLINE void fetch(const vec *from, int vectors) {
    for (int byte = 0; byte < vectors * VECTOR_BYTES; byte += LINE)
        __builtin_prefetch((const char *)from + byte, 0, 2);
}

/* A sixth of what `force` at a site is the first to read in a step: the links one step ahead along
 * t, the own link along t, and the momenta. They come from memory, if the lattice is larger than
 * the caches, and by too many streams for the processor to foresee them all. */
INLINE void fetch_part(const struct lattice *lattice, const struct fields *fields, long site,
                       int part) {
    const int *ahead = lattice->ahead + DIRECTIONS * site;
    if (part < 4)
        fetch(link_of(fields, part < 3 ? ahead[3] : site, part), MATRIX);
    else
        fetch(momentum_of(fields, site, 2 * (part - 4)), 2 * MOMENTUM_REALS);
}

static void vector_force(const struct lattice *lattice, struct fields *fields, real scale,
                         const int *sites, int count) {
    for (int i = 0; i < count; i++) {
        const int site = sites[i], *ahead = lattice->ahead + DIRECTIONS * site;
        const long *own = lattice->own_staple + DIRECTIONS * (long)site;
        const long next = site + 1 < lattice->volume ? site + 1 : site;
        vec sum[DIRECTIONS][TWICE_REALS] = {{{0}}};
        plane_force(fields, ahead, own, site, 0, 1, sum[0], sum[1]);
        fetch_part(lattice, fields, next, 0);
        plane_force(fields, ahead, own, site, 0, 2, sum[0], sum[2]);
        fetch_part(lattice, fields, next, 1);
        plane_force(fields, ahead, own, site, 0, 3, sum[0], sum[3]);
        fetch_part(lattice, fields, next, 2);
        plane_force(fields, ahead, own, site, 1, 2, sum[1], sum[2]);
        fetch_part(lattice, fields, next, 3);
        plane_force(fields, ahead, own, site, 1, 3, sum[1], sum[3]);
        fetch_part(lattice, fields, next, 4);
        plane_force(fields, ahead, own, site, 2, 3, sum[2], sum[3]);
        fetch_part(lattice, fields, next, 5);
        for (int mu = 0; mu < DIRECTIONS; mu++)
            vec_momentum_subtract(momentum_of(fields, site, mu), scale, sum[mu]);
    }
}

static void vector_time_staples(const struct lattice *lattice, struct fields *fields,
                                const int *sites, int count) {
    for (int i = 0; i < count; i++) {
        const int site = sites[i], *ahead = lattice->ahead + DIRECTIONS * site;
        const long own = lattice->own_staple[DIRECTIONS * (long)site + 3];
        for (int mu = 0; mu < 3; mu++) {
            vec a[MATRIX];
            vec_mul(a, link_of(fields, site, mu), link_of(fields, ahead[mu], 3));
            vec_dag_mul(staple_of(fields, own, 3, mu), link_of(fields, site, 3), a);
        }
    }
}

/* sum = the lower staples of a link, at the three places in behind. */
INLINE void add_staples(vec *sum, const struct fields *fields, const long *behind, int mu) {
    const vec *staple[3];
    for (int nu = 0, n = 0; nu < DIRECTIONS; nu++)
        if (nu != mu)
            staple[n++] = staple_of(fields, behind[nu], nu, mu);
    for (int e = 0; e < MATRIX; e++)
        sum[e] = staple[0][e] + staple[1][e] + staple[2][e];
}

INLINE void link_exp(vec *link, const vec *momentum, real eps) {
    vec step[MATRIX], old[MATRIX];
    vec_exp(step, momentum, eps);
    for (int e = 0; e < MATRIX; e++)
        old[e] = link[e];
    vec_mul(link, step, old);
}

INLINE void link_update(const struct fields *fields, const long *behind, long site, int mu,
                        real scale, real eps, vec *worst) {
    vec sum[MATRIX], t[TWICE_REALS];
    vec *link = link_of(fields, site, mu), *momentum = momentum_of(fields, site, mu);
    add_staples(sum, fields, behind, mu);
    vec_twice_antihermitian(t, link, sum);
    vec_momentum_subtract(momentum, scale, t);
    link_exp(link, momentum, eps);
    vec_reunitarise(link, worst);
}

static real vector_update(const struct lattice *lattice, struct fields *fields, real scale,
                          real eps, const int *sites, int count) {
    vec worst = {0};
    double greatest = 0;
    for (int i = 0; i < count; i++) {
        const long *behind = lattice->behind_staple + DIRECTIONS * (long)sites[i];
        link_update(fields, behind, sites[i], 0, scale, eps, &worst);
        link_update(fields, behind, sites[i], 1, scale, eps, &worst);
        link_update(fields, behind, sites[i], 2, scale, eps, &worst);
        link_update(fields, behind, sites[i], 3, scale, eps, &worst);
    }
    for (int lane = 0; lane < LANES; lane++)
        if (!((double)worst[lane] <= greatest) && !isnan(greatest))
            greatest = (double)worst[lane];
    return (real)sqrt(greatest);
}

static void vector_drift(const struct lattice *lattice, struct fields *fields, real eps) {
    for (int site = 0; site < lattice->volume; site++)
        for (int mu = 0; mu < DIRECTIONS; mu++)
            link_exp(link_of(fields, site, mu), momentum_of(fields, site, mu), eps);
}

INLINE vec plane_trace(const struct fields *fields, const int *ahead, long site, int mu, int nu) {
    vec a[MATRIX], b[MATRIX];
    vec_mul(a, link_of(fields, site, mu), link_of(fields, ahead[mu], nu));
    vec_mul(b, link_of(fields, site, nu), link_of(fields, ahead[nu], mu));
    return vec_cell_re(a, b) + vec_cell_re(a + 6, b + 6) + vec_cell_re(a + 12, b + 12);
}

static void vector_plaquettes(const struct lattice *lattice, const struct fields *fields, real *out,
                              const int *sites, int count) {
    for (int i = 0; i < count; i++) {
        const int site = sites[i], *ahead = lattice->ahead + DIRECTIONS * site;
        vec *sums = (vec *)out + 2L * site;
        sums[0] = plane_trace(fields, ahead, site, 0, 1) + plane_trace(fields, ahead, site, 0, 2) +
                  plane_trace(fields, ahead, site, 1, 2);
        sums[1] = plane_trace(fields, ahead, site, 0, 3) + plane_trace(fields, ahead, site, 1, 3) +
                  plane_trace(fields, ahead, site, 2, 3);
    }
}

static void vector_multiply(real *line, const real *link) {
    vec old[MATRIX];
    for (int e = 0; e < MATRIX; e++)
        old[e] = ((const vec *)line)[e];
    vec_mul((vec *)line, old, (const vec *)link);
}

static void vector_move_lanes(real *to, const real *from, const int *source, int count) {
    vec_mask lanes = {0};
    for (int lane = 0; lane < LANES; lane++)
        lanes[lane] = source[lane];
    for (int i = 0; i < count; i++)
        ((vec *)to)[i] = vec_shuffle(((const vec *)from)[i], lanes);
}

static void vector_refresh(const struct lattice *lattice, struct fields *fields) {
    for (int site = 0; site < lattice->volume; site++)
        refresh_site(fields, site);
}

#define PASTE(a, b) a##b
#define SYMBOL(set) PASTE(kernels_, set)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

const struct kernels SYMBOL(KERNEL_SET) = {
    TEXT(KERNEL_SET), LANES,          vector_force,      vector_time_staples, vector_update,
    vector_drift,     vector_refresh, vector_plaquettes, vector_multiply,     vector_move_lanes};
