/* SPDX-License-Identifier: Apache-2.0 */
#include "hosts.h"

#include <stdlib.h>
#include <string.h>

/* For qsort, which hands no context over. */
static const char *const *names_sorted;

static int by_name_and_rank(const void *one, const void *other) {
    int a = *(const int *)one, b = *(const int *)other;
    int order = strcmp(names_sorted[a], names_sorted[b]);
    return order ? order : a - b;
}

static void *make(size_t count, size_t size, MPI_Comm comm) {
    void *memory = calloc(count + 1, size);
    if (!memory)
        PMPI_Abort(comm, 2);
    return memory;
}

/* Rank 0: the node of every rank, and the names of the nodes, from those of all ranks. Sorted by
 * name, each name's lowest rank comes first. */
static void number(struct hosts *hosts, const char *const *of_rank, MPI_Comm comm) {
    size_t ranks = (size_t)hosts->ranks;
    int *order = make(ranks, sizeof *order, comm), *lowest = make(ranks, sizeof *lowest, comm);
    for (int rank = 0; rank < hosts->ranks; rank++)
        order[rank] = rank;
    names_sorted = of_rank;
    qsort(order, ranks, sizeof *order, by_name_and_rank);
    for (int i = 0; i < hosts->ranks; i++) {
        int same = i > 0 && strcmp(of_rank[order[i]], of_rank[order[i - 1]]) == 0;
        lowest[order[i]] = same ? lowest[order[i - 1]] : order[i];
    }
    for (int rank = 0; rank < hosts->ranks; rank++) {
        if (lowest[rank] == rank) {
            hosts->names[hosts->count] = of_rank[rank];
            hosts->node[rank] = hosts->count++;
        } else {
            hosts->node[rank] = hosts->node[lowest[rank]];
        }
    }
    free(order);
    free(lowest);
}

/* Gather the names on rank 0, in which they are numbered. */
static void gather(struct hosts *hosts, const char *own, int rank, MPI_Comm comm) {
    size_t ranks = (size_t)hosts->ranks;
    hosts->texts = texts_gather(own, comm);
    if (rank != 0)
        return;
    const char **of_rank = make(ranks, sizeof *of_rank, comm);
    hosts->names = make(ranks, sizeof *hosts->names, comm);
    for (size_t r = 0; r < ranks; r++)
        of_rank[r] = hosts->texts.all + hosts->texts.places[r];
    number(hosts, of_rank, comm);
    free(of_rank);
}

void hosts_find(struct hosts *hosts, const char *own, MPI_Comm comm) {
    int rank;
    *hosts = (struct hosts){0};
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &hosts->ranks);
    hosts->node = make((size_t)hosts->ranks, sizeof *hosts->node, comm);
    gather(hosts, own, rank, comm);
    PMPI_Bcast(&hosts->count, 1, MPI_INT, 0, comm);
    PMPI_Bcast(hosts->node, hosts->ranks, MPI_INT, 0, comm);
    hosts->first = make((size_t)hosts->count, sizeof *hosts->first, comm);
    for (int r = hosts->ranks - 1; r >= 0; r--)
        hosts->first[hosts->node[r]] = r;
}

void hosts_part(struct hosts *hosts, MPI_Comm comm) {
    size_t ranks = (size_t)hosts->ranks;
    int *first = make(ranks, sizeof *first, comm);
    const char **names = hosts->names ? make(ranks, sizeof *names, comm) : NULL;
    for (int rank = 0; rank < hosts->ranks; rank++) {
        if (names)
            names[rank] = hosts->names[hosts->node[rank]];
        first[rank] = hosts->node[rank] = rank;
    }
    free(hosts->first);
    free(hosts->names);
    hosts->first = first;
    hosts->names = names;
    hosts->count = hosts->ranks;
}

void hosts_free(struct hosts *hosts) {
    free(hosts->node);
    free(hosts->first);
    free(hosts->names);
    texts_free(&hosts->texts);
}
