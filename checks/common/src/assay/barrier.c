/* SPDX-License-Identifier: Apache-2.0 */
#include "barrier.h"

void barrier_disseminate(MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int distance = 1; distance < ranks; distance *= 2) {
        char sent = 0, received;
        MPI_Status status;
        MPI_Sendrecv(&sent, 0, MPI_CHAR, (rank + distance) % ranks, BARRIER_TAG, &received, 0,
                     MPI_CHAR, (rank - distance + ranks) % ranks, BARRIER_TAG, comm, &status);
    }
}
