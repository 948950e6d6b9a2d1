/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "probe.h"

#include "arrivals.h"
#include "rank_facts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROBE_TAG 17
#define COUNTER_WAITS 50 /* times 1 ms: counters of some cards lag */

/* The lowest rank of each host, ascending; hosts[leader] is the host's name. */
struct ring {
    char (*hosts)[HOST_BYTES]; /* of every rank */
    int *leaders;
    int count;
    int own; /* this rank's place in leaders, or -1 */
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

/* To the next one of the ring and from the one before, with step -1 the other way. */
static void exchange(const struct ring *ring, MPI_Comm comm, int step, char *out, char *in,
                     long bytes) {
    MPI_Status status;
    PMPI_Sendrecv(out, (int)bytes, MPI_CHAR, neighbour(ring, step), PROBE_TAG, in, (int)bytes,
                  MPI_CHAR, neighbour(ring, -step), PROBE_TAG, comm, &status);
}

/* Bytes that arrived at this leader's node while its predecessor sent it `bytes`; -1 if its
 * counters cannot be read. */
static long measure(const struct ring *ring, MPI_Comm comm, long bytes) {
    const struct timespec moment = {0, 1000000};
    char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
    long arrived = 0;
    if (!out || !in)
        bytes = 0; /* still take part: the neighbours wait */
    else
        memset(out, 0x5A, (size_t)bytes);
    long few = bytes < 8 ? bytes : 8;
    exchange(ring, comm, 1, out, in, few); /* connections are made now */
    long before = arrivals_read();
    exchange(ring, comm, -1, out, in, few); /* the one before sends only after that */
    exchange(ring, comm, 1, out, in, bytes);
    for (int wait = 0; wait <= COUNTER_WAITS; wait++) {
        arrived = before < 0 ? -1 : arrivals_read() - before;
        if (arrived < 0 || arrived >= bytes)
            break;
        nanosleep(&moment, NULL);
    }
    free(out);
    free(in);
    return arrived;
}

static void add_links(const struct ring *ring, const long *arrived, long bytes, struct json *line) {
    for (int i = 0; i < ring->count && ring->count > 1 && bytes > 0; i++) {
        int from = ring->leaders[i], to = ring->leaders[(i + 1) % ring->count];
        json_open(line, NULL, '{');
        json_integer(line, "from", from);
        json_integer(line, "to", to);
        json_string(line, "from_host", ring->hosts[from]);
        json_string(line, "to_host", ring->hosts[to]);
        json_integer(line, "sent_bytes", bytes);
        json_integer(line, "arrived_bytes", arrived[to] < 0 ? 0 : arrived[to]);
        if (arrived[to] < 0)
            json_string(line, "problem", "interface counters of to_host cannot be read");
        json_close(line, '}');
    }
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
        if (arrived)
            add_links(&ring, arrived, bytes, line);
        json_close(line, ']');
        json_number(line, "probe_s", PMPI_Wtime() - start);
    }
    free(arrived);
    free(ring.hosts);
    free(ring.leaders);
}
