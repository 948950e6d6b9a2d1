/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_REST_H
#define ASSAY_REST_H

#include <mpi.h>

/* A barrier that sleeps: no rank leaves before all have come, and a rank that waits takes no core
 * from those that measure (it looks every millisecond). Collective over comm. For ranks that must
 * leave the machine to others; never part of a timed interval. */
void rest_until_all(MPI_Comm comm);

#endif
