/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_BARRIER_H
#define ASSAY_BARRIER_H

#include <mpi.h>

/* A barrier of our own, the same for every library, to start ranks together without measuring
 * with what is measured: the dissemination barrier of Hensgen, Finkel and Manber (International
 * Journal of Parallel Programming 17, 1988), ⌈log2 p⌉ rounds of one empty message each way.
 * Collective over comm; uses the tag BARRIER_TAG. */
#define BARRIER_TAG 32001

void barrier_disseminate(MPI_Comm comm);

#endif
