/* SPDX-License-Identifier: Apache-2.0 */
#include "roles.h"

#include "assay/buffer.h"
#include "assay/rest.h"

#include <stdlib.h>
#include <string.h>

#define NAP_S 2e-4

const char *const role_names[ROLES] = {"endpoint", "same-node", "other-node"};

struct roles roles_choose(void) {
    struct roles roles = {ENDPOINT, 0, 0, 0, 1, MPI_COMM_NULL};
    char own[MPI_MAX_PROCESSOR_NAME] = "", (*hosts)[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Comm_rank(MPI_COMM_WORLD, &roles.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &roles.ranks);
    MPI_Get_processor_name(own, &length);
    hosts = buffer_make((size_t)roles.ranks, sizeof *hosts);
    MPI_Allgather(own, sizeof own, MPI_CHAR, hosts, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
    for (int rank = roles.ranks - 1; rank > 0; rank--)
        if (strcmp(hosts[rank], hosts[roles.first]) != 0)
            roles.second = rank;
    if (roles.rank != roles.first && roles.rank != roles.second)
        roles.mine = strcmp(own, hosts[roles.first]) == 0 || strcmp(own, hosts[roles.second]) == 0
                         ? SAME_NODE
                         : OTHER_NODE;
    free(hosts);
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
