/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, gethostname */
#include "turns.h"

#include "assay/fail.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TAG_TURN 21
#define TAG_END 22
#define LOOK_NS 500000L /* time between two looks */

/* The first rank of each rank's host, in rank order; the caller frees it. Collective. */
static int *first_ranks(struct turns *turns) {
    char *hosts = malloc((size_t)turns->ranks * HOST_BYTES);
    int *first = malloc((size_t)turns->ranks * sizeof *first);
    fail_if(!hosts || !first, __func__, "out of memory: %d host names", turns->ranks);
    MPI_Allgather(turns->host, HOST_BYTES, MPI_CHAR, hosts, HOST_BYTES, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < turns->ranks; i++) {
        first[i] = i;
        for (int j = 0; j < i && first[i] == i; j++)
            if (first[j] == j &&
                strcmp(hosts + (size_t)i * HOST_BYTES, hosts + (size_t)j * HOST_BYTES) == 0)
                first[i] = j;
    }
    free(hosts);
    return first;
}

struct turns turns_begin(int in_turn) {
    struct turns turns = {.in_turn = in_turn, .before = -1, .after = -1};
    gethostname(turns.host, HOST_BYTES - 1);
    turns.host[strcspn(turns.host, ".")] = '\0';
    MPI_Comm_rank(MPI_COMM_WORLD, &turns.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &turns.ranks);
    turns.first = first_ranks(&turns);
    const int *first = turns.first;
    int own = first[turns.rank];
    for (int i = 0; i < turns.ranks; i++) {
        if (first[i] == i && i < own)
            turns.before = i;
        if (first[i] == i && i > own && turns.after < 0)
            turns.after = i;
    }
    MPI_Comm_split(MPI_COMM_WORLD, own, turns.rank, &turns.node);
    MPI_Comm_rank(turns.node, &turns.rank_on_node);
    MPI_Comm_size(turns.node, &turns.on_node);
    return turns;
}

static void sleep_until(int source, int tag, MPI_Comm comm) {
    struct timespec pause = {0, LOOK_NS};
    int there = 0;
    MPI_Status status;
    for (;;) {
        MPI_Iprobe(source, tag, comm, &there, &status);
        if (there)
            return;
        nanosleep(&pause, NULL);
    }
}

void turns_sleep_until(int source, int tag) { sleep_until(source, tag, MPI_COMM_WORLD); }

static void receive_token(int source, int tag, MPI_Comm comm) {
    MPI_Status status;
    sleep_until(source, tag, comm);
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
