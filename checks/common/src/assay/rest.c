/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "rest.h"

#include <time.h>

#define TAG 32

static void nap(double seconds) {
    const struct timespec time = {0, (long)(1e9 * seconds)};
    nanosleep(&time, NULL);
}

/* Dissemination (Hensgen, Finkel, Manber 1988): log2(ranks) rounds of an empty message each. */
void rest_until_all(MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int distance = 1; distance < ranks; distance *= 2) {
        int to = (rank + distance) % ranks, from = (rank - distance + ranks) % ranks;
        MPI_Request requests[2];
        MPI_Irecv(NULL, 0, MPI_BYTE, from, TAG, comm, &requests[0]);
        MPI_Isend(NULL, 0, MPI_BYTE, to, TAG, comm, &requests[1]);
        for (int i = 0; i < 2; i++) {
            MPI_Status status;
            int done = 0;
            for (MPI_Test(&requests[i], &done, &status); !done;
                 MPI_Test(&requests[i], &done, &status))
                nap(1e-3);
        }
    }
}

void rest_until_message(int source, int tag, MPI_Comm comm, double nap_s) {
    int arrived = 0;
    MPI_Status status;
    for (MPI_Iprobe(source, tag, comm, &arrived, &status); !arrived;
         MPI_Iprobe(source, tag, comm, &arrived, &status))
        nap(nap_s);
}
