/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include "assay/rest.h"

#include <stddef.h>

#define TAG_TURN 21
#define TAG_END 22

struct turns turns_begin(int in_turn) {
    struct turns turns = {.in_turn = in_turn, .before = -1, .after = -1};
    host_short_name(turns.host);
    hosts_find(&turns.hosts, turns.host, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &turns.rank);
    turns.ranks = turns.hosts.ranks;
    int own = turns.hosts.node[turns.rank];
    if (own > 0)
        turns.before = turns.hosts.first[own - 1];
    if (own + 1 < turns.hosts.count)
        turns.after = turns.hosts.first[own + 1];
    MPI_Comm_split(MPI_COMM_WORLD, own, turns.rank, &turns.node);
    MPI_Comm_rank(turns.node, &turns.rank_on_node);
    MPI_Comm_size(turns.node, &turns.on_node);
    return turns;
}

static void receive_token(int source, int tag, MPI_Comm comm) {
    MPI_Status status;
    rest_until_message(source, tag, comm, TURNS_NAP_S);
    MPI_Recv(NULL, 0, MPI_CHAR, source, tag, comm, &status);
}

static void send_token(int to, int tag, MPI_Comm comm) {
    MPI_Send(NULL, 0, MPI_CHAR, to, tag, comm);
}

void turns_wait(const struct turns *turns) {
    if (!turns->in_turn) {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    if (turns->rank_on_node != 0) {
        receive_token(0, TAG_TURN, turns->node);
        return;
    }
    if (turns->before >= 0)
        receive_token(turns->before, TAG_TURN, MPI_COMM_WORLD);
    for (int i = 1; i < turns->on_node; i++)
        send_token(i, TAG_TURN, turns->node);
}

void turns_pass(const struct turns *turns) {
    if (turns->in_turn && turns->rank_on_node == 0 && turns->after >= 0)
        send_token(turns->after, TAG_TURN, MPI_COMM_WORLD);
}

void turns_end(struct turns *turns) {
    if (turns->rank != 0)
        receive_token(0, TAG_END, MPI_COMM_WORLD);
    for (int i = 1; turns->rank == 0 && i < turns->ranks; i++)
        send_token(i, TAG_END, MPI_COMM_WORLD);
    hosts_free(&turns->hosts);
    MPI_Comm_free(&turns->node);
}
