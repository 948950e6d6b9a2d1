/* SPDX-License-Identifier: Apache-2.0 */
/* placement RANKS NODES: is this one of RANKS ranks, as many on each of NODES hosts? Exits with 3
 * and says what it is where not. The evidence that is linked in prints the rest at MPI_Finalize. */
#define _GNU_SOURCE /* gethostname */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_BYTES 256
#define WRONG 3

/* Hosts among `ranks` names of HOST_BYTES each, or 0 where they do not have as many ranks each. */
static int even_hosts(const char *names, int ranks, int nodes) {
    int hosts = 0;
    for (int r = 0; r < ranks; r++) {
        int alike = 0, first = r;
        for (int other = 0; other < ranks; other++) {
            if (strcmp(names + r * HOST_BYTES, names + other * HOST_BYTES) != 0)
                continue;
            alike++;
            first = other < first ? other : first;
        }
        if (alike * nodes != ranks)
            return 0;
        hosts += first == r;
    }
    return hosts;
}

int main(int argc, char **argv) {
    int rank, ranks, right = 0;
    char host[HOST_BYTES] = "", *hosts = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int asked = argc == 3 ? atoi(argv[1]) : 0, nodes = argc == 3 ? atoi(argv[2]) : 0;
    gethostname(host, sizeof host - 1);
    if (rank == 0 && !(hosts = calloc((size_t)ranks, HOST_BYTES)))
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Gather(host, HOST_BYTES, MPI_CHAR, hosts, HOST_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        right = ranks == asked && even_hosts(hosts, ranks, nodes) == nodes;
    MPI_Bcast(&right, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0 && !right) {
        printf("placement: %d ranks instead of %d on %d nodes; rank 0 is on %s\n", ranks, asked,
               nodes, host);
        fflush(stdout);
    }
    free(hosts);
    MPI_Finalize();
    return right ? 0 : WRONG;
}
