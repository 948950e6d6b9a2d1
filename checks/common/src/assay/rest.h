/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* Waiting without occupying the core: MPI's own calls poll. Never inside a timed interval. */

/* A barrier whose waiting ranks sleep, polling every millisecond. Collective over comm. */
void rest_until_all(MPI_Comm comm);

/* Sleep, polling every nap_s seconds, until a message with tag from source has arrived; MPI_Recv
 * then returns at once. */
void rest_until_message(int source, int tag, MPI_Comm comm, double nap_s);
