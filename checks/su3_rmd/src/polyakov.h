/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulation.h"
#include "sums.h"

/* Polyakov loops: Tr of the product of the time links at each point of space, in the order of t. If
 * t is divided, the product is passed from rank to rank along t, so that its bits do not depend on
 * the layout; the last rank of each column adds real and imaginary parts of its traces to sums[0]
 * and sums[1]. Uses simulation->scratch. Collective over simulation->comm. */
void polyakov_lines(struct simulation *simulation, struct sum sums[2]);

/* Reals of scratch space that it needs. */
size_t polyakov_numbers(const struct lattice *lattice);
