/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/hosts.h"

#include <stddef.h>
#include <stdint.h>

/* Which pairs of nodes are measured in which round. A rank takes 20 bytes a node, 4 bytes a rank of
 * the launch and 12 a listed pair: 240 kB on 10,000 nodes of a rank each. */

struct pairs {
    struct hosts hosts;
    int nodes, on_node;     /* ranks of every node */
    int rounds;             /* that are measured */
    int node, rank_on_node; /* this rank's */
    size_t *order, *place;  /* order[player] is a node, place[node] its player */
    uint64_t *listed;       /* pairs of --only, ascending; NULL: every pair is measured */
    int listed_count;
    int *listed_rounds; /* those of the tournament in which listed pairs meet, ascending */
};

/* The pairs of all nodes of MPI_COMM_WORLD: players in the order of seed; the first `rounds` rounds
 * (0: all), or the pairs of hosts in `only` ("n1:n2,…"; "": all), in whichever rounds they meet.
 * Pairs with a host that the launch lacks are left out. Where all ranks share one node, each counts
 * as a node. Collective; unequal ranks on nodes, fewer than two ranks, what is no pair, and a list
 * of which no pair is left, end the run (fail_all). */
void pairs_choose(struct pairs *pairs, uint64_t seed, long long rounds, const char *only);

/* Whom node meets in the measured round 0 … rounds-1, whether that pair is listed or not; or -1.
 * Local. */
int pairs_met(const struct pairs *pairs, int round, int node);

/* The same where that pair is listed, or none is; else -1. Local. */
int pairs_partner(const struct pairs *pairs, int round, int node);
