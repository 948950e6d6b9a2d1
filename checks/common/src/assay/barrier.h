/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* A barrier independent of the library's own, which may be under measurement: the dissemination
 * barrier of Hensgen, Finkel and Manber (International Journal of Parallel Programming 17, 1988),
 * ⌈log2 p⌉ rounds of one empty message each way. Collective over comm; uses BARRIER_TAG. */
#define BARRIER_TAG 32001

void barrier_disseminate(MPI_Comm comm);
