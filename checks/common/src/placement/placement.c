/* SPDX-License-Identifier: Apache-2.0 */
/* placement RANKS NODES: is this one of RANKS ranks, as many on each of NODES hosts? Exits with 3
 * and says what it is where not. The evidence that is linked in prints the rest at MPI_Finalize. */
#include "assay/hosts.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define WRONG 3

/* 1 if each of `nodes` hosts has as many of the ranks. */
static int even(const struct hosts *hosts, int nodes) {
    int uneven = hosts->count != nodes;
    for (int node = 0; !uneven && node < nodes; node++) {
        int here = 0;
        for (int rank = 0; rank < hosts->ranks; rank++)
            here += hosts->node[rank] == node;
        uneven = here * nodes != hosts->ranks;
    }
    return !uneven;
}

int main(int argc, char **argv) {
    int rank;
    char host[HOST_BYTES];
    struct hosts hosts;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int asked = argc == 3 ? atoi(argv[1]) : 0, nodes = argc == 3 ? atoi(argv[2]) : 0;
    host_name(host);
    hosts_find(&hosts, host, MPI_COMM_WORLD);
    int right = hosts.ranks == asked && even(&hosts, nodes);
    if (rank == 0 && !right) {
        printf("placement: %d ranks instead of %d on %d nodes; rank 0 is on %s\n", hosts.ranks,
               asked, nodes, host);
        fflush(stdout);
    }
    hosts_free(&hosts);
    MPI_Finalize();
    return right ? 0 : WRONG;
}
