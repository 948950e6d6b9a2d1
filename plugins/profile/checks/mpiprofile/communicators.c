/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a communicator is its attribute, so that it is freed with it. */
#include "recording.h"

#include <stdlib.h>

#if MPI_VERSION >= 2
#define KEYVAL_CREATE(destroy, key)                                                                \
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy, key, NULL)
#define ATTRIBUTE_GET PMPI_Comm_get_attr
#define ATTRIBUTE_PUT PMPI_Comm_set_attr
#else
#define KEYVAL_CREATE(destroy, key) PMPI_Keyval_create(MPI_NULL_COPY_FN, destroy, key, NULL)
#define ATTRIBUTE_GET PMPI_Attr_get
#define ATTRIBUTE_PUT PMPI_Attr_put
#endif

int *recording_node, recording_rank, recording_ranks, recording_nodes;
static int keyval = MPI_KEYVAL_INVALID;
/* The communicator of the last call. */
static MPI_Comm last_comm;
static struct communicator *last;

static int communicator_free(MPI_Comm comm, int key, void *value, void *extra) {
    struct communicator *own = value;
    (void)comm;
    (void)key;
    (void)extra;
    last = NULL;
    free(own->world);
    free(own);
    return MPI_SUCCESS;
}

/* World ranks of comm's ranks; NULL if out of memory. */
static int *world_ranks(MPI_Comm comm, int size) {
    MPI_Group group, world;
    int *own = malloc((size_t)size * sizeof *own), *ranks = malloc((size_t)size * sizeof *ranks);
    if (own && ranks) {
        for (int rank = 0; rank < size; rank++)
            own[rank] = rank;
        PMPI_Comm_group(comm, &group);
        PMPI_Comm_group(MPI_COMM_WORLD, &world);
        PMPI_Group_translate_ranks(group, size, own, world, ranks);
        PMPI_Group_free(&group);
        PMPI_Group_free(&world);
    } else {
        free(ranks);
        ranks = NULL;
    }
    free(own);
    return ranks;
}

/* Different nodes of the ranks, 0 if unknown. */
static int count_nodes(const struct communicator *own) {
    int count = 0;
    char *seen = recording_node ? calloc((size_t)recording_nodes, 1) : NULL;
    for (int rank = 0; seen && own->world && rank < own->ranks; rank++) {
        int world = own->world[rank];
        if (world < 0 || world >= recording_ranks) {
            count = 0; /* of a spawned program */
            break;
        }
        count += !seen[recording_node[world]];
        seen[recording_node[world]] = 1;
    }
    free(seen);
    return count;
}

struct communicator *communicator_of(MPI_Comm comm) {
    int found = 0, between;
    struct communicator *own = NULL;
    if (last && comm == last_comm)
        return last;
    if (keyval == MPI_KEYVAL_INVALID)
        KEYVAL_CREATE(communicator_free, &keyval);
    ATTRIBUTE_GET(comm, keyval, &own, &found);
    if (!found) {
        own = calloc(1, sizeof *own);
        if (!own)
            return NULL;
        PMPI_Comm_test_inter(comm, &between);
        PMPI_Comm_size(comm, &own->ranks);
        if (!between)
            own->world = world_ranks(comm, own->ranks);
        own->nodes = count_nodes(own);
        own->id = comm == MPI_COMM_WORLD;
        ATTRIBUTE_PUT(comm, keyval, own);
    }
    last_comm = comm;
    last = own;
    return own;
}

void communicator_made(MPI_Comm from, MPI_Comm made) {
    struct communicator *parent = communicator_of(from);
    if (!parent || !parent->id)
        return;
    unsigned long long id = sample_mix(parent->id, parent->made++);
    struct communicator *own = made == MPI_COMM_NULL ? NULL : communicator_of(made);
    if (own && own->world && own->world[0] >= 0)
        own->id = sample_mix(id, (unsigned long long)own->world[0]) | 1;
}

int profile_peer(MPI_Comm comm, int rank) {
    int peer = PROFILE_NO_PEER;
    if (rank < 0) /* MPI_ANY_SOURCE, MPI_PROC_NULL */
        return PROFILE_NO_PEER;
    profile_lock();
    const struct communicator *own = communicator_of(comm);
    if (own && own->world && rank < own->ranks && own->world[rank] >= 0)
        peer = own->world[rank];
    profile_unlock();
    return peer;
}
