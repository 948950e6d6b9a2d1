/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "fields.h"

#include <mpi.h>
#include <stddef.h>

/* Transfer of time slices of a configuration, as bytes in the format of gauge_file.h, between the
 * ranks that own their sites and rank 0, which holds one slice at a time. */
struct gauge_slices {
    const struct lattice *lattice;
    MPI_Comm comm;
    size_t real_bytes;    /* of the reals in the bytes: 4 or 8 */
    size_t site_bytes;    /* of a site in the bytes */
    unsigned char *slice; /* rank 0: nx ny nz sites; NULL elsewhere */
    unsigned char *part;  /* this rank's sites of a slice, x fastest */
};

/* Allocate memory for one slice; real_bytes: of the reals in the file. 0, or -1 if out of memory.
 * In both cases the caller frees it with gauge_slices_free. Local. */
int gauge_slices_make(struct gauge_slices *slices, const struct lattice *lattice, MPI_Comm comm,
                      size_t real_bytes);
void gauge_slices_free(struct gauge_slices *slices);

/* Bytes of one slice. */
size_t gauge_slices_bytes(const struct gauge_slices *slices);

/* Copy slice t from the fields to rank 0, in the program's precision. Collective. */
void gauge_slices_gather(struct gauge_slices *slices, const struct fields *fields, int t);

/* Copy slice t from rank 0 to the fields of the ranks that have a part of it. Collective. */
void gauge_slices_scatter(struct gauge_slices *slices, struct fields *fields, int t);
