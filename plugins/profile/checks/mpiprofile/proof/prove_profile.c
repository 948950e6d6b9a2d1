/* SPDX-License-Identifier: Apache-2.0 */
/* A program with known numbers of calls, for prove_profile.py: a ring in a communicator with
 * reversed ranks, so that peers must be translated. */
#include <mpi.h>
#include <stdlib.h>

enum { ROUNDS = 10, SMALL = 100, LARGE = 5000 };

static void ring(MPI_Comm comm, int rank, int ranks) {
    char out[LARGE] = {0}, in[LARGE];
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Irecv(in, LARGE, MPI_CHAR, from, 1, comm, &requests[0]);
        MPI_Isend(out, SMALL, MPI_CHAR, to, 1, comm, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        MPI_Sendrecv(out, LARGE, MPI_CHAR, to, 2, in, LARGE, MPI_CHAR, from, 2, comm, statuses);
    }
}

static void persistent(MPI_Comm comm, int rank, int ranks) {
    int out[8] = {0}, in[8];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Recv_init(in, 8, MPI_INT, (rank + ranks - 1) % ranks, 3, comm, &requests[0]);
    MPI_Send_init(out, 8, MPI_INT, (rank + 1) % ranks, 3, comm, &requests[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Start(&requests[0]);
        MPI_Start(&requests[1]);
        MPI_Waitall(2, requests, statuses);
    }
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, statuses);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

int main(int argc, char **argv) {
    MPI_Comm reversed;
    MPI_Status status;
    char byte = 0;
    double values[4] = {0}, sums[4];
    int rank, ranks, own;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed);
    MPI_Comm_rank(reversed, &own);
    ring(reversed, own, ranks);
    persistent(reversed, own, ranks);
    if (rank != 0)
        MPI_Send(&byte, 1, MPI_CHAR, 0, 4, MPI_COMM_WORLD);
    for (int other = 1; rank == 0 && other < ranks; other++)
        MPI_Recv(&byte, 1, MPI_CHAR, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
    for (int round = 0; round < ROUNDS; round++)
        MPI_Allreduce(values, sums, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(values, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
