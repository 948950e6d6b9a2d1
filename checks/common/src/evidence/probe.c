/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include "arrivals.h"
#include "rank_facts.h"

#include <stdlib.h>
#include <string.h>

#define PROBE_TAG 17

/* The leaders: the lowest rank of each host, ascending. */
struct ring {
    char (*hosts)[HOST_BYTES]; /* of every rank */
    int *leaders;
    int count;
    int own; /* this rank's index in leaders, or -1 */
};

static void ring_make(struct ring *ring, MPI_Comm comm) {
    char host[HOST_BYTES] = "";
    int rank, ranks;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    rank_host(host);
    ring->hosts = malloc((size_t)ranks * sizeof *ring->hosts);
    ring->leaders = malloc((size_t)ranks * sizeof *ring->leaders);
    if (!ring->hosts || !ring->leaders)
        PMPI_Abort(comm, 2);
    PMPI_Allgather(host, HOST_BYTES, MPI_CHAR, ring->hosts, HOST_BYTES, MPI_CHAR, comm);
    for (int r = 0; r < ranks; r++) {
        int known = 0;
        for (int i = 0; i < ring->count && !known; i++)
            known = strcmp(ring->hosts[ring->leaders[i]], ring->hosts[r]) == 0;
        if (known)
            continue;
        if (r == rank)
            ring->own = ring->count;
        ring->leaders[ring->count++] = r;
    }
}

static int neighbour(const struct ring *ring, int step) {
    return ring->leaders[(ring->own + ring->count + step) % ring->count];
}

/* Send to the leader `step` places ahead and receive from the one `step` places behind. */
static void exchange(const struct ring *ring, MPI_Comm comm, int step, char *out, char *in,
                     long bytes) {
    MPI_Status status;
    PMPI_Sendrecv(out, (int)bytes, MPI_CHAR, neighbour(ring, step), PROBE_TAG, in, (int)bytes,
                  MPI_CHAR, neighbour(ring, -step), PROBE_TAG, comm, &status);
}

/* Bytes that arrived at this leader's node while its predecessor sent it `bytes`; -1 if its
 * counters cannot be read. */
static long measure(const struct ring *ring, MPI_Comm comm, long bytes) {
    char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
    if (!out || !in)
        bytes = 0; /* still take part: the neighbours wait */
    else
        memset(out, 0x5A, (size_t)bytes);
    long few = bytes < 8 ? bytes : 8;
    exchange(ring, comm, 1, out, in, few); /* establish the connections */
    struct arrivals before = arrivals_read("");
    exchange(ring, comm, -1, out, in, few); /* the predecessor sends only after that */
    exchange(ring, comm, 1, out, in, bytes);
    long arrived = arrivals_since("", &before, bytes);
    free(out);
    free(in);
    return arrived;
}

void probe_run(MPI_Comm comm, long bytes, struct json *line) {
    struct ring ring = {NULL, NULL, 0, -1};
    int rank, ranks;
    long own = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    double start = PMPI_Wtime();
    PMPI_Bcast(&bytes, 1, MPI_LONG, 0, comm); /* environments may differ between nodes */
    ring_make(&ring, comm);
    PMPI_Barrier(comm);
    if (bytes > 0 && ring.count > 1 && ring.own >= 0)
        own = measure(&ring, comm, bytes);
    long *arrived = rank == 0 ? calloc((size_t)ranks, sizeof *arrived) : NULL;
    PMPI_Gather(&own, 1, MPI_LONG, arrived, 1, MPI_LONG, 0, comm);
    if (rank == 0) {
        json_open(line, "links", '[');
        for (int i = 0; arrived && bytes > 0 && ring.count > 1 && i < ring.count; i++) {
            int from = ring.leaders[i], to = ring.leaders[(i + 1) % ring.count];
            arrivals_add_link(line, from, to, ring.hosts[from], ring.hosts[to], bytes, arrived[to]);
        }
        json_close(line, ']');
        json_number(line, "probe_s", PMPI_Wtime() - start);
    }
    free(arrived);
    free(ring.hosts);
    free(ring.leaders);
}
