/* SPDX-License-Identifier: Apache-2.0 */
#include "roles.h"

#include "assay/hosts.h"
#include "assay/rest.h"

#define NAP_S 2e-4

const char *const role_names[ROLES] = {"endpoint", "same-node", "other-node"};

struct roles roles_choose(void) {
    struct roles roles = {ENDPOINT, 0, 0, 0, 1, MPI_COMM_NULL};
    char own[HOST_BYTES];
    struct hosts hosts;
    MPI_Comm_rank(MPI_COMM_WORLD, &roles.rank);
    host_short_name(own);
    hosts_find(&hosts, own, MPI_COMM_WORLD);
    roles.ranks = hosts.ranks;
    if (hosts.count > 1)
        roles.second = hosts.first[1];
    int node = hosts.node[roles.rank];
    if (roles.rank != roles.first && roles.rank != roles.second)
        roles.mine = node == 0 || node == hosts.node[roles.second] ? SAME_NODE : OTHER_NODE;
    hosts_free(&hosts);
    MPI_Comm_split(MPI_COMM_WORLD, roles.mine == ENDPOINT, roles.rank, &roles.pair);
    return roles;
}

int arrived(int from, int tag) {
    int flag;
    char nothing;
    MPI_Status status;
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &flag, &status);
    if (flag)
        MPI_Recv(&nothing, 0, MPI_CHAR, from, tag, MPI_COMM_WORLD, &status);
    return flag;
}

void rest_until(int from, int tag) {
    rest_until_message(from, tag, MPI_COMM_WORLD, NAP_S);
    arrived(from, tag);
}

void tell_all(const struct roles *roles, int but, int tag) {
    char nothing = 0;
    for (int rank = 0; rank < roles->ranks; rank++)
        if (rank != roles->rank && rank != but)
            MPI_Send(&nothing, 0, MPI_CHAR, rank, tag, MPI_COMM_WORLD);
}
