/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* gethostname */
#include "turns.h"

#include "assay/buffer.h"
#include "assay/rest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAG_TURN 21
#define TAG_END 22

struct turns turns_begin(int in_turn) {
    struct turns turns = {.in_turn = in_turn, .before = -1, .after = -1};
    gethostname(turns.host, HOST_BYTES - 1);
    turns.host[strcspn(turns.host, ".")] = '\0';
    MPI_Comm_rank(MPI_COMM_WORLD, &turns.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &turns.ranks);
    char(*hosts)[HOST_BYTES] = buffer_make((size_t)turns.ranks, sizeof *hosts);
    int *first = buffer_make((size_t)turns.ranks, sizeof *first);
    MPI_Allgather(turns.host, HOST_BYTES, MPI_CHAR, hosts, HOST_BYTES, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < turns.ranks; i++)
        while (strcmp(hosts[first[i]], hosts[i]) != 0)
            first[i]++;
    free(hosts);
    int own = first[turns.rank];
    for (int i = 0; i < turns.ranks; i++) {
        if (first[i] == i && i < own)
            turns.before = i;
        if (first[i] == i && i > own && turns.after < 0)
            turns.after = i;
    }
    turns.first = first;
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
    free(turns->first);
    MPI_Comm_free(&turns->node);
}
