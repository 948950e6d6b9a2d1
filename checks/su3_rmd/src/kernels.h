/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "fields.h"

/* The loops over sites. Every kernel set does the same work on the same fields with its own number
 * of lanes; results of two sets differ by rounding only. All functions are local; halo.h fills the
 * halo slots that they read.
 *
 * A leapfrog step is two passes. At a site x and for each of the six planes (mu, nu), with
 *   A = U_mu(x) U_nu(x+mu),  B = U_nu(x) U_mu(x+nu),
 * - `force` subtracts scale·TA(A B†) from P_mu(x) and adds it to P_nu(x): the upper staples of
 *   both links together. It stores the lower staples of the opposite links,
 *   U_nu†(x) A for link mu at x+nu and U_mu†(x) B for link nu at x+mu.
 * - `update` adds the three lower staples S of each link of x, which were stored one step behind,
 *   P_mu -= scale·TA(U_mu S†), then computes U_mu <- exp(eps P_mu) U_mu and reunitarises.
 *   It reads links of x only, so it may overwrite them.
 * Sharing the products, a step takes 6·(2 + 1 + 2) + 4 of them a site for the force instead of 52,
 * and needs halos one step ahead for links and one step behind for staples, without corners. */
struct kernels {
    const char *name;
    int lanes;

    /* P -= scale·(upper staples); stores lower staples; on sites[0 … count-1]. Reads links one
     * step ahead. */
    void (*force)(const struct lattice *lattice, struct fields *fields, real scale,
                  const int *sites, int count);

    /* Of what `force` stores, only the staples for a step along t, with the same bits. Reads links
     * one step ahead along x, y and z. */
    void (*time_staples)(const struct lattice *lattice, struct fields *fields, const int *sites,
                         int count);

    /* P -= scale·(lower staples); U <- exp(eps P) U; reunitarise. Reads staples one step behind.
     * Returns the greatest deviation from unitarity before reunitarising, or a NaN. */
    real (*update)(const struct lattice *lattice, struct fields *fields, real scale, real eps,
                   const int *sites, int count);

    /* U <- exp(eps P) U on all sites. */
    void (*drift)(const struct lattice *lattice, struct fields *fields, real eps);

    /* New momenta on all sites from the sites' generators (random.h: same numbers, same order). */
    void (*refresh)(const struct lattice *lattice, struct fields *fields);

    /* Re Tr of the plaquettes of these sites: out[site][0][lane] the sum over the three space-space
     * planes, out[site][1][lane] over the three space-time planes. Reads links one step ahead. */
    void (*plaquettes)(const struct lattice *lattice, const struct fields *fields, real *out,
                       const int *sites, int count);

    /* line <- line·link for one vector of matrices. */
    void (*multiply)(real *line, const real *link);

    /* to[i][lane] = from[i][source[lane]] for `count` vectors. to and from do not overlap. */
    void (*move_lanes)(real *to, const real *from, const int *source, int count);
};

/* The sets that this program contains, best last; NULL-terminated. */
extern const struct kernels *const kernels_all[];

/* The set called `name`, or for "auto" the best that this CPU can run. NULL if the program does not
 * contain it or the CPU lacks its instructions; why (size bytes) then lists the possible ones. */
const struct kernels *kernels_select(const char *name, char *why, size_t size);

/* Floating-point operations a site, and least memory traffic, by part of the work. `original`
 * counts every 3 x 3 complex product (198 flop) of the original program; rates are computed from
 * it, so that the rates of two programs for one lattice have the ratio of their speeds. `done`
 * counts the operations of the vector kernels. Traffic: every real of a field read once and written
 * once a pass; by slices (leapfrog.h), once a step, with staples in cache. */
struct kernel_cost {
    const char *part;
    double original_flop, done_flop;       /* a site */
    double moved_reals, moved_slice_reals; /* a site, by complete passes and by slices */
    const char *derivation;
};

enum cost { COST_FORCE, COST_UPDATE, COST_REUNITARISE, COST_DRIFT, COST_PLAQUETTE, COST_PARTS };

extern const struct kernel_cost kernel_costs[COST_PARTS];
