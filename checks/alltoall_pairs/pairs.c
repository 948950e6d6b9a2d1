/* SPDX-License-Identifier: Apache-2.0 */
#include "pairs.h"

#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/shuffle.h"
#include "assay/tournament.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define WHERE "alltoall_pairs"
#define LIST_SHOWN 60 /* bytes of --only in a message */

static uint64_t code_of(int one, int other) {
    int low = one < other ? one : other, high = one < other ? other : one;
    return (uint64_t)low << 32 | (uint64_t)high;
}

static int by_code(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static int by_number(const void *one, const void *other) {
    int a = *(const int *)one, b = *(const int *)other;
    return (a > b) - (a < b);
}

static int node_of(const struct hosts *hosts, const char *name, size_t length) {
    for (int node = 0; node < hosts->count; node++)
        if (strlen(hosts->names[node]) == length && !memcmp(hosts->names[node], name, length))
            return node;
    return -1;
}

/* Rank 0: the codes of the listed pairs that the launch has; returns where the first that is none
 * stands in the text, or -1. */
static int read_list(struct pairs *pairs, const char *only) {
    for (const char *pair = only; *pair;) {
        size_t length = strcspn(pair, ","), first = strcspn(pair, ":,");
        if (first == 0 || first + 1 >= length)
            return (int)(pair - only);
        int one = node_of(&pairs->hosts, pair, first);
        int other = node_of(&pairs->hosts, pair + first + 1, length - first - 1);
        if (one >= 0 && one == other)
            return (int)(pair - only);
        if (one >= 0 && other >= 0)
            pairs->listed[pairs->listed_count++] = code_of(one, other);
        pair += length + (pair[length] == ',');
    }
    qsort(pairs->listed, (size_t)pairs->listed_count, sizeof *pairs->listed, by_code);
    return -1;
}

/* Rank 0 knows the names of the nodes; the others get the pairs from it. */
static void choose_listed(struct pairs *pairs, const char *only) {
    size_t most = 1;
    for (const char *at = only; *at; at++)
        most += *at == ',';
    pairs->listed = buffer_make(most, sizeof *pairs->listed);
    int wrong = world.rank == 0 ? read_list(pairs, only) : -1;
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const char *pair = only + (wrong < 0 ? 0 : wrong);
    fail_all(wrong >= 0, WHERE,
             "option --only: found %.*s, allowed are two hosts of this launch as n1:n2",
             (int)strcspn(pair, ","), pair);
    MPI_Bcast(&pairs->listed_count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    fail_all(pairs->listed_count == 0, WHERE,
             "option --only: found %.*s, of which this launch has no pair; allowed is a list of"
             " which it has one",
             LIST_SHOWN, only);
    MPI_Bcast(pairs->listed, pairs->listed_count * (int)sizeof *pairs->listed, MPI_BYTE, 0,
              MPI_COMM_WORLD);
}

/* Only the rounds in which listed pairs meet are measured: each has calls of all ranks. */
static void choose_rounds(struct pairs *pairs) {
    size_t count = (size_t)pairs->listed_count;
    pairs->listed_rounds = buffer_make(count, sizeof *pairs->listed_rounds);
    for (size_t i = 0; i < count; i++) {
        size_t low = pairs->listed[i] >> 32, high = pairs->listed[i] & UINT32_MAX;
        pairs->listed_rounds[i] =
            tournament_round(pairs->nodes, (int)pairs->place[low], (int)pairs->place[high]);
    }
    qsort(pairs->listed_rounds, count, sizeof *pairs->listed_rounds, by_number);
    pairs->rounds = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || pairs->listed_rounds[i] != pairs->listed_rounds[i - 1])
            pairs->listed_rounds[pairs->rounds++] = pairs->listed_rounds[i];
}

void pairs_choose(struct pairs *pairs, uint64_t seed, long long rounds, const char *only) {
    char host[HOST_BYTES];
    host_short_name(host);
    hosts_find(&pairs->hosts, host, MPI_COMM_WORLD);
    if (pairs->hosts.count == 1) /* a rehearsal on one machine */
        hosts_part(&pairs->hosts, MPI_COMM_WORLD);
    pairs->nodes = pairs->hosts.count;
    pairs->on_node = world.ranks / pairs->nodes;
    pairs->node = pairs->hosts.node[world.rank];
    fail_all(world.ranks < 2, WHERE, "found %d ranks, allowed are at least 2", world.ranks);
    int *count = buffer_make((size_t)pairs->nodes, sizeof *count), uneven = -1;
    for (int rank = 0; rank < world.ranks; rank++) {
        if (rank == world.rank)
            pairs->rank_on_node = count[pairs->hosts.node[rank]];
        count[pairs->hosts.node[rank]]++;
    }
    for (int node = 0; node < pairs->nodes; node++)
        if (count[node] * pairs->nodes != world.ranks)
            uneven = count[node];
    free(count);
    fail_all(uneven >= 0, WHERE, "found %d ranks on a node, allowed are as many on each of %d",
             uneven, pairs->nodes);
    size_t nodes = (size_t)pairs->nodes;
    pairs->order = buffer_make(nodes, sizeof *pairs->order);
    pairs->place = buffer_make(nodes, sizeof *pairs->place);
    shuffle(pairs->order, nodes, seed);
    for (size_t player = 0; player < nodes; player++)
        pairs->place[pairs->order[player]] = player;
    int all = tournament_rounds(pairs->nodes);
    pairs->rounds = rounds > 0 && rounds < all ? (int)rounds : all;
    if (*only) {
        choose_listed(pairs, only);
        choose_rounds(pairs);
    }
}

int pairs_met(const struct pairs *pairs, int round, int node) {
    int number = pairs->listed ? pairs->listed_rounds[round] : round;
    int player = tournament_partner(pairs->nodes, number, (int)pairs->place[node]);
    return player < 0 ? -1 : (int)pairs->order[player];
}

int pairs_partner(const struct pairs *pairs, int round, int node) {
    int partner = pairs_met(pairs, round, node);
    if (!pairs->listed || partner < 0)
        return partner;
    uint64_t code = code_of(node, partner);
    size_t count = (size_t)pairs->listed_count;
    return bsearch(&code, pairs->listed, count, sizeof code, by_code) ? partner : -1;
}
