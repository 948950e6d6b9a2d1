/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_KERNELS_H
#define SU3_KERNELS_H

#include "fields.h"

/* The loops over sites. Every set does the same work on the same fields for its own number of
 * lanes; results of two sets differ by rounding only. All functions are local and read halo slots
 * as filled by halo.h.
 *
 * A leapfrog step is two passes. At a site x and for each of the six planes (mu, nu), with
 *   A = U_mu(x) U_nu(x+mu),  B = U_nu(x) U_mu(x+nu),
 * - `force` subtracts scale·TA(A B†) from P_mu(x) and adds it to P_nu(x): the upper staples of
 *   both links at once. It stores the lower staples of the links opposite,
 *   U_nu†(x) A for link mu at x+nu and U_mu†(x) B for link nu at x+mu.
 * - `update` adds up the three lower staples S of each link of x, which stand one step behind,
 *   P_mu -= scale·TA(U_mu S†), and goes on with U_mu <- exp(eps P_mu) U_mu and reunitarising.
 *   It reads links of x only, so it may overwrite them.
 * Shared like this, a step takes 6·(2 + 1 + 2) + 4 products a site for the force instead of 52, and
 * halos are needed one step ahead for links and one step behind for staples, without corners. */
struct kernels {
    const char *name;
    int lanes;

    /* P -= scale·(upper staples); stores lower staples; on sites[0 … count-1]. Reads links one
     * step ahead. */
    void (*force)(const struct lattice *lattice, struct fields *fields, real scale,
                  const int *sites, int count);

    /* P -= scale·(lower staples); U <- exp(eps P) U; reunitarise. Reads staples one step behind.
     * Returns the greatest deviation from unitarity found (or a NaN). */
    real (*update)(const struct lattice *lattice, struct fields *fields, real scale, real eps,
                   const int *sites, int count);

    /* U <- exp(eps P) U on all sites. */
    void (*drift)(const struct lattice *lattice, struct fields *fields, real eps);

    /* New momenta on all sites from the sites' generators (random.h: same draws, same order). */
    void (*refresh)(const struct lattice *lattice, struct fields *fields);

    /* Re Tr of the plaquettes of each site: out[site][0][lane] the sum over the three space-space
     * planes, out[site][1][lane] over the three space-time planes. Reads links one step ahead. */
    void (*plaquettes)(const struct lattice *lattice, const struct fields *fields, real *out);

    /* line <- line·link for one vector of matrices. */
    void (*multiply)(real *line, const real *link);

    /* to[i][lane] = from[i][source[lane]] for `count` vectors. to and from do not overlap. */
    void (*move_lanes)(real *to, const real *from, const int *source, int count);
};

/* One entry for each set that this program contains, best last; NULL-ended. */
extern const struct kernels *const kernels_all[];

/* The set called `name`, or for "auto" the best that this CPU can run. NULL if there is no such
 * set in this program or the CPU lacks it; why (size bytes) then says which are possible. */
const struct kernels *kernels_select(const char *name, char *why, size_t size);

/* Numbers of floating-point operations a site, and bytes that must at least be moved, by part of
 * the work. `original` is what the method costs when every 3 x 3 complex product (198 flop) of the
 * original program is counted: rates are computed from it, so that rates of two programs for one
 * lattice stand in the ratio of their speeds. `done` is what the vector kernels do. Bytes: every
 * number of a field read once and written once a pass, in units of sizeof(real). */
struct kernel_cost {
    const char *part;
    double original_flop, done_flop; /* a site */
    double moved_reals;              /* a site */
    const char *derivation;
};

enum cost { COST_FORCE, COST_UPDATE, COST_REUNITARISE, COST_DRIFT, COST_PLAQUETTE, COST_PARTS };

extern const struct kernel_cost kernel_costs[COST_PARTS];

#endif
