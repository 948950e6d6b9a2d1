/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks share a node, by invented names of hosts, on four ranks. */
#include "assay/hosts.h"
#include "proof.h"

#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
    /* Ranks 1 and 3 share a node; in the order of names it is the first. */
    static const char *const names[] = {"n10", "a", "n9", "a"};
    static const int nodes[] = {0, 1, 2, 1}, lowest[] = {0, 1, 2};
    struct hosts hosts;
    int rank, wrong, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hosts_find(&hosts, names[rank % 4], MPI_COMM_WORLD);
    wrong = hosts.ranks != 4 || hosts.count != 3 || (rank > 0 && hosts.names);
    for (int i = 0; !wrong && i < 4; i++)
        wrong |= hosts.node[i] != nodes[i];
    for (int i = 0; !wrong && i < 3; i++)
        wrong |= hosts.first[i] != lowest[i];
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        proof_true("nodes are numbered by their lowest ranks, on all ranks", all == 0);
        proof_true("rank 0 has the nodes' names", !strcmp(hosts.names[0], "n10") &&
                                                      !strcmp(hosts.names[1], "a") &&
                                                      !strcmp(hosts.names[2], "n9"));
    }
    hosts_free(&hosts);
    MPI_Finalize();
    return proof_status();
}
