/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include "arrivals.h"
#include "assay/hosts.h"
#include "rank_facts.h"

#include <stdlib.h>
#include <string.h>

#define PROBE_TAG 17

/* The lowest rank of each host, ascending, as a ring. */
struct ring {
    struct hosts hosts;
    int own; /* this rank's place in the ring, or -1 */
};

static int neighbour(const struct ring *ring, int step) {
    int count = ring->hosts.count;
    return ring->hosts.first[(ring->own + count + step) % count];
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
    struct ring ring;
    char name[HOST_BYTES];
    int rank;
    long own = 0;
    PMPI_Comm_rank(comm, &rank);
    double start = PMPI_Wtime();
    PMPI_Bcast(&bytes, 1, MPI_LONG, 0, comm); /* environments may differ between nodes */
    host_name(name);
    hosts_find(&ring.hosts, name, comm);
    const struct hosts *hosts = &ring.hosts;
    ring.own = hosts->first[hosts->node[rank]] == rank ? hosts->node[rank] : -1;
    PMPI_Barrier(comm);
    if (bytes > 0 && hosts->count > 1 && ring.own >= 0)
        own = measure(&ring, comm, bytes);
    long *arrived = rank == 0 ? calloc((size_t)hosts->ranks, sizeof *arrived) : NULL;
    PMPI_Gather(&own, 1, MPI_LONG, arrived, 1, MPI_LONG, 0, comm);
    if (rank == 0) {
        json_open(line, "links", '[');
        for (int i = 0; arrived && bytes > 0 && hosts->count > 1 && i < hosts->count; i++) {
            int next = (i + 1) % hosts->count, from = hosts->first[i], to = hosts->first[next];
            arrivals_add_link(line, from, to, hosts->names[i], hosts->names[next], bytes,
                              arrived[to]);
        }
        json_close(line, ']');
        json_number(line, "probe_s", PMPI_Wtime() - start);
    }
    free(arrived);
    hosts_free(&ring.hosts);
}
