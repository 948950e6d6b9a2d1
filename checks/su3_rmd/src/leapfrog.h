/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulation.h"

/* The leapfrog of a trajectory, with the present momenta: U(eps/2), P(eps), U(eps), P(eps), …,
 * U(eps/2), links reunitarised after each step. Returns this rank's greatest deviation from
 * unitarity before reunitarising, or a NaN. Collective over simulation->comm.
 *
 * A step has two passes over the sites (kernels.h): `force` at a site reads links there and one
 * step ahead; `update` reads staples one step behind and changes links of its own site only. So a
 * site can be updated, with the same bits in any order, when `force` is complete there and at all
 * sites one step behind. Two orders are used:
 * - complete passes, if x, y or z is divided among ranks;
 * - else the order of the sites: `update` of a row follows its `force`, so that the staples between
 * the two stay in cache (they take three times the memory of links). The first row of a slab and
 * slab of a slice are updated last: staples behind them belong to the last ones. Those behind the
 * first slice belong to the last slice, or to another rank's: they are computed before all others
 * (and once more in their turn, 6 of 24 products in one slice of all), and the old links of the
 * first slice, which the last one needs, are copied into the halo.
 * With overlap, inner sites or slices are computed while messages are in flight. */
double leapfrog(struct simulation *simulation, const struct physics *physics);
