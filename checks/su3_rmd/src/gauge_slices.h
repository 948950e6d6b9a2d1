/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_GAUGE_SLICES_H
#define SU3_GAUGE_SLICES_H

#include "fields.h"

#include <mpi.h>
#include <stddef.h>

/* Time slices of a configuration as bytes, in the order and form of gauge_file.h, on their way
 * between the ranks that hold their sites and rank 0, which holds one slice at a time. */
struct gauge_slices {
    const struct lattice *lattice;
    MPI_Comm comm;
    size_t real_bytes;    /* of the reals in the bytes: 4 or 8 */
    size_t site_bytes;    /* of a site in the bytes */
    unsigned char *slice; /* rank 0: nx ny nz sites; NULL elsewhere */
    unsigned char *part;  /* this rank's sites of a slice, x fastest */
};

/* Room for one slice; real_bytes is that of the file. Local: 0, or -1 where there is no memory.
 * To be ended by gauge_slices_free, either way. */
int gauge_slices_make(struct gauge_slices *slices, const struct lattice *lattice, MPI_Comm comm,
                      size_t real_bytes);
void gauge_slices_free(struct gauge_slices *slices);

/* Bytes of one slice. */
size_t gauge_slices_bytes(const struct gauge_slices *slices);

/* Collective. From the fields to rank 0's slice t, in the program's own precision. */
void gauge_slices_gather(struct gauge_slices *slices, const struct fields *fields, int t);

/* Collective. From rank 0's slice t to the fields of all ranks that have part of it. */
void gauge_slices_scatter(struct gauge_slices *slices, struct fields *fields, int t);

#endif
