/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "roles.h"

#include "assay/fail.h"
#include "assay/rest.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAP_NS 200000

const char *const role_names[ROLES] = {"endpoint", "same-node", "other-node"};

static const char *host_of(const char *hosts, int rank) {
    return hosts + (size_t)rank * MPI_MAX_PROCESSOR_NAME;
}

static int second_endpoint(const char *hosts, int ranks) {
    for (int rank = 1; rank < ranks; rank++)
        if (strcmp(host_of(hosts, rank), hosts) != 0)
            return rank;
    return 1;
}

static enum role role_of(const struct roles *roles, const char *hosts) {
    const char *own = host_of(hosts, roles->rank);
    if (roles->rank == roles->first || roles->rank == roles->second)
        return ENDPOINT;
    return strcmp(own, host_of(hosts, roles->first)) == 0 ||
                   strcmp(own, host_of(hosts, roles->second)) == 0
               ? SAME_NODE
               : OTHER_NODE;
}

struct roles roles_choose(void) {
    struct roles roles = {ENDPOINT, 0, 0, 0, 1, MPI_COMM_NULL};
    char own[MPI_MAX_PROCESSOR_NAME] = "";
    int length;
    MPI_Comm_rank(MPI_COMM_WORLD, &roles.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &roles.ranks);
    MPI_Get_processor_name(own, &length);
    char *hosts = malloc((size_t)roles.ranks * sizeof own);
    fail_if(!hosts, __func__, "out of memory: names of %d hosts", roles.ranks);
    MPI_Allgather(own, sizeof own, MPI_CHAR, hosts, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
    roles.second = second_endpoint(hosts, roles.ranks);
    roles.mine = role_of(&roles, hosts);
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
    const struct timespec nap = {0, NAP_NS};
    while (!arrived(from, tag))
        nanosleep(&nap, NULL);
}

void tell_all(const struct roles *roles, int but, int tag) {
    char nothing = 0;
    for (int rank = 0; rank < roles->ranks; rank++)
        if (rank != roles->rank && rank != but)
            MPI_Send(&nothing, 0, MPI_CHAR, rank, tag, MPI_COMM_WORLD);
}

void take_turns(const struct roles *roles, void (*body)(void *context), void *context) {
    for (int turn = 0; turn < roles->ranks; turn++) {
        if (turn == roles->rank)
            body(context);
        rest_until_all(MPI_COMM_WORLD);
    }
}
