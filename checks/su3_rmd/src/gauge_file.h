/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "fields.h"

#include <mpi.h>
#include <stddef.h>

/* A file with a configuration and the state of its random generators, so that a run can be split
 * and continues bit for bit. Independent of rank count, layout and kernels.
 *
 * A text line padded to GAUGE_HEADER bytes:
 *   assay-su3 1 PRECISION nx ny nz nt little-endian crc32 XXXXXXXX
 * then the sites in the order x + nx(y + ny(z + nz t)): 4 links (x, y, z, t) of 18 reals, then the
 * generator, seven 32-bit words and one 64-bit word. The checksum covers all bytes after the line.
 *
 * All functions are collective over comm and return 0, or -1 on every rank with message (size
 * bytes) naming file and error. Only rank 0 accesses the file. */
enum { GAUGE_HEADER = 128 };

/* Rank 0 needs memory for one time slice. The file gets its name when it is complete. */
int gauge_save(const struct lattice *lattice, const struct fields *fields, const char *path,
               MPI_Comm comm, char *message, size_t size);

/* Test, before the run, that gauge_save can create its file. */
int gauge_can_save(const struct lattice *lattice, const char *path, MPI_Comm comm, char *message,
                   size_t size);

/* Links of the other precision are converted. A wrong size of lattice or file, a wrong checksum and
 * links that are not unitary to 1e-4 are errors; fields are undefined then. */
int gauge_load(const struct lattice *lattice, struct fields *fields, const char *path,
               MPI_Comm comm, char *message, size_t size);
