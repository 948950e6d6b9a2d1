/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_NODE_TURNS_H
#define ASSAY_NODE_TURNS_H

#include <mpi.h>

/* Who measures when: the nodes of a launch one after the other, or all at once. A rank that waits
 * sleeps between looks, so that it takes no time from one that measures on shared cores. */

#define HOST_BYTES 256

struct turns {
    MPI_Comm node;             /* the ranks of this host */
    int rank, ranks;           /* in MPI_COMM_WORLD */
    int rank_on_node, on_node; /* in node */
    int in_turn;               /* 0: all nodes at once */
    int before, after;         /* first rank of the node before and after in turn, or -1 */
    int *first;                /* the first rank of every rank's host */
    char host[HOST_BYTES];     /* up to the first dot */
};

/* Collective. */
struct turns turns_begin(int in_turn);
/* Wait until this node's turn has come; the ranks of a node leave together. */
void turns_wait(const struct turns *turns);
/* Hand the turn on. */
void turns_pass(const struct turns *turns);
/* Sleep until a message with tag from source is there; MPI_Recv then gets it at once. */
void turns_sleep_until(int source, int tag);
/* Rank 0 lets all others go; they sleep until then. */
void turns_end(struct turns *turns);

#endif
