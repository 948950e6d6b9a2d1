/* SPDX-License-Identifier: Apache-2.0 */
/* Two clocks are compared by round trips: the answer's stamp lies between begin and end of a trip,
 * so the shortest trip has the least uncertainty, half its time. */
#include "recording.h"

#include "assay/clock.h"

enum { TAG = 72, TRIPS = 20 };

static long long now_ns(void) { return (long long)(1e9 * timing_monotonic()); }

/* Answer the lowest rank of a node with this rank's clock. */
static void answer(MPI_Comm comm, int rank) {
    MPI_Status status;
    long long stamp;
    for (int trip = 0; trip < TRIPS; trip++) {
        PMPI_Recv(&stamp, sizeof stamp, MPI_BYTE, rank, TAG, comm, &status);
        stamp = now_ns();
        PMPI_Send(&stamp, sizeof stamp, MPI_BYTE, rank, TAG, comm);
    }
}

static void ask(MPI_Comm comm, long long compared[3]) {
    MPI_Status status;
    long long stamp = 0;
    for (int trip = 0; trip < TRIPS; trip++) {
        long long begun = now_ns();
        PMPI_Send(&stamp, sizeof stamp, MPI_BYTE, 0, TAG, comm);
        PMPI_Recv(&stamp, sizeof stamp, MPI_BYTE, 0, TAG, comm, &status);
        long long ended = now_ns(), error = (ended - begun) / 2 + 1;
        if (trip == 0 || error < compared[2]) {
            compared[0] = ended;
            compared[1] = stamp - (begun + (ended - begun) / 2);
            compared[2] = error;
        }
    }
}

void clocks_compare(MPI_Comm comm, const int *first, int nodes, long long compared[3]) {
    compared[0] = now_ns();
    compared[1] = compared[2] = 0;
    for (int node = 1; node < nodes; node++) {
        if (recording_rank == 0)
            answer(comm, first[node]);
        else if (recording_rank == first[node])
            ask(comm, compared);
    }
}
