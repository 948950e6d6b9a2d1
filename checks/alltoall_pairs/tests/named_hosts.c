/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: after MPI_Init each RANKS_ON_NODE ranks of one machine have a host name of their own,
 * n0, n1, …; at its end each rank prints how often it called MPI_Send with each length, and the
 * first and the last time: {"sent":BYTES,"rank":…,"times":…,"first":…,"last":…}. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifndef RANKS_ON_NODE
#define RANKS_ON_NODE 1
#endif
#define LENGTHS 8

static int rank = -1, lengths;
static struct sent {
    int bytes, times;
    double first, last;
} sent[LENGTHS];

int gethostname(char *name, size_t bytes) {
    static int (*own)(char *, size_t);
    int ready = 0;
    PMPI_Initialized(&ready);
    if (ready)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank >= 0)
        return snprintf(name, bytes, "n%d", rank / RANKS_ON_NODE) < 0;
    if (!own) {
        void *found = dlsym(RTLD_NEXT, "gethostname");
        memcpy(&own, &found, sizeof own);
    }
    return own(name, bytes);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void note(int bytes, double begun) {
    int i = 0;
    while (i < lengths && sent[i].bytes != bytes)
        i++;
    if (i == LENGTHS)
        return;
    if (i == lengths)
        sent[lengths++] = (struct sent){bytes, 0, begun, 0};
    sent[i].times++;
    sent[i].last = now();
}

#if MPI_VERSION >= 3
#define SENT const void
#else
#define SENT void
#endif

int MPI_Send(SENT *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    double begun = now();
    int status = PMPI_Send(data, count, type, to, tag, comm);
    note(count, begun);
    return status;
}

__attribute__((destructor)) static void tell(void) {
    for (int i = 0; i < lengths; i++)
        printf("{\"sent\":%d,\"rank\":%d,\"times\":%d,\"first\":%.9f,\"last\":%.9f}\n",
               sent[i].bytes, rank, sent[i].times, sent[i].first, sent[i].last);
    fflush(stdout);
}
