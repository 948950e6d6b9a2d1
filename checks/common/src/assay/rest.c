/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "rest.h"

#include <time.h>

#define TAG 32

static const struct timespec nap = {0, 1000000};

static void wait_asleep(MPI_Request *request) {
    MPI_Status status;
    int done = 0;
    for (MPI_Test(request, &done, &status); !done; MPI_Test(request, &done, &status))
        nanosleep(&nap, NULL);
}

/* Dissemination (Hensgen, Finkel, Manber 1988): log2(ranks) rounds of an empty message each. */
void rest_until_all(MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int distance = 1; distance < ranks; distance *= 2) {
        int to = (rank + distance) % ranks, from = (rank - distance + ranks) % ranks;
        MPI_Request receive, send;
        MPI_Irecv(NULL, 0, MPI_BYTE, from, TAG, comm, &receive);
        MPI_Isend(NULL, 0, MPI_BYTE, to, TAG, comm, &send);
        wait_asleep(&receive);
        wait_asleep(&send);
    }
}
