/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/hosts.h"

#include <mpi.h>

/* The order of measuring: the nodes of a launch one after the other, or all at once. Waiting ranks
 * sleep, so that they take no time from a measuring rank on shared cores. */

#define TURNS_NAP_S 5e-4

struct turns {
    MPI_Comm node;             /* the ranks of this host */
    int rank, ranks;           /* in MPI_COMM_WORLD */
    int rank_on_node, on_node; /* in node */
    int in_turn;               /* 0: all nodes at once */
    int before, after;         /* first rank of the node before and after, or -1 */
    struct hosts hosts;        /* all nodes, by the short names of hosts */
    char host[HOST_BYTES];     /* this rank's */
};

/* All four are collective over all ranks. turns_wait returns when it is this node's turn, on all of
 * its ranks together; turns_pass starts the next node's; in turns_end the other ranks sleep until
 * rank 0 has entered. */
struct turns turns_begin(int in_turn);
void turns_wait(const struct turns *turns);
void turns_pass(const struct turns *turns);
void turns_end(struct turns *turns);
