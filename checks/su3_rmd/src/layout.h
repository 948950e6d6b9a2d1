/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "real.h"

#include <stddef.h>

/* The division of a lattice among ranks. Local, pure.
 *
 * Rule (of the original program): take the prime factors of the rank count, largest first. Each
 * divides the longest local direction that it can divide; of equally long ones one that is already
 * divided, else the first of x, y, z, t. */

/* Write the process grid for `ranks` ranks into procs. 0, or -1 if a factor divides no direction;
 * procs is undefined then. */
int layout_choose(const int size[DIRECTIONS], int ranks, int procs[DIRECTIONS]);

/* Write the rank counts up to `most` that layout_choose accepts into text, as "1, 2, 4 and 8". */
void layout_counts(const int size[DIRECTIONS], int most, char *text, size_t room);

/* Read "Px,Py,Pz,Pt", four numbers of at least 1. 0, or -1 if text is anything else. */
int layout_read(const char *text, int procs[DIRECTIONS]);
