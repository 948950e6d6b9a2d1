/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "host_name.h"
#include "texts.h"

#include <mpi.h>

/* Which ranks share a node, told by the names of their hosts. Nodes are numbered by their lowest
 * ranks. Only rank 0 holds names: any other rank takes 4 bytes a rank and 4 a node. */

struct hosts {
    int ranks, count;   /* ranks of the communicator, nodes */
    int *node;          /* of every rank */
    int *first;         /* lowest rank of every node */
    const char **names; /* rank 0: of every node; NULL elsewhere */
    struct texts texts; /* rank 0: what names point into */
};

/* The nodes of all ranks, by each rank's name of its own. Collective over comm; only PMPI calls, so
 * that no profile counts them. Out of memory ends the run. */
void hosts_find(struct hosts *hosts, const char *own, MPI_Comm comm);

/* Each rank as a node of its own; they keep the names of their hosts. Collective over comm, whose
 * hosts were found. */
void hosts_part(struct hosts *hosts, MPI_Comm comm);

/* Free what hosts_find allocated. Local. */
void hosts_free(struct hosts *hosts);
