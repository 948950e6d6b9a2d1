/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#include <stdlib.h>

/* A persistent request, with the peer and length of its message. Not thread-safe. */
struct item {
    MPI_Request request;
    int peer;
    long long bytes;
};

static struct item *items;
static int count, room;

static void add(MPI_Request request, int peer, long long bytes) {
    if (count == room) {
        int more = room ? 2 * room : 16;
        struct item *grown = realloc(items, (size_t)more * sizeof *items);
        if (!grown)
            return;
        items = grown;
        room = more;
    }
    items[count++] = (struct item){request, peer, bytes};
}

/* 1 if the request is known. */
static int find(MPI_Request request, int *peer, long long *bytes) {
    for (int i = 0; i < count; i++)
        if (items[i].request == request) {
            *peer = items[i].peer;
            *bytes = items[i].bytes;
            return 1;
        }
    return 0;
}

/* ---- the calls ---- */

#define WRAP_INIT(name, constant)                                                                  \
    VISIBLE int MPI_##name(constant void *buffer, int items_, MPI_Datatype type, int peer,         \
                           int tag, MPI_Comm comm, MPI_Request *request) {                         \
        int result = PMPI_##name(buffer, items_, type, peer, tag, comm, request);                  \
        if (result == MPI_SUCCESS)                                                                 \
            add(*request, profile_peer(comm, peer), profile_bytes(items_, type));                  \
        return result;                                                                             \
    }

WRAP_INIT(Send_init, PROFILE_CONST)
WRAP_INIT(Bsend_init, PROFILE_CONST)
WRAP_INIT(Ssend_init, PROFILE_CONST)
WRAP_INIT(Rsend_init, PROFILE_CONST)
WRAP_INIT(Recv_init, )

VISIBLE int MPI_Request_free(MPI_Request *request) {
    for (int i = 0; i < count; i++)
        if (items[i].request == *request)
            items[i--] = items[--count];
    return PMPI_Request_free(request);
}

VISIBLE int MPI_Start(MPI_Request *request) {
    int peer = PROFILE_NO_PEER;
    long long bytes = -1;
    find(*request, &peer, &bytes);
    double begun = profile_begin();
    int result = PMPI_Start(request);
    profile_end(PROFILE_Start, peer, bytes, begun, timing_monotonic());
    return result;
}

/* The time is counted without a peer, each message with its own. */
VISIBLE int MPI_Startall(int number, MPI_Request requests[]) {
    double begun = profile_begin();
    int result = PMPI_Startall(number, requests);
    profile_end(PROFILE_Startall, PROFILE_NO_PEER, -1, begun, timing_monotonic());
    for (int i = 0; i < number; i++) {
        int peer;
        long long bytes;
        if (find(requests[i], &peer, &bytes))
            profile_share(PROFILE_Startall, peer, bytes);
    }
    return result;
}
