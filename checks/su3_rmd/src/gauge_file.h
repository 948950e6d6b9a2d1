/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_GAUGE_FILE_H
#define SU3_GAUGE_FILE_H

#include "fields.h"

#include <mpi.h>
#include <stddef.h>

/* A configuration with the state of its random generators, so that a run can be split and goes on
 * bit for bit. Independent of rank count, layout and kernels.
 *
 * One text line, GAUGE_HEADER bytes with its padding:
 *   assay-su3 1 PRECISION nx ny nz nt little-endian crc32 XXXXXXXX
 * then the sites in the order x + nx(y + ny(z + nz t)): 4 links (x, y, z, t) of 18 reals, then the
 * generator: seven 32-bit words and one of 64 bits. The checksum is that of all bytes after the
 * first line. */
enum { GAUGE_HEADER = 128 };

/* Collective. rank 0 alone touches the file; memory for one time slice. The file appears under its
 * name when it is complete. 0, or -1 on every rank with message (size bytes): what, where. */
int gauge_save(const struct lattice *lattice, const struct fields *fields, const char *path,
               MPI_Comm comm, char *message, size_t size);

/* See early whether gauge_save can make its file, before hours of work. Collective; results alike.
 */
int gauge_can_save(const struct lattice *lattice, const char *path, MPI_Comm comm, char *message,
                   size_t size);

/* Collective. Links of the other precision are converted. A wrong size of lattice or file, a wrong
 * checksum or links that are not unitary to 1e-4 are failures; fields are then undefined. */
int gauge_load(const struct lattice *lattice, struct fields *fields, const char *path,
               MPI_Comm comm, char *message, size_t size);

#endif
