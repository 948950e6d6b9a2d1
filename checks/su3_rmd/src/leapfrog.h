/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_LEAPFROG_H
#define SU3_LEAPFROG_H

#include "simulation.h"

/* The leapfrog of a trajectory with the momenta as they are: U(eps/2), P(eps), U(eps), P(eps), …,
 * U(eps/2), links reunitarised after each step. Collective; returns the greatest deviation from
 * unitarity that this rank found before reunitarising, or a NaN.
 *
 * A step has two passes over the sites (kernels.h): `force` at a site reads links there and one
 * step ahead; `update` reads staples one step behind and changes links of its own site only. So a
 * site may be updated as soon as `force` has been at it and at all sites one step behind, in any
 * order, with the same bits. Two orders are used:
 * - whole passes, where x, y or z is cut among ranks;
 * - else by time slices: `update` follows one slice after `force`, so that the staples between the
 *   two stay in cache (they are three times the links). The first slice waits for the last: its
 *   staples behind are that one's, or another rank's.
 * With overlap, inner sites or slices are worked on while messages are under way. */
double leapfrog(struct simulation *simulation, const struct physics *physics);

#endif
