/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "target.h"

#include <stdint.h>

/* Writes and reads of one point: each rank its part, in transfers of one length. */

struct transfers {
    const struct target *target;
    long long bytes; /* of a transfer, a multiple of BLOCK_BYTES */
    long long count; /* of a rank */
    int shared;      /* one file, in which ranks have their parts one after the other */
    int random;      /* in a random order, of which each rank and pass has its own */
    uint64_t seed;   /* of content and order: of this point and pass */
    int inject_fault;
};

/* Write this rank's part into a new file, fsync and close it: seconds from a barrier until it is
 * closed. Every transfer has content of its own: a window of a pattern by seed and rank, and a mark
 * of its place. Collective over all ranks. */
double transfers_write(const struct transfers *transfers);

/* Read what rank target->writer wrote and compare every byte: seconds from a barrier to the last
 * comparison, which is a small part of it (memcmp). A wrong byte ends the run (fail_answer).
 * *resident: share of the part that was in memory before. Collective over all ranks. */
double transfers_read(const struct transfers *transfers, double *resident);

/* Remove the file. Collective over all ranks. */
void transfers_remove(const struct transfers *transfers);
